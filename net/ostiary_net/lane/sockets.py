"""Watches, reads and times many connections with one wait, in place of a waiting task for each."""

import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

import trio

_MOST_READ: Final = 16 * 1024
"""Bytes in one read: what one client sends is not all taken before others are read."""

_MOST_LOOKS: Final = 4
"""While one is read, others come; after so many looks it is somebody else's turn."""

if sys.platform == "linux":

    class Poller:
        """Watches sockets for bytes, in the Trio run that calls it.

        Trio tells the system anew of every wait, makes a note of who waits, and wakes a task for it. Here all
        sockets lie in an epoll of their own, for as long as they are watched; one task waits for that, and
        calls whoever has something to read.
        """

        def __init__(self) -> None:
            self._readable: dict[int, Callable[[], None]] = {}
            self._epoll: select.epoll | None = None
            self.wake_ups = 0
            """How often it was woken: between two, others run."""

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
                    self.wake_ups += 1
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


class ByteReceiver(Protocol):
    """What a `SocketReader` gives its bytes to."""

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered; the bytes behind it then stay in the socket."""
        ...

    def receive(self, data: bytes) -> None:
        """Take the next bytes; none where the client sends no more."""
        ...

    def fail(self, error: Exception) -> None:
        """Take the error with which reading, or using the bytes, failed."""
        ...


class SocketReader:
    """Reads one plain socket between `start` and `stop`, without waking a task for it."""

    __slots__ = ("_descriptor", "_is_watched", "_poller", "_receiver", "_stream")

    def __init__(self, stream: trio.SocketStream, poller: Poller, receiver: ByteReceiver) -> None:
        self._stream: Any = stream
        self._poller = poller
        self._receiver = receiver
        self._descriptor = -1
        self._is_watched = False

    def start(self) -> None:
        """Begin to read, unless it reads already. Raises `OSError` where no more sockets can be watched."""
        if self._is_watched:
            return
        self._descriptor = self._stream.socket.fileno()
        if self._descriptor < 0:
            raise trio.ClosedResourceError("this connection was closed")
        self._poller.watch(self._descriptor, self._read)
        self._is_watched = True

    def stop(self) -> None:
        """Stop reading; call it before the socket is closed."""
        if self._is_watched:
            self._is_watched = False
            self._poller.forget(self._descriptor)

    def _read(self) -> None:
        if self._receiver.is_answering:
            self.stop()
            return
        try:
            try:
                data = os.read(self._descriptor, _MOST_READ)
            except BlockingIOError:
                return
            except OSError as error:
                raise trio.BrokenResourceError(str(error)) from error
            self._receiver.receive(data)
        except Exception as error:
            self._receiver.fail(error)


class SharedDeadline:
    """Calls back each connection that has waited so many seconds, in the Trio run that began the wait.

    A deadline of Trio's for each would be armed and taken back with nearly every request of a client that
    sends head and body apart. All wait for as long, so whoever began first is late first.
    """

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
