"""The lane on every kind of stream that Hypercorn serves: TLS, Unix sockets, TCP."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from hypercorn.config import Config
from hypercorn.trio import serve as hypercorn_serve

from ostiary_net.front_door.limits import Receive, Scope, Send
from ostiary_net.front_door.serving import serve_until
from tests.net.front_door.application import answer_lifespan
from tests.net.lane.test_both_doors import ASKED
from tests.net.lane.twins import Opened, open_twin
from tests.support.processes import Certificate, certify

ACTIVE = ASKED["active access token"]


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return certify(tmp_path)


async def only_lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    assert scope["type"] == "lifespan", "the application was asked"
    await answer_lifespan(receive, send)


async def say_twice(stream: trio.abc.Stream) -> None:
    """Ask two times over one connection, and hear two good answers."""
    with trio.fail_after(30):
        for _ in range(2):
            await stream.send_all(ACTIVE)
            heard = b""
            while not heard.endswith(b"}"):
                heard += await stream.receive_some(65_536)
            assert heard.startswith(b"HTTP/1.1 200")
            assert b'"active":true' in heard


@asynccontextmanager
async def over_tls(
    certificate: Certificate, offered: list[str]
) -> AsyncIterator[trio.SSLStream[trio.SocketStream]]:
    """Connect to a door that Hypercorn itself serves over TLS, and offer it these protocols."""
    async with open_twin(lane=True, app=only_lifespan) as door, trio.open_nursery() as nursery:
        config = Config()
        config.bind, config.errorlog = ["127.0.0.1:0"], None
        config.certfile, config.keyfile = str(certificate.certificate), str(certificate.key)
        stop = trio.Event()
        app: Any = door.guarded
        run = partial(hypercorn_serve, app, config, shutdown_trigger=stop.wait)
        addresses: list[str] = await nursery.start(run)
        context = ssl.create_default_context(cafile=str(certificate.certificate))
        if offered:
            context.set_alpn_protocols(offered)
        tcp = await trio.open_tcp_stream("127.0.0.1", int(addresses[0].rpartition(":")[2]))
        stream = trio.SSLStream(tcp, context, server_hostname="localhost", https_compatible=True)
        yield stream
        await trio.aclose_forcefully(stream)
        stop.set()


@pytest.mark.parametrize("offered", [["http/1.1"], []], ids=["http/1.1", "no protocol"])
async def test_the_lane_answers_over_tls(certificate: Certificate, offered: list[str]) -> None:
    async with over_tls(certificate, offered) as stream:
        await say_twice(stream)


async def test_http2_over_tls_is_left_to_hypercorn(certificate: Certificate) -> None:
    async with over_tls(certificate, ["h2"]) as stream:
        with trio.fail_after(30):
            await stream.send_all(ACTIVE)
            heard = b"".join([part async for part in stream])
        assert b"HTTP/1.1" not in heard


async def serve(door: Opened, bind: str, nursery: trio.Nursery, stop: trio.Event) -> str:
    send, receive = trio.open_memory_channel[list[str]](1)

    async def run() -> None:
        await serve_until(stop, door.guarded, bind=bind, graceful_seconds=1, on_listening=send.send_nowait)

    nursery.start_soon(run)
    [address] = await receive.receive()
    return address


async def test_the_lane_answers_on_a_unix_socket(tmp_path: Path) -> None:
    path, stop = tmp_path / "door", trio.Event()
    async with open_twin(lane=True, app=only_lifespan) as door, trio.open_nursery() as nursery:
        assert await serve(door, f"unix:{path}", nursery, stop) == f"unix:{path}"
        async with await trio.open_unix_socket(path) as stream:
            await say_twice(stream)
        stop.set()


async def test_the_lane_answers_on_tcp_without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = trio.Event()
    async with open_twin(lane=True, app=only_lifespan) as door, trio.open_nursery() as nursery:
        address = await serve(door, "127.0.0.1:0", nursery, stop)
        async with await trio.open_tcp_stream("127.0.0.1", int(address.rpartition(":")[2])) as stream:
            await say_twice(stream)
            connections: Any = door.guarded.connections.open
            [connection] = connections
            assert connection.stream.getsockopt(trio.socket.IPPROTO_TCP, trio.socket.TCP_NODELAY) != 0
        stop.set()
