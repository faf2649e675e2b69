"""Counts the open connections of a process, and which of them wait for their client."""

import resource
from contextvars import ContextVar
from typing import Final, Protocol

import structlog

_log = structlog.get_logger("ostiary")

_FILES_FOR_OTHER_THINGS: Final = 128
"""Files for the store, listening sockets, logs and the interpreter; half of all if there are few."""


class OpenConnection(Protocol):
    """An open connection, as far as the front door needs it."""

    @property
    def is_stopping(self) -> bool:
        """Whether its server stops, so that an answer that begins now is the last."""
        ...

    def abort(self) -> None:
        """Close the connection at once."""
        ...

    def close_idle(self) -> None:
        """Close the connection between two requests."""
        ...


class OpenConnections:
    """Keeps the open connections of one process within their limit.

    At the limit a new connection evicts the one that has been idle longest, else the one that has waited
    longest for its client to send a body or to take an answer: so no client keeps others out by holding
    connections open. If all are being answered, the new one is refused.
    """

    def __init__(self, most: int) -> None:
        self._wanted = most
        self._most: int | None = None
        self._open: set[OpenConnection] = set()
        self._new: dict[OpenConnection, float] = {}
        """Connections without a request yet, with the time at which each began, the oldest first."""
        self._idle: dict[OpenConnection, float] = {}
        """Connections between two requests, with the time of each one's last answer, the oldest first."""
        self._waiting: dict[OpenConnection, None] = {}
        self.refused = 0
        """Count of connections that found no place."""
        self.evicted = 0
        """Count of connections that were closed for others."""

    def __len__(self) -> int:
        return len(self._open)

    @property
    def open(self) -> frozenset[OpenConnection]:
        """Return the connections that are open now."""
        return frozenset(self._open)

    def admit(self, connection: OpenConnection) -> bool:
        """Give a connection a place; return False if there is none."""
        if self._most is None:  # not earlier: the start may raise the limit on open files
            self._most = _limit_to_files(self._wanted)
        if len(self._open) >= self._most:
            oldest = self._find_oldest()
            if oldest is None:
                self.refused += 1
                return False
            self.evicted += 1
            self.leave(oldest)
            oldest.abort()
        self._open.add(connection)
        return True

    def leave(self, connection: OpenConnection) -> None:
        """Free the place of a connection that is closed, or about to be."""
        self._open.discard(connection)
        self.mark_busy(connection)

    def mark_new(self, connection: OpenConnection, now: float) -> None:
        """Mark a connection as waiting for its first request."""
        if connection in self._open:
            self._new[connection] = now

    def mark_idle(self, connection: OpenConnection, now: float) -> None:
        """Mark a connection as idle from now on."""
        if connection in self._open:
            self.mark_busy(connection)
            self._idle[connection] = now

    def mark_waiting(self, connection: OpenConnection) -> None:
        """Mark a connection as waiting for its client amid a request or an answer."""
        if connection in self._open:
            self.mark_busy(connection)
            self._waiting[connection] = None

    def mark_busy(self, connection: OpenConnection) -> None:
        """Mark a connection as having a request to answer."""
        self._new.pop(connection, None)
        self._idle.pop(connection, None)
        self._waiting.pop(connection, None)

    def take_expired(self, new_seconds: float, idle_seconds: float, now: float) -> list[OpenConnection]:
        """Take the connections that were new or idle for too long; they no longer count as idle."""
        expired: list[OpenConnection] = []
        for group, seconds in ((self._new, new_seconds), (self._idle, idle_seconds)):
            for connection, since in group.items():
                if since + seconds > now:
                    break
                expired.append(connection)
        for connection in expired:
            self.mark_busy(connection)
        return expired

    def find_expiry(self, new_seconds: float, idle_seconds: float, now: float) -> float:
        """Return a time before which no connection expires, those that become idle meanwhile included."""
        oldest_new, oldest_idle = (next(iter(group.values()), now) for group in (self._new, self._idle))
        return min(oldest_new + new_seconds, oldest_idle + idle_seconds)

    def _find_oldest(self) -> OpenConnection | None:
        """Return the connection that has been idle longest, else the one that has waited longest."""
        fronts = [next(iter(group.items())) for group in (self._new, self._idle) if group]
        if fronts:
            return min(fronts, key=lambda front: front[1])[0]
        return next(iter(self._waiting), None)


CONNECTION: Final[ContextVar[OpenConnection | None]] = ContextVar("CONNECTION", default=None)
"""Connection that the current task answers on."""


def _limit_to_files(most: int) -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return most
    return max(1, min(most, soft - min(_FILES_FOR_OTHER_THINGS, soft // 2)))


def raise_file_limit(most_connections: int) -> None:
    """Raise the limit on open files as far as the system allows; warn if not all connections fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most_connections + _FILES_FOR_OTHER_THINGS
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        _log.warning(
            "few open files: raise the limit (ulimit -n, LimitNOFILE)",
            open_files=allowed,
            connections=_limit_to_files(most_connections),
            wanted=wanted,
        )
