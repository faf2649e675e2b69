"""Servers of a guarded application in this process, on real sockets, under a virtual clock."""

import math
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import trio
from hypercorn.config import Config
from hypercorn.trio import serve as hypercorn_serve
from quart import Response, request
from quart_trio import QuartTrio

from ostiary_net.front_door.connection import patch_hypercorn
from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.limits import Application, DoorLimits, Message, Receive, Scope, Send
from ostiary_net.front_door.serving import serve_until
from tests.net.front_door.application import answer_lifespan, refusal

Way = Literal["serve", "plain"]


LIMITS = DoorLimits(
    body_limit=lambda path: 100 if path == "/small" else 1_000_000,
    refusal=refusal,
    idle_seconds=30,
    head_seconds=10,
)


@pytest.fixture
def limits() -> DoorLimits:
    return LIMITS


class Peer:
    """A client that says bytes and hears bytes."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream

    async def say(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def hear(self, seconds: float = 0.1) -> bytes:
        """Return all that comes until the server closes or `seconds` have passed."""
        heard = b""
        with trio.move_on_after(seconds):
            while data := await self.stream.receive_some(65_536):
                heard += data
        return heard

    async def hear_end(self, seconds: float = 1_000) -> bytes:
        """Return all that comes until the server closes, which it must do in `seconds`."""
        with trio.fail_after(seconds):
            return await self.hear(math.inf)


@dataclass
class Door:
    """A running server."""

    way: Way
    port: int
    guarded: Guard
    stop: trio.Event
    stopped: trio.Event
    peers: list[Peer]

    async def connect(self, receive_buffer_bytes: int | None = None) -> Peer:
        client = trio.socket.socket()
        if receive_buffer_bytes is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        peer = Peer(trio.SocketStream(client))
        self.peers.append(peer)
        await client.connect(("127.0.0.1", self.port))
        return peer

    async def call(self, data: bytes) -> Peer:
        """Open a connection and send `data` over it."""
        peer = await self.connect()
        await peer.say(data)
        return peer

    async def ask(self, data: bytes, seconds: float = 0.1) -> bytes:
        """Send `data` over a new connection, and return all that comes in `seconds`."""
        return await (await self.call(data)).hear(seconds)


OpenDoor = Callable[..., Awaitable[Door]]


@pytest.fixture(params=["serve", "plain"])
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture
def open_door(way: Way, nursery: trio.Nursery, limits: DoorLimits) -> Iterator[OpenDoor]:
    """Serve an application as `ostiary serve` does, or by plain Hypercorn with our classes."""

    peers: list[Peer] = []

    async def open_it(app: Any, graceful_seconds: float = 5.0, **changed: Any) -> Door:
        guarded = Guard(app, replace(limits, **changed))
        stop, stopped = trio.Event(), trio.Event()
        send, receive = trio.open_memory_channel[list[str]](1)

        async def run() -> None:
            if way == "serve":
                await serve_until(
                    stop,
                    guarded,
                    bind="127.0.0.1:0",
                    graceful_seconds=graceful_seconds,
                    on_listening=send.send_nowait,
                )
            else:
                patch_hypercorn()
                config = Config()
                config.bind = ["127.0.0.1:0"]
                config.errorlog = None
                config.graceful_timeout = graceful_seconds
                plain: Any = guarded
                started: Any = SimpleNamespace(started=send.send_nowait)
                await hypercorn_serve(plain, config, shutdown_trigger=stop.wait, task_status=started)
            stopped.set()

        nursery.start_soon(run)
        addresses = await receive.receive()
        return Door(way, int(addresses[0].rpartition(":")[2]), guarded, stop, stopped, peers)

    yield open_it
    for peer in peers:
        peer.stream.socket.close()


def answering_lifespan(app: Application) -> Application:
    """Let an application, which answers requests alone, answer the lifespan protocol as well."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await (answer_lifespan(receive, send) if scope["type"] == "lifespan" else app(scope, receive, send))

    return answer


@answering_lifespan
async def bare_app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 401 without reading at `/early`, after 3 s at `/slow`, 12 MiB at `/large`, else with an echo."""
    path = scope["path"]
    status, content = 200, [b"hello"]
    if path == "/early":
        status, content = 401, [b"who are you?"]
    elif path == "/slow":
        await trio.sleep(3)
    elif path == "/large":
        content = [bytes(1024 * 1024)] * 12
    elif path == "/source":
        content = [f"{scope['ostiary.source']} {scope['scheme']} ".encode() + dict(scope["headers"])[b"host"]]
    elif path == "/raise":
        raise RuntimeError("a secret of the application")
    elif scope["method"] == "POST":
        content = [await whole_body(receive)]
    length = b"%d" % sum(map(len, content))
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", length)]})
    for piece in content:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def whole_body(receive: Receive) -> bytes:
    body = b""
    while True:
        message: Message = await receive()
        piece: bytes = message.get("body", b"")
        body += piece
        if not message.get("more_body", False):
            return body


def quart_app() -> QuartTrio:
    """Return an application of Quart-Trio with these paths; Quart cancels its task when an answer is over."""
    app = QuartTrio("door")
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False

    async def answer(path: str) -> Response:
        if path == "early":
            return Response(b"who are you?", 401)
        if path == "slow":
            await trio.sleep(3)
        return Response(await request.get_data() if request.method == "POST" else b"hello")

    app.add_url_rule("/", "answer", answer, methods=["GET"], defaults={"path": ""})
    app.add_url_rule("/<path>", "answer", answer, methods=["GET", "POST"])
    return app


@pytest.fixture(params=["bare", "quart"])
def app(request: pytest.FixtureRequest) -> Any:
    return quart_app() if request.param == "quart" else bare_app


@pytest.fixture
def bare() -> Any:
    return partial(bare_app)


@pytest.fixture
async def door(app: Any, open_door: OpenDoor) -> Door:
    """A server of the bare and of the Quart application, with the limits of all tests."""
    return await open_door(app)


@pytest.fixture
async def bare_door(bare: Any, open_door: OpenDoor) -> Door:
    """A server of the bare application, with the limits of all tests."""
    return await open_door(bare)
