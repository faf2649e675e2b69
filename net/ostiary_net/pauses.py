"""Whether the server itself stood still, and when a request that it then reads may have arrived (READINGS
46).

READINGS 46. A machine is suspended, a container frozen, a process stopped by a signal, an event loop held up:
requests lie in their sockets meanwhile. A beat twice a second shows it. What is read before the sockets have
been emptied again may have come at any time since the last beat, and is said to have.
"""

import time
from collections.abc import Callable
from typing import Final

import trio

from ostiary_core.arrival import Arrival, arrival_at
from ostiary_core.instant import SECOND_MS, Instant

__all__ = ["Pauses"]

_BEAT_SECONDS: Final = 0.5
_LATE_SECONDS: Final = 1.0
"""A beat that comes later than this after the one before was held up."""
_EMPTYING_SECONDS: Final = 2.0
"""How long after a pause what is read may have lain in a socket."""


def _seconds() -> float:
    """A clock that nobody sets, and that goes on while the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Pauses:
    """The pauses of one process. While `watch` does not run, none is noticed."""

    def __init__(self, seconds: Callable[[], float] = _seconds) -> None:
        self._seconds = seconds
        self._beat_at: float | None = None
        self._still_since = 0.0
        self._emptied_at = 0.0

    async def watch(self) -> None:
        """Beat for ever."""
        while True:
            self.beat()
            await trio.sleep(_BEAT_SECONDS)

    def beat(self) -> None:
        """The server runs."""
        present = self._seconds()
        if self._beat_at is not None and present - self._beat_at > _LATE_SECONDS:
            self._still_since = self._beat_at
            self._emptied_at = present + _EMPTYING_SECONDS
        self._beat_at = present

    def arrival(self, now: Instant) -> Arrival:
        """When a request arrived that is read at `now`."""
        if self._beat_at is None:
            return arrival_at(now)
        present = self._seconds()
        since = self._beat_at
        if present - since <= _LATE_SECONDS:
            if present >= self._emptied_at:
                return arrival_at(now)
            since = self._still_since
        return Arrival(Instant(now - round((present - since) * SECOND_MS)), now)
