"""Lend connections to the primary: a pool that replaces broken ones as long as callers wait."""

import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolTimeout

from ostiary_net.observability.log import format_on_one_line
from ostiary_net.postgres.connection import (
    CONNECT_SECONDS,
    BoundedConnection,
    DatabaseStalled,
    PrimarySearch,
    read_password_parameter,
)
from ostiary_net.postgres.hosts import Hosts
from ostiary_net.runtime.system import raise_if_cancelled

_ASKS_AGAIN_SECONDS: Final = 0.2
"""Time after which a thread that waits for a connection makes the pool try again."""
_LONGEST_PAUSE_SECONDS: Final = 2.0

# The driver tells no code of what refuses a connection. A server that speaks another language is waited for.
_REFUSED_FOR_GOOD: Final = re.compile(
    r"(database|role) \".*\" does not exist|no such (database|user)"
    r"|authentication failed|no password supplied|no pg_hba\.conf entry|pg_hba\.conf rejects"
    r"|permission denied for database|is not permitted to log in|unrecognized configuration parameter"
    r"|does not support SSL, but SSL was required|SSL required|certificate verify failed|root certificate"
    r"|does not match host name|channel binding required|authentication method requirement|invalid .* value"
)
"""What the driver or the server says of a connection that waiting does not bring about."""

_LIVENESS_PARAMETERS: Final = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
    "target_session_attrs": "read-write",
}
"""Connection parameters by which a lost machine is noticed, unless the address names them.

A machine that is gone closes no connection, and the system by itself waits up to two hours for its
answer. Of several hosts, only the one that can be written to is of use."""


class PrimaryConnections:
    """Connections to the primary, one for each caller up to a bound; any thread may borrow one."""

    def __init__(
        self,
        conninfo: str,
        *,
        most: int,
        wait_seconds: float,
        prepares: bool | None,
        read_password: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Make the pool; `wait_seconds` bounds how long a caller waits while the database is away."""
        named = conninfo_to_dict(conninfo)
        self._conninfo = conninfo
        self._search = PrimarySearch(Hosts(named), prepares, read_password)
        self._liveness: dict[str, Any] = {
            name: value for name, value in _LIVENESS_PARAMETERS.items() if name not in named
        }
        self._wait_seconds = wait_seconds
        self._current_since = -math.inf
        self._pool = ConnectionPool(
            conninfo,
            connection_class=BoundedConnection,
            # The encoding, as the environment, the role or the address may name one without Chinese.
            kwargs={
                "autocommit": True,
                "connect_timeout": CONNECT_SECONDS,
                "client_encoding": "UTF8",
                "search": self._search,
                **self._liveness,
            },
            min_size=1,
            max_size=most,
            # By default the pool's pauses double for five minutes, and it sleeps on after the database is
            # back. So it gives up at once, and waiting threads make it try again.
            reconnect_timeout=0.0,
            open=False,
        )

    def open(self, within_seconds: float, tell_waiting: Callable[[str], None]) -> None:
        """Open the pool, waiting up to `within_seconds` for the database; raise what the last attempt raised.

        One that refuses for good is not waited for. `tell_waiting` is called with the reason if the first
        attempt is not the last.
        """
        until = time.monotonic() + within_seconds
        pause = first_pause = 0.05
        while True:
            try:
                named = {**self._liveness, **read_password_parameter(self._search.read_password)}
                psycopg.connect(self._conninfo, connect_timeout=CONNECT_SECONDS, **named).close()
                break
            except psycopg.OperationalError as error:
                reason = format_on_one_line(error)
                if time.monotonic() + pause > until or _REFUSED_FOR_GOOD.search(reason):
                    raise
            if pause == first_pause:
                tell_waiting(reason)
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        with self._search.demand.waiting():
            self._pool.open(wait=True, timeout=within_seconds)

    def give_up_at(self, deadline: float) -> float:
        """Return the `time.monotonic` until which a caller with `deadline` waits for a connection."""
        return min(time.monotonic() + self._wait_seconds, deadline)

    @contextmanager
    def lend(
        self, until: float | None = None, *, ends_when_cancelled: bool = False
    ) -> Iterator[BoundedConnection]:
        """Lend a connection that is in no transaction, and take it back in none, or closed.

        It may have died while idle. `until` is its deadline, unless the caller sets another. With
        `ends_when_cancelled` a call whose task is cancelled does not wait for one.
        """
        until = self.give_up_at(math.inf) if until is None else until
        with self._search.demand.waiting():
            connection = self._checkout_current(until, raise_if_cancelled if ends_when_cancelled else None)
        connection.deadline = until
        try:
            yield connection
        except BaseException as error:
            if isinstance(error, errors.ReadOnlySqlTransaction):
                self.discard_stale(connection)
            try:
                connection.rollback()
            except Exception:
                connection.close()
            raise
        finally:
            connection.deadline = math.inf
            connection.ends_when_cancelled = False
            if connection.has_stalled:
                # Or each of the other connections would wait for the lost machine.
                self.discard_stale(connection)
            # The pool drops a broken connection and makes a new one in the background.
            self._pool.putconn(connection)

    def discard_stale(self, connection: Connection[Any]) -> None:
        """Give up a connection that leads to no primary, and all connections made before now."""
        self._current_since = time.monotonic()
        connection.close()

    def _checkout_current(self, until: float, check: Callable[[], None] | None) -> BoundedConnection:
        while True:
            if check is not None:
                check()
            left_seconds = until - time.monotonic()
            if left_seconds <= 0:
                raise DatabaseStalled("the database does not answer")
            try:
                connection = self._pool.getconn(min(left_seconds, _ASKS_AGAIN_SECONDS))
            except PoolTimeout:
                continue
            is_newest = self._search.timelines.is_newest(connection.database, connection.timeline)
            if connection.made_at >= self._current_since and is_newest:
                return connection
            connection.close()
            self._pool.putconn(connection)

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()
