"""Finds when a request may have arrived, and whether its client has gone (READINGS 46)."""

import select
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import trio

from ostiary_core.model.instant import Arrival, Instant, Monotonic
from ostiary_net.runtime.system import Clock

_TICK_SECONDS: Final = 0.5
_STALL_MS: Final = 1_000
"""Longest time between two ticks of a server that did not stall."""
_BACKLOG_MS: Final = 2_000
"""Time after a stall in which what is read may have lain in a socket."""


class StallDetector:
    """Detects that the server stood still, and when a request read then may have arrived.

    A machine is suspended, a container frozen, a process or an event loop held up: requests lie in their
    sockets meanwhile. A late tick shows it. What is read before the sockets are empty again may have come at
    any time since the tick before. `watch` makes the ticks.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ticked_at: Monotonic | None = None
        self._stalled_since = Monotonic(0)
        self._backlog_read_at = Monotonic(0)
        self._is_current_until = Monotonic(0)
        """Until this instant, what is read has just arrived."""

    async def watch(self) -> None:
        """Tick twice a second, for ever."""
        while True:
            self.tick()
            await trio.sleep(_TICK_SECONDS)

    def tick(self) -> None:
        """Record that the server runs now."""
        present = self._clock.monotonic()
        if self._ticked_at is not None and present - self._ticked_at > _STALL_MS:
            self._stalled_since = self._ticked_at
            self._backlog_read_at = Monotonic(present + _BACKLOG_MS)
        self._ticked_at = present
        self._is_current_until = Monotonic(present + _STALL_MS if present >= self._backlog_read_at else 0)

    def estimate_arrival(self, now: Instant, monotonic: Monotonic) -> Arrival:
        """Return when a request may have arrived that is read at `now`, `monotonic` on the other clock."""
        if monotonic <= self._is_current_until or self._ticked_at is None:
            return Arrival(now, now)
        since = self._ticked_at
        if monotonic - since <= _STALL_MS:
            if monotonic >= self._backlog_read_at:
                return Arrival(now, now)
            since = self._stalled_since
        return Arrival(Instant(now - (monotonic - since)), now)


# --- whether the client has gone

# A client that has given up closes its connection, and sends its request again over another. The server does
# not read the first one while it waits for a decision; so it asks the system, once the request has waited.

DisconnectCheck = Callable[[], bool]
"""Whether the client has closed the connection, or its side of it; never waits or raises, in any thread."""

CLIENT_GONE: Final[ContextVar[DisconnectCheck | None]] = ContextVar("CLIENT_GONE", default=None)
"""Disconnect check of the current task's connection; None if it cannot be known."""

_CLOSED: Final = getattr(select, "POLLRDHUP", 0)


def make_disconnect_check(stream: Any) -> DisconnectCheck | None:
    """Return a check whether the peer of `stream` has gone; None if the system cannot tell."""
    transport = getattr(stream, "transport_stream", stream)
    if not _CLOSED or not isinstance(transport, trio.SocketStream):
        return None
    return partial(_is_closed, transport.socket)


def _is_closed(socket: Any) -> bool:
    descriptor = socket.fileno()
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, _CLOSED)
    return bool(poll.poll(0))
