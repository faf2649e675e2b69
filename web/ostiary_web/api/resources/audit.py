"""Serve `/api/audit`: entries, their sheet, and the history of one session."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from quart import Response

from ostiary_core.history.explain import explain, is_of_a_spent_token
from ostiary_core.model.audit import NOT_KEPT, AuditEntry
from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import COMMAND_LINE
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.record_type import Kind
from ostiary_core.model.records import User
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import AUDIT, ListingStore
from ostiary_core.storage.session_history import SessionHistory
from ostiary_web.api.history_record import SessionHistoryRecord, encode_history, find_usernames, list_users
from ostiary_web.api.resources.exports import answer_export
from ostiary_web.api.resources.fields import Field, ListView, SheetUse
from ostiary_web.api.resources.lists import answer_list, query_arguments
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import GatedRoutes, require_permission

audit = GatedRoutes("audit", __name__)

_KINDS: Final = {kind.value: (kind.value,) for kind in FactKind if kind not in NOT_KEPT}


@dataclass(frozen=True, slots=True)
class NamedEntry:
    """An entry of the trail, with the users that it names, those that were deleted too."""

    entry: AuditEntry
    users: Mapping[str, User]

    @property
    def actor_name(self) -> str | None:
        """Name that the actor had then; in entries of earlier releases, the name of the account now."""
        return self.entry.actor_name or self._name_of(self.entry.actor_id)

    @property
    def target(self) -> str | None:
        """Kind and name of what the entry is about: a role, else a user, a client, a session."""
        entry = self.entry
        if entry.role_id is not None:
            return f"role:{entry.role_id}"
        if entry.user_id is not None:
            return f"user:{self._name_of(entry.user_id) or entry.user_id}"
        if entry.client_id is not None:
            return f"client:{entry.client_id}"
        return None if entry.session_id is None else f"session:{entry.session_id}"

    def _name_of(self, user_id: str | None) -> str | None:
        user = None if user_id is None else self.users.get(user_id)
        return None if user is None else user.username


def name_entries(store: ListingStore | None, entries: Sequence[AuditEntry]) -> list[NamedEntry]:
    """Return entries with the users that they name."""
    ids = {id for entry in entries for id in (entry.user_id, entry.actor_id) if id is not None}
    users = {} if store is None else list_users(store, ids - {COMMAND_LINE})
    return [NamedEntry(entry, users) for entry in entries]


def _field(name: str, kind: Kind, read: Callable[[AuditEntry], object], **more: Any) -> Field[NamedEntry]:
    return Field(name, kind, lambda named: read(named.entry), sheet=SheetUse.EXPORT_ONLY, **more)


def _named_field(
    name: str, read: Callable[[NamedEntry], object], listing_name: str | None = None
) -> Field[NamedEntry]:
    return Field(name, Kind.TEXT, read, sheet=SheetUse.EXPORT_ONLY, listing_name=listing_name)


_FIELDS: Final[tuple[Field[NamedEntry], ...]] = (
    _field("id", Kind.TEXT, lambda entry: str(entry.number)),
    _field("at", Kind.TIME, lambda entry: entry.at, listing_name="at"),
    _field("kind", Kind.TEXT, lambda entry: entry.kind.value, listing_name="kind", choices=_KINDS),
    _field("why", Kind.TEXT, lambda entry: entry.why and entry.why.value, listing_name="why"),
    _field("actorId", Kind.TEXT, lambda entry: entry.actor_id, listing_name="actor_id"),
    _named_field("actorName", lambda named: named.actor_name, "actor_name"),
    _field(
        "actorSessionId", Kind.TEXT, lambda entry: entry.actor_session_id, listing_name="actor_session_id"
    ),
    _field("actorToken", Kind.TEXT, lambda entry: entry.actor_token, listing_name="actor_token"),
    _field(
        "actorFingerprint",
        Kind.TEXT,
        lambda entry: entry.actor_fingerprint,
        listing_name="actor_fingerprint",
    ),
    _named_field("target", lambda named: named.target),
    _field("userId", Kind.TEXT, lambda entry: entry.user_id, listing_name="user_id"),
    _field("clientId", Kind.TEXT, lambda entry: entry.client_id, listing_name="client_id"),
    _field("sessionId", Kind.TEXT, lambda entry: entry.session_id, listing_name="session_id"),
    _field("roleId", Kind.TEXT, lambda entry: entry.role_id, listing_name="role_id"),
    _field("scope", Kind.TEXT, lambda entry: " ".join(entry.scopes)),
    _field("traceId", Kind.TEXT, lambda entry: entry.trace_id, listing_name="trace_id"),
    _field("ip", Kind.TEXT, lambda entry: entry.source, listing_name="source"),
    _field("userAgent", Kind.TEXT, lambda entry: entry.user_agent, listing_name="user_agent"),
    _field("earlierAt", Kind.TIME, lambda entry: entry.earlier_at if is_of_a_spent_token(entry) else None),
    _field(
        "earlierUserAgent",
        Kind.TEXT,
        lambda entry: entry.earlier_user_agent if is_of_a_spent_token(entry) else None,
    ),
    _field("changes", Kind.CHANGES, lambda entry: (entry.kind, entry.changes)),
)

AUDIT_EVENTS: Final = ListView(name="audit", source=AUDIT, fields=_FIELDS, add_details=name_entries)


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
