"""The part of a store that both SQL databases share, over connections that each has of its own."""

# ruff: noqa: S608 (what goes into a statement's text are the names of columns and tables)

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import ClassVar, Final, NamedTuple, Self, TypeVar

from ostiary_core.decide import READ_ONLY, keys, take_turn
from ostiary_core.events import Event
from ostiary_core.loading.snapshot import Fetch, load
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import Record, Table
from ostiary_core.retention import Expirable, ExpiredBatch
from ostiary_core.storage.listing import Listing, Page
from ostiary_core.storage.session_history import SessionHistory
from ostiary_net.sql.columns import ENTRIES, TABLES, row_codec
from ostiary_net.sql.last_uses import read_last_used
from ostiary_net.sql.paging import Dialect, Execute, Pager
from ostiary_net.sql.purging import forget_entries, read_expired, take_lease
from ostiary_net.sql.session_histories import read_session_history

__all__ = ["ALL_ENTRIES", "ALL_RECORDS", "Reading", "SQLStore"]

T = TypeVar("T")

ALL_RECORDS: Final[Mapping[Table, str]] = {
    table: f"SELECT {', '.join(row_codec(stored.record).columns)} FROM {stored.name}"
    f" ORDER BY {', '.join(stored.key)}"
    for table, stored in TABLES.items()
}
"""What reads each table whole, in the order of its key."""

ALL_ENTRIES: Final = f"SELECT {', '.join(ENTRIES.columns)} FROM audit ORDER BY number"
"""What reads the audit trail, the oldest entry first."""

_ROWS: Final = {table: row_codec(stored.record) for table, stored in TABLES.items()}
_LONG_AGO: Final = Instant(0)
"""For questions that do not depend on the time."""


class Reading(NamedTuple):
    """One transaction that only reads: everything asked in it is of one moment."""

    fetch: Fetch
    """As `load` asks; it may give more than it was asked for."""
    execute: Execute
    now: Instant


class SQLStore(ABC):
    """A store over `_find` and `_change`, which begin and end transactions. Any thread may call it."""

    _entries_of_a_session: ClassVar[str] = "audit"
    """Where the audit trail is searched by session."""
    _tables_of_entries: ClassVar[tuple[str, ...]] = ("audit",)
    """Where entries are erased, the older ones first."""

    def __init__(self, policy: Policy, dialect: Dialect) -> None:
        self.policy = policy
        self._pager = Pager(dialect)

    @abstractmethod
    def _find(self, find: Callable[[Reading], T], now: Instant = _LONG_AGO, *, takes_long: bool = False) -> T:
        """Return what `find` finds in one moment; where it `takes_long`, nobody waits for it."""

    @abstractmethod
    def _change(self, change: Callable[[Execute, Instant], T], now: Instant) -> T:
        """Return what `change` returns, once what it wrote is committed."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        """Decide `events`, all of them `READ_ONLY`, beside all turns and without waiting for any."""
        for event in events:
            if not isinstance(event, READ_ONLY):
                raise TypeError(f"{type(event).__name__} may write: give it to turn()")

        def decide(reading: Reading) -> list[Decision]:
            snapshot = load((keys(event) for event in events), reading.fetch)
            return take_turn(events, snapshot, reading.now, self.policy)

        return self._find(decide, now)

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        """Read the items of one page; none past the last. `now` decides which sessions are running."""
        return self._find(lambda reading: self._pager.page(reading.execute, listing, reading.now), now)

    def items_after(self, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
        """Read the `page_size` items behind `last`; the first ones for None."""
        return self._find(
            lambda reading: self._pager.items_after(reading.execute, listing, last, reading.now), now
        )

    def session_history(self, session_id: str) -> SessionHistory | None:
        """Read one session with everything that happened to it; None where there is no such session."""
        return self._find(
            lambda reading: read_session_history(
                session_id, reading.fetch, reading.execute, self._entries_of_a_session
            )
        )

    def last_used(self, client_ids: Collection[str]) -> dict[str, Instant]:
        """When each of these clients was last given tokens; clients that never were are left out."""
        return self._find(lambda reading: read_last_used(client_ids, reading.execute))

    def sessions_past_grace(self, now: Instant, grace_seconds: int, limit: int) -> list[str]:
        """Sessions that still have a salt though no retry may ask for it, the oldest first."""
        statement = (
            "SELECT session_id FROM sessions WHERE salt IS NOT NULL AND rotated_at < ? "
            "ORDER BY rotated_at LIMIT ?"
        )
        rows = self._find(
            lambda reading: reading.execute(statement, (reading.now - grace_seconds * SECOND_MS, limit)), now
        )
        return [str(session_id) for (session_id,) in rows]

    def records(self, table: Table) -> tuple[Record, ...]:
        """Read everything in one table, in the order of its key, to inspect the store as a whole."""
        rows = self._find(lambda reading: reading.execute(ALL_RECORDS[table], ()), takes_long=True)
        return tuple(map(_ROWS[table].from_row, rows))

    def audit(self) -> tuple[AuditEntry, ...]:
        """Read the whole audit trail, the oldest entry first."""
        rows = self._find(lambda reading: reading.execute(ALL_ENTRIES, ()), takes_long=True)
        return tuple(map(ENTRIES.from_row, rows))

    def expired(self, kind: Expirable, after: bytes, now: Instant, limit: int) -> ExpiredBatch:
        """Find up to `limit` identifiers of one kind that the rules may let go of at `now`."""
        return self._find(
            lambda reading: read_expired(reading.execute, kind, after, reading.now, self.policy, limit), now
        )

    def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        """Erase up to `limit` of the oldest entries of the audit trail; return how many were erased."""

        def forget(execute: Execute, at: Instant) -> int:
            before = Instant(at - older_than_seconds * SECOND_MS)
            return forget_entries(execute, before, limit, self._tables_of_entries)

        return self._change(forget, now)

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        """Take or keep the lease `name` for so many seconds; False where another holder has it."""
        return self._change(lambda execute, at: take_lease(execute, name, holder, seconds, at), now)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
