"""What the server can know of a request's way: when it may have arrived, and whether its sender has gone.

See READINGS 46.
"""

import select
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import trio

from ostiary_core.model.instant import Arrival, Instant, Monotonic
from ostiary_net.runtime.system import Clock

_BEAT_SECONDS: Final = 0.5
_LATE_MS: Final = 1_000
"""A tick that comes later than this after the one before was held up."""
_EMPTYING_MS: Final = 2_000
"""How long after a pause what is read may have lain in a socket."""


class StallDetector:
    """Notices that the server itself stood still, and says when a request read then may have arrived.

    A machine is suspended, a container frozen, a process stopped by a signal, an event loop held up: requests
    lie in their sockets meanwhile. A tick twice a second shows it. What is read before the sockets have been
    emptied again may have come at any time since the last tick, and is said to have. While `watch` does not
    run, no pause is noticed.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._beat_at: Monotonic | None = None
        self._still_since = Monotonic(0)
        self._emptied_at = Monotonic(0)
        self._known_until = Monotonic(0)
        """Until then, what is read has arrived just now."""

    async def watch(self) -> None:
        """Beat twice a second, for ever."""
        while True:
            self.tick()
            await trio.sleep(_BEAT_SECONDS)

    def tick(self) -> None:
        """Note that the server runs now."""
        present = self._clock.monotonic()
        if self._beat_at is not None and present - self._beat_at > _LATE_MS:
            self._still_since = self._beat_at
            self._emptied_at = Monotonic(present + _EMPTYING_MS)
        self._beat_at = present
        self._known_until = Monotonic(present + _LATE_MS if present >= self._emptied_at else 0)

    def arrival(self, now: Instant, monotonic: Monotonic) -> Arrival:
        """When a request may have arrived that is read at `now`, which is `monotonic` on the other clock."""
        if monotonic <= self._known_until or self._beat_at is None:
            return Arrival(now, now)
        since = self._beat_at
        if monotonic - since <= _LATE_MS:
            if monotonic >= self._emptied_at:
                return Arrival(now, now)
            since = self._still_since
        return Arrival(Instant(now - (monotonic - since)), now)


# --- whether the sender has gone

# A client that has given up closes its connection, and sends its request again over another. Of the first
# one the server learns nothing while it waits for a decision; so it looks, once the request has waited.

DisconnectCheck = Callable[[], bool]
"""Says whether the sender has closed the connection, or its side of it. It neither waits nor raises; any
thread may ask."""

CLIENT_GONE: Final[ContextVar[DisconnectCheck | None]] = ContextVar("CLIENT_GONE", default=None)
"""Of the connection that the present task answers on; None where nobody can know."""

_CLOSED: Final = getattr(select, "POLLRDHUP", 0)


def make_disconnect_check(stream: Any) -> DisconnectCheck | None:
    """A function that asks the system whether the peer of `stream` has gone; None where nobody can know.

    Without a socket, or a system that can say, nobody can.
    """
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
