"""One deadline shared by all connections that wait for the rest of a request.

A deadline of Trio's for each would be armed and taken back with nearly every request of a client that sends
head and body apart. All wait for as long, so whoever began first is late first.
"""

from collections.abc import Callable

import trio


class SharedDeadline:
    """Calls back each connection that has waited so many seconds, in the Trio run that began the wait."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadlines: dict[Callable[[], None], float] = {}
        self._somebody: trio.Event | None = None

    def begin(self, expire: Callable[[], None]) -> None:
        """Call `expire` after the seconds, unless `end` comes before. It neither waits nor raises."""
        self._deadlines[expire] = trio.current_time() + self._seconds
        if self._somebody is None:
            self._somebody = trio.Event()
            trio.lowlevel.spawn_system_task(self._run)
        self._somebody.set()

    def end(self, expire: Callable[[], None]) -> None:
        """Call `expire` no more."""
        self._deadlines.pop(expire, None)

    async def _run(self) -> None:
        """Call back everybody whose time is over, until the Trio run ends."""
        try:
            while True:
                if not self._deadlines:
                    self._somebody = trio.Event()
                    await self._somebody.wait()
                    continue
                expire, deadline = next(iter(self._deadlines.items()))
                if deadline > trio.current_time():
                    await trio.sleep_until(deadline)
                else:
                    del self._deadlines[expire]
                    expire()
        finally:
            self._somebody = None
            self._deadlines.clear()
