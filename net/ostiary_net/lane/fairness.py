"""Lets connections with many requests at once go on in turn, so that none stops the others."""

from collections.abc import Callable

import trio


class FairQueue:
    """Queues connections that were answered as often as is fair, and have more requests, in one Trio run.

    In each pass of Trio's scheduler one goes on, for as many answers again: so what all of them together take
    of a pass is bounded.
    """

    def __init__(self) -> None:
        self._waiting: dict[Callable[[], None], None] = {}
        self._has_waiting: trio.Event | None = None

    def add(self, go_on: Callable[[], None]) -> None:
        """Call `go_on`, which never waits or raises, when its turn comes, unless `remove` comes before."""
        self._waiting[go_on] = None
        if self._has_waiting is None:
            self._has_waiting = trio.Event()
            trio.lowlevel.spawn_system_task(self._run)
        self._has_waiting.set()

    def remove(self, go_on: Callable[[], None]) -> None:
        """Remove `go_on`, which is not called any more."""
        self._waiting.pop(go_on, None)

    async def _run(self) -> None:
        """Call one in each pass, until the Trio run ends."""
        try:
            while True:
                if not self._waiting:
                    self._has_waiting = trio.Event()
                    await self._has_waiting.wait()
                go_on = next(iter(self._waiting), None)
                if go_on is not None:
                    del self._waiting[go_on]
                    go_on()
                await trio.lowlevel.checkpoint()
        finally:
            self._has_waiting = None
            self._waiting.clear()
