"""Watches many sockets for bytes with one wait, in place of one waiting task for each.

Trio tells the system anew of every wait, makes a note of who waits, and wakes a task for it. Here all sockets
lie in an epoll of their own, for as long as they are watched; one task waits for that, and calls whoever
has something to read.
"""

import select
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import trio

_MOST_LOOKS: Final = 4
"""While one is read, others come; after so many looks it is somebody else's turn."""

if sys.platform == "linux":

    class Poller:
        """Watches sockets for bytes, in the Trio run that calls it."""

        def __init__(self) -> None:
            self._readable: dict[int, Callable[[], None]] = {}
            self._epoll: select.epoll | None = None

        def watch(self, descriptor: int, readable: Callable[[], None]) -> None:
            """Call `readable` again and again while there is something to read, or an end, or an error.

            It neither waits nor raises. Raises `OSError` where the system allows no more.
            """
            if self._epoll is None:
                self._epoll = select.epoll()
                trio.lowlevel.spawn_system_task(self._run, self._epoll)
            self._epoll.register(descriptor, select.EPOLLIN)
            self._readable[descriptor] = readable

        def forget(self, descriptor: int) -> None:
            """Watch a socket no more; call it before the socket is closed, as another may get its number."""
            if self._readable.pop(descriptor, None) is not None and self._epoll is not None:
                with suppress(OSError):  # who closed it before we were told took it out
                    self._epoll.unregister(descriptor)

        async def _run(self, epoll: select.epoll) -> None:
            """Call the readers of sockets with bytes, until the Trio run ends."""
            try:
                while True:
                    await trio.lowlevel.wait_readable(epoll.fileno())
                    for _ in range(_MOST_LOOKS):
                        if not self._call_readable(epoll):
                            break
            finally:
                self._epoll = None
                self._readable.clear()
                epoll.close()

        def _call_readable(self, epoll: select.epoll) -> bool:
            """Call every reader that has something to read; whether there was one."""
            found = epoll.poll(0)
            for descriptor, _ in found:
                readable = self._readable.get(descriptor)
                if readable is not None:
                    readable()
            return bool(found)


def open_poller() -> "Poller | None":
    """Make a poller; None where the system has no epoll."""
    return Poller() if sys.platform == "linux" else None
