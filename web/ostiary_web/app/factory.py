"""Build the web application: routes, errors, and the services it works with while it runs."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import structlog
import trio
from quart import Response, has_request_context, request
from quart.ctx import RequestContext
from quart.typing import ResponseReturnValue
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from ostiary_core.http import token_service
from ostiary_core.http.envelope import token_service_failure
from ostiary_core.http.form import has_content_coding
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_net.front_door.limits import Receive, Scope, Send
from ostiary_net.observability.log import list_frames, unwrap_error
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.api.account import account
from ostiary_web.api.auth import auth
from ostiary_web.api.avatars import avatars
from ostiary_web.api.health import health
from ostiary_web.api.oauth2 import oauth2
from ostiary_web.api.overview import overview
from ostiary_web.api.recovery import recovery
from ostiary_web.api.resources.audit import audit
from ostiary_web.api.resources.clients import clients
from ostiary_web.api.resources.online import online_users
from ostiary_web.api.resources.roles import roles
from ostiary_web.api.resources.routes import RecordId
from ostiary_web.api.resources.users import users
from ostiary_web.api.second_factor import second_factor
from ostiary_web.api.sign_ins import sign_ins
from ostiary_web.api.tokens import tokens
from ostiary_web.api_document.routes import build_document, docs
from ostiary_web.http.context import RequestRefused, request_context, respond
from ostiary_web.http.gate import gate_of
from ostiary_web.http.public_path import add_public_path
from ostiary_web.http.security_headers import add_security_headers
from ostiary_web.pages import PAGES
from ostiary_web.pages.context import find_opened_page
from ostiary_web.pages.problem import find_refusal_page, problem_page, wants_page
from ostiary_web.pages.static_files import static_address
from ostiary_web.server.app_services import AppServices, attach_services
from ostiary_web.server.settings import Settings
from ostiary_web.server.wiring import Dependencies, open_services

_log = structlog.get_logger("ostiary")


class Application:
    """The ASGI application: Quart's, with services opened before the first request, closed after the last."""

    def __init__(
        self,
        settings: Settings,
        dependencies: Dependencies | None = None,
        *,
        ready: Callable[[AppServices], None] = lambda services: None,
    ) -> None:
        self.settings = settings
        self.dependencies = dependencies
        self.quart = create_app(settings)
        self._ready = ready

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        quart: Any = self.quart
        if scope["type"] != "lifespan":
            await quart(scope, receive, send)
            return
        async with self.open():
            await quart(scope, receive, send)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AppServices]:
        """Open the services and attach them; `lifespan` calls this, and so do tests without a server."""
        async with open_services(
            self.settings, self.dependencies, make_busy_refusal=_make_busy_refusal
        ) as services:
            if self.settings.sms_gateway_url is None:
                outbox = str(self.settings.sms_outbox)
                _log.warning("text messages go to a file, as SMS_GATEWAY_URL is not set", file=outbox)
            attach_services(self.quart, services)
            if self.settings.api_docs_enabled:
                build_document(self.quart, self.settings)
            self._ready(services)
            yield services


def _make_busy_refusal(wait_seconds: int) -> RequestRefused:
    return RequestRefused(Refused(Why.PASSWORDS_BUSY, wait_seconds=wait_seconds))


class _App(QuartTrio):
    def log_exception(self, exception_info: Any) -> None:
        """Log an unexpected error under the trace id that the client is told."""
        error = exception_info[1]
        if has_request_context() and isinstance(error, Exception):
            _answer_unexpected(error)
        else:
            super().log_exception(exception_info)

    async def update_template_context(self, context: dict[str, Any]) -> None:
        """Leave a page with what it was given; Flask's own values cost each page a hop to a thread."""

    async def dispatch_request(self, request_context: RequestContext | None = None) -> ResponseReturnValue:
        """Answer a request within the time that the front door leaves."""
        limit: Any = request.scope.get("ostiary.limit") or trio.CancelScope()
        with limit:
            return await super().dispatch_request(request_context)
        raise trio.TooSlowError


def create_app(settings: Settings) -> QuartTrio:
    """Return the routes and error handlers; without Quart's own sessions there is no secret key."""
    app = _App("ostiary_web", static_folder=None)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    # Or "/api//auth/me" is answered with a redirect that keeps method and body.
    app.url_map.merge_slashes = False
    app.url_map.converters["record"] = RecordId
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals["static_address"] = static_address
    accounts = (auth, second_factor, account, recovery, avatars, tokens, sign_ins)
    resources = (clients, users, roles, online_users, overview, audit)
    described = (docs,) if settings.api_docs_enabled else ()
    for blueprint in (oauth2, health, *accounts, *resources, *described, *PAGES):
        app.register_blueprint(blueprint)
    # Before any gate, in this order: what form a refusal has, then that a path has one spelling.
    app.before_request(find_refusal_page)
    app.before_request(_refuse_noncanonical_path)
    app.before_request(_refuse_prefetch)
    app.before_request(_refuse_content_coding)
    app.after_request(add_security_headers)
    if settings.public_path:
        app.after_request(partial(add_public_path, settings.public_path))
    open_views = [name for name, view in app.view_functions.items() if not gate_of(view)]
    assert not open_views, f"routes without a gate: {open_views}"
    app.register_error_handler(RequestRefused, _refusal)
    app.register_error_handler(HTTPException, _http_failure)
    app.register_error_handler(TurnFailed, _turn_failure)
    app.register_error_handler(trio.TooSlowError, _late_failure)
    app.register_error_handler(Exception, _unexpected_failure)
    return app


_ADDRESS: Final = re.compile(rb"/|(?:/[A-Za-z0-9][A-Za-z0-9._-]*)+")
"""Pattern of our addresses, identifiers included: nothing with two spellings."""


async def _refuse_noncanonical_path() -> None:
    """Refuse a path with an escaped letter, a second slash or a dot segment.

    It would reach the same route, while a proxy's rules or our own limits take it for another.
    """
    if _ADDRESS.fullmatch(request.scope["raw_path"]) is None:
        raise NotFound


async def _refuse_prefetch() -> Response | None:
    """Refuse a browser's prefetch of a page that nobody asked for yet.

    A link merely pointed at would continue a sign-in and refresh tokens; the browser asks again in earnest.
    """
    purposes = (request.headers.get(name, "") for name in ("Sec-Purpose", "Purpose"))
    if not any(purpose.partition(";")[0].strip() == "prefetch" for purpose in purposes):
        return None
    return Response(b"", 503, {"Cache-Control": "no-store"})


async def _refuse_content_coding() -> None:
    """Refuse a body that is compressed or coded otherwise (READINGS 61); the core does at its operations."""
    if request.routing_exception is None and request.path not in token_service.PATHS:
        context = request_context()
        if request.method not in ("GET", "HEAD") and has_content_coding(context.headers):
            context.refuse(Why.CONTENT_CODING_UNSUPPORTED)


_WHY_BY_STATUS: Final = {
    404: Why.ROUTE_UNKNOWN,
    405: Why.METHOD_NOT_ALLOWED,
    413: Why.BODY_TOO_LARGE,
    415: Why.MEDIA_TYPE_UNSUPPORTED,
}


async def _refusal(error: RequestRefused) -> Response:
    """Answer a refusal of a gate or handler: on a page if one was asked for, else in the envelope."""
    if find_opened_page() is not None:
        return await problem_page(error.reply.why)
    return request_context().failure(error.reply)


async def _http_failure(error: Exception) -> Response:
    """Answer what Quart and Werkzeug refuse, in the envelope or on a page."""
    code = error.code if isinstance(error, HTTPException) else None
    client_fault = code is not None and code < 500
    why = _WHY_BY_STATUS.get(code or 500, Why.REQUEST_MALFORMED if client_fault else Why.INTERNAL_ERROR)
    response = await _answer_refusal(why)
    if isinstance(error, MethodNotAllowed):
        # Werkzeug has them in a set, whose order is another one in each process.
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
    return response


async def _turn_failure(error: Exception) -> Response:
    """Answer a failed turn, which the service has logged."""
    return await _answer_refusal(Why.INTERNAL_ERROR)


async def _late_failure(error: Exception) -> Response:
    """Answer for a route that took too long, whatever it waited for."""
    _log.error("not answered in time", trace_id=request_context().trace_id)
    return await _answer_refusal(Why.INTERNAL_ERROR)


async def _unexpected_failure(error: Exception) -> Response:
    """Answer a server fault with a trace id and nothing else."""
    _answer_unexpected(error)
    return await _answer_refusal(Why.INTERNAL_ERROR)


def _answer_unexpected(error: Exception) -> None:
    trace_id, fault = request_context().trace_id, unwrap_error(error)
    _log.error("unexpected error", trace_id=trace_id, cause=type(fault).__name__, where=list_frames(fault))


async def _answer_refusal(why: Why) -> Response:
    if wants_page():
        return await problem_page(why)
    context, operation = request_context(), token_service.PATHS.get(request.path)
    if operation is None:
        context.log_refusal(why)
        return context.failure(Refused(why))
    if why is Why.INTERNAL_ERROR:
        return respond(token_service_failure(why, context.language, context.trace_id))
    return respond(token_service.refusal(operation, why))
