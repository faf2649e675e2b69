"""Notices that the server itself stood still, and says when a request read then may have arrived.

A machine is suspended, a container frozen, a process stopped by a signal, an event loop held up: requests lie
in their sockets meanwhile. A beat twice a second shows it. What is read before the sockets have been emptied
again may have come at any time since the last beat, and is said to have (READINGS 46).
"""

from typing import Final

import trio

from ostiary_core.model.arrival import Arrival, arrival_at
from ostiary_core.model.instant import Instant, Monotonic
from ostiary_net.runtime.clock import Clock

__all__ = ["Pauses"]

_BEAT_SECONDS: Final = 0.5
_LATE_MS: Final = 1_000
"""A beat that comes later than this after the one before was held up."""
_EMPTYING_MS: Final = 2_000
"""How long after a pause what is read may have lain in a socket."""


class Pauses:
    """Remembers the pauses of one process. While `watch` does not run, none is noticed."""

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
            self.beat()
            await trio.sleep(_BEAT_SECONDS)

    def beat(self) -> None:
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
            return arrival_at(now)
        since = self._beat_at
        if monotonic - since <= _LATE_MS:
            if monotonic >= self._emptied_at:
                return arrival_at(now)
            since = self._still_since
        return Arrival(Instant(now - (monotonic - since)), now)
