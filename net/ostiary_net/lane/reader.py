"""The bytes of a plain socket, read when the lane's poller sees them, without a task being woken for it."""

import os
from typing import Any, Protocol

import trio
from hypercorn.trio.tcp_server import MAX_RECV

from ostiary_net.lane.poller import Poller

__all__ = ["ByteReceiver", "SocketReader"]


class ByteReceiver(Protocol):
    """Whoever the bytes are for."""

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered; what comes behind it then stays in the socket."""
        ...

    def receive(self, data: bytes) -> None:
        """The next bytes; none where the client sends no more."""
        ...

    def fail(self, error: Exception) -> None:
        """Reading, or what was done with the bytes, failed."""
        ...


class SocketReader:
    """Reads one socket between `start` and `stop`."""

    __slots__ = ("_descriptor", "_is_watched", "_poller", "_receiver", "_stream")

    def __init__(self, stream: trio.SocketStream, poller: Poller, receiver: ByteReceiver) -> None:
        self._stream: Any = stream
        self._poller = poller
        self._receiver = receiver
        self._descriptor = -1
        self._is_watched = False

    def start(self) -> None:
        """Read, if it is not being read. Raises `OSError` where the system watches no more sockets."""
        if self._is_watched:
            return
        self._descriptor = self._stream.socket.fileno()
        if self._descriptor < 0:
            raise trio.ClosedResourceError("this connection was closed")
        self._poller.watch(self._descriptor, self._read)
        self._is_watched = True

    def stop(self) -> None:
        """Read no more; before the socket is closed."""
        if self._is_watched:
            self._is_watched = False
            self._poller.forget(self._descriptor)

    def _read(self) -> None:
        if self._receiver.is_answering:
            self.stop()
            return
        try:
            try:
                data = os.read(self._descriptor, MAX_RECV)
            except BlockingIOError:
                return
            except OSError as error:
                raise trio.BrokenResourceError(str(error)) from error
            self._receiver.receive(data)
        except Exception as error:
            self._receiver.fail(error)
