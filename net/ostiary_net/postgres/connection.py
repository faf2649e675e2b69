"""Set up one connection to the database, bound its waits, and check which primary it leads to."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Final, Self

import psycopg
import structlog
import trio
from psycopg import Connection
from psycopg.abc import RV, PQGen
from psycopg.errors import Diagnostic

from ostiary_net.observability.log import format_on_one_line
from ostiary_net.postgres.hosts import Hosts
from ostiary_net.runtime.system import raise_if_cancelled
from ostiary_net.turns.ports import CommitUnconfirmed

_log = structlog.get_logger("ostiary")

_STATEMENT_TIMEOUT_MS: Final = 15_000
_IDLE_TIMEOUT_MS: Final = 8_000
"""Pause in a turn after which PostgreSQL ends it, so that an instance that stands still holds up no other.

The instance has given up the turn by then."""
CONNECT_SECONDS: Final = 5
_POLL_SECONDS: Final = 0.1
"""Time between two checks of a waiting thread."""
_CANCEL_SECONDS: Final = 0.3
"""Longest time to ask the database to end a query: its request is to be answered now."""
_LOG_AGAIN_SECONDS: Final = 10.0
"""Time before the same reason is logged again: many threads look for a database that is away."""

_TIMELINE: Final = """
    SELECT system_identifier,
           CASE WHEN pg_is_in_recovery() THEN 0
                ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer END
    FROM pg_control_system()
"""
"""Statement for the database's identifier and the timeline that it writes, 0 for a standby."""


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
    """The number of threads that wait for a connection: no more are made at a time.

    The pool replaces each broken connection. If many end at once, making all of them anew delayed the few
    that threads waited for by seconds.
    """

    def __init__(self) -> None:
        self._waiting = 0
        self._under_way = 0
        self._lock = Lock()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the calling thread as waiting while the block runs."""
        with self._lock:
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1

    @contextmanager
    def connecting(self) -> Iterator[None]:
        """Count one connection as being made; raise `psycopg.OperationalError` if no thread waits."""
        with self._lock:
            if self._under_way >= self._waiting:
                raise psycopg.OperationalError("no thread waits for another connection")
            self._under_way += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1


class Timelines:
    """The newest timeline of each database that was reached.

    PostgreSQL begins one with each primary that takes over: a smaller one is of a primary that was replaced
    and does not know it yet.
    """

    def __init__(self) -> None:
        self._newest: dict[int, int] = {}
        self._lock = Lock()

    def is_newest(self, database: int, timeline: int) -> bool:
        return timeline >= self._newest.get(database, 0)

    def require_newest(self, connection: "BoundedConnection") -> None:
        """Record the connection's timeline; raise `psycopg.OperationalError` if a newer one is known."""
        try:
            [[database, timeline]] = connection.execute(_TIMELINE, prepare=False).fetchall()
        except psycopg.ProgrammingError:
            return  # an engine without timelines, or a role that may not read them
        with self._lock:  # hosts are tried side by side, and the newest must not go back
            if not self.is_newest(database, timeline):
                raise psycopg.OperationalError("another primary has replaced this one")
            self._newest[database] = timeline
        connection.database, connection.timeline = database, timeline


class DatabaseStalled(psycopg.OperationalError):
    """Raised when the database gives no answer in time."""


def read_password_parameter(read_password: Callable[[], str | None]) -> dict[str, str]:
    """Return the parameter for the password, unless it is in the address."""
    password = read_password()
    return {} if password is None else {"password": password}


@dataclass(frozen=True, slots=True)
class PrimarySearch:
    """What the connections of an instance share to find the primary."""

    hosts: Hosts
    prepares: bool | None
    """Whether statements are prepared; None for wherever no pooler is seen."""
    read_password: Callable[[], str | None]
    """Reader of the password, called before each connection is made; None for the one in the address."""
    timelines: Timelines = field(default_factory=Timelines)
    demand: ConnectionDemand = field(default_factory=ConnectionDemand)
    reasons: ReasonLog = field(default_factory=ReasonLog)


class BoundedConnection(Connection[Any]):
    """A connection that waits until its deadline at most, and logs why it cannot be made."""

    made_at = -math.inf
    """Time when it was begun, by `time.monotonic`."""
    has_stalled = False
    """Whether it was given up because no answer came in time."""
    database, timeline = 0, 0
    """Identifier and timeline of the database; 0 if the engine has none."""
    server = ""
    """Address of the server in the last transaction; empty before the first."""
    deadline = math.inf
    """Time, by `time.monotonic`, at which a wait raises `DatabaseStalled` and closes the connection."""
    ends_when_cancelled = False
    """Whether a wait ends, and closes the connection, once the task behind this thread is cancelled."""
    plans_once = False
    """Whether a plan is made without the values that are bound."""
    is_pooled = False
    """Whether a pooler stands in front of the database."""
    _warnings: tuple[str, ...] = ()

    def wait(self, gen: PQGen[RV], interval: float = _POLL_SECONDS, timeout: float | None = None) -> RV:
        """Wait for the server, as psycopg does wherever it waits, until `deadline` at most."""
        if self.deadline == math.inf:
            return super().wait(gen, interval, timeout)
        left_seconds = max(0.0, self.deadline - time.monotonic())
        seconds = left_seconds if timeout is None else min(timeout, left_seconds)
        try:
            return super().wait(
                _stop_if_cancelled(gen) if self.ends_when_cancelled else gen, interval, seconds
            )
        except trio.Cancelled:
            self._end_query()
            self.close()
            raise
        except psycopg.OperationalError as error:
            if time.monotonic() < self.deadline:
                raise
            # A database that still hears this has a slow query, and its other connections are good.
            self.has_stalled = not (self.ends_when_cancelled and self._end_query())
            self.close()
            raise DatabaseStalled("the database does not answer") from error

    def _end_query(self) -> bool:
        """Ask the database to end the running query, as closing does not; return whether it heard."""
        try:
            self.cancel_safe(timeout=_CANCEL_SECONDS)
        except psycopg.Error:
            return False
        return True

    @classmethod
    def connect(cls, conninfo: str = "", **named: Any) -> Self:
        search: PrimarySearch = named.pop("search")
        named |= read_password_parameter(search.read_password)
        with search.demand.connecting():
            try:
                return search.hosts.connect(
                    partial(cls._connect_to_one, conninfo, named, search), CONNECT_SECONDS
                )
            except psycopg.Error as error:
                search.reasons.log(format_on_one_line(error))
                raise

    @classmethod
    def _connect_to_one(
        cls, conninfo: str, named: dict[str, Any], search: PrimarySearch, host: dict[str, str]
    ) -> Self:
        began = time.monotonic()
        try:
            made = super().connect(conninfo, **{**named, **host})
        except psycopg.Error as error:
            if len(search.hosts) == 1:  # of several hosts some usually refuse, as they are standbys
                search.reasons.log(format_on_one_line(error))
            raise
        try:
            made.made_at = began
            made.add_notice_handler(made._record_warning)
            _apply_session_settings(made, search.prepares)
            if not made.is_pooled:
                search.timelines.require_newest(made)
        except psycopg.Error:
            made.close()
            raise
        return made

    def commit_confirmed(self) -> None:
        """Commit; raise `CommitUnconfirmed` if the database warns."""
        # A commit that waits for lost standbys and is cancelled is done all the same, with a warning that no
        # standby may have it (SQLSTATE 01000).
        self._warnings = ()
        self.execute("COMMIT")
        if self._warnings:
            raise CommitUnconfirmed(self._warnings[0])

    def _record_warning(self, notice: Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warnings = (*self._warnings, notice.message_primary or "a warning")


def _stop_if_cancelled(gen: PQGen[RV]) -> PQGen[RV]:
    """Do as `gen` does; raise `trio.Cancelled` if nothing came for a while and the caller has left."""
    try:
        asked = next(gen)
        while True:
            ready = yield asked
            if not ready:
                raise_if_cancelled()
            asked = gen.send(ready)
    except StopIteration as end:
        result: RV = end.value
        return result


_RELIED_ON: Final = {
    "array_nulls": "on",  # rows come as arrays, with NULL in them
    "standard_conforming_strings": "on",
    "bytea_output": "hex",
    "client_min_messages": "warning",  # a commit that may be lost brings one (`commit_confirmed`)
    "lock_timeout": "0",  # each wait has a deadline of its own
}
"""Settings that this program relies on, and that may differ for a role or a database."""


def _set_bounds(is_for_transaction: bool) -> str:
    # The encoding is set when a connection is made: no text could be exchanged before.
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
"""Settings for engines that know them.

One plan: by itself PostgreSQL plans a look-up anew for some keys, a sixth of what a turn costs it. Five
seconds without a sign of life, as long as an instance waits for a turn: one that the network cuts off in the
middle of a flight is in no pause, so no other timeout applies, and its rows stay locked for hours."""
_IN_EACH_SESSION: Final = ", ".join(
    (_set_bounds(False), _SET_WHERE_KNOWN, "current_setting('plan_cache_mode', true)")
)
"""Statement that sets up a session in one round trip: many connections may be made at a time."""
IN_EACH_TRANSACTION: Final = _set_bounds(True)
"""Statement that sets up a transaction behind a pooler, if settings must not outlive it."""


def _apply_session_settings(connection: BoundedConnection, prepares: bool | None) -> None:
    """Set what every connection needs: bounds on waiting, and commits that are on disk when confirmed.

    Behind a pooler nothing is set that outlives a transaction, and nothing prepared unless `prepares` says
    so: a statement's name may mean another statement on the next process.
    """
    # Behind a pooler the process that answers is not the one that the connection was told of.
    [[process]] = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchall()
    connection.is_pooled = process != connection.info.backend_pid
    if prepares is False or (prepares is None and connection.is_pooled):
        connection.prepare_threshold = None
    if not connection.is_pooled:
        [[*_, plan_cache_mode]] = connection.execute(_IN_EACH_SESSION, prepare=False).fetchall()
        connection.plans_once = plan_cache_mode is not None
