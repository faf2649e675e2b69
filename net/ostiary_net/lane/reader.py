"""Reads a plain socket when the lane's poller sees bytes, without waking a task for it."""

import os
from typing import Any, Protocol

import trio

from ostiary_net.front_door.seam import MAX_RECV
from ostiary_net.lane.poller import Poller


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
    """Reads one socket between `start` and `stop`."""

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
                data = os.read(self._descriptor, MAX_RECV)
            except BlockingIOError:
                return
            except OSError as error:
                raise trio.BrokenResourceError(str(error)) from error
            self._receiver.receive(data)
        except Exception as error:
            self._receiver.fail(error)
