"""The store in PostgreSQL: one turn is one transaction, for any number of instances on one database.

Several instances take turns side by side. A turn reads a snapshot (`REPEATABLE READ`), decides, and writes
guarded by the revisions it read; when another instance was quicker with any of the records, the whole turn
is rolled back and raises `LostRace`, to be decided again on what the other wrote. Nothing waits while
holding a decision, and rows are locked in one order.

The time of a turn is the database's, so that instances whose clocks differ agree.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import psycopg
from psycopg import Connection, errors

from ostiary_core.audit import AuditEntry, Origin, audit_entries
from ostiary_core.decide import READ_ONLY, keys, take_turn
from ostiary_core.decision import Change, Decision
from ostiary_core.events import Event, with_clock_ahead
from ostiary_core.instant import SECOND_MS, Instant
from ostiary_core.lapsing import Lapsed, Lapses
from ostiary_core.life import SessionLife
from ostiary_core.listing import Listing, Page
from ostiary_core.policy import SPECIFICATION, Policy
from ostiary_core.records import Record, Table
from ostiary_core.snapshot import load
from ostiary_core.store import LostRace, net_changes
from ostiary_net.clearing import forget_entries, read_lapsed, take_lease
from ostiary_net.columns import TABLES, SQLValue
from ostiary_net.last_uses import read_last_used
from ostiary_net.lives import read_life
from ostiary_net.paging import Execute, Pager
from ostiary_net.ports import ChooseEvents, CommitUnknown
from ostiary_net.postgres.access import fetch, holds, write
from ostiary_net.postgres.connections import Connections
from ostiary_net.postgres.dialect import PostgreSQLDialect
from ostiary_net.postgres.schema import SchemaError, bring_up_to_date, examine_encoding, is_current
from ostiary_net.postgres.statements import ALL_ENTRIES, AUDIT, LAYOUTS

__all__ = ["PostgreSQLStore"]

T = TypeVar("T")

_BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_BEGIN_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TIME: Final = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"

_QUESTION_SECONDS: Final = 8.0
"""How long a database may take for what only reads: whoever waits for it is answered within 10 s."""

_LOST: Final = (errors.SerializationFailure, errors.DeadlockDetected)
"""How the database itself says that another transaction was quicker."""


class PostgreSQLStore:
    """Records in a PostgreSQL database. Any thread may call it, and any number of instances."""

    def __init__(
        self,
        url: str,
        *,
        policy: Policy = SPECIFICATION,
        keeps_time: bool = True,
        most_connections: int = 8,
        wait_seconds: float = 5.0,
        start_seconds: float = 30.0,
        turn_seconds: float = 5.0,
        tell_waiting: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """Connect, waiting up to `start_seconds` for the database, and bring its schema up to date.

        Where it has to wait, `tell_waiting` is called once, with the reason, in the same thread.

        `turn_seconds` is how long the database may take for a turn; then its connection is given up (READINGS
        47).

        With `keeps_time` the instants that callers hand in give way to the database's own; a simulation
        turns it off. Raises `SchemaError` for a database of a newer or different Ostiary, or one whose
        encoding has no room for every name.
        """
        self.policy = policy
        self._keeps_time = keeps_time
        self._turn_seconds = turn_seconds
        self._latest = Instant(0)
        self._latest_lock = threading.Lock()
        self._pager = Pager(PostgreSQLDialect())
        self._connections = Connections(url, most=most_connections, wait_seconds=wait_seconds)
        try:
            self._connections.open(start_seconds, tell_waiting)
            with self._connections.taken() as connection:
                examine_encoding(connection)
                [[now]] = connection.execute(_TIME).fetchall()
                bring_up_to_date(connection, Instant(now))
        except BaseException:
            self.close()
            raise

    # --- turns

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        """Decide `events` in order and keep what they change, durably; raising, keep nothing.

        Raises `LostRace` when another instance was quicker; then the turn is to be taken again. A database
        that goes away while it commits raises `CommitUnknown`, and may or may not have kept the turn.
        """
        return self.turn_of(lambda: (events, origins), now)

    def turn_of(self, choose_events: ChooseEvents, now: Instant) -> list[Decision]:
        """The same of the events that are chosen once it has begun, `now` being the time of its call."""
        called = time.monotonic()

        def decide_and_write(connection: Connection[Any], at: Instant) -> list[Decision]:
            events, origins = choose_events()
            if self._keeps_time:
                waited_ms = round((time.monotonic() - called) * SECOND_MS)
                events = [with_clock_ahead(event, at - now - waited_ms) for event in events]
            snapshot = load((keys(event) for event in events), partial(fetch, connection))
            decisions = take_turn(events, snapshot, at, self.policy)
            changes = net_changes(decisions)
            entries = audit_entries(decisions, origins, at)
            if changes or entries:
                write(connection, changes, entries)
            return decisions

        return self._written(decide_and_write, now)

    def write(self, changes: Sequence[Change]) -> None:
        """Make all changes, or raise `LostRace` and make none: for moving records, past all rules."""
        self._written(lambda connection, _: write(connection, changes, ()), Instant(0))

    def keep_entries(self, entries: Sequence[AuditEntry]) -> None:
        """Keep entries of another store's audit trail, in order and under numbers of their own."""
        self._written(lambda connection, _: write(connection, (), entries), Instant(0))

    def counts(self) -> dict[str, int]:
        """How many rows each table has."""
        with self._reading() as (connection, _):
            found = {}
            for name in (*(stored.name for stored in TABLES.values()), "audit"):
                [[number]] = connection.execute(f"SELECT count(*) FROM {name}".encode()).fetchall()  # noqa: S608
                found[name] = int(number)
        return found

    def _written(self, work: Callable[[Connection[Any], Instant], T], now: Instant) -> T:
        """`work` in a transaction, in the time that a turn has; once more where the connection broke, or
        turned out to reach a standby, before it could commit anything."""
        deadline = time.monotonic() + self._turn_seconds
        is_last_attempt = False
        while True:
            with self._connections.taken(deadline) as connection:
                try:
                    at = self._begin(connection, _BEGIN, now)
                    result = work(connection, at)
                except _LOST as error:
                    raise LostRace("another transaction was quicker") from error
                except psycopg.OperationalError:
                    if is_last_attempt or not connection.closed:
                        raise
                    is_last_attempt = True
                    continue
                except errors.ReadOnlySqlTransaction:
                    if is_last_attempt:
                        raise
                    is_last_attempt = True
                    self._connections.distrust(connection)
                    continue
                try:
                    connection.execute("COMMIT")
                except _LOST as error:
                    raise LostRace("another transaction was quicker") from error
                except psycopg.Error as error:
                    raise CommitUnknown("the database was asked to commit, and gave no answer") from error
                return result

    # --- reading

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        """Decide `events`, all of them `READ_ONLY`, beside all turns."""
        for event in events:
            if not isinstance(event, READ_ONLY):
                raise TypeError(f"{type(event).__name__} may write: give it to turn()")

        def decide(connection: Connection[Any], at: Instant) -> list[Decision]:
            snapshot = load((keys(event) for event in events), partial(fetch, connection))
            return take_turn(events, snapshot, at, self.policy)

        return self._found(decide, now)

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        """The items of one page; none past the last."""
        return self._found(
            lambda connection, at: self._pager.page(_executed_by(connection), listing, at), now
        )

    def items_after(self, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
        """The `page_size` items behind `last`; the first ones for None."""
        return self._found(
            lambda connection, at: self._pager.items_after(_executed_by(connection), listing, last, at), now
        )

    def session_life(self, session_id: str) -> SessionLife | None:
        """One session with everything that happened to it; None where there is no such session."""
        return self._found(
            lambda connection, _: read_life(session_id, partial(fetch, connection), _executed_by(connection))
        )

    def last_used(self, client_ids: Collection[str]) -> dict[str, Instant]:
        """When each of these clients was last given tokens; without those that never were."""
        possible = [client_id for client_id in client_ids if holds(client_id)]
        return self._found(lambda connection, _: read_last_used(possible, _executed_by(connection)))

    def sessions_past_grace(self, now: Instant, grace_seconds: int, limit: int) -> list[str]:
        """Sessions that still have a salt though no retry may ask for it, the oldest first."""
        with self._reading(now) as (connection, at):
            rows = connection.execute(
                "SELECT session_id FROM sessions WHERE salt IS NOT NULL AND rotated_at < %s "
                "ORDER BY rotated_at LIMIT %s",
                (at - grace_seconds * SECOND_MS, limit),
            ).fetchall()
        return [str(session_id) for (session_id,) in rows]

    def fetch(self, table: Table, identifiers: Collection[Any]) -> list[Record]:
        """The records of `table` under `identifiers`, those that there are."""
        with self._reading() as (connection, _):
            return fetch(connection, table, identifiers)

    def records(self, table: Table) -> tuple[Record, ...]:
        """Everything in one table, in the order of its key, for whoever inspects the store as a whole."""
        layout = LAYOUTS[table]
        with self._reading() as (connection, _):
            rows = connection.execute(layout.select_all.encode()).fetchall()
        return tuple(layout.translation.from_row(row) for row in rows)

    def audit(self) -> tuple[AuditEntry, ...]:
        """The whole audit trail, the oldest first."""
        with self._reading() as (connection, _):
            return tuple(AUDIT.from_row(row) for row in connection.execute(ALL_ENTRIES.encode()).fetchall())

    def _found(self, find: Callable[[Connection[Any], Instant], T], now: Instant = Instant(0)) -> T:  # noqa: B008
        """What `find` finds in one moment, in the time that a question has; once more where the connection
        broke meanwhile."""
        deadline = time.monotonic() + _QUESTION_SECONDS
        for is_last_attempt in (False, True):
            with self._connections.taken(deadline) as connection:
                try:
                    at = self._begin(connection, _BEGIN_READING, now)
                    found = find(connection, at)
                    connection.execute("COMMIT")
                except psycopg.OperationalError:
                    if is_last_attempt or not connection.closed:
                        raise
                else:
                    return found
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _reading(self, now: Instant = Instant(0)) -> Iterator[tuple[Connection[Any], Instant]]:  # noqa: B008
        """A connection in a transaction that reads one moment, and what time it is."""
        with self._connections.taken() as connection:
            yield connection, self._begin(connection, _BEGIN_READING, now)
            connection.execute("COMMIT")

    def _begin(self, connection: Connection[Any], begin: str, now: Instant) -> Instant:
        """Begin a transaction, and the time that holds in it: never earlier than one given before."""
        if not self._keeps_time:
            connection.execute(begin.encode())
            return now
        with connection.pipeline():
            connection.execute(begin.encode())
            told = connection.execute(_TIME)
        [[present]] = told.fetchall()
        with self._latest_lock:
            self._latest = max(self._latest, Instant(present))
            return self._latest

    def lapsed(self, lapses: Lapses, after: bytes, now: Instant, limit: int) -> Lapsed:
        """Up to `limit` identifiers of one kind that the rules may let go of."""
        with self._reading(now) as (connection, at):
            return read_lapsed(_executed_by(connection), lapses, after, at, self.policy, limit)

    def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        """Erase up to `limit` of the oldest entries of the audit trail; how many there were."""

        def forget(connection: Connection[Any], at: Instant) -> int:
            before = Instant(at - older_than_seconds * SECOND_MS)
            return forget_entries(_executed_by(connection), before, limit)

        return self._written(forget, now)

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        """Whether `holder` may do what is called `name` for so many seconds: nobody else does."""

        def take(connection: Connection[Any], at: Instant) -> bool:
            return take_lease(_executed_by(connection), name, holder, seconds, at)

        try:
            return self._written(take, now)
        except LostRace:
            return False

    def present(self, now: Instant) -> Instant:
        """What time it is for its turns: what the database says, where that is to count."""
        with self._reading(now) as (_, at):
            return at

    def check_ready(self) -> None:
        """Raise unless a change would be kept now, on the schema of this release."""

        def look(connection: Connection[Any], _: Instant) -> None:
            if not is_current(connection):
                raise SchemaError("the database has not the schema of this release: `ostiary migrate`")
            # A row lock is a write: a standby and a database made read-only refuse it.
            connection.execute("SELECT id FROM schema_lock WHERE id = 1 FOR UPDATE SKIP LOCKED")

        self._written(look, Instant(0))

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _executed_by(connection: Connection[Any]) -> Execute:
    def execute(statement: str, bindings: Sequence[SQLValue]) -> list[Any]:
        return connection.execute(statement.replace("?", "%s").encode(), bindings).fetchall()

    return execute
