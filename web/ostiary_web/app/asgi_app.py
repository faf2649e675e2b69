"""Build the application behind its front door, for `ostiary serve` and every other server."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import structlog
from quart import request

from ostiary_core.http import token_service
from ostiary_core.http.answer import Answer
from ostiary_core.http.envelope import failure, token_service_failure
from ostiary_core.http.form import LONGEST_FORM
from ostiary_core.http.sender import language_of
from ostiary_core.model.why import Why
from ostiary_core.texts import Languages
from ostiary_net.front_door import DoorLimits, Guard, patch_hypercorn
from ostiary_net.front_door.limits import Scope
from ostiary_net.lane import start_door
from ostiary_net.observability.metrics import Metrics
from ostiary_web.api.health import HEALTH_PATHS
from ostiary_web.app.factory import Application
from ostiary_web.application.avatars import UPLOAD_LIMITS
from ostiary_web.application.resources.imports import LONGEST_IMPORT
from ostiary_web.http.security_headers import security_fields
from ostiary_web.pages.problem import has_page
from ostiary_web.server.app_services import AppServices
from ostiary_web.server.first_administrator import (
    NewAdministrator,
    UnusedAdministrator,
    reset_password_command,
)
from ostiary_web.server.logs import configure_logs, log_failed_start
from ostiary_web.server.setting_values import SettingError
from ostiary_web.server.settings import Settings
from ostiary_web.server.temporary_files import use_data_dir
from ostiary_web.server.wiring import Dependencies
from ostiary_web.streams import OutputFailed, exit_with, print_text

_ADMINISTRATION: Final = ("/admin/", "/api/iam/", "/api/oauth/")
_LONGEST_ADMINISTRATION_BODY: Final = 1024 * 1024
_LONGEST_BODY: Final = LONGEST_FORM
"""Largest body in bytes from a caller who is not signed in: a form of a megabyte delays everybody else."""

_WHY_BY_STATUS: Final = {404: Why.ROUTE_UNKNOWN, 413: Why.BODY_TOO_LARGE, 500: Why.INTERNAL_ERROR}


def load_settings_or_exit(environment: Mapping[str, str]) -> Settings:
    """Return the settings, or exit with one line that says what to correct."""
    try:
        return Settings.from_environment(environment)
    except SettingError as error:
        exit_with(error)


def make_door_limits(settings: Settings) -> DoorLimits:
    """Return the limits that the front door holds every request to."""
    transport_security = settings.strict_transport_security
    return DoorLimits(
        answer_fields=()
        if transport_security is None
        else ((b"strict-transport-security", transport_security.encode()),),
        idle_seconds=float(settings.keep_alive_seconds),
        body_limit=_body_limit,
        refusal=partial(_refusal, settings.languages, settings.public_path),
        has_page=has_page,
        public_path=settings.public_path,
        paths_outside=HEALTH_PATHS,
        trusted_proxies=settings.trust_proxy,
    )


def asgi_app(
    settings: Settings,
    ready: Callable[[AppServices], None],
    dependencies: Dependencies | None = None,
    *,
    has_lane: bool = False,
) -> Guard:
    """Return the whole product as one ASGI application, with the token lane if its server is to have it."""
    limits = make_door_limits(settings)

    def connect(services: AppServices) -> None:
        _add_metrics(services.service.metrics, guarded)
        guarded.started = start_door(services.service, limits, has_lane=has_lane)
        ready(services)

    application: Any = Application(settings, dependencies, ready=connect)
    if settings.otel_exporter_otlp_endpoint is not None:
        application.quart.before_request(_name_route)
    guarded = Guard(application, limits)
    return guarded


def _add_metrics(metrics: Metrics, guarded: Guard) -> None:
    """Add the metrics of the front door."""
    metrics.add_gauge(
        "ostiary_connections_open", "Connections of callers.", lambda: [({}, len(guarded.connections))]
    )
    metrics.add_counter(
        "ostiary_connections_refused_total",
        "Connections that found no place.",
        lambda: [({}, guarded.connections.refused)],
    )
    metrics.add_counter(
        "ostiary_connections_evicted_total",
        "Connections that were closed to make room for others.",
        lambda: [({}, guarded.connections.evicted)],
    )
    metrics.add_counter(
        "ostiary_refused_at_the_door_total",
        "Requests that were refused before a route answered, by status.",
        lambda: [({"status": str(status)}, number) for status, number in guarded.refused.items()],
    )
    metrics.add_counter(
        "ostiary_late_answers_total",
        "Requests that were answered 500 as their time was over.",
        lambda: [({}, guarded.late)],
    )


async def _name_route() -> None:
    """Put the route of the current request into its scope, for its span."""
    scope: Scope = request.scope  # type: ignore[assignment]
    if request.url_rule is not None:
        scope["ostiary.route"] = request.url_rule.rule


def asgi_app_from_environment() -> Guard:
    """Return the application for a server that `ostiary serve` did not start."""
    with log_failed_start(os.environ):
        settings = load_settings_or_exit(os.environ)
    configure_logs(settings.log_level, settings.log_format)
    use_data_dir(settings)
    patch_hypercorn()
    return asgi_app(settings, _announce_first_administrator)


def describe_first_administrator(administrator: NewAdministrator | UnusedAdministrator) -> str:
    """Return the only text that ever shows a drawn password; later, how to draw another."""
    if isinstance(administrator, UnusedAdministrator):
        return (
            f"First administrator: {administrator.username} (has never signed in)\n"
            f"Another password:    {reset_password_command(administrator.username)}"
        )
    if administrator.drawn_password is None:
        return f"First administrator: {administrator.username} (with the password that ADMIN_PASSWORD gives)"
    return (
        f"First administrator: {administrator.username}\n"
        f"One-time password:   {administrator.drawn_password.reveal()}   "
        "(shown this once; choose another at the first sign-in)"
    )


def greet(text: str, administrator: NewAdministrator | UnusedAdministrator | None) -> None:
    """Print what a start says to people; log it if printing fails."""
    try:
        print_text(text)
    except OutputFailed as failure:
        log = structlog.get_logger("ostiary")
        if administrator is None:
            log.warning("the start could not be told", reason=failure.message)
            return
        log.warning(
            "the first administrator could not be told",
            reason=failure.message,
            username=administrator.username,
            another_password=reset_password_command(administrator.username),
        )


def _announce_first_administrator(services: AppServices) -> None:
    if (administrator := services.first_administrator) is not None:
        greet(describe_first_administrator(administrator), administrator)


def _body_limit(path: str) -> int:
    """Return the largest body in bytes for a path (READINGS 37)."""
    if path in UPLOAD_LIMITS:
        return UPLOAD_LIMITS[path]
    if not path.startswith(_ADMINISTRATION):
        return _LONGEST_BODY
    return LONGEST_IMPORT if path.endswith("/import") else _LONGEST_ADMINISTRATION_BODY


def _refusal(
    languages: Languages, public_path: str, status: int, scope: Mapping[str, Any], trace_id: str
) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Answer a refusal of the front door, in the form of the route that the request was going to."""
    why = _WHY_BY_STATUS.get(status, Why.REQUEST_MALFORMED)
    # Of what could not be read, the head was not yet looked at either: it has its path whole.
    path = str(scope.get("path", "")).removeprefix(public_path)
    operation = None if why is Why.ROUTE_UNKNOWN else token_service.PATHS.get(path)
    language = language_of(scope.get("headers", ()), languages)
    answer: Answer
    if operation is None:
        answer = failure(why, language, trace_id)
    elif why is Why.INTERNAL_ERROR:
        answer = token_service_failure(why, language, trace_id)
    else:
        answer = token_service.refusal(operation, why)
    fields = dict(answer.headers)
    for name, value in security_fields(path).items():
        fields.setdefault(name.lower().encode(), value.encode())
    return list(fields.items()), answer.body
