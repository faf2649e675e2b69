"""The network: connections in memory, as slow and fragmented as the plan says, and cut if it says so."""

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Any, Final

import trio
import trio.testing

from fuzz.shared.http_client import FORM, Fields, HttpClient, Request, Response
from fuzz.simulation.plan import Fate, Manner, Mishap
from fuzz.simulation.witness import OPERATION

HOST: Final = "id.example"
EXCHANGE_SECONDS: Final = 100.0
"""Time limit of one exchange in seconds, longer than every limit of the front door."""
_MOST_BYTES: Final = 65_536


class Wire:
    """Counts and digests all bytes of all connections of a run."""

    def __init__(self) -> None:
        self._digest = sha256()
        self.bytes = 0
        self.connections = 0
        self.is_noted = True
        """Whether the bytes depend on the seed alone."""

    def note(self, way: bytes, number: int, data: bytes) -> None:
        """Add bytes that went in one direction over connection `number`."""
        if not self.is_noted:
            return
        self.bytes += len(data)
        self._digest.update(b"%s %d %d " % (way, number, len(data)) + data)

    @property
    def digest(self) -> str:
        """Digest of all bytes in their order."""
        return self._digest.hexdigest()


class _Socket:
    """The part of a socket that Hypercorn uses."""

    def __init__(self, source: str, close: Callable[[], None]) -> None:
        self.family = socket.AF_INET6 if ":" in source else socket.AF_INET
        self._source = source
        self.close = close

    def getpeername(self) -> tuple[str, int]:
        return (self._source, 4_711)

    def getsockname(self) -> tuple[str, int]:
        return ("192.0.2.1", 8_000)


class Connection:
    """A client's end of a connection."""

    def __init__(self, wire: Wire, send: Any, receive: Any, sever: Callable[[], None], *, slow: bool) -> None:
        wire.connections += 1
        self._wire = wire
        self._number = wire.connections
        self._send = send
        self._receive = receive
        self.http = HttpClient(HOST)
        self.sever = sever
        """Function that cuts the cable; both ends notice."""
        self.is_usable = True
        self.is_fresh = True
        """Whether nothing was sent over it yet."""
        self._slow = slow

    def close(self) -> None:
        """Close this end; the other end notices when it reads or sends."""
        self.is_usable = False
        self._send.close()
        self._receive.close()

    async def send(self, data: bytes, *, pieces: int = 1, random: Random | None = None) -> None:
        """Send bytes in so many pieces with pauses between them. Raises `trio.BrokenResourceError`."""
        self.is_fresh = False
        cuts = sorted(random.randrange(len(data)) for _ in range(pieces - 1)) if random and data else []
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            if start == end:
                continue
            await self._send.send_all(data[start:end])
            self._wire.note(b">", self._number, data[start:end])
            if random and pieces > 1:
                await trio.sleep(random.choice((0.0, 0.0, 0.002, 0.2, 0.7)))

    async def receive(self, most: int = _MOST_BYTES) -> bytes:
        """Return the next bytes; none at the end of the connection."""
        try:
            data = bytes(await self._receive.receive_some(most))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            data = b""
        self._wire.note(b"<", self._number, data)
        return data

    async def exchange(self, request: Request, mishap: Mishap, random: Random) -> Response | None:
        """Send a request with its mishaps; return the response, or None if the caller gets none.

        Raises `NotHttp`, `trio.TooSlowError`.
        """
        with trio.fail_after(EXCHANGE_SECONDS):
            data = self.http.write(request)
            if len(request.body) % 4 == 3:  # some clients send an empty line after a body
                data = b"\r\n" + data
            if mishap.fate is Fate.CUT_BEFORE:
                data = data[: random.randrange(len(data))]
            # If the server closes meanwhile, an answer that it sent before can still be read.
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await self.send(data, pieces=mishap.torn, random=random)
            if mishap.fate is Fate.LOST and random.random() < 0.5:
                await trio.sleep(random.choice((0.0, 0.001, 0.01)))
            if mishap.fate in (Fate.CUT_BEFORE, Fate.LOST):
                self.close()
                return None
            most = random.randrange(1, 150) if mishap.fate is Fate.CUT_IN else None
            return await self.next_response(random, most)

    async def next_response(self, random: Random, most: int | None = None) -> Response | None:
        """Return the next response; None if the connection ends first, or is cut after `most` bytes."""
        read = 0
        while (response := self.http.next_response()) is None:
            if most is not None and read >= most:
                self.close()
                return None
            if self._slow:
                await trio.sleep(random.choice((0.0, 0.01, 1.0)))
            data = await self.receive(random.randrange(1, 200) if self._slow else most or _MOST_BYTES)
            if not data:
                self.is_usable = False
                return None
            read += len(data)
            self.http.receive(data)
        self.is_usable = self.is_usable and self.http.is_kept
        return response


def connect(wire: Wire, source: str, *, slow: bool) -> tuple[Connection, Any]:
    """Make a connection; return the client's end and the server's stream.

    A slow reader's connection passes bytes in lockstep: the server cannot send on before they are read.
    """
    client_send, server_receive = trio.testing.memory_stream_one_way_pair()
    pair: Any = trio.testing.lockstep_stream_one_way_pair if slow else trio.testing.memory_stream_one_way_pair
    server_send, client_receive = pair()

    def close_server_end() -> None:
        for each in (server_send, server_receive):
            each.close()

    def sever() -> None:
        close_server_end()
        for each in (client_send, client_receive):
            each.close()

    stream: Any = trio.StapledStream(server_send, server_receive)
    stream.socket = _Socket(source, close_server_end)
    return Connection(wire, client_send, client_receive, sever, slow=slow), stream


def manner_fields(manner: Manner | None, origin: str) -> Fields:
    """Return extra header fields of a browser or an impostor."""
    match manner:
        case Manner.CHINESE:
            return [("Accept-Language", "zh-CN, en;q=0.1")]
        case Manner.KLINGON:
            return [("Accept-Language", "tlh, *;q=0.1")]
        case Manner.ELSEWHERE:
            return [("X-Timezone", "America/Los_Angeles")]
        case Manner.NOWHERE:
            return [("X-Timezone", "../etc/passwd")]
        case Manner.OWN_PAGE:
            return [("Origin", origin), ("Sec-Fetch-Site", "same-origin")]
        case Manner.OTHER_PAGE:
            return [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")]
        case None:
            return []


def number_request(request: Request, operation: int, more: Fields) -> Request:
    """Return the request with more fields, and with the number of its operation.

    A backend's form has the number in an extra parameter, which the server ignores, so that the head is the
    same every time, as backends send it. Every other request has it in a header field.
    """
    fields = [*request.fields, *more]
    if ("Content-Type", FORM) not in fields or not request.target.startswith("/api/"):
        return replace(request, fields=[*fields, (OPERATION.decode(), str(operation))])
    number = b"%s=%06d" % (OPERATION, operation)
    return replace(request, fields=fields, body=request.body + b"&" + number if request.body else number)


async def send_garbage(connection: Connection, random: Random) -> None:
    """Send meaningless bytes; the server may answer, and ends the connection."""
    kinds = (
        lambda: random.randbytes(random.randrange(1, 300)),
        lambda: (
            b"POST /api/oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        lambda: b"GET /api/oauth2/userinfo HTTP/1.1\r\nHost: a..b\r\n\r\n",
        lambda: b"POST /api/oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n",
        lambda: b"POST /api/oauth2/revoke HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"y" * 20_000 + b"\r\n\r\n",
        lambda: (
            b"POST /api/oauth2/token HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"
        ),
    )
    with trio.move_on_after(EXCHANGE_SECONDS):
        try:
            await connection.send(random.choice(kinds)())
            await trio.sleep(random.choice((0.0, 3.0, 40.0)))
            while await connection.receive():
                pass
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
    connection.close()
