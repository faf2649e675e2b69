"""One connection to the database: what it is set to, how long it is waited for, which primary it leads to."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any, Final, Self

import psycopg
import structlog
from psycopg import Connection
from psycopg.abc import RV, PQGen
from psycopg.errors import Diagnostic

from ostiary_net.observability.log import format_on_one_line
from ostiary_net.postgres.hosts import Hosts
from ostiary_net.turns.ports import CommitUnconfirmed

_log = structlog.get_logger("ostiary")

_STATEMENT_TIMEOUT_MS: Final = 15_000
_IDLE_TIMEOUT_MS: Final = 8_000
"""An instance that stands still in a turn, or is not reached any more, must not hold up the others: by then
it has given up the turn itself."""
CONNECT_SECONDS: Final = 5
_LOOKS_SECONDS: Final = 0.1
"""How often a thread that waits for the database looks whether it may."""
_LOG_AGAIN_SECONDS: Final = 10.0
"""The log is told the same reason no sooner: while a database is away, many look for it at once."""

_TIMELINE: Final = """
    SELECT system_identifier,
           CASE WHEN pg_is_in_recovery() THEN 0
                ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer END
    FROM pg_control_system()
"""
"""Which database it is, and the timeline that it writes; 0 for a standby."""


class ReasonLog:
    """Logs why there is no connection to the database, but not the same reason again at once."""

    def __init__(self) -> None:
        self._logged_at: dict[str, float] = {}

    def log(self, reason: str) -> None:
        now = time.monotonic()
        if now - self._logged_at.get(reason, -math.inf) >= _LOG_AGAIN_SECONDS:
            self._logged_at = {reason: now}
            _log.warning("no connection to the database", reason=reason)


class ConnectionDemand:
    """How many threads wait for a connection: no more are made at a time.

    The pool replaces whatever broke, wanted or not. Where many are ended at once, making all of them anew
    delayed those few that were waited for by seconds.
    """

    def __init__(self) -> None:
        self._waiting = 0
        self._under_way = 0
        self._lock = Lock()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Be one of those that wait."""
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1

    @contextmanager
    def connecting(self) -> Iterator[None]:
        """Make a connection meanwhile. Raises `psycopg.OperationalError` where nobody waits for it."""
        with self._lock:
            if self._under_way >= self._waiting:
                raise psycopg.OperationalError("nobody waits for another connection")
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1


class Timelines:
    """The newest timeline of each database that was reached: PostgreSQL begins one with each primary that
    takes over, so that a smaller one is of a primary that was replaced and does not know it yet."""

    def __init__(self) -> None:
        self._newest: dict[int, int] = {}
        self._lock = Lock()

    def is_newest(self, database: int, timeline: int) -> bool:
        return timeline >= self._newest.get(database, 0)

    def require_newest(self, connection: "BoundedConnection") -> None:
        """Raise `psycopg.OperationalError` for a connection to a primary that was replaced."""
        try:
            [[database, timeline]] = connection.execute(_TIMELINE, prepare=False).fetchall()
        except psycopg.ProgrammingError:
            return  # an engine without timelines, or a role that may not ask for them
        with self._lock:  # hosts are asked side by side, and the newest must not go back
            if not self.is_newest(database, timeline):
                raise psycopg.OperationalError("another primary has replaced this one")
            self._newest[database] = timeline
        connection.database, connection.timeline = database, timeline


class DatabaseStalled(psycopg.OperationalError):
    """The database gave no answer within the time that it had."""


def password_of(read_password: Callable[[], str | None]) -> dict[str, str]:
    """Return the password to connect with, where it is not the one in the address."""
    password = read_password()
    return {} if password is None else {"password": password}


class BoundedConnection(Connection[Any]):
    """A connection that waits until a deadline at most, and logs why it cannot be made."""

    made_at = -math.inf
    """By `time.monotonic`."""
    has_stalled = False
    """Whether it was given up as no answer came in time."""
    database, timeline = 0, 0
    """Which it leads to, and the timeline that is written there; 0 where the engine has none."""
    server = ""
    """Where the database's server was in the last transaction; empty before the first."""
    deadline = math.inf
    """Until when, by `time.monotonic`; then whatever is asked of it raises `DatabaseStalled`, and it is
    closed."""
    is_pooled = False
    """Whether a pooler stands in front of the database."""
    _warnings: tuple[str, ...] = ()

    def wait(self, gen: PQGen[RV], interval: float = _LOOKS_SECONDS, timeout: float | None = None) -> RV:
        """Wait for the server as psycopg does, but no longer than until `deadline`.

        psycopg calls it wherever a thread waits for the server.
        """
        if self.deadline == math.inf:
            return super().wait(gen, interval, timeout)
        left_seconds = max(0.0, self.deadline - time.monotonic())
        seconds = left_seconds if timeout is None else min(timeout, left_seconds)
        try:
            return super().wait(gen, interval, seconds)
        except psycopg.OperationalError as error:
            if time.monotonic() < self.deadline:
                raise
            self.has_stalled = True
            self.close()
            raise DatabaseStalled("the database does not answer") from error

    @classmethod
    def connect(cls, conninfo: str = "", **named: Any) -> Self:
        reasons: ReasonLog = named.pop("reasons")
        timelines: Timelines = named.pop("timelines")
        hosts: Hosts = named.pop("hosts")
        prepares: bool | None = named.pop("prepares")
        demand: ConnectionDemand = named.pop("demand")
        named |= password_of(named.pop("read_password"))
        # Of several hosts it is usual that some let nobody in, as they are standbys.
        reasons_of_one = reasons if len(hosts) == 1 else None
        connect_to_one = partial(cls._connect_to_one, conninfo, named, timelines, prepares, reasons_of_one)
        with demand.connecting():
            try:
                return hosts.connect(connect_to_one, CONNECT_SECONDS)
            except psycopg.Error as error:
                reasons.log(format_on_one_line(error))
                raise

    @classmethod
    def _connect_to_one(
        cls,
        conninfo: str,
        named: dict[str, Any],
        timelines: Timelines,
        prepares: bool | None,
        reasons: ReasonLog | None,
        host: dict[str, str],
    ) -> Self:
        began = time.monotonic()
        try:
            made = super().connect(conninfo, **{**named, **host})
        except psycopg.Error as error:
            if reasons is not None:
                reasons.log(format_on_one_line(error))
            raise
        try:
            made.made_at = began
            made.add_notice_handler(made._record_warning)
            _apply_session_settings(made, prepares)
            if not made.is_pooled:
                timelines.require_newest(made)
        except psycopg.Error:
            made.close()
            raise
        return made

    def commit_confirmed(self) -> None:
        """Commit, and raise `CommitUnconfirmed` unless the database says nothing but that it is done.

        Where a commit waits for standbys that are gone and somebody cancels it, PostgreSQL commits all the
        same and warns that no standby may have it (SQLSTATE 01000).
        """
        self._warnings = ()
        self.execute("COMMIT")
        if self._warnings:
            raise CommitUnconfirmed(self._warnings[0])

    def _record_warning(self, notice: Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warnings = (*self._warnings, notice.message_primary or "a warning")


_RELIED_ON: Final = {
    "array_nulls": "on",  # rows come as arrays, with NULL in them
    "standard_conforming_strings": "on",
    "bytea_output": "hex",
    "client_min_messages": "warning",  # a commit that may be lost is told of by one (`commit_confirmed`)
    "lock_timeout": "0",  # whoever waits has a deadline of its own
}
"""What an administrator may have set otherwise for a role or a database, in the interest of other programs.
The rest of what can be set is said in each statement, or makes no difference."""


def _set_bounds(is_for_transaction: bool) -> str:
    # Not for the encoding, which is said when a connection is made: no text could be exchanged before.
    relied_on = ", ".join(
        f"(SELECT set_config('{name}', '{value}', {is_for_transaction})"
        f" WHERE current_setting('{name}', true) <> '{value}')"
        for name, value in _RELIED_ON.items()
    )
    return (
        f"SELECT set_config('statement_timeout', '{_STATEMENT_TIMEOUT_MS}', {is_for_transaction}),"
        f" set_config('idle_in_transaction_session_timeout', '{_IDLE_TIMEOUT_MS}', {is_for_transaction}),"
        f" (SELECT set_config('synchronous_commit', 'on', {is_for_transaction})"
        f" WHERE current_setting('synchronous_commit') = 'off'), {relied_on}"
    )


_SET_WHERE_KNOWN: Final = """
    (SELECT count(set_config(name, value, false)) FROM pg_settings JOIN (VALUES
        ('plan_cache_mode', 'force_generic_plan'),
        ('tcp_user_timeout', '5000'),
        ('tcp_keepalives_idle', '2'), ('tcp_keepalives_interval', '1'), ('tcp_keepalives_count', '3')
    ) AS chosen (name, value) USING (name))
"""
"""One plan: by itself PostgreSQL plans a look-up anew for every few keys that it is given. Measured, that was
a sixth of what a turn costs it.

And five seconds for a sign of life, which is how long an instance waits for a turn: one that the network cuts
off in the middle of a flight is in no pause, so that no timeout counts for it, and it would keep its rows,
and whoever waits for them, for hours."""
_IN_EACH_SESSION: Final = ", ".join((_set_bounds(False), _SET_WHERE_KNOWN))
"""All in one: where many connections are made at a time, each answer is waited for longer."""
IN_EACH_TRANSACTION: Final = _set_bounds(True)
"""What a transaction over a connection that others use in turn is set to: a setting that outlived it would
be theirs."""


def _apply_session_settings(connection: BoundedConnection, prepares: bool | None) -> None:
    """Set what every connection needs: bounds on waiting, and commits that are on disk when confirmed.

    Behind a pooler the process that answers is not the one that the connection was told of. There nothing is
    set that outlives a transaction, and nothing prepared unless `prepares` says so: the name of a statement
    may mean another one's on the next process.
    """
    [[process]] = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchall()
    connection.is_pooled = process != connection.info.backend_pid
    if prepares is False or (prepares is None and connection.is_pooled):
        connection.prepare_threshold = None
    if not connection.is_pooled:
        connection.execute(_IN_EACH_SESSION, prepare=False)
