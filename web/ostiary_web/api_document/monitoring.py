"""`/api/monitor/*` and `/api/audit/*` described: running sessions, what happened, and a session explained."""

from typing import Any, Final

from ostiary_core.history.explain import StepKind
from ostiary_core.history.history_texts import ENDINGS
from ostiary_core.model.why import Why
from ostiary_core.oauth.session import SessionState
from ostiary_web.api_document.lists import item_schema, page_of, page_parameters
from ostiary_web.api_document.parts import (
    Json,
    array_of,
    enumeration,
    nullable,
    object_of,
    operation,
    path_parameter,
    ref,
    refusals,
    success,
)
from ostiary_web.api_document.resources import ADMINISTRATION
from ostiary_web.resources.audit import AUDIT_EVENTS
from ostiary_web.resources.running import RUNNING

__all__ = ["paths", "schemas"]

_NULL: Final[Json] = {"type": "null"}
_TIME: Final[Json] = {"type": "string", "format": "date-time"}


def paths() -> dict[str, dict[str, Json]]:
    """The operations, by path and method."""
    return {**_monitor(), **_audit()}


def schemas() -> dict[str, Json]:
    """What the operations answer."""
    maybe: Json = {"type": ["string", "null"]}
    number: Json = {"type": ["integer", "null"], "minimum": 0}
    why = nullable(enumeration(each.value for each in ENDINGS))
    step: dict[str, Any] = {
        "kind": enumeration(each.value for each in StepKind),
        "at": nullable(_TIME),
        "text": {"type": "string", "description": "In the language of the request."},
        "why": nullable({"type": "string"}),
        "actorId": maybe,
        "actorUsername": maybe,
        "traceId": maybe,
        "ip": maybe,
        "userAgent": maybe,
        "earlierAt": {**nullable(_TIME), "description": "When the token was first used."},
        "earlierUserAgent": maybe,
        "delayMs": {**number, "description": "How long after its first use the token came again."},
    }
    misses = {
        "count": {"type": "integer", "minimum": 0},
        "latestDelayMs": number,
        "longestDelayMs": number,
        "text": {"type": "string"},
    }
    return {
        "OnlineSession": item_schema(RUNNING.fields),
        "AuditEvent": item_schema(AUDIT_EVENTS.fields),
        "SessionHistory": object_of(
            {
                "id": {"type": "string"},
                "kind": enumeration(("login", "oauth")),
                "grantType": nullable(enumeration(("authorization_code", "client_credentials"))),
                "state": enumeration(each.value for each in SessionState),
                "why": why,
                "clientId": {"type": "string"},
                "clientName": maybe,
                "userId": maybe,
                "username": maybe,
                "name": maybe,
                "scope": {"type": "string"},
                "startedAt": _TIME,
                "expiresAt": _TIME,
                "text": {"type": "string", "description": "How it ended or stands."},
                "nearMisses": object_of(
                    misses, description="Safe retries: how often and how late one saved the client."
                ),
                "steps": array_of(object_of(step), minItems=2),
            }
        ),
    }


def _monitor() -> dict[str, dict[str, Json]]:
    tag = "Online users"
    return {
        "/api/monitor/online-users": {
            "get": operation(
                "listOnlineUsers",
                "Who is signed in, and which sessions run",
                tag=tag,
                description="Sessions of client credentials are listed for a super administrator only.",
                parameters=page_parameters(RUNNING),
                responses={
                    **success(page_of(ref("OnlineSession"))),
                    **refusals(*ADMINISTRATION, Why.FIELDS_INVALID),
                },
            )
        },
        "/api/monitor/online-users/{session_id}": {
            "delete": operation(
                "forceSessionOut",
                "End one session",
                tag=tag,
                parameters=[path_parameter("session_id", "The session.")],
                responses={**success(_NULL), **refusals(*ADMINISTRATION, Why.NOT_FOUND)},
            )
        },
    }


def _audit() -> dict[str, dict[str, Json]]:
    tag = "Audit"
    return {
        "/api/audit/events": {
            "get": operation(
                "listAuditEvents",
                "What happened, the latest first",
                tag=tag,
                parameters=page_parameters(AUDIT_EVENTS),
                responses={
                    **success(page_of(ref("AuditEvent"))),
                    **refusals(*ADMINISTRATION, Why.FIELDS_INVALID),
                },
            )
        },
        "/api/audit/sessions/{session_id}/explain": {
            "get": operation(
                "explainSession",
                "A session's life in order, and how and why it ended",
                tag=tag,
                parameters=[path_parameter("session_id", "The session.")],
                responses={**success(ref("SessionHistory")), **refusals(*ADMINISTRATION, Why.NOT_FOUND)},
            )
        },
    }
