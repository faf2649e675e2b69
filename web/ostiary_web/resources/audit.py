"""`/api/audit`: what happened, entry by entry, and the whole life of one session."""

from typing import Final

from quart import Blueprint, Response

from ostiary_core.history.explain import explain, is_of_a_spent_token
from ostiary_core.model.audit import NOT_KEPT, AuditEntry
from ostiary_core.model.decision import FactKind
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import SessionKind
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import AUDIT, ListingStore
from ostiary_core.storage.session_history import SessionHistory
from ostiary_web.life_record import life_record, names_of
from ostiary_web.resources.access import Call, opened_by
from ostiary_web.resources.declaration import Field, Kind, Listed, Words, as_they_are
from ostiary_web.resources.lists import answer_list

__all__ = ["AUDIT_EVENTS", "audit"]

audit = Blueprint("audit", __name__)

_KINDS: Final = {kind.value: (kind.value,) for kind in FactKind if kind not in NOT_KEPT}

_FIELDS: Final[tuple[Field[AuditEntry], ...]] = (
    Field(
        name="id",
        kind=Kind.TEXT,
        heading=Words("Number", "编号"),
        read=lambda entry: str(entry.number),
    ),
    Field(
        name="at",
        kind=Kind.TIME,
        heading=Words("Time", "时间"),
        read=lambda entry: entry.at,
        listed="at",
    ),
    Field(
        name="kind",
        kind=Kind.TEXT,
        heading=Words("Kind", "类型"),
        read=lambda entry: entry.kind.value,
        listed="kind",
        choices=_KINDS,
    ),
    Field(
        name="why",
        kind=Kind.TEXT,
        heading=Words("Reason", "原因"),
        read=lambda entry: entry.why and entry.why.value,
    ),
    Field(
        name="actorId",
        kind=Kind.TEXT,
        heading=Words("Done by", "操作人"),
        read=lambda entry: entry.actor_id,
    ),
    Field(
        name="userId",
        kind=Kind.TEXT,
        heading=Words("User", "用户"),
        read=lambda entry: entry.user_id,
        listed="user_id",
    ),
    Field(
        name="clientId",
        kind=Kind.TEXT,
        heading=Words("Client", "客户端"),
        read=lambda entry: entry.client_id,
        listed="client_id",
    ),
    Field(
        name="sessionId",
        kind=Kind.TEXT,
        heading=Words("Session", "会话"),
        read=lambda entry: entry.session_id,
        listed="session_id",
    ),
    Field(
        name="roleId",
        kind=Kind.TEXT,
        heading=Words("Role", "角色"),
        read=lambda entry: entry.role_id,
    ),
    Field(
        name="scope",
        kind=Kind.TEXT,
        heading=Words("Scope", "权限范围"),
        read=lambda entry: " ".join(entry.scopes),
    ),
    Field(
        name="traceId",
        kind=Kind.TEXT,
        heading=Words("Request", "请求"),
        read=lambda entry: entry.trace_id,
        listed="trace_id",
    ),
    Field(
        name="ip",
        kind=Kind.TEXT,
        heading=Words("Address", "地址"),
        read=lambda entry: entry.source,
    ),
    Field(
        name="userAgent",
        kind=Kind.TEXT,
        heading=Words("User-Agent", "User-Agent"),
        read=lambda entry: entry.user_agent,
    ),
    Field(
        name="earlierAt",
        kind=Kind.TIME,
        heading=Words("First used at", "首次使用时间"),
        read=lambda entry: entry.earlier_at if is_of_a_spent_token(entry) else None,
    ),
    Field(
        name="earlierUserAgent",
        kind=Kind.TEXT,
        heading=Words("User-Agent of the first use", "首次使用的 User-Agent"),
        read=lambda entry: entry.earlier_user_agent if is_of_a_spent_token(entry) else None,
    ),
)

AUDIT_EVENTS: Final = Listed(resource=AUDIT, fields=_FIELDS, shown=as_they_are)


@opened_by(audit, "GET", "/api/audit/events", Permission.AUDIT_READ)
async def list_events(call: Call) -> Response:
    """What happened, the latest first."""
    return await answer_list(call, AUDIT_EVENTS)


@opened_by(audit, "GET", "/api/audit/sessions/<session_id>/explain", Permission.AUDIT_READ)
async def explain_session(call: Call, session_id: str) -> Response:
    """A session's life in order, and how and why it ended."""

    def look(store: ListingStore, now: Instant) -> tuple[SessionHistory | None, Instant]:
        return store.session_history(session_id), now

    life, now = await call.look(look)
    if life is None or (
        life.session.kind is SessionKind.CLIENT_CREDENTIALS and not call.is_super_administrator
    ):
        return call.here.refuse(Why.NOT_FOUND)
    told = explain(life, now)
    names = await names_of(told.actor_ids, call.decide)
    return call.here.success(life_record(told, call.here.language, names))
