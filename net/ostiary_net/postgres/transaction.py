"""One transaction on a connection: it begins with what it is asked first, in the same flight."""

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

_PRIMARY_LEASE_SECONDS: Final = 2.0
"""How long a server that answered is the primary: nobody takes over sooner, as a lock has to lapse."""
_CONFIRM: Final = b"SELECT version FROM schema_migrations WHERE version = %d FOR KEY SHARE" % FIRST_VERSION
"""The least that is written, so that a commit waits for a standby: a lock that keeps nobody waiting."""
_AWAITED: Final = b"""
    SELECT bool_or(pid = pg_backend_pid() AND backend_xid IS NOT NULL),
           bool_or(wait_event = 'SyncRep' AND query_start < clock_timestamp() - make_interval(secs => %s))
    FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
"""
"""Whether a commit of this transaction would wait for a standby, and whether one does that began so many
seconds ago."""


class StandbyReached(psycopg.OperationalError):
    """The connection leads to a standby, or to a database that was made read-only."""


class StandbyAwaited(psycopg.OperationalError):
    """An earlier commit still waits for a standby, so that this one was not begun: nothing of it is kept."""


@dataclass(slots=True)
class ServerMemory:
    """What an instance remembers of the database's servers from one transaction to the next."""

    heard_of: dict[str, float] = field(default_factory=dict)
    """When each was the primary for certain, by `time.monotonic`."""
    given_up_at: float | None = None
    """When a commit was given up that may still wait for a standby, by `time.monotonic`."""


class Transaction:
    """A transaction that is yet to begin; everything that is read in it is of one moment."""

    def __init__(
        self,
        connection: BoundedConnection,
        begin: str,
        fetch_by: FetchBy,
        to_now: Callable[[Instant], Instant],
        deadline: float,
        memory: ServerMemory,
    ) -> None:
        """`to_now` makes the time that holds in it of the database's.

        From when it has begun, `deadline` is that of its connection.
        """
        self._connection = connection
        self._memory = memory
        self._confirms = not self._is_believed(connection.server, time.monotonic())
        """Whether another may have become the primary since the server was heard of last."""
        self._is_read_only = begin is READING and not self._confirms
        self._begin_statement = (READING if self._is_read_only else WRITING).encode()
        self._fetch_by = fetch_by
        self._to_now = to_now
        self._deadline = deadline
        self._now: Instant | None = None
        self.clock_read_at = 0.0
        """When the database's clock was read, by `time.monotonic`."""

    def _is_believed(self, server: str, at: float) -> bool:
        return at - self._memory.heard_of.get(server, -math.inf) <= _PRIMARY_LEASE_SECONDS

    @property
    def has_begun(self) -> bool:
        """Whether the database has answered."""
        return self._now is not None

    @property
    def now(self) -> Instant:
        """The time that holds in it."""
        if self._now is None:
            self._begin(None, (), None)
        assert self._now is not None
        return self._now

    def ask(self, statement: str, bindings: Sequence[Any]) -> list[Row]:
        """Execute a statement of turns, and give its rows: often sent, so prepared and planned once."""
        return self._execute(statement, bindings, None)

    def execute(self, statement: str, bindings: Sequence[SQLValue]) -> list[Any]:
        """Execute a statement of the dialect that both databases share, with `?` for what it binds.

        It is planned for the values that it binds, which may mean a page of a list, or all of it.
        """
        return self._execute(statement.replace("?", "%s"), bindings, False)

    def _execute(self, statement: str, bindings: Sequence[Any], prepare: bool | None) -> list[Row]:
        if self._now is None:
            return self._begin(statement, bindings, prepare)
        return self._connection.execute(statement.encode(), bindings, prepare=prepare).fetchall()

    def _begin(self, statement: str | None, bindings: Sequence[Any], prepare: bool | None) -> list[Row]:
        connection, asked_at = self._connection, time.monotonic()
        with connection.pipeline():
            connection.execute(self._begin_statement)
            if connection.is_pooled:
                connection.execute(IN_EACH_TRANSACTION)
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
        self._confirms = not self._is_believed(connection.server, asked_at)
        if not self._confirms:
            self._memory.heard_of[connection.server] = asked_at
        elif self._is_read_only:
            raise StandbyReached("the connection leads to another server than before")
        self._now = self._to_now(Instant(present))
        connection.deadline = self._deadline
        return [] if asked is None else asked.fetchall()

    def fetch(self, table: Table, identifiers: Collection[Any]) -> list[Record]:
        """Fetch the records of `table` under `identifiers`, as far as they exist."""
        return self._fetch_by(self.ask, table, identifiers)

    def write(self, changes: Iterable[Change], entries: Sequence[AuditEntry]) -> None:
        """Make all changes and keep the entries. Raises `LostRace`."""
        self.now  # noqa: B018 (it begins)
        write(self._connection, changes, entries)
        self._confirms = False  # as it commits something

    def commit(self) -> None:
        """End it, and keep what was written. Raises `CommitUnconfirmed`, or what else went wrong; with
        `StandbyAwaited` nothing is kept.

        A primary that stood still while another took over goes on as if nothing had been, until
        somebody stops it: what it reads is old, and it cannot know. But no standby confirms what it
        commits. So what was read of a server that was not heard of for a while counts once a commit is
        through.
        """
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
        self._memory.heard_of[connection.server] = asked_at

    def _require_no_other_waits(self) -> None:
        """Raise `StandbyAwaited` where this commit would wait beside one that was given up and waits on.

        That one must not be ended: see docs/decisions/0035. But each keeps a process of the database, so an
        instance leaves one waiting and asks after it.
        """
        given_up_at = self._memory.given_up_at
        if given_up_at is None:
            return
        asked = self._connection.execute(_AWAITED, [time.monotonic() - given_up_at], prepare=False)
        [[would_wait, one_waits]] = asked.fetchall()
        if not one_waits:
            self._memory.given_up_at = None
        elif would_wait:
            raise StandbyAwaited("an earlier commit still waits for a standby")
