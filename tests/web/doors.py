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

import h11
import httpx
import trio
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext

from ostiary_net.front_door.connection import install_seam
from ostiary_net.front_door.guard import Guard
from ostiary_net.lane import open_lane
from ostiary_net.lane.shortcut import shortcut
from ostiary_net.turns.service import Service
from tests.net.lane.wires import Stream, connected

__all__ = ["DOORS", "Door", "OpenTransport", "opened_door"]

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
    assert install_seam()
    guarded.shortcut = shortcut(service)
    if door == "lane":
        assert open_lane(guarded, service)
    async with trio.open_nursery() as nursery:
        config, context = Config(), WorkerContext(None)

        def connect(source: str) -> Stream:
            return connected(guarded, nursery, config, context, peer=source)

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
    """HTTP/1.1 as h11 speaks it, one connection kept for as long as the server keeps it."""

    def __init__(self, connect: Callable[[], Stream]) -> None:
        self._connect = connect
        self._stream: Stream | None = None
        self._http = h11.Connection(h11.CLIENT)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with trio.fail_after(_PATIENCE_SECONDS):
            return await self._exchanged(request)

    async def _exchanged(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        try:
            return await self._ask(request, body)
        except trio.BrokenResourceError:  # closed by the server while it was idle
            self._stream = None
            return await self._ask(request, body)

    async def _ask(self, request: httpx.Request, body: bytes) -> httpx.Response:
        if self._stream is None:
            self._stream, self._http = self._connect(), h11.Connection(h11.CLIENT)
        asked = h11.Request(
            method=request.method.encode("ascii"),
            target=request.extensions.get("target", request.url.raw_path),
            headers=request.headers.raw,
        )
        events = [asked, h11.Data(data=body), h11.EndOfMessage()]
        await self._stream.send_all(b"".join(self._http.send(event) or b"" for event in events))
        answered = await self._next(self._stream)
        assert isinstance(answered, h11.Response), answered
        content = b""
        while isinstance(event := await self._next(self._stream), h11.Data):
            content += bytes(event.data)
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            await self._stream.aclose()
            self._stream = None
        fields = answered.headers.raw_items()
        return httpx.Response(answered.status_code, headers=fields, content=content, request=request)

    async def _next(self, stream: Stream) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(bytes(await stream.receive_some()))
        return event
