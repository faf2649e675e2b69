"""The port that storage implements, and the reference implementation on plain dicts.

A store takes turns: it loads what the events need, has the rules decide, writes all changes guarded by the
revisions they replace, and returns the decisions. All of a turn is kept, or nothing.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar

from ostiary_core.decide import keys, take_turn
from ostiary_core.events import Event
from ostiary_core.loading.keys import roots, session_key
from ostiary_core.loading.snapshot import load
from ostiary_core.model.audit import AuditEntry, Origin, audit_entries
from ostiary_core.model.decision import Change, Decision, Delete, Insert, Update
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import Identifier, Key, Record, Session, SessionKind, Table
from ostiary_core.retention import Expirable, ExpiredBatch, find_expired
from ostiary_core.storage.listing import USES, Listing, Page
from ostiary_core.storage.memory_listing import (
    count_running_in_memory,
    items_after_in_memory,
    page_in_memory,
)
from ostiary_core.storage.session_history import EndingQuery, SessionHistory, find_inherited_ending

T = TypeVar("T")

_MOST_ATTEMPTS: Final = 20
"""Most attempts at a turn that loses its race each time."""


class LostRace(RuntimeError):
    """A guarded write did not find the record that it was decided on: take the turn again."""


def retry_lost_races(take_turn: Callable[[], T]) -> T:
    """Call `take_turn` again after a lost race and return its result; raise `LostRace` after the last try."""
    for _ in range(_MOST_ATTEMPTS - 1):
        try:
            return take_turn()
        except LostRace:
            continue
    return take_turn()


class Store(Protocol):
    """A store of records, whose `turn` is atomic, and durable when it returns.

    A turn must read one moment, and no other turn may write since then what it writes. Revisions alone do not
    ensure that: a role or text code that is deleted and made again is at revision 1 again, and a stale
    write would pass its guard. So take one turn at a time, or each in a transaction that is serializable, or
    that has a snapshot and fails on concurrent writes (PostgreSQL's `REPEATABLE READ`; `READ COMMITTED` is
    too little).
    """

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        """Decide `events` in order at `now` and keep their changes and audit entries: all or, raising, none.

        Raises `LostRace` if another writer was quicker, and what the storage raises. `origins` is empty or
        has one for each event, None if there was no request.
        """
        ...


def net_changes(decisions: Iterable[Decision]) -> list[Change]:
    """Merge the changes of a turn into one write for each record, in the order of their first changes.

    A record that was made and deleted in the turn is not written, nor one that was deleted and made again
    unchanged. Made again with other values, it is an update to the next revision: a revision never stands for
    two values.
    """
    touched: dict[Key, list[Change]] = {}
    for decision in decisions:
        for change in decision.changes:
            record = change.record if isinstance(change, Insert) else change.before
            touched.setdefault(record.key, []).append(change)
    nets = [changes[0] if len(changes) == 1 else _merge(changes) for changes in touched.values()]
    return [net for net in nets if net is not None]


def _merge(changes: Sequence[Change]) -> Change | None:
    """Merge the changes of one record into one; None if nothing is different after them."""
    before, _ = before_and_after(changes[0])
    _, after = before_and_after(changes[-1])
    if before is None:
        return None if after is None else Insert(after)
    if after is None:
        return Delete(before)
    if any(isinstance(change, Insert) for change in changes):
        if replace(after, revision=before.revision) == before:
            return None
        # A name is freed without having been read: `Identifier` has no second revision.
        if not isinstance(after, Identifier):
            after = replace(after, revision=before.revision + 1)
    return Update(before, after)


def before_and_after(change: Change) -> tuple[Record | None, Record | None]:
    """Return the record before a change and the record after it."""
    match change:
        case Insert(after):
            return None, after
        case Update(before, after):
            return before, after
        case Delete(before):
            return before, None


def _key(change: Change) -> Key:
    return change.record.key if isinstance(change, Insert) else change.before.key


class MemoryStore:
    """The reference store: plain dicts, one caller at a time. For embedders, tests and fuzzers."""

    def __init__(self, policy: Policy = SPECIFICATION) -> None:
        self.policy = policy
        self._tables: dict[Table, dict[Any, Record]] = {table: {} for table in Table}
        self._audit: list[AuditEntry] = []
        self._entries_kept = 0

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        """Decide `events` in order at `now` and keep what they change."""
        snapshot = load((keys(event) for event in events), self.fetch)
        decisions = take_turn(events, snapshot, now, self.policy)
        entries = audit_entries(decisions, origins, now)
        self.write(net_changes(decisions))
        for entry in entries:
            self._entries_kept += 1
            self._audit.append(replace(entry, number=self._entries_kept))
        return decisions

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        """Return the records of `table` under `identifiers`, those that exist."""
        rows = self._tables[table]
        return [rows[identifier] for identifier in identifiers if identifier in rows]

    def write(self, changes: Sequence[Change]) -> None:
        """Make all changes, or raise `LostRace` and make none."""
        writes = [(_key(change), *before_and_after(change)) for change in changes]
        # Every guard before the first write: a lost race writes nothing.
        for key, before, after in writes:
            stored = self._tables[key.table].get(key.id)
            if (stored and stored.revision) != (before and before.revision):
                raise LostRace(f"a record of table {key.table.name} is not at the revision it was read at")
            if isinstance(after, Session) and self._holds_token_of_another(after):
                raise LostRace("an access token is that of another session")
        for key, before, after in writes:
            if isinstance(before, Session):
                del self._tables[Table.ACCESS_TOKEN][before.access_digest]
            if isinstance(after, Session):
                self._tables[Table.ACCESS_TOKEN][after.access_digest] = after
            if after is None:
                del self._tables[key.table][key.id]
            else:
                self._tables[key.table][key.id] = after

    def _holds_token_of_another(self, session: Session) -> bool:
        holder = self._tables[Table.ACCESS_TOKEN].get(session.access_digest)
        return holder is not None and holder.key != session.key

    def records(self, table: Table) -> tuple[Record, ...]:
        """Return all records of one table."""
        return tuple(self._tables[table].values())

    def audit(self) -> tuple[AuditEntry, ...]:
        """Return the whole audit trail, the oldest first."""
        return tuple(self._audit)

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        """Return the items of one page; none past the last. `now` decides which sessions are running."""
        return page_in_memory(self, listing, now)

    def items_after(self, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
        """Return the `page_size` items after `last`; the first ones for None."""
        return items_after_in_memory(self, listing, last, now)

    def count_running(self, now: Instant) -> dict[SessionKind, int]:
        """Return the number of running sessions of each kind."""
        return count_running_in_memory(self, now)

    def session_history(self, session_id: str) -> SessionHistory | None:
        """Return a session with all that happened to it; None if there is no such session."""
        snapshot = load((roots(session_key(session_id)),), self.fetch)
        session = snapshot.session(session_id)
        if session is None:
            return None
        return SessionHistory(
            session=session,
            snapshot=snapshot,
            entries=tuple(entry for entry in self._audit if entry.session_id == session_id),
            inherited_ending=find_inherited_ending(session, snapshot, self._ending),
        )

    def last_used(self, client_ids: Collection[str]) -> dict[str, Instant]:
        """Return when each of these clients was last given tokens; without those that never were."""
        # Not the last ones kept: a clock may have been set back.
        return {
            entry.client_id: entry.at
            for entry in sorted(self._audit, key=lambda entry: entry.at)
            if entry.kind in USES and entry.client_id is not None and entry.client_id in client_ids
        }

    def find_expired(self, kind: Expirable, after: bytes, now: Instant, limit: int) -> ExpiredBatch:
        """Return up to `limit` identifiers of one kind that have expired at `now`."""
        sessions = self._tables[Table.SESSION]
        records = self.records(kind.table)
        return find_expired(records, kind, sessions, now, self.policy, limit)

    def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        """Erase up to `limit` of the oldest entries of the audit trail; return how many."""
        before = now - older_than_seconds * SECOND_MS
        due = [entry for entry in self._audit if entry.at < before]
        due.sort(key=lambda entry: entry.at)
        gone = {entry.number for entry in due[:limit]}
        self._audit = [entry for entry in self._audit if entry.number not in gone]
        return len(gone)

    def _ending(self, sought: EndingQuery) -> AuditEntry | None:
        endings = [
            entry
            for entry in self._audit
            if entry.kind in sought.kinds
            and entry.at >= sought.since
            and sought.user_id in (None, entry.user_id)
            and sought.client_id in (None, entry.client_id)
        ]
        return endings[-1 - sought.newer] if len(endings) > sought.newer else None
