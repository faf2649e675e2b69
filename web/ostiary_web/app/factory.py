"""The web application: the routes, what errors look like, and what stands behind them while it runs."""

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
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_net.front_door.rules import Receive, Scope, Send
from ostiary_net.observability.log import list_frames
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
from ostiary_web.api_document.routes import build_document, docs
from ostiary_web.http.context import RequestRefused, request_context, respond
from ostiary_web.http.gate import gate_of
from ostiary_web.http.public_path import add_public_path
from ostiary_web.http.security_headers import add_security_headers
from ostiary_web.pages import PAGES
from ostiary_web.pages.context import find_opened_page
from ostiary_web.pages.problem import find_refusal_page, problem_page, wants_page
from ostiary_web.server.backing import Backing, put_behind
from ostiary_web.server.settings import Settings
from ostiary_web.server.wiring import Surroundings, open_backing

_log = structlog.get_logger("ostiary")


class Application:
    """The ASGI application: Quart's, with its backing opened before the first request and closed after
    the last."""

    def __init__(
        self,
        settings: Settings,
        around: Surroundings | None = None,
        *,
        ready: Callable[[Backing], None] = lambda backing: None,
    ) -> None:
        self.settings = settings
        self.around = around
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
    async def open(self) -> AsyncIterator[Backing]:
        """The application with its backing; `lifespan` does this, and so do tests without a server."""
        async with open_backing(self.settings, self.around) as backing:
            if self.settings.sms_gateway_url is None:
                outbox = str(self.settings.sms_outbox)
                _log.warning("text messages go to a file, as SMS_GATEWAY_URL is not set", file=outbox)
            put_behind(self.quart, backing)
            if self.settings.api_docs_enabled:
                build_document(self.quart, self.settings)
            self._ready(backing)
            yield backing


_LONGEST_STATIC_NAME: Final = 255


class _App(QuartTrio):
    def log_exception(self, exception_info: Any) -> None:
        """What no handler of ours met, or one of them raised: in the log under what the client is told."""
        error = exception_info[1]
        if has_request_context() and isinstance(error, Exception):
            _tell_unexpected(error)
        else:
            super().log_exception(exception_info)

    async def dispatch_request(self, request_context: RequestContext | None = None) -> ResponseReturnValue:
        """What a route answers, if it does so in the time that the front door leaves it."""
        limit: Any = request.scope.get("ostiary.limit") or trio.CancelScope()
        with limit:
            return await super().dispatch_request(request_context)
        raise trio.TooSlowError

    async def send_static_file(self, filename: str) -> Response:
        """A name that no file can have is not found; Quart would let the file system raise."""
        if len(filename) > _LONGEST_STATIC_NAME:
            raise NotFound
        return await super().send_static_file(filename)


def create_app(settings: Settings) -> QuartTrio:
    """The routes and error handlers. Quart's own sessions are not used, so it has no secret key."""
    app = _App("ostiary_web")
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    # Or "/api//auth/me" is answered with a redirect that keeps method and body.
    app.url_map.merge_slashes = False
    app.url_map.converters["record"] = RecordId
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    accounts = (auth, account, recovery, avatars)
    resources = (clients, users, roles, online_users, overview, audit)
    described = (docs,) if settings.api_docs_enabled else ()
    for blueprint in (oauth2, health, *accounts, *resources, *described, *PAGES):
        app.register_blueprint(blueprint)
    app.before_request(find_refusal_page)
    app.before_request(_in_its_one_spelling)
    app.before_request(_refuse_prefetch)
    app.after_request(add_security_headers)
    if settings.public_path:
        app.after_request(partial(add_public_path, settings.public_path))
    open_views = [name for name, view in app.view_functions.items() if name != "static" and not gate_of(view)]
    assert not open_views, f"routes without a gate: {open_views}"
    app.register_error_handler(RequestRefused, _refusal)
    app.register_error_handler(HTTPException, _http_failure)
    app.register_error_handler(TurnFailed, _turn_failure)
    app.register_error_handler(trio.TooSlowError, _late_failure)
    app.register_error_handler(Exception, _unexpected_failure)
    return app


_ADDRESS: Final = re.compile(rb"/|(?:/[A-Za-z0-9][A-Za-z0-9._-]*)+")
"""What every address of ours is made of, identifiers included: nothing that can be spelt in two ways."""


async def _in_its_one_spelling() -> None:
    """An escaped letter, a second slash or a dot segment would lead to the same route, while rules that go by
    the path (a proxy's, a limit of ours) take it for another."""
    if _ADDRESS.fullmatch(request.scope["raw_path"]) is None:
        raise NotFound


async def _refuse_prefetch() -> Response | None:
    """A browser that asks before anybody wants to see the page is given nothing: a sign-in would go on, and
    tokens be renewed, by a link that is only pointed at. What failed is asked for again in earnest."""
    purposes = (request.headers.get(name, "") for name in ("Sec-Purpose", "Purpose"))
    if not any(purpose.partition(";")[0].strip() == "prefetch" for purpose in purposes):
        return None
    return Response(b"", 503, {"Cache-Control": "no-store"})


_OF_STATUS: Final = {
    404: Why.ROUTE_UNKNOWN,
    405: Why.METHOD_NOT_ALLOWED,
    413: Why.BODY_TOO_LARGE,
    415: Why.MEDIA_TYPE_UNSUPPORTED,
}


async def _refusal(error: RequestRefused) -> Response:
    """What a gate or a handler refused: on a page where one was asked for, else in the envelope."""
    if find_opened_page() is not None:
        return await problem_page(error.reply.why)
    return request_context().failure(error.reply)


async def _http_failure(error: Exception) -> Response:
    """What Quart and Werkzeug refuse by themselves, in the envelope or, to a person, on a page."""
    code = error.code if isinstance(error, HTTPException) else None
    client_fault = code is not None and code < 500
    why = _OF_STATUS.get(code or 500, Why.REQUEST_MALFORMED if client_fault else Why.INTERNAL_ERROR)
    response = await _refused(why)
    if isinstance(error, MethodNotAllowed):
        # Werkzeug has them in a set, whose order is another one in each process.
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
    return response


async def _turn_failure(error: Exception) -> Response:
    """A turn that was not taken; the service has told the log."""
    return await _refused(Why.INTERNAL_ERROR)


async def _late_failure(error: Exception) -> Response:
    """A route that did not answer in time, whatever it waited for."""
    _log.error("not answered in time", trace_id=request_context().trace_id)
    return await _refused(Why.INTERNAL_ERROR)


async def _unexpected_failure(error: Exception) -> Response:
    """A fault of ours: the client is told a trace id and nothing else."""
    _tell_unexpected(error)
    return await _refused(Why.INTERNAL_ERROR)


def _tell_unexpected(error: Exception) -> None:
    trace_id, where = request_context().trace_id, list_frames(error)
    _log.error("unexpected error", trace_id=trace_id, cause=type(error).__name__, where=where)


async def _refused(why: Why) -> Response:
    if wants_page():
        return await problem_page(why)
    context, operation = request_context(), token_service.PATHS.get(request.path)
    if operation is None:
        context.log_refusal(why)
        return context.failure(Refused(why))
    if why is Why.INTERNAL_ERROR:
        return respond(token_service_failure(why, context.language, context.trace_id))
    return respond(token_service.refusal(operation, why))
