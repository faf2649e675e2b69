"""The doors that the application is reached through, each as an httpx transport without sockets.

guard    ASGI, as an application server calls it; everything is the application's to answer
plain    Hypercorn's HTTP/1.1 on a stream in memory, with the shortcut behind the guard:
         `hypercorn ostiary_web.asgi:app`
lane     the same with the token lane in front: `ostiary serve`

A request with the extension `target` asks for exactly that; httpx would tidy an address up first.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Literal
from urllib.parse import unquote

import httpx
import trio
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext

from fuzz.shared.http_client import HttpClient, Request, Response
from ostiary_net.front_door.connection import patch_hypercorn
from ostiary_net.front_door.guard import Guard
from ostiary_net.lane import open_lane
from ostiary_net.lane.shortcut import make_shortcut
from ostiary_net.turns.service import Service
from tests.net.lane.wires import Stream, connect_stream

Door = Literal["guard", "plain", "lane"]
DOORS: Final[tuple[Door, ...]] = ("guard", "plain", "lane")

OpenTransport = Callable[[str], httpx.AsyncBaseTransport]
"""A transport for a client that calls from an address."""

_PATIENCE_SECONDS: Final = 30


@asynccontextmanager
async def opened_door(door: Door, guarded: Guard, service: Service) -> AsyncIterator[OpenTransport]:
    """Transports through a door, for as long as it is open."""
    if door == "guard":
        yield lambda source: _Called(guarded, source)
        return
    assert patch_hypercorn()
    guarded.shortcut = make_shortcut(service)
    if door == "lane":
        assert open_lane(guarded, service)
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
