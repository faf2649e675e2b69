"""Watches, reads and times many connections with one waiting task."""

import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol

import trio

_MOST_READ: Final = 16 * 1024
"""Most bytes of one read, so that one client's bytes are not all read before those of others."""

_POLLS_A_WAKE_UP: Final = 4
"""Polls in a row: while one socket is read, others come; after these, other tasks run."""

if sys.platform == "linux":

    class Poller:
        """Calls back the sockets with something to read, in the Trio run that calls it."""

        # Trio arms epoll anew for every wait, and wakes a task for it. Here all sockets stay in an epoll of
        # their own, level-triggered, while they are watched. It is itself a descriptor, on which one task
        # waits.

        def __init__(self) -> None:
            self._readable: dict[int, Callable[[], None]] = {}
            self._epoll: select.epoll | None = None
            self.wake_ups = 0
            """Count of wake-ups, between which other tasks run."""

        def watch(self, descriptor: int, readable: Callable[[], None]) -> None:
            """Call `readable`, which never waits or raises, whenever there are bytes, an end or an error.

            Raises `OSError` if the system allows no more.
            """
            if self._epoll is None:
                self._epoll = select.epoll()
                trio.lowlevel.spawn_system_task(self._run, self._epoll)
            self._epoll.register(descriptor, select.EPOLLIN)
            self._readable[descriptor] = readable

        def forget(self, descriptor: int) -> None:
            """Stop watching a socket. Call it before the socket is closed, as another may get its number."""
            if self._readable.pop(descriptor, None) is not None and self._epoll is not None:
                with suppress(OSError):  # closing a descriptor takes it out of epoll
                    self._epoll.unregister(descriptor)

        async def _run(self, epoll: select.epoll) -> None:
            """Call the readers of sockets with bytes, until the Trio run ends."""
            try:
                while True:
                    await trio.lowlevel.wait_readable(epoll.fileno())
                    self.wake_ups += 1
                    for _ in range(_POLLS_A_WAKE_UP):
                        if not self._call_readable(epoll):
                            break
            finally:
                self._epoll = None
                self._readable.clear()
                epoll.close()

        def _call_readable(self, epoll: select.epoll) -> bool:
            """Call the readers of all sockets with bytes; return whether there was one."""
            found = epoll.poll(0)
            for descriptor, _ in found:
                readable = self._readable.get(descriptor)
                if readable is not None:
                    readable()
            return bool(found)


def open_poller() -> "Poller | None":
    """Make a poller; None if the system has no epoll."""
    return Poller() if sys.platform == "linux" else None


class ByteReceiver(Protocol):
    """Receives the bytes of a `SocketReader`."""

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered; the bytes behind it stay in the socket."""
        ...

    def receive(self, data: bytes) -> None:
        """Take the next bytes; none if the client sends no more."""
        ...

    def fail(self, error: Exception) -> None:
        """Take the error of reading or of `receive`."""
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
        """Begin to read, if not reading yet. Raises `OSError` if no more sockets can be watched."""
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


class CallbackQueue:
    """Calls back the connections that were added, each after so many seconds, in one Trio run.

    In each pass of Trio's scheduler one goes on, so that what all of them together take of a pass is bounded.
    """

    # A client that sends head and body apart would arm and disarm a deadline of Trio's with nearly every
    # request. All wait equally long, so the first that was added is the first whose time is over.

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._due: dict[Callable[[], None], float] = {}
        self._has_waiting: trio.Event | None = None

    def add(self, go_on: Callable[[], None]) -> None:
        """Call `go_on`, which never waits or raises, after the seconds, unless `remove` comes before."""
        self._due[go_on] = trio.current_time() + self._seconds
        if self._has_waiting is None:
            self._has_waiting = trio.Event()
            trio.lowlevel.spawn_system_task(self._run)
        self._has_waiting.set()

    def remove(self, go_on: Callable[[], None]) -> None:
        """Remove `go_on`, which is not called any more."""
        self._due.pop(go_on, None)

    async def _run(self) -> None:
        """Call back the connections whose time is over, until the Trio run ends."""
        try:
            while True:
                if not self._due:
                    self._has_waiting = trio.Event()
                    await self._has_waiting.wait()
                    continue
                go_on, due = next(iter(self._due.items()))
                if due > trio.current_time():
                    await trio.sleep_until(due)
                else:
                    del self._due[go_on]
                    go_on()
                    await trio.lowlevel.checkpoint()
        finally:
            self._has_waiting = None
            self._due.clear()
