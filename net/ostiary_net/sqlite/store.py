"""The store on a SQLite file: one turn is one transaction, one commit, one flush to the disk.

A turn that may write waits for the writer lock, begins with `BEGIN IMMEDIATE` (so that nothing it reads can
change before it writes), loads, decides, writes and commits. A turn of read-only events runs on a
connection of its own, in a read transaction, while others write. Several processes may use one file.

A store belongs to the process that opened it: after a fork, open another one.
"""

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import apsw

from ostiary_core.audit import AuditEntry, Origin
from ostiary_core.decide import READ_ONLY, take_turn
from ostiary_core.decision import Change, Decision
from ostiary_core.events import Event
from ostiary_core.instant import SECOND_MS, Instant
from ostiary_core.lapsing import Lapsed, Lapses
from ostiary_core.life import SessionLife
from ostiary_core.listing import Listing, Page
from ostiary_core.policy import SPECIFICATION, Policy
from ostiary_core.records import Record, Table
from ostiary_net.clearing import forget_entries, read_lapsed, take_lease
from ostiary_net.clock import Clock, SystemClock
from ostiary_net.last_uses import read_last_used
from ostiary_net.lives import read_life
from ostiary_net.paging import Execute, Pager
from ostiary_net.sqlite.access import fetch, write
from ostiary_net.sqlite.audit_trail import ALL_ENTRIES, AUDIT, OF_A_SESSION, PARTS
from ostiary_net.sqlite.connections import (
    ReaderPool,
    StoreClosed,
    create_file,
    make_writer,
    refuse_unwritable,
)
from ostiary_net.sqlite.dialect import SQLiteDialect
from ostiary_net.sqlite.rows import LAYOUTS
from ostiary_net.sqlite.schema import SchemaError, bring_up_to_date, examine, is_current
from ostiary_net.sqlite.turn import BegunTurn, loaded
from ostiary_net.sqlite.writer import Writer

__all__ = ["SQLiteStore", "StoreClosed"]

T = TypeVar("T")


class SQLiteStore:
    """Records in a SQLite file. Any thread may call it; writing turns go one after the other."""

    def __init__(
        self, path: Path | str, *, policy: Policy = SPECIFICATION, clock: Clock | None = None
    ) -> None:
        """Open the file, or make one that only its owner can read, and bring its schema up to date.

        `clock` only dates the schema's steps. Raises `SchemaError` for a file of a newer Ostiary or of
        another program, `PermissionError` for one that cannot be written.
        """
        self.policy = policy
        # Whoever names the file by another link must meet the same lock beside it.
        self.path = Path(path).resolve()
        create_file(self.path)
        refuse_unwritable(self.path)
        self._writer = Writer(self.path)
        self._readers = ReaderPool(self.path)
        self._pager = Pager(SQLiteDialect())
        try:
            self._writer.open(partial(_prepared, now=(clock or SystemClock()).now()))
        except BaseException:
            self.close()
            raise

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        """Decide `events` in order at `now` and keep what they change, durably; raising, keep nothing."""
        turn = self.begin_turn().open(events, now, origins)
        turn.commit()
        return turn.decisions

    def begin_turn(self) -> BegunTurn:
        """Wait until nobody else writes, for a turn whose events may be named then. In any thread."""
        return BegunTurn(self._writer.begin(), self._writer, self.policy)

    def begin_turn_at_once(self) -> BegunTurn | None:
        """The same where nobody has to be waited for; else None, and nothing is done."""
        connection = self._writer.begin_at_once()
        return None if connection is None else BegunTurn(connection, self._writer, self.policy)

    @property
    def log_is_long(self) -> bool:
        """Whether it is time to `fold_log`."""
        return self._writer.log.is_long

    def fold_log(self) -> None:
        """Put what turns wrote ahead into its place, while they go on. Raises what SQLite does."""
        self._writer.fold_log()

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        """Decide `events`, all of them `READ_ONLY`, without waiting for any turn that writes."""
        for event in events:
            if not isinstance(event, READ_ONLY):
                raise TypeError(f"{type(event).__name__} may write: give it to turn()")
        with self._readers.snapshot() as connection:
            snapshot = loaded(connection, events)
        return take_turn(events, snapshot, now, self.policy)

    def fetch(self, table: Table, identifiers: Collection[Any]) -> list[Record]:
        """The records of `table` under `identifiers`, those that there are."""
        with self._readers.snapshot() as connection:
            return fetch(connection, table, identifiers)

    def write(self, changes: Sequence[Change]) -> None:
        """Make all changes, or raise `LostRace` and make none: for moving records, past all rules."""
        with self._writer.transaction() as connection:
            write(connection, changes)
            connection.execute("COMMIT")

    def records(self, table: Table) -> tuple[Record, ...]:
        """Everything in one table, in the order of its key, for whoever inspects the store as a whole."""
        layout = LAYOUTS[table]
        with self._readers.snapshot() as connection:
            return tuple(layout.translation.from_row(row) for row in connection.execute(layout.select_all))

    def audit(self) -> tuple[AuditEntry, ...]:
        """The whole audit trail, the oldest first."""
        with self._readers.snapshot() as connection:
            return tuple(AUDIT.from_row(row) for row in connection.execute(ALL_ENTRIES))

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        """The items of one page; none past the last. `now` decides which sessions are running."""
        with self._readers.snapshot() as connection:
            return self._pager.page(_executed_by(connection), listing, now)

    def items_after(self, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
        """The `page_size` items behind `last`; the first ones for None."""
        with self._readers.snapshot() as connection:
            return self._pager.items_after(_executed_by(connection), listing, last, now)

    def session_life(self, session_id: str) -> SessionLife | None:
        """One session with everything that happened to it; None where there is no such session."""
        with self._readers.snapshot() as connection:
            return read_life(session_id, partial(fetch, connection), _executed_by(connection), OF_A_SESSION)

    def last_used(self, client_ids: Collection[str]) -> dict[str, Instant]:
        """When each of these clients was last given tokens; without those that never were."""
        with self._readers.snapshot() as connection:
            return read_last_used(client_ids, _executed_by(connection))

    def sessions_past_grace(self, now: Instant, grace_seconds: int, limit: int) -> list[str]:
        """Sessions that still have a salt though no retry may ask for it, the oldest first."""
        with self._readers.snapshot() as connection:
            rows = connection.execute(
                "SELECT session_id FROM sessions WHERE salt IS NOT NULL AND rotated_at < ? "
                "ORDER BY rotated_at LIMIT ?",
                (now - grace_seconds * SECOND_MS, limit),
            ).fetchall()
        return [str(session_id) for (session_id,) in rows]

    def lapsed(self, lapses: Lapses, after: bytes, now: Instant, limit: int) -> Lapsed:
        """Up to `limit` identifiers of one kind that the rules may let go of at `now`."""
        with self._readers.snapshot() as connection:
            return read_lapsed(_executed_by(connection), lapses, after, now, self.policy, limit)

    def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        """Erase up to `limit` of the oldest entries of the audit trail; how many there were."""
        with self._writer.transaction() as connection:
            before = Instant(now - older_than_seconds * SECOND_MS)
            number = forget_entries(_executed_by(connection), before, limit, PARTS)
            connection.execute("COMMIT" if number else "ROLLBACK")
        return number

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        """Whether `holder` may do what is called `name` for so many seconds: nobody else does."""
        with self._writer.transaction() as connection:
            is_taken = take_lease(_executed_by(connection), name, holder, seconds, now)
            connection.execute("COMMIT" if is_taken else "ROLLBACK")
        return is_taken

    def present(self, now: Instant) -> Instant:
        """What time it is for its turns: what it is told."""
        return now

    def check_ready(self) -> None:
        """Raise unless a change would be kept now, on the schema of this release."""
        with self._writer.transaction() as connection:
            if not is_current(connection):
                raise SchemaError("the database has not the schema of this release: `ostiary migrate`")
            # Written to be written: only that tells of a disk that is full or has become read-only.
            connection.pragma("user_version", 0)
            connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file once the running turn is through. Later calls raise `StoreClosed`."""
        # The writer goes last: the last connection to close folds the log into the file.
        self._readers.close()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _prepared(connection: apsw.Connection, now: Instant) -> None:
    """The file as the release needs it; one of another program is looked at and left."""
    examine(connection)
    make_writer(connection)
    bring_up_to_date(connection, now)


def _executed_by(connection: apsw.Connection) -> Execute:
    return lambda statement, bindings: connection.execute(statement, bindings).fetchall()
