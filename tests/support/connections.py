"""Connections to Hypercorn's own Trio server, in memory and over pairs of sockets, from chosen addresses."""

import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from enum import Enum
from types import SimpleNamespace
from typing import Any, Final, Literal
from urllib.parse import unquote

import httpx
import trio
import trio.testing
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from fuzz.shared.http_client import HttpClient, Request, Response
from ostiary_net.front_door.connection import patch_hypercorn
from ostiary_net.front_door.guard import Guard
from ostiary_net.lane import start_door
from ostiary_net.turns.service import Service

PEER = "203.0.113.7"
"""The address of a client, unless a test gives another."""

Stream = trio.abc.HalfCloseableStream


class Kind(Enum):
    """A connection on a plain socket, which rests in the lane, or in memory, which its task reads."""

    MEMORY = "memory"
    SOCKETS = "sockets"


class _Calling:
    """A socket, or as much of one as Hypercorn asks for, that names other addresses than it has."""

    family = socket.AF_INET

    def __init__(self, held: Any, peer: str) -> None:
        self._held = held
        self._peer = peer

    def getpeername(self) -> tuple[str, int]:
        return (self._peer, 4_711)

    def getsockname(self) -> tuple[str, int]:
        return ("192.0.2.1", 8_000)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held, name)


def connect_stream(
    guarded: Guard,
    nursery: trio.Nursery,
    config: Config,
    context: WorkerContext,
    *,
    peer: str = PEER,
    never_sends: bool = False,
    kind: Kind = Kind.MEMORY,
) -> Stream:
    """Return the client's end of a new connection, served as Hypercorn serves one that it accepts.

    With `never_sends` the server can send nothing, as to a client that does not read.
    """
    from ostiary_net.front_door.connection import open_connection

    client, held = _in_memory(peer, never_sends) if kind is Kind.MEMORY else _of_sockets(peer, never_sends)
    app: Any = guarded
    opened: Any = open_connection(ASGIWrapper(app), config, context, ConnectionState({}), held)
    nursery.start_soon(_serve, opened, held)
    return client


async def _serve(opened: Any, held: Any) -> None:
    """Run a connection until it is over, and close it, as the listener does that accepted it."""
    try:
        await opened.run()
    finally:
        await trio.aclose_forcefully(held)


def _in_memory(peer: str, never_sends: bool) -> tuple[Stream, Any]:
    client, server = trio.testing.memory_stream_pair()
    if never_sends:
        server.send_stream.send_all_hook = trio.sleep_forever
    held: Any = server

    def close() -> None:
        held.send_stream.close()
        held.receive_stream.close()

    held.socket = _Calling(SimpleNamespace(close=close), peer)
    return client, held


def _of_sockets(peer: str, never_sends: bool) -> tuple[Stream, Any]:
    client, server = trio.socket.socketpair()
    if never_sends:
        _fill(server)
    held: Any = trio.SocketStream(server)
    held.socket = _Calling(server, peer)
    return trio.SocketStream(client), held


def _fill(sending: trio.socket.SocketType) -> None:
    """Fill a socket until its other end takes no more."""
    with socket.socket(fileno=os.dup(sending.fileno())) as twin, suppress(BlockingIOError):
        twin.setblocking(False)
        while True:
            twin.send(bytes(65_536))


Door = Literal["guard", "plain", "lane"]
DOORS: Final[tuple[Door, ...]] = ("guard", "plain", "lane")

OpenTransport = Callable[[str], httpx.AsyncBaseTransport]
"""A transport for a client that calls from an address."""

_PATIENCE_SECONDS: Final = 30


@asynccontextmanager
async def opened_door(door: Door, guarded: Guard, service: Service) -> AsyncIterator[OpenTransport]:
    """Yield a function that opens transports through a door."""
    if door == "guard":
        yield lambda source: _Called(guarded, source)
        return
    assert patch_hypercorn()
    guarded.started = start_door(service, guarded.limits, has_lane=door == "lane")
    assert (guarded.started.open_connection is not None) == (door == "lane")
    async with trio.open_nursery() as nursery:
        config, context = Config(), WorkerContext(None)

        def connect(source: str) -> Stream:
            return connect_stream(guarded, nursery, config, context, peer=source)

        yield lambda source: _Wire(lambda: connect(source))
        nursery.cancel_scope.cancel()


class _Called(httpx.AsyncBaseTransport):
    """The application called as a server calls it."""

    def __init__(self, guarded: Guard, source: str) -> None:
        self._guarded = guarded
        self._client = (source, 4711)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        target: bytes = request.extensions.get("target", request.url.raw_path)
        raw_path, _, query = target.partition(b"?")

        async def called(scope: Any, receive: Any, send: Any) -> None:
            meant = {"path": unquote(raw_path.decode("ascii")), "raw_path": raw_path, "query_string": query}
            await self._guarded({**scope, **meant}, receive, send)

        return await httpx.ASGITransport(called, client=self._client).handle_async_request(request)


class _Wire(httpx.AsyncBaseTransport):
    """One connection, kept for as long as the server keeps it."""

    def __init__(self, connect: Callable[[], Stream]) -> None:
        self._connect = connect
        self._stream: Stream | None = None
        self._http = HttpClient("")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        target: bytes = request.extensions.get("target", request.url.raw_path)
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
        asked = Request(request.method, target.decode("latin-1"), fields, await request.aread())
        with trio.fail_after(_PATIENCE_SECONDS):
            try:
                response = await self._exchange(asked)
            except trio.BrokenResourceError:  # closed by the server while it was idle
                self._stream = None
                response = await self._exchange(asked)
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.fields]
        return httpx.Response(response.status, headers=headers, content=response.body, request=request)

    async def _exchange(self, request: Request) -> Response:
        if self._stream is None:
            self._stream, self._http = self._connect(), HttpClient("")
        await self._stream.send_all(self._http.write(request))
        while (response := self._http.next_response()) is None:
            assert not self._http.is_over, "the connection ended"
            self._http.receive(bytes(await self._stream.receive_some()))
        if not self._http.is_kept:
            await self._stream.aclose()
            self._stream = None
        return response
