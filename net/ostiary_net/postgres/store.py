"""Store records in PostgreSQL, for any number of instances: a turn is one transaction.

A turn reads a snapshot (`REPEATABLE READ`), decides, and writes guarded by the revisions that it read. If
another instance was quicker with one of the records, the turn is rolled back and raises `LostRace`, to be
decided again. Rows are locked in one order. The time of a turn is the database's, so that instances whose
clocks differ agree.
"""

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

import psycopg
from psycopg import Connection, errors

from ostiary_core.decide import keys
from ostiary_core.events import Event, with_clock_ahead
from ostiary_core.loading.snapshot import load
from ostiary_core.model.audit import AuditEntry, Origin
from ostiary_core.model.decision import Change, Decision
from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Instant, Monotonic
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import Record, Table
from ostiary_core.storage.store import LostRace, retry_lost_races
from ostiary_net.postgres.connections import PrimaryConnections
from ostiary_net.postgres.record_sql import can_hold, fetch, fetch_with_all
from ostiary_net.postgres.schema import (
    bring_up_to_date,
    examine_encoding,
    is_current,
    is_distributed,
    known_migrations,
)
from ostiary_net.postgres.transaction import (
    READING,
    WRITING,
    ServerMemory,
    StandbyAwaited,
    StandbyReached,
    Transaction,
)
from ostiary_net.runtime.system import SteadyTime, SystemClock
from ostiary_net.sql.columns import TABLES
from ostiary_net.sql.migrations import Opening, SchemaError
from ostiary_net.sql.paging import Dialect, Execute
from ostiary_net.sql.store import SQLStore, decide_and_write
from ostiary_net.sql.summaries import LAST_NUMBER
from ostiary_net.sql.transactions import LONG_AGO, Reading
from ostiary_net.turns.ports import ChooseEvents, CommitUnconfirmed

T = TypeVar("T")

_DIALECT: Final = Dialect(
    count="SELECT count(*) {}",
    # Every column has the collation "C", whose lower case is that of ASCII.
    contains="position(? in lower({})) > 0",
    sorted_afterwards="COALESCE({0}, {0})",
    # As an array, or half of all users were expected and every session joined.
    of_few_users="s.user_id = ANY(ARRAY({}))",
    can_hold=can_hold,
)

_QUERY_SECONDS: Final = 8.0
"""Longest time for a query: its request is answered within 10 s."""

_WRITERS_OF_ENTRIES: Final = (
    "SELECT virtualtransaction FROM pg_locks WHERE granted AND mode = 'RowExclusiveLock'"
    " AND relation = 'audit'::regclass"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
"""Statement for transactions that insert entries: each locks the table before it draws a number."""
_SLOW_WRITERS_OF_ENTRIES: Final = (
    f"SELECT 1 FROM pg_stat_activity WHERE xact_start < clock_timestamp() - ? * interval '1 second'"  # noqa: S608
    f" AND pid IN ({_WRITERS_OF_ENTRIES.replace('virtualtransaction', 'pid')})"
)
SLOW_SECONDS: Final = 30

_MADE_AT: Final = "SELECT applied_at FROM schema_migrations ORDER BY version LIMIT 1"
_LACKING: Final = (
    "SELECT 1 FROM unnest(%s::text[]) AS names (name), unnest(%s::text[]) AS needed (privilege)"
    " WHERE NOT has_table_privilege(name, privilege) LIMIT 1"
)
_NEEDED: Final = (
    ([stored.name for stored in TABLES.values()], ["SELECT", "INSERT", "UPDATE", "DELETE"]),
    (["audit"], ["SELECT", "INSERT"]),
)
"""Privileges that a turn needs, by table."""
_LOCK_PATIENCE: Final = "SELECT set_config('lock_timeout', '500ms', true)"
"""Statement for the longest wait of a check, less than PostgreSQL's before it looks for a deadlock (1 s)."""
_LOCKS: Final = (
    *(f"DELETE FROM {stored.name} WHERE false RETURNING 1" for stored in TABLES.values()),  # noqa: S608
    "INSERT INTO audit (at) SELECT at FROM audit WHERE false RETURNING at",
)
"""Statements that do nothing, under the locks of tables and indexes that turns need."""
_ERRORS_OF_DATABASE: Final = (psycopg.ProgrammingError, errors.DiskFull, errors.IoError, errors.DataCorrupted)
_MACHINE: Final = SystemClock()
_LOST_RACES: Final = (errors.SerializationFailure, errors.DeadlockDetected)
"""Errors by which the database says that another transaction was quicker."""


class PostgreSQLStore(SQLStore):
    """A store in a PostgreSQL database; any thread and any number of instances may call it."""

    # An entry has its number before its turn is committed, and turns overlap. What a turn may take is bounded
    # (`connection`): a statement 15 s, a pause 8 s, a network that is cut 5 s. A minute after it began, it is
    # over either way; a commit that waits for a standby may go on, and is waited for (`count_entries`).
    _entry_lag_ms = MINUTE_MS
    # A range of one client: by equality the planner follows the whole trail back, for a client without any
    # entries to its very beginning.
    _latest_of_client = (
        "a.client_id BETWEEN clients.client_id AND clients.client_id AND a.kind IN ({})"
        " ORDER BY a.client_id DESC, a.at DESC, a.number DESC"
    )

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
        prepares: bool | None = None,
        read_password: Callable[[], str | None] = lambda: None,
        opening: Opening = Opening.MAKES,
        read_monotonic: Callable[[], Monotonic] = _MACHINE.monotonic,
        tell_waiting: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """Connect within `start_seconds`, and bring the schema up to date as far as `opening` allows.

        `tell_waiting` is called once, with the reason, if the database has to be waited for. A turn's
        connection is given up after `turn_seconds` (READINGS 47). `prepares` says whether statements are
        prepared, by default if no pooler is seen: one that lends connections by transaction must keep
        track of them. `read_password` is called before each connection; None for the password in `url`. With
        `keeps_time` the database's time replaces the caller's; a simulation turns it off. By `read_monotonic`
        it goes on if the database's clock is set back, or a new primary's is behind.

        Raises `SchemaError` for a database of a newer or different Ostiary, one whose encoding cannot hold
        every name, or if `opening` forbids a step.
        """
        super().__init__(policy, _DIALECT)
        self._keeps_time = keeps_time
        self._turn_seconds = turn_seconds
        self._time = SteadyTime(read_monotonic)
        self._memory = ServerMemory()
        self._connections = PrimaryConnections(
            url,
            most=most_connections,
            wait_seconds=wait_seconds,
            prepares=prepares,
            read_password=read_password,
        )
        try:
            self._connections.open(start_seconds, tell_waiting)
            with self._lend_without_deadline() as connection:
                examine_encoding(connection)
            bring_up_to_date(self._lend_without_deadline, opening=opening)
            with self._connections.lend() as connection:
                # Joins of tables on several machines are slow, if they are allowed.
                self._is_distributed = is_distributed(connection)
                self._fetch_by = fetch if self._is_distributed else fetch_with_all
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _lend_without_deadline(self) -> Iterator[Connection[Any]]:
        with self._connections.lend() as connection:
            connection.deadline = math.inf
            yield connection

    # --- turns

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        """Decide `events` in order and keep what they change, durably.

        Raises `LostRace` if another instance was quicker, and `CommitUnconfirmed` if the turn may be kept or
        not.
        """
        return self.turn_of(lambda: (events, origins), now)

    def turn_of(self, choose_events: ChooseEvents, now: Instant) -> list[Decision]:
        """Decide the events that are chosen once the turn has begun; `now` is the time of the call."""
        called = time.monotonic()
        decisions: list[Decision] = []

        def take_once(transaction: Transaction) -> list[Decision]:
            nonlocal decisions
            events, _ = choose_events()
            snapshot = load((keys(event) for event in events), transaction.fetch)
            at = transaction.now
            # Chosen again, as callers may have left while the transaction began.
            events, origins = choose_events()
            if self._keeps_time:
                waited_ms = round((transaction.clock_read_at - called) * SECOND_MS)
                events = [with_clock_ahead(event, at - now - waited_ms) for event in events]
            decisions = decide_and_write(events, origins, snapshot, at, self.policy, transaction.write)
            return decisions

        try:
            return self._commit(take_once, now)
        except CommitUnconfirmed as unconfirmed:
            unconfirmed.decisions = decisions
            raise

    def write(self, changes: Sequence[Change]) -> None:
        """Write all changes or none, past all rules, to copy records. Raises `LostRace`."""
        self._commit(lambda transaction: transaction.write(changes, ()), LONG_AGO)

    def keep_entries(self, entries: Sequence[AuditEntry]) -> None:
        """Insert entries of another store's audit trail, in order and with new numbers."""
        self._commit(lambda transaction: transaction.write((), entries), LONG_AGO)

    def _commit(self, work: Callable[[Transaction], T], now: Instant) -> T:
        """Do `work` in a transaction, and commit it within the time that a turn has."""

        def commit(transaction: Transaction) -> T:
            result = work(transaction)
            try:
                transaction.commit()
            except (*_LOST_RACES, StandbyAwaited):
                raise
            except psycopg.Error as error:
                raise CommitUnconfirmed("the database did not say that it was kept") from error
            return result

        return self._attempt(WRITING, commit, now, self._turn_seconds)

    def _change(self, change: Callable[[Execute, Instant], T], now: Instant) -> T:
        return self._commit(lambda transaction: change(transaction.execute, transaction.now), now)

    # --- reading

    def last_used(self, client_ids: Collection[str]) -> dict[str, Instant]:
        """Return when each of these clients was last given tokens; clients that never were are left out."""
        return super().last_used([client_id for client_id in client_ids if can_hold(client_id)])

    def fetch(self, table: Table, identifiers: Collection[Any]) -> list[Record]:
        """Fetch the records of `table` under `identifiers`, as far as they exist."""
        return list(self._find(lambda reading: reading.fetch(table, identifiers), takes_long=True))

    def counts(self) -> dict[str, int]:
        """Count the rows of each table."""

        def count(reading: Reading) -> dict[str, int]:
            found = {}
            for name in (*(stored.name for stored in TABLES.values()), "audit"):
                [[number]] = reading.execute(f"SELECT count(*) FROM {name}", ())  # noqa: S608
                found[name] = int(number)
            return found

        return self._find(count, takes_long=True)

    def _find(self, find: Callable[[Reading], T], now: Instant = LONG_AGO, *, takes_long: bool = False) -> T:
        def find_and_end(transaction: Transaction) -> T:
            result = find(transaction)
            transaction.commit()
            return result

        seconds = math.inf if takes_long else _QUERY_SECONDS
        # Distributed engines, and standbys, lose races of those that only read as well.
        return retry_lost_races(partial(self._attempt, READING, find_and_end, now, seconds))

    # --- transactions

    def _attempt(self, begin: str, work: Callable[[Transaction], T], now: Instant, seconds: float) -> T:
        """Do `work`, which ends its own transaction, within so many seconds.

        Tries other connections until one lives and leads to a primary; once begun, `work` is retried once
        if the connection broke, or turned out to reach a standby, before a commit.
        """
        deadline = time.monotonic() + seconds
        is_last_attempt = False
        until = self._connections.give_up_at(deadline)
        while True:
            with self._connections.lend(until, ends_when_cancelled=begin is READING) as connection:
                to_now = self._time.follow if self._keeps_time else lambda _: now
                transaction = Transaction(connection, begin, self._fetch_by, to_now, deadline, self._memory)
                try:
                    return work(transaction)
                except _LOST_RACES as error:
                    raise LostRace("another transaction was quicker") from error
                except StandbyReached:
                    self._connections.discard_stale(connection)
                except psycopg.OperationalError:
                    if is_last_attempt or not connection.closed:
                        raise
                    is_last_attempt = transaction.has_begun
                except errors.ReadOnlySqlTransaction:
                    if is_last_attempt:
                        raise
                    self._connections.discard_stale(connection)
                    is_last_attempt = True

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        """Take or keep the lease `name` for so many seconds; False if another holder has it."""
        try:
            return super().take_lease(name, holder, seconds, now)
        except LostRace:
            return False

    def present(self, now: Instant) -> Instant:
        """Return the time for turns: the database's, or the caller's without `keeps_time`."""
        return self._find(lambda reading: reading.now, now)

    def mark(self) -> tuple[int, int]:
        """Return when the database was made, and the number of its last entry, 0 without any.

        Neither goes back, unless the database is restored to an earlier moment.
        """

        def read_mark(reading: Reading) -> tuple[int, int]:
            [[made_at]] = reading.execute(_MADE_AT, ())
            last = reading.execute(LAST_NUMBER, ())
            return int(made_at), int(last[0][0]) if last else 0

        return self._find(read_mark)

    def _known_schema(self) -> int:
        return known_migrations()[-1].version

    def _writers_of_entries(self, execute: Execute) -> frozenset[str]:
        if self._is_distributed:
            raise SchemaError("with tables on several machines it is unknown which entries are still to come")
        return frozenset(str(writer) for (writer,) in execute(_WRITERS_OF_ENTRIES, ()))

    def count_entries(self, now: Instant, limit: int) -> int:
        """Count up to `limit` entries that are not counted yet; none while a slow turn inserts entries."""
        # Its entries may have lower numbers than those that are visible.
        if not self._is_distributed:
            slow = self._find(lambda reading: reading.execute(_SLOW_WRITERS_OF_ENTRIES, (SLOW_SECONDS,)))
            if slow:
                return 0
        return super().count_entries(now, limit)

    def check_ready(self) -> None:
        """Raise unless a change would be kept now, on the schema of this release."""

        def check(transaction: Transaction) -> None:
            if not is_current(transaction.ask):
                raise SchemaError("the database does not have the schema of this release: `ostiary migrate`")
            for names, needed in _NEEDED:
                if transaction.ask(_LACKING, (names, needed)):
                    raise SchemaError("the role may not change every table: grant it what `migrate` has")
            transaction.ask(_LOCK_PATIENCE, ())
            for statement in _LOCKS:
                transaction.execute(statement, ())
            # A row lock is a write: its commit waits for a standby, as a turn's does.
            transaction.ask("SELECT id FROM schema_lock WHERE id = 1 FOR UPDATE SKIP LOCKED", ())

        self._commit(check, LONG_AGO)

    def is_broken_by(self, error: BaseException | None) -> bool:
        """Whether `error` is of the database, and the next change will meet it too.

        A check finds by itself that it cannot be reached, or that another server has become the primary.
        """
        return isinstance(error, _ERRORS_OF_DATABASE)

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()
