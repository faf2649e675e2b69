"""Serve `/api/audit`: entries, their sheet, and the history of one session."""

from quart import Response

from ostiary_core.history.explain import explain
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import ListingStore
from ostiary_core.storage.session_history import SessionHistory
from ostiary_web.application.history_record import SessionHistoryRecord, encode_history, find_usernames
from ostiary_web.application.resources.audit import AUDIT_EVENTS
from ostiary_web.application.resources.exports import answer_export
from ostiary_web.application.resources.lists import answer_list, query_arguments
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import GatedRoutes, require_permission

audit = GatedRoutes("audit", __name__)


@audit.get("/api/audit/events", gate=require_permission(Permission.AUDIT_READ))
async def list_events(context: RequestContext) -> Response:
    """List what happened, newest first."""
    return await answer_list(context, AUDIT_EVENTS)


@audit.get("/api/audit/events/export", gate=require_permission(Permission.AUDIT_READ))
async def export_events(context: RequestContext) -> Response:
    """Export the entries as a sheet."""
    permission, language = Permission.AUDIT_READ, context.language
    return await answer_export(context, AUDIT_EVENTS, permission, query_arguments(), language)


@audit.get("/api/audit/sessions/<session_id>/explain", gate=require_permission(Permission.AUDIT_READ))
async def explain_session(context: RequestContext, session_id: str) -> SessionHistoryRecord:
    """Show a session's history in order, and how and why it ended."""

    def read(store: ListingStore, now: Instant) -> tuple[SessionHistory | None, Instant]:
        return store.session_history(session_id), now

    history, now = await context.query(read)
    if history is None or (history.session.user_id is None and not context.is_super_administrator):
        context.refuse(Why.NOT_FOUND)
    explanation = explain(history, now)
    names = await find_usernames(explanation.actor_ids, context.query)
    return encode_history(explanation, context.language, names)
