"""The list of audit entries, with the names of those whom they are about."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ostiary_core.history.explain import is_of_a_spent_token
from ostiary_core.model.audit import NOT_KEPT, AuditEntry
from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import COMMAND_LINE
from ostiary_core.model.record_type import Kind
from ostiary_core.model.records import User
from ostiary_core.storage.listing import AUDIT, ListingStore
from ostiary_web.application.history_record import (
    list_users,
)
from ostiary_web.application.resources.fields import Field, ListView, SheetUse

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


def _named_field(name: str, read: Callable[[NamedEntry], object]) -> Field[NamedEntry]:
    return Field(name, Kind.TEXT, read, sheet=SheetUse.EXPORT_ONLY)


_FIELDS: Final[tuple[Field[NamedEntry], ...]] = (
    _field("id", Kind.TEXT, lambda entry: str(entry.number)),
    _field("at", Kind.TIME, lambda entry: entry.at, listing_name="at"),
    _field("kind", Kind.TEXT, lambda entry: entry.kind.value, listing_name="kind", choices=_KINDS),
    _field("why", Kind.TEXT, lambda entry: entry.why and entry.why.value, listing_name="why"),
    _field("actorId", Kind.TEXT, lambda entry: entry.actor_id, listing_name="actor_id"),
    _named_field("actorName", lambda named: named.actor_name),
    _field(
        "actorSessionId", Kind.TEXT, lambda entry: entry.actor_session_id, listing_name="actor_session_id"
    ),
    _field("actorToken", Kind.TEXT, lambda entry: entry.actor_token),
    _field("actorFingerprint", Kind.TEXT, lambda entry: entry.actor_fingerprint),
    _named_field("target", lambda named: named.target),
    _field("userId", Kind.TEXT, lambda entry: entry.user_id, listing_name="user_id"),
    _field("clientId", Kind.TEXT, lambda entry: entry.client_id, listing_name="client_id"),
    _field("sessionId", Kind.TEXT, lambda entry: entry.session_id, listing_name="session_id"),
    _field("roleId", Kind.TEXT, lambda entry: entry.role_id, listing_name="role_id"),
    _field("scope", Kind.TEXT, lambda entry: " ".join(entry.scopes)),
    _field("traceId", Kind.TEXT, lambda entry: entry.trace_id, listing_name="trace_id"),
    _field("ip", Kind.TEXT, lambda entry: entry.source, listing_name="source"),
    _field("userAgent", Kind.TEXT, lambda entry: entry.user_agent),
    _field("earlierAt", Kind.TIME, lambda entry: entry.earlier_at if is_of_a_spent_token(entry) else None),
    _field(
        "earlierUserAgent",
        Kind.TEXT,
        lambda entry: entry.earlier_user_agent if is_of_a_spent_token(entry) else None,
    ),
    _field("changes", Kind.CHANGES, lambda entry: (entry.kind, entry.changes)),
)

AUDIT_EVENTS: Final = ListView(
    name="audit",
    source=AUDIT,
    fields=_FIELDS,
    add_details=name_entries,
    other_names={"actor": "actorId"},
)
