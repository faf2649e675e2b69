"""The network: connections in memory, as slow and as torn as a plan wants them, cut when it says so."""

import socket
from collections.abc import Callable
from hashlib import sha256
from random import Random
from typing import Any, Final

import trio
import trio.testing

__all__ = ["Line", "Wire", "connected"]

_MOST_BYTES: Final = 65_536


class Wire:
    """Counts and digests everything that was ever sent over any connection of a run."""

    def __init__(self) -> None:
        self._digest = sha256()
        self.bytes = 0
        self.connections = 0

    def note(self, way: bytes, number: int, data: bytes) -> None:
        """Take in what went one way over connection `number`."""
        self.bytes += len(data)
        self._digest.update(b"%s %d %d " % (way, number, len(data)) + data)

    @property
    def digest(self) -> str:
        """One value for all bytes in their order."""
        return self._digest.hexdigest()


class _Socket:
    """As much of a socket as Hypercorn asks for."""

    family = socket.AF_INET

    def __init__(self, source: str, close: Callable[[], None]) -> None:
        self._source = source
        self.close = close

    def getpeername(self) -> tuple[str, int]:
        return (self._source, 4_711)

    def getsockname(self) -> tuple[str, int]:
        return ("192.0.2.1", 8_000)


class Line:
    """A client's end of a connection."""

    def __init__(self, wire: Wire, send: Any, receive: Any, sever: Callable[[], None], *, slow: bool) -> None:
        wire.connections += 1
        self._wire = wire
        self._number = wire.connections
        self._send = send
        self._receive = receive
        self.sever = sever
        """Cut the cable: both ends find out."""
        self.rest = b""
        """What was received behind the last whole answer."""
        self.usable = True
        self.slow = slow
        self.is_fresh = True
        """Whether nothing was said over it yet."""

    def hang_up(self) -> None:
        """Close this end; the other finds out when it reads or sends."""
        self.usable = False
        _close(self._send)
        _close(self._receive)

    async def say(self, data: bytes, *, pieces: int = 1, random: Random | None = None) -> None:
        """Send, in so many pieces with pauses between them. Raises `trio.BrokenResourceError`."""
        self.is_fresh = False
        cuts = sorted(random.randrange(len(data)) for _ in range(pieces - 1)) if random and data else []
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            if start == end:
                continue
            await self._send.send_all(data[start:end])
            self._wire.note(b">", self._number, data[start:end])
            if random and pieces > 1:
                await trio.sleep(random.choice((0.0, 0.0, 0.002, 0.2, 0.7)))

    async def hear(self, most: int = _MOST_BYTES) -> bytes:
        """What comes next; nothing at the end."""
        try:
            data = bytes(await self._receive.receive_some(most))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            data = b""
        self._wire.note(b"<", self._number, data)
        return data


def connected(wire: Wire, source: str, *, slow: bool) -> tuple[Line, Any]:
    """A new connection: the client's end and the server's stream.

    A slow reader's bytes go in lockstep: the server cannot send on before they are taken.
    """
    client_send, server_receive = trio.testing.memory_stream_one_way_pair()
    held: Any = (
        trio.testing.lockstep_stream_one_way_pair() if slow else trio.testing.memory_stream_one_way_pair()
    )
    server_send, client_receive = held

    def close_server_end() -> None:
        for each in (server_send, server_receive):
            _close(each)

    def sever() -> None:
        close_server_end()
        for each in (client_send, client_receive):
            _close(each)

    stream: Any = trio.StapledStream(server_send, server_receive)
    stream.socket = _Socket(source, close_server_end)
    return Line(wire, client_send, client_receive, sever, slow=slow), stream


def _close(half: Any) -> None:
    half.close()
