"""Implement what the stores of both databases share, over their own connections."""

# ruff: noqa: S608 (what goes into a statement's text are the names of columns and tables)

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import ClassVar, Final, Self, TypeVar

from ostiary_core.decide import READ_ONLY, keys, take_turn
from ostiary_core.events import Event
from ostiary_core.loading.keys import roots, session_key
from ostiary_core.loading.snapshot import Snapshot, load
from ostiary_core.model.audit import AuditEntry, Origin, audit_entries
from ostiary_core.model.decision import Change, Decision
from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Instant
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import Record, SessionKind, Table
from ostiary_core.retention import Expirable, ExpiredBatch, kept_seconds
from ostiary_core.storage.listing import USES, Listing, Page
from ostiary_core.storage.session_history import EndingQuery, SessionHistory, find_inherited_ending
from ostiary_core.storage.store import net_changes
from ostiary_net.sql.columns import ENTRIES, TABLES, SQLValue, make_row_codec
from ostiary_net.sql.paging import Dialect, Execute, Pager
from ostiary_net.sql.summaries import LAST_NUMBER, SummaryTables
from ostiary_net.sql.transactions import Reading
from ostiary_net.turns.ports import TrailEnd

T = TypeVar("T")

_ROWS: Final = {table: make_row_codec(stored.record) for table, stored in TABLES.items()}
_ENTRIES_FROM: Final = f"SELECT {', '.join(ENTRIES.columns)} FROM"

ALL_RECORDS: Final[Mapping[Table, str]] = {
    table: f"SELECT {', '.join(_ROWS[table].columns)} FROM {stored.name} ORDER BY {', '.join(stored.key)}"
    for table, stored in TABLES.items()
}
"""Statements that read a table whole, in the order of its key."""

ALL_ENTRIES: Final = f"{_ENTRIES_FROM} audit ORDER BY number"
"""Statement that reads the audit trail, the oldest entry first."""
_ENTRIES_BETWEEN: Final = f"{_ENTRIES_FROM} audit WHERE number > ? AND number <= ? ORDER BY number LIMIT ?"

_EXPIRED: Final = {
    Expirable.CODES: (
        "SELECT digest FROM codes WHERE session_id IS NULL AND issued_at <= ? ORDER BY issued_at LIMIT ?"
    ),
    Expirable.USED_CODES: (
        "SELECT digest FROM codes WHERE session_id IS NOT NULL AND issued_at <= ? ORDER BY issued_at LIMIT ?"
    ),
    Expirable.ENDED_SESSIONS: (
        "SELECT session_id FROM sessions WHERE ended_at <= ? ORDER BY ended_at LIMIT ?"
    ),
    Expirable.SESSIONS: (
        "SELECT session_id FROM sessions WHERE ended_at IS NULL AND expires_at <= ?"
        " ORDER BY expires_at LIMIT ?"
    ),
    Expirable.TEXT_CODES: (
        "SELECT purpose, phone FROM text_codes WHERE counted_from <= ? ORDER BY counted_from LIMIT ?"
    ),
    Expirable.INVITATIONS: (
        "SELECT user_id FROM invitations WHERE issued_at <= ? ORDER BY issued_at LIMIT ?"
    ),
}
"""Statements that follow an index to the records of a kind before an instant."""

_TOKENS: Final = (
    "SELECT t.digest, s.session_id"
    " FROM (SELECT digest, session_id FROM refresh_tokens WHERE digest > ? ORDER BY digest LIMIT ?) t"
    " LEFT JOIN sessions s ON s.session_id = t.session_id ORDER BY t.digest"
)


class SQLStore(SummaryTables):
    """A store over the transactions of one database; any thread may call it."""

    _entries_of_a_session: ClassVar[str] = "audit"
    """Table or view in which the audit trail is searched by session."""
    _latest_of_client: ClassVar[str] = "a.client_id = clients.client_id AND a.kind IN ({}) ORDER BY a.at DESC"
    """Condition and order by which an index leads to the latest entry of certain kinds of a client."""
    _tables_of_entries: ClassVar[tuple[str, ...]] = ("audit",)
    """Tables of entries, the older entries first."""

    def __init__(self, policy: Policy, dialect: Dialect) -> None:
        self.policy = policy
        self._pager = Pager(dialect)

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        """Decide `events`, all of them `READ_ONLY`, beside all turns."""
        for event in events:
            if type(event) not in READ_ONLY:
                raise TypeError(f"{type(event).__name__} may write: give it to turn()")

        def decide(reading: Reading) -> list[Decision]:
            snapshot = load((keys(event) for event in events), reading.fetch)
            return take_turn(events, snapshot, reading.now, self.policy)

        return self._find(decide, now)

    # --- lists

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        """Read one page; past the last it is empty. `now` decides which sessions are running."""
        return self._find(lambda reading: self._pager.page(reading.execute, listing, reading.now), now)

    def items_after(self, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
        """Read the `page_size` items behind `last`; the first ones for None."""
        return self._find(
            lambda reading: self._pager.items_after(reading.execute, listing, last, reading.now), now
        )

    def count_running(self, now: Instant) -> dict[SessionKind, int]:
        """Return the number of running sessions of each kind; of many it may be a minute old."""
        return self._find(lambda reading: self._pager.count_running(reading.execute, reading.now), now)

    def records(self, table: Table) -> tuple[Record, ...]:
        """Read one table whole, in the order of its key, to inspect a store."""
        rows = self._find(lambda reading: reading.execute(ALL_RECORDS[table], ()), takes_long=True)
        return tuple(map(_ROWS[table].from_row, rows))

    def has_password_hash_unlike(self, prefix: str) -> bool:
        """Whether any user has a password hash that does not begin with `prefix`."""
        statement = (
            "SELECT 1 FROM users WHERE deleted_at IS NULL AND substr(password_hash, 1, ?) <> ? LIMIT 1"
        )
        bindings = (len(prefix), prefix)
        return bool(self._find(lambda reading: reading.execute(statement, bindings), takes_long=True))

    # --- the audit trail

    def audit(self) -> tuple[AuditEntry, ...]:
        """Read the whole audit trail, the oldest entry first."""
        rows = self._find(lambda reading: reading.execute(ALL_ENTRIES, ()), takes_long=True)
        return tuple(map(ENTRIES.from_row, rows))

    def trail_end(self) -> TrailEnd:
        """Read the trail's end, and then which transactions are adding entries."""

        def read_end(reading: Reading) -> TrailEnd:
            last = reading.execute(LAST_NUMBER, ())
            return TrailEnd(int(last[0][0]) if last else 0, self._writers_of_entries(reading.execute))

        return self._find(read_end)

    def _writers_of_entries(self, execute: Execute) -> frozenset[str]:
        """Return running transactions that may have drawn numbers; none if writers take turns."""
        return frozenset()

    def entries_between(self, after: int, last: int, most: int) -> tuple[AuditEntry, ...]:
        """Read up to `most` entries with numbers behind `after` and not behind `last`, in their order."""
        rows = self._find(lambda reading: reading.execute(_ENTRIES_BETWEEN, (after, last, most)))
        return tuple(map(ENTRIES.from_row, rows))

    def last_used(self, client_ids: Collection[str]) -> dict[str, Instant]:
        """Return when each of these clients was last given tokens; clients that never were are left out."""
        if not client_ids:
            return {}
        # For each client, back through the index of its entries to the first of a kind that counts.
        kinds, clients = ", ".join("?" * len(USES)), ", ".join("?" * len(client_ids))
        latest = self._latest_of_client.format(kinds)
        statement = (
            f"SELECT client_id, (SELECT a.at FROM audit a WHERE {latest} LIMIT 1)"
            f" FROM clients WHERE client_id IN ({clients})"
        )
        bindings = (*(kind.value for kind in USES), *client_ids)
        rows = self._find(lambda reading: reading.execute(statement, bindings))
        return {client_id: Instant(at) for client_id, at in rows if at is not None}

    def session_history(self, session_id: str) -> SessionHistory | None:
        """Read one session with all its entries; None if there is no such session."""

        def read(reading: Reading) -> SessionHistory | None:
            snapshot = load((roots(session_key(session_id)),), reading.fetch)
            session = snapshot.session(session_id)
            if session is None:
                return None
            statement = f"{_ENTRIES_FROM} {self._entries_of_a_session} WHERE session_id = ? ORDER BY number"
            return SessionHistory(
                session=session,
                snapshot=snapshot,
                entries=tuple(map(ENTRIES.from_row, reading.execute(statement, (session_id,)))),
                inherited_ending=find_inherited_ending(
                    session, snapshot, lambda sought: _find_ending(reading.execute, sought)
                ),
            )

        return self._find(read)

    def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        """Erase up to `limit` of the oldest entries of the audit trail; return how many were erased."""

        def forget(execute: Execute, at: Instant) -> int:
            before, number = at - older_than_seconds * SECOND_MS, 0
            for table in self._tables_of_entries:
                oldest = f"SELECT number FROM {table} WHERE at < ? ORDER BY at LIMIT ?"
                statement = f"DELETE FROM {table} WHERE number IN ({oldest}) RETURNING number"
                number += len(execute(statement, (before, limit - number)))
            return number

        return self._change(forget, now)

    # --- what has expired

    def sessions_past_grace(self, now: Instant, grace_seconds: int, limit: int) -> list[str]:
        """Find sessions that still have a salt though no retry may ask for it, the oldest first."""
        statement = (
            "SELECT session_id FROM sessions WHERE salt IS NOT NULL AND rotated_at < ? "
            "ORDER BY rotated_at LIMIT ?"
        )
        rows = self._find(
            lambda reading: reading.execute(statement, (reading.now - grace_seconds * SECOND_MS, limit)), now
        )
        return [str(session_id) for (session_id,) in rows]

    def find_expired(self, kind: Expirable, after: bytes, now: Instant, limit: int) -> ExpiredBatch:
        """Find up to `limit` identifiers of one kind that the rules may delete, the oldest first."""
        if kind is Expirable.TOKENS:
            # In the order of their key, from `after` on: an index by session would cost every rotation a
            # write.
            rows = self._find(lambda reading: reading.execute(_TOKENS, (after, limit)), now)
            orphans = tuple(digest for digest, session_id in rows if session_id is None)
            return ExpiredBatch(orphans, rows[-1][0] if len(rows) == limit else None)
        kept_ms = kept_seconds(kind, self.policy) * SECOND_MS
        rows = self._find(
            lambda reading: reading.execute(_EXPIRED[kind], (reading.now - kept_ms, limit)), now
        )
        return ExpiredBatch(tuple(tuple(row) if len(row) > 1 else row[0] for row in rows))

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        """Take or keep the lease `name` for so many seconds; False if another holder has it."""
        # One that would run longer than any was stamped by a clock that was ahead.
        statement = (
            "INSERT INTO leases (name, holder, until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE"
            " SET holder = excluded.holder, until = excluded.until"
            " WHERE leases.holder = excluded.holder OR leases.until NOT BETWEEN ? AND ? RETURNING name"
        )

        def take(execute: Execute, at: Instant) -> bool:
            until = at + round(seconds * SECOND_MS)
            return bool(execute(statement, (name, holder, until, at + 1, until + MINUTE_MS)))

        return self._change(take, now)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def decide_and_write(
    events: Sequence[Event],
    origins: Sequence[Origin | None],
    snapshot: Snapshot,
    now: Instant,
    policy: Policy,
    write: Callable[[Sequence[Change], Sequence[AuditEntry]], None],
) -> list[Decision]:
    """Decide `events` in order at `now`; call `write` if there is something to keep."""
    decisions = take_turn(events, snapshot, now, policy)
    changes = net_changes(decisions)
    entries = audit_entries(decisions, origins, now)
    if changes or entries:
        write(changes, entries)
    return decisions


def _find_ending(execute: Execute, sought: EndingQuery) -> AuditEntry | None:
    kinds = ", ".join("?" * len(sought.kinds))
    conditions = [f"kind IN ({kinds})", "at >= ?"]
    bindings: list[SQLValue] = [*(kind.value for kind in sought.kinds), sought.since]
    for column, wanted in (("user_id", sought.user_id), ("client_id", sought.client_id)):
        if wanted is not None:
            # Not the bare column: its index would lead through all entries of a busy client, of which few end
            # anything.
            conditions.append(f"COALESCE({column}, '') = ?")
            bindings.append(wanted)
    rows = execute(
        f"{_ENTRIES_FROM} audit WHERE {' AND '.join(conditions)} ORDER BY number DESC LIMIT 1 OFFSET ?",
        (*bindings, sought.newer),
    )
    return ENTRIES.from_row(rows[0]) if rows else None
