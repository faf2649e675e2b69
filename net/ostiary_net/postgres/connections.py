"""Connections to the database: a pool that replaces broken ones, as long as somebody asks for them."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

import psycopg
import structlog
from psycopg import Connection, errors
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from ostiary_net.observability.log import first_line

_log = structlog.get_logger("ostiary")

_STATEMENT_TIMEOUT_MS: Final = 15_000
_IDLE_TIMEOUT_MS: Final = 30_000
"""An instance that stands still in a turn must not hold up the others for ever."""
_CONNECT_SECONDS: Final = 5
_LOOKS_SECONDS: Final = 0.1
"""How often a thread that waits for the database looks whether it may."""
_LONGEST_PAUSE_SECONDS: Final = 2.0
_LOG_AGAIN_SECONDS: Final = 10.0
"""The log is told the same reason no sooner: while a database is away, many look for it at once."""

_NOTICING: Final = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
    "target_session_attrs": "read-write",
}
"""A machine that is gone closes no connection. By itself the system waits two hours for its answer, and a
quarter of an hour for a sign that it was reached; a turn would wait as long, and all that come after it. And
a standby is of no use: of several hosts the one that can be written to is meant. An address that names one of
these decides itself."""


class _ReasonLog:
    """Logs why there is no connection to the database, but not the same reason again at once."""

    def __init__(self) -> None:
        self._logged_at: dict[str, float] = {}

    def log(self, reason: str) -> None:
        now = time.monotonic()
        if now - self._logged_at.get(reason, -math.inf) >= _LOG_AGAIN_SECONDS:
            self._logged_at = {reason: now}
            _log.warning("no connection to the database", reason=reason)


class DatabaseStalled(psycopg.OperationalError):
    """The database gave no answer within the time that it had."""


class BoundedConnection(Connection[Any]):
    """A connection that waits until a deadline at most, and logs why it cannot be made."""

    made_at = -math.inf
    """By `time.monotonic`."""
    deadline = math.inf
    """Until when, by `time.monotonic`; then whatever is asked of it raises `DatabaseStalled`, and it is
    closed."""

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
            self.close()
            raise DatabaseStalled("the database does not answer") from error

    @classmethod
    def connect(cls, conninfo: str = "", **named: Any) -> Self:
        reasons: _ReasonLog = named.pop("reasons")
        made = None
        try:
            began = time.monotonic()
            made = super().connect(conninfo, **named)
            made.made_at = began
            _settle(made)
        except psycopg.Error as error:
            if made is not None:
                made.close()
            reasons.log(first_line(error))
            raise
        return made


def _settle(connection: Connection[Any]) -> None:
    """Set what every connection needs: bounds on waiting, and commits that are on disk when confirmed."""
    connection.execute(f"SET statement_timeout = {_STATEMENT_TIMEOUT_MS}")
    connection.execute(f"SET idle_in_transaction_session_timeout = {_IDLE_TIMEOUT_MS}")
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )


class Connections:
    """As many connections as there are callers at a time, up to a bound; any thread may borrow one."""

    def __init__(self, conninfo: str, *, most: int, wait_seconds: float) -> None:
        """`wait_seconds` bounds how long a caller waits for a connection while the database is away."""
        self._conninfo = conninfo
        named = conninfo_to_dict(conninfo)
        self._noticing: dict[str, Any] = {
            name: value for name, value in _NOTICING.items() if name not in named
        }
        self._wait_seconds = wait_seconds
        self._trusted_since = -math.inf
        self._pool = ConnectionPool(
            conninfo,
            connection_class=BoundedConnection,
            # The encoding, as the environment, the role or the address may name one without Chinese.
            kwargs={
                "autocommit": True,
                "connect_timeout": _CONNECT_SECONDS,
                "client_encoding": "UTF8",
                "reasons": _ReasonLog(),
                **self._noticing,
            },
            min_size=1,
            max_size=most,
            # By default its pauses double for five minutes, so that it slept on long after the database was
            # back. Who comes after it has given up makes it try anew.
            reconnect_timeout=wait_seconds,
            open=False,
        )

    def open(self, within_seconds: float, tell_waiting: Callable[[str], None]) -> None:
        """Open the pool, waiting up to `within_seconds` for a database that is not there yet.

        Raises what the last attempt raised.

        `tell_waiting` is called where the first attempt failed, and told why.
        """
        until = time.monotonic() + within_seconds
        pause = first_pause = 0.05
        while True:
            try:
                psycopg.connect(self._conninfo, connect_timeout=_CONNECT_SECONDS, **self._noticing).close()
                break
            except psycopg.OperationalError as error:
                if time.monotonic() + pause > until:
                    raise
                reason = first_line(error)
            if pause == first_pause:
                tell_waiting(reason)
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        self._pool.open(wait=True, timeout=within_seconds)

    @contextmanager
    def lend(self, deadline: float = math.inf) -> Iterator[Connection[Any]]:
        """Lend a connection that is in no transaction; it comes back in none, or is closed.

        At `deadline`, by `time.monotonic`, it is given up whatever the database is about to do, and raises
        `DatabaseStalled`.
        """
        connection = self._find_living(deadline)
        try:
            yield connection
        except BaseException as error:
            if isinstance(error, errors.ReadOnlySqlTransaction):
                self.distrust(connection)
            try:
                connection.rollback()
            except Exception:
                connection.close()
            raise
        finally:
            connection.deadline = math.inf
            # The pool throws away what is broken and looks for a new one in the background.
            self._pool.putconn(connection)

    def distrust(self, connection: Connection[Any]) -> None:
        """Give up a connection that reaches a standby, and all that were made before now."""
        self._trusted_since = time.monotonic()
        connection.close()

    def _find_living(self, deadline: float) -> BoundedConnection:
        """Find a connection that answers, at the price of one round trip.

        So what died while idle costs nobody a turn.

        The pool would do it too, but rests for a second after the first that is dead, then for two, and then
        gives up: when a database had been restarted, three dead ones failed a turn.
        """
        until = min(time.monotonic() + self._wait_seconds, deadline)
        while True:
            left_seconds = until - time.monotonic()
            if left_seconds <= 0:
                raise DatabaseStalled("the database does not answer")
            connection = self._pool.getconn(left_seconds)
            connection.deadline = until
            try:
                ConnectionPool.check_connection(connection)
            except psycopg.Error:
                connection.close()
            else:
                if connection.made_at >= self._trusted_since:
                    connection.deadline = deadline
                    return connection
                connection.close()
            self._pool.putconn(connection)

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()
