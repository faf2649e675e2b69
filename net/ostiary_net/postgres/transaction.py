"""Run one transaction on a connection; BEGIN and the first statement share a flight."""

import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Change
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Record, Table
from ostiary_net.postgres.connection import IN_EACH_TRANSACTION, BoundedConnection, DatabaseStalled
from ostiary_net.postgres.record_sql import FetchBy, write
from ostiary_net.postgres.schema import FIRST_VERSION
from ostiary_net.sql.columns import Row, SQLValue

WRITING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ"
READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_CLOCK: Final = (
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,"
    " pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean,"
    " concat(inet_server_addr(), ' ', inet_server_port())"
)
_PLAN_FOR_VALUES: Final = "SELECT set_config('plan_cache_mode', 'force_custom_plan', true)"

_PRIMARY_LEASE_SECONDS: Final = 2.0
"""Time that a server which answered stays the primary: its lock must expire before another takes over."""
_CONFIRM: Final = b"SELECT version FROM schema_migrations WHERE version = %d FOR KEY SHARE" % FIRST_VERSION
"""Smallest write, which makes a commit wait for a standby: a lock that blocks no turn."""
_AWAITED: Final = b"""
    SELECT bool_or(pid = pg_backend_pid() AND backend_xid IS NOT NULL),
           bool_or(wait_event = 'SyncRep' AND query_start < clock_timestamp() - make_interval(secs => %s))
    FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
"""
"""Statement for whether this commit would wait for a standby, and whether one of an age in seconds does."""


class StandbyReached(psycopg.OperationalError):
    """Raised when the connection leads to a standby, or to a database that was made read-only."""


class StandbyAwaited(psycopg.OperationalError):
    """Raised when an earlier commit still waits for a standby; nothing of this one is kept."""


@dataclass(slots=True)
class ServerMemory:
    """Memory of an instance about the database's servers."""

    confirmed_at: dict[str, float] = field(default_factory=dict)
    """Time when each server was certainly the primary, by `time.monotonic`."""
    given_up_at: float | None = None
    """Time when a commit was given up that may still wait for a standby, by `time.monotonic`."""


class Transaction:
    """A transaction that begins with its first statement; all that is read in it is of one moment."""

    def __init__(
        self,
        connection: BoundedConnection,
        begin: str,
        fetch_by: FetchBy,
        to_now: Callable[[Instant], Instant],
        deadline: float,
        memory: ServerMemory,
    ) -> None:
        """Take a connection, on which `deadline` holds once the transaction has begun.

        `to_now` makes the transaction's time from the database's.
        """
        self._connection = connection
        self._memory = memory
        self._confirms = not self._has_lease(connection.server, time.monotonic())
        """Whether the commit must confirm that the server is still the primary."""
        self._only_reads = begin is READING
        self._is_read_only = self._only_reads and not self._confirms
        self._begin_statement = (READING if self._is_read_only else WRITING).encode()
        self._fetch_by = fetch_by
        self._to_now = to_now
        self._deadline = deadline
        self._now: Instant | None = None
        self._plans_for_values = False
        self.clock_read_at = 0.0
        """Time when the database's clock was read, by `time.monotonic`."""

    def _has_lease(self, server: str, at: float) -> bool:
        return at - self._memory.confirmed_at.get(server, -math.inf) <= _PRIMARY_LEASE_SECONDS

    @property
    def has_begun(self) -> bool:
        """Whether the database has answered."""
        return self._now is not None

    @property
    def now(self) -> Instant:
        """Return the time of the transaction; begin it if need be."""
        if self._now is None:
            self._begin(None, (), None)
        assert self._now is not None
        return self._now

    def ask(self, statement: str, bindings: Sequence[Any]) -> list[Row]:
        """Execute a statement of turns and return its rows: sent often, so prepared and planned once."""
        return self._execute(statement, bindings, None)

    def execute(self, statement: str, bindings: Sequence[SQLValue]) -> list[Any]:
        """Execute a statement of the shared dialect, with `?` for bindings, planned for their values.

        One of a transaction that only reads ends with the call that waits for it (READINGS 47).
        """
        self._connection.ends_when_cancelled = self._only_reads
        return self._execute(statement.replace("?", "%s"), bindings, False)

    def _execute(self, statement: str, bindings: Sequence[Any], prepare: bool | None) -> list[Row]:
        if self._now is None:
            return self._begin(statement, bindings, prepare)
        if prepare is False:
            self._plan_for_values()
        return self._connection.execute(statement.encode(), bindings, prepare=prepare).fetchall()

    def _plan_for_values(self) -> None:
        """Have the rest of the transaction planned for its values: a rare one is found by its own index."""
        if self._connection.plans_once and not self._plans_for_values:
            self._connection.execute(_PLAN_FOR_VALUES)
            self._plans_for_values = True

    def _begin(self, statement: str | None, bindings: Sequence[Any], prepare: bool | None) -> list[Row]:
        connection, asked_at = self._connection, time.monotonic()
        with connection.pipeline():
            connection.execute(self._begin_statement)
            if connection.is_pooled:
                connection.execute(IN_EACH_TRANSACTION)
            if prepare is False:
                self._plan_for_values()
            asked = (
                None
                if statement is None
                else connection.execute(statement.encode(), bindings, prepare=prepare)
            )
            clock = connection.execute(_CLOCK)
        self.clock_read_at = time.monotonic()
        [[present, is_standby, connection.server]] = clock.fetchall()
        if is_standby:
            raise StandbyReached("the connection leads to a standby")
        self._confirms = not self._has_lease(connection.server, asked_at)
        if not self._confirms:
            self._memory.confirmed_at[connection.server] = asked_at
        elif self._is_read_only:
            raise StandbyReached("the connection leads to another server than before")
        self._now = self._to_now(Instant(present))
        connection.deadline = self._deadline
        return [] if asked is None else asked.fetchall()

    def fetch(self, table: Table, identifiers: Collection[Any]) -> list[Record]:
        """Fetch the records of `table` under `identifiers`, as far as they exist."""
        return self._fetch_by(self.ask, table, identifiers)

    def write(self, changes: Iterable[Change], entries: Sequence[AuditEntry]) -> None:
        """Write all changes and entries. Raises `LostRace`."""
        self.now  # noqa: B018 (begins the transaction)
        write(self._connection, changes, entries)
        self._confirms = False  # the write itself makes the commit wait for a standby

    def commit(self) -> None:
        """Commit. Raises `CommitUnconfirmed`, and `StandbyAwaited`, after which nothing is kept."""
        # A primary that stood still while another took over goes on until it is stopped: what it reads is
        # old, and it cannot know. But no standby confirms its commits. So what was read of a server whose
        # lease has expired counts once a commit is through.
        if self._now is None:
            return
        connection, asked_at = self._connection, time.monotonic()
        if self._confirms:
            connection.execute(_CONFIRM)
        if not self._is_read_only:
            self._require_no_other_waits()
        try:
            connection.commit_confirmed()
        except DatabaseStalled:
            self._memory.given_up_at = time.monotonic()
            raise
        self._memory.confirmed_at[connection.server] = asked_at

    def _require_no_other_waits(self) -> None:
        """Raise `StandbyAwaited` if this commit would wait beside one that was given up and still waits."""
        # That one must not be ended (docs/decisions/0035-silent-servers-are-confirmed.md). But each waiting
        # commit keeps a process of the database, so an instance leaves only one.
        given_up_at = self._memory.given_up_at
        if given_up_at is None:
            return
        asked = self._connection.execute(_AWAITED, [time.monotonic() - given_up_at], prepare=False)
        [[would_wait, one_waits]] = asked.fetchall()
        if not one_waits:
            self._memory.given_up_at = None
        elif would_wait:
            raise StandbyAwaited("an earlier commit still waits for a standby")
