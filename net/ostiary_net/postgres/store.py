"""The store in PostgreSQL: one turn is one transaction, for any number of instances on one database.

Several instances take turns side by side. A turn reads a snapshot (`REPEATABLE READ`), decides, and writes
guarded by the revisions it read; when another instance was quicker with any of the records, the whole turn
is rolled back and raises `LostRace`, to be decided again on what the other wrote. Nothing waits while
holding a decision, and rows are locked in one order.

The time of a turn is the database's, so that instances whose clocks differ agree.
"""

import math
import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import psycopg
from psycopg import Connection, errors

from ostiary_core.decide import keys, take_turn
from ostiary_core.events import Event, with_clock_ahead
from ostiary_core.loading.snapshot import load
from ostiary_core.model.audit import AuditEntry, Origin, audit_entries
from ostiary_core.model.decision import Change, Decision
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import Record, Table
from ostiary_core.storage.store import LostRace, net_changes
from ostiary_net.postgres.access import can_hold, fetch, write
from ostiary_net.postgres.connections import Connections
from ostiary_net.postgres.schema import bring_up_to_date, examine_encoding, is_current
from ostiary_net.sql.columns import TABLES, SQLValue
from ostiary_net.sql.migrations import SchemaError
from ostiary_net.sql.paging import Dialect, Execute
from ostiary_net.sql.store import LONG_AGO, Reading, SQLStore
from ostiary_net.turns.ports import ChooseEvents, CommitUnknown

T = TypeVar("T")

_DIALECT: Final = Dialect(
    count="SELECT count(*) {}",
    # Every column has the collation "C", whose lower case is that of ASCII.
    contains="position(? in lower({})) > 0",
    sorted_afterwards="COALESCE({0}, {0})",
    can_hold=can_hold,
)

_BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_BEGIN_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TIME: Final = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"

_QUESTION_SECONDS: Final = 8.0
"""How long a database may take for what only reads: whoever waits for it is answered within 10 s."""

_LOST: Final = (errors.SerializationFailure, errors.DeadlockDetected)
"""How the database itself says that another transaction was quicker."""


class PostgreSQLStore(SQLStore):
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
        super().__init__(policy, _DIALECT)
        self._keeps_time = keeps_time
        self._turn_seconds = turn_seconds
        self._latest = Instant(0)
        self._latest_lock = threading.Lock()
        self._connections = Connections(url, most=most_connections, wait_seconds=wait_seconds)
        try:
            self._connections.open(start_seconds, tell_waiting)
            with self._connections.lend() as connection:
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
        """Decide the events that are chosen once the turn has begun; `now` is the time of the call."""
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

        return self._commit(decide_and_write, now)

    def write(self, changes: Sequence[Change]) -> None:
        """Make all changes, or raise `LostRace` and make none: for copying records, past all rules."""
        self._commit(lambda connection, _: write(connection, changes, ()), LONG_AGO)

    def keep_entries(self, entries: Sequence[AuditEntry]) -> None:
        """Keep entries of another store's audit trail, in order and under numbers of their own."""
        self._commit(lambda connection, _: write(connection, (), entries), LONG_AGO)

    def _commit(self, work: Callable[[Connection[Any], Instant], T], now: Instant) -> T:
        """Do `work` in a transaction, and commit it within the time that a turn has."""

        def commit(connection: Connection[Any], at: Instant) -> T:
            result = work(connection, at)
            try:
                connection.execute("COMMIT")
            except _LOST:
                raise
            except psycopg.Error as error:
                raise CommitUnknown("the database was asked to commit, and gave no answer") from error
            return result

        return self._attempt(_BEGIN, commit, now, self._turn_seconds)

    def _change(self, change: Callable[[Execute, Instant], T], now: Instant) -> T:
        return self._commit(lambda connection, at: change(_executor_on(connection), at), now)

    # --- reading

    def last_used(self, client_ids: Collection[str]) -> dict[str, Instant]:
        """When each of these clients was last given tokens; clients that never were are left out."""
        return super().last_used([client_id for client_id in client_ids if can_hold(client_id)])

    def fetch(self, table: Table, identifiers: Collection[Any]) -> list[Record]:
        """Fetch the records of `table` under `identifiers`, as far as they exist."""
        return list(self._find(lambda reading: reading.fetch(table, identifiers), takes_long=True))

    def counts(self) -> dict[str, int]:
        """The number of rows in each table."""

        def count(reading: Reading) -> dict[str, int]:
            found = {}
            for name in (*(stored.name for stored in TABLES.values()), "audit"):
                [[number]] = reading.execute(f"SELECT count(*) FROM {name}", ())  # noqa: S608
                found[name] = int(number)
            return found

        return self._find(count, takes_long=True)

    def _find(self, find: Callable[[Reading], T], now: Instant = LONG_AGO, *, takes_long: bool = False) -> T:
        def find_and_end(connection: Connection[Any], at: Instant) -> T:
            result = find(Reading(partial(fetch, connection), _executor_on(connection), at))
            connection.execute("COMMIT")
            return result

        seconds = math.inf if takes_long else _QUESTION_SECONDS
        return self._attempt(_BEGIN_READING, find_and_end, now, seconds)

    # --- transactions

    def _attempt(
        self, begin: str, work: Callable[[Connection[Any], Instant], T], now: Instant, seconds: float
    ) -> T:
        """Do `work`, which ends its own transaction, within so many seconds.

        Once more where the connection broke, or turned out to reach a standby, before anything could be
        committed.
        """
        deadline = time.monotonic() + seconds
        is_last_attempt = False
        while True:
            with self._connections.lend(deadline) as connection:
                try:
                    return work(connection, self._begin(connection, begin, now))
                except _LOST as error:
                    raise LostRace("another transaction was quicker") from error
                except psycopg.OperationalError:
                    if is_last_attempt or not connection.closed:
                        raise
                except errors.ReadOnlySqlTransaction:
                    if is_last_attempt:
                        raise
                    self._connections.distrust(connection)
                is_last_attempt = True

    def _begin(self, connection: Connection[Any], begin: str, now: Instant) -> Instant:
        """Begin a transaction; return the time that holds in it, never earlier than one before."""
        if not self._keeps_time:
            connection.execute(begin.encode())
            return now
        with connection.pipeline():
            connection.execute(begin.encode())
            answer = connection.execute(_TIME)
        [[present]] = answer.fetchall()
        with self._latest_lock:
            self._latest = max(self._latest, Instant(present))
            return self._latest

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        """Take or keep the lease `name` for so many seconds; False where another holder has it."""
        try:
            return super().take_lease(name, holder, seconds, now)
        except LostRace:
            return False

    def present(self, now: Instant) -> Instant:
        """The time for turns: the database's own, unless the store was told not to keep it."""
        return self._find(lambda reading: reading.now, now)

    def check_ready(self) -> None:
        """Raise unless a change would be kept now, on the schema of this release."""

        def look(connection: Connection[Any], _: Instant) -> None:
            if not is_current(connection):
                raise SchemaError("the database has not the schema of this release: `ostiary migrate`")
            # A row lock is a write: a standby and a database made read-only refuse it.
            connection.execute("SELECT id FROM schema_lock WHERE id = 1 FOR UPDATE SKIP LOCKED")

        self._commit(look, LONG_AGO)

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()


def _executor_on(connection: Connection[Any]) -> Execute:
    def execute(statement: str, bindings: Sequence[SQLValue]) -> list[Any]:
        return connection.execute(statement.replace("?", "%s").encode(), bindings).fetchall()

    return execute
