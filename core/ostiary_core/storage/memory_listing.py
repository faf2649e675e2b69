"""List records in memory for the reference store, whose pages every other store must return."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.changes import changes_to_json
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Client, Consent, RawKey, Record, Session, SessionKind, Table, User
from ostiary_core.oauth.session import state_of
from ostiary_core.oauth.state_tables import SessionState
from ostiary_core.storage.listing import (
    AUDIT,
    CLIENTS,
    DELETED_USERS,
    GRANTS,
    ONLINE_SESSIONS,
    ONLINE_USERS,
    ROLES,
    USERS,
    FilterValue,
    GrantedAccess,
    Listable,
    Listing,
    Match,
    OnlineSession,
    Page,
    contained_text,
    fold_ascii,
)

T = TypeVar("T")
R = TypeVar("R", bound=Record)


class Plain(Protocol):
    """Records and audit entries to make lists from."""

    def records(self, table: Table) -> tuple[Record, ...]: ...

    def audit(self) -> tuple[AuditEntry, ...]: ...


def page_in_memory(store: Plain, listing: Listing[T], now: Instant) -> Page[T]:
    """Return the page that `listing` asks for."""
    kept = _in_order(store, listing, now)
    return Page(tuple(kept[listing.offset : listing.offset + listing.page_size]), len(kept))


def items_after_in_memory(store: Plain, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
    """Return the `page_size` items after `last`; the first ones for None."""
    kept = _in_order(store, listing, now)
    behind = kept if last is None else [item for item in kept if _is_behind(item, last, listing)]
    return tuple(behind[: listing.page_size])


def count_running_in_memory(store: Plain, now: Instant) -> dict[SessionKind, int]:
    """Return the number of running sessions of each kind."""
    kinds = [session.kind for session in _online(store, now, of_users_only=False)]
    return {kind: kinds.count(kind) for kind in SessionKind}


def _in_order(store: Plain, listing: Listing[T], now: Instant) -> list[T]:
    kept = [item for item in _items(store, listing.resource, now) if fits(item, listing)]
    # Sorting is stable, so the last field comes first.
    for sort in reversed(listing.order):
        kept.sort(key=lambda item, name=sort.field: getattr(item, name), reverse=sort.descending)  # type: ignore[misc]
    return kept


def _is_behind(item: object, last: object, listing: Listing[T]) -> bool:
    for sort in listing.order:
        held, of_last = getattr(item, sort.field), getattr(last, sort.field)
        if held != of_last:
            return bool(held < of_last if sort.descending else held > of_last)
    return False


# --- what there is


def _items(store: Plain, resource: Listable[T], now: Instant) -> list[T]:
    found: Iterable[object]
    if resource is CLIENTS:
        found = (client for client in _all(store, Client) if client.deleted_at is None)
    elif resource is USERS:
        found = (user for user in _all(store, User) if user.deleted_at is None)
    elif resource is DELETED_USERS:
        found = (user for user in _all(store, User) if user.deleted_at is not None)
    elif resource is ROLES:
        found = store.records(Table.ROLE)
    elif resource is ONLINE_USERS or resource is ONLINE_SESSIONS:
        found = _online(store, now, of_users_only=resource is ONLINE_USERS)
    elif resource is AUDIT:
        found = store.audit()
    elif resource is GRANTS:
        found = _grants(store, now)
    else:
        raise ValueError(f"{resource} is not one of the declared resources")
    return [item for item in found if isinstance(item, resource.item)]


def _all(store: Plain, kind: type[R]) -> list[R]:
    return [record for record in store.records(kind.table) if isinstance(record, kind)]


def _online(store: Plain, now: Instant, *, of_users_only: bool) -> Iterable[OnlineSession]:
    stored: dict[RawKey, Record | None] = {
        record.key: record
        for table in (Table.CONSENT, Table.USER, Table.CLIENT)
        for record in store.records(table)
    }
    for session in _all(store, Session):
        if of_users_only and session.user_id is None:
            continue
        snapshot = Snapshot({key: stored.get(key) for key in session.references})
        if state_of(session, snapshot.at(now)) is not SessionState.ACTIVE:
            continue
        user = None if session.user_id is None else snapshot.user(session.user_id)
        yield OnlineSession(
            session_id=session.session_id,
            kind=session.kind,
            client_id=session.client_id,
            user_id=session.user_id,
            username=None if user is None else user.username,
            name=None if user is None else user.name,
            scopes=session.scopes,
            source=session.source,
            user_agent=session.user_agent,
            signed_in_at=session.started_at,
            last_seen_at=session.started_at if session.rotated_at is None else session.rotated_at,
            expires_at=session.expires_at,
            label=session.label,
            access_digest=session.access_digest,
        )


def _grants(store: Plain, now: Instant) -> Iterable[GrantedAccess]:
    names = {client.client_id: client.name for client in _all(store, Client) if client.deleted_at is None}
    remembered = {
        (consent.user_id, consent.client_id): consent for consent in _all(store, Consent) if consent.scopes
    }
    running: dict[tuple[str, str], int] = {}
    for session in _online(store, now, of_users_only=True):
        if session.kind is SessionKind.AUTHORIZATION_CODE and session.user_id is not None:
            key = (session.user_id, session.client_id)
            running[key] = running.get(key, 0) + 1
    for user_id, client_id in remembered.keys() | running.keys():
        if client_id in names:
            consent = remembered.get((user_id, client_id))
            yield GrantedAccess(
                user_id=user_id,
                client_id=client_id,
                client_name=names[client_id],
                scopes=() if consent is None else consent.scopes,
                granted_at=None if consent is None else consent.granted_at,
                session_count=running.get((user_id, client_id), 0),
            )


# --- what fits


def fits(item: object, listing: Listing[T]) -> bool:
    """Whether an item is one of those that `listing` asks for, whatever the page."""
    return (
        all(
            _matches(name, getattr(item, name), value, listing.resource.filters[name])
            for name, value in listing.filters.items()
        )
        and all(
            (bounds.start is None or getattr(item, bounds.field) >= bounds.start)
            and (bounds.end is None or getattr(item, bounds.field) <= bounds.end)
            for bounds in listing.ranges
        )
        and (
            not listing.search
            or any(
                _matches(name, getattr(item, name), listing.search, Match.CONTAINS)
                for name in listing.resource.searched
            )
        )
    )


def _matches(name: str, held: object, wanted: FilterValue, match: Match) -> bool:
    if match is Match.CONTAINS:
        text = changes_to_json(held) if isinstance(held, tuple) and held else held
        return isinstance(text, str) and contained_text(name, str(wanted)) in fold_ascii(text)
    if match is Match.HAS:
        return isinstance(held, tuple) and wanted in held
    return held in wanted if isinstance(wanted, tuple) else held == wanted
