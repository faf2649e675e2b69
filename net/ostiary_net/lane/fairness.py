"""Lets connections with many requests at once go on in turn, so that none of them stops the others."""

from collections.abc import Callable

import trio


class FairQueue:
    """Connections that were answered as often as is fair, and have more to be answered, in one Trio run.

    In each pass of Trio's scheduler one of them goes on, for as many answers again. So what all of them
    together take of a pass is bounded, however many they are.
    """

    def __init__(self) -> None:
        self._waiting: dict[Callable[[], None], None] = {}
        self._somebody: trio.Event | None = None

    def add(self, go_on: Callable[[], None]) -> None:
        """Call `go_on`, which neither waits nor raises, when its turn comes, unless `remove` comes before."""
        self._waiting[go_on] = None
        if self._somebody is None:
            self._somebody = trio.Event()
            trio.lowlevel.spawn_system_task(self._run)
        self._somebody.set()

    def remove(self, go_on: Callable[[], None]) -> None:
        """Do not call `go_on` any more."""
        self._waiting.pop(go_on, None)

    async def _run(self) -> None:
        """Call one in each pass, until the Trio run ends."""
        try:
            while True:
                if not self._waiting:
                    self._somebody = trio.Event()
                    await self._somebody.wait()
                go_on = next(iter(self._waiting), None)
                if go_on is not None:
                    del self._waiting[go_on]
                    go_on()
                await trio.lowlevel.checkpoint()
        finally:
            self._somebody = None
            self._waiting.clear()
