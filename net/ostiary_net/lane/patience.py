"""Who waits for the rest of a request is reminded when that does not come soon.

A deadline of Trio's for each would be armed and taken back with nearly every request of a client that sends
head and body apart. All have the same patience, so whoever began first is out of it first.
"""

from collections.abc import Callable

import trio

__all__ = ["Patience"]


class Patience:
    """Calls whoever began to wait so many seconds ago and waits still, in the Trio run that asks it to."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadlines: dict[Callable[[], None], float] = {}
        self._somebody: trio.Event | None = None

    def begin(self, over: Callable[[], None]) -> None:
        """Call `over` when patience is, unless it ends before. It neither waits nor raises."""
        self._deadlines[over] = trio.current_time() + self._seconds
        if self._somebody is None:
            self._somebody = trio.Event()
            trio.lowlevel.spawn_system_task(self._run)
        self._somebody.set()

    def end(self, over: Callable[[], None]) -> None:
        """It need not be called any more."""
        self._deadlines.pop(over, None)

    async def _run(self) -> None:
        """Until the Trio run is over."""
        try:
            while True:
                if not self._deadlines:
                    self._somebody = trio.Event()
                    await self._somebody.wait()
                    continue
                over, deadline = next(iter(self._deadlines.items()))
                if deadline > trio.current_time():
                    await trio.sleep_until(deadline)
                else:
                    del self._deadlines[over]
                    over()
        finally:
            self._somebody = None
            self._deadlines.clear()
