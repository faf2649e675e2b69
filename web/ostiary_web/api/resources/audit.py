"""`/api/audit`: what happened, entry by entry, and the whole history of one session."""

from typing import Final

from quart import Response

from ostiary_core.history.explain import explain, is_of_a_spent_token
from ostiary_core.model.audit import NOT_KEPT, AuditEntry
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import SessionKind
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import AUDIT, ListingStore
from ostiary_core.storage.session_history import SessionHistory
from ostiary_web.api.history_record import history_record_of, names_of
from ostiary_web.api.resources.fields import Field, Kind, ListView, LocalizedText, as_they_are
from ostiary_web.api.resources.lists import answer_list
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import GatedRoutes, require_permission

audit = GatedRoutes("audit", __name__)

_KINDS: Final = {kind.value: (kind.value,) for kind in FactKind if kind not in NOT_KEPT}

_FIELDS: Final[tuple[Field[AuditEntry], ...]] = (
    Field("id", Kind.TEXT, LocalizedText("Number", "编号"), lambda entry: str(entry.number)),
    Field("at", Kind.TIME, LocalizedText("Time", "时间"), lambda entry: entry.at, listing_name="at"),
    Field(
        "kind",
        Kind.TEXT,
        LocalizedText("Kind", "类型"),
        lambda entry: entry.kind.value,
        listing_name="kind",
        choices=_KINDS,
    ),
    Field("why", Kind.TEXT, LocalizedText("Reason", "原因"), lambda entry: entry.why and entry.why.value),
    Field("actorId", Kind.TEXT, LocalizedText("Done by", "操作人"), lambda entry: entry.actor_id),
    Field(
        "userId",
        Kind.TEXT,
        LocalizedText("User", "用户"),
        lambda entry: entry.user_id,
        listing_name="user_id",
    ),
    Field(
        "clientId",
        Kind.TEXT,
        LocalizedText("Client", "客户端"),
        lambda entry: entry.client_id,
        listing_name="client_id",
    ),
    Field(
        "sessionId",
        Kind.TEXT,
        LocalizedText("Session", "会话"),
        lambda entry: entry.session_id,
        listing_name="session_id",
    ),
    Field("roleId", Kind.TEXT, LocalizedText("Role", "角色"), lambda entry: entry.role_id),
    Field("scope", Kind.TEXT, LocalizedText("Scope", "权限范围"), lambda entry: " ".join(entry.scopes)),
    Field(
        "traceId",
        Kind.TEXT,
        LocalizedText("Request", "请求"),
        lambda entry: entry.trace_id,
        listing_name="trace_id",
    ),
    Field("ip", Kind.TEXT, LocalizedText("Address", "地址"), lambda entry: entry.source),
    Field("userAgent", Kind.TEXT, LocalizedText("User-Agent", "User-Agent"), lambda entry: entry.user_agent),
    Field(
        "earlierAt",
        Kind.TIME,
        LocalizedText("First used at", "首次使用时间"),
        lambda entry: entry.earlier_at if is_of_a_spent_token(entry) else None,
    ),
    Field(
        "earlierUserAgent",
        Kind.TEXT,
        LocalizedText("User-Agent of the first use", "首次使用的 User-Agent"),
        lambda entry: entry.earlier_user_agent if is_of_a_spent_token(entry) else None,
    ),
)

AUDIT_EVENTS: Final = ListView(source=AUDIT, fields=_FIELDS, shown=as_they_are)


@audit.get("/api/audit/events", gate=require_permission(Permission.AUDIT_READ))
async def list_events(context: RequestContext) -> Response:
    """What happened, the latest first."""
    return await answer_list(context, AUDIT_EVENTS)


@audit.get("/api/audit/sessions/<session_id>/explain", gate=require_permission(Permission.AUDIT_READ))
async def explain_session(context: RequestContext, session_id: str) -> Response:
    """A session's history in order, and how and why it ended."""

    def look(store: ListingStore, now: Instant) -> tuple[SessionHistory | None, Instant]:
        return store.session_history(session_id), now

    history, now = await context.look(look)
    if history is None or (
        history.session.kind is SessionKind.CLIENT_CREDENTIALS and not context.is_super_administrator
    ):
        context.refuse(Why.NOT_FOUND)
    explanation = explain(history, now)
    names = await names_of(explanation.actor_ids, context.submit)
    return context.success(history_record_of(explanation, context.language, names))
