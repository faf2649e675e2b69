"""Our subclasses use internals of Hypercorn: those of the pinned version, and of no other."""

import inspect
from importlib import import_module
from typing import Any, Final

import pytest
import trio
from hypercorn.config import Config
from hypercorn.trio import serve as hypercorn_serve

from ostiary_net.front_door import hypercorn_internals
from ostiary_net.front_door.connection import patch_hypercorn
from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.hypercorn_internals import find_unsupported_version
from ostiary_net.front_door.limits import DoorLimits
from ostiary_net.front_door.serving import ServerFailed, serve_until
from tests.net.front_door.conftest import Door, Peer, Way, bare_app

GET = b"GET / HTTP/1.1\r\nHost: door\r\n\r\n"
SERVER, MAKER, PROTOCOL = "hypercorn.trio.run", "hypercorn.trio.tcp_server", "hypercorn.protocol"


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypercorn without our classes."""
    server = import_module("hypercorn.trio.tcp_server").TCPServer
    monkeypatch.setattr(import_module(SERVER), "TCPServer", server)
    monkeypatch.setattr(import_module(MAKER), "ProtocolWrapper", import_module(PROTOCOL).ProtocolWrapper)


def read_table(text: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each line by the first one."""
    return {name: tuple(words) for name, *words in map(str.split, text.strip().splitlines())}


PARAMETERS: Final = read_table("""
trio.tcp_server:TCPServer.__init__ self app config context state stream
trio.tcp_server:TCPServer.run self
trio.tcp_server:TCPServer.protocol_send self event
trio.tcp_server:TCPServer._read_data self
trio.tcp_server:TCPServer._initiate_server_close self
trio.worker_context:TrioSingleTask.restart self task_group action
trio.worker_context:TrioSingleTask.stop self
trio.run:TCPServer app config context state stream
trio.run:worker_serve app config sockets shutdown_trigger task_status
trio.tcp_server:ProtocolWrapper app config context task_group state ssl client server send alpn_protocol
protocol:ProtocolWrapper.initiate self
protocol:ProtocolWrapper.handle self event
protocol.h11:H11Protocol.__init__ self app config context task_group connection_state ssl client server send
protocol.h11:H11Protocol.handle self event
protocol.h11:H11Protocol._check_protocol self event
protocol.h11:H11Protocol._handle_events self
protocol.h11:H11Protocol._send_h11_event self event
protocol.h11:H11Protocol._send_error_response self status_code
""")
"""Each function that the subclasses call or replace, with its parameters."""

ATTRIBUTES: Final = read_table("""
trio.tcp_server:TCPServer app config context idle_task send_lock state stream
protocol.h11:H11Protocol app client config connection keep_alive_requests send stream
trio.worker_context:WorkerContext max_requests terminated
""")
"""Attributes of each class that the subclasses use."""


def find(name: str) -> Any:
    """Return the object of Hypercorn that is named as `module:Class.function`."""
    module, _, path = name.partition(":")
    found: Any = import_module(f"hypercorn.{module}")
    for part in path.split("."):
        found = getattr(found, part)
    return found


def test_the_hypercorn_installed_is_the_one_that_was_read() -> None:
    assert find_unsupported_version() is None


@pytest.mark.parametrize("name", PARAMETERS)
def test_functions_that_the_subclasses_use_take_what_was_read(name: str) -> None:
    assert tuple(inspect.signature(find(name)).parameters) == PARAMETERS[name]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_objects_keep_what_the_subclasses_use(name: str) -> None:
    assert set(ATTRIBUTES[name]) <= set(find(name).__init__.__code__.co_names)


@pytest.mark.usefixtures("stock")
def test_of_another_hypercorn_nothing_is_replaced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = import_module(SERVER).TCPServer, import_module(MAKER).ProtocolWrapper
    monkeypatch.setattr(hypercorn_internals, "version", lambda name: "0.19.0")
    assert not patch_hypercorn()
    assert (import_module(SERVER).TCPServer, import_module(MAKER).ProtocolWrapper) == before
    lines = capsys.readouterr()
    assert (lines.out + lines.err).count("\n") == 1
    assert "0.19.0" in lines.out + lines.err


def test_doing_it_twice_does_no_more() -> None:
    assert patch_hypercorn()
    installed = import_module(SERVER).TCPServer
    assert patch_hypercorn()
    assert import_module(SERVER).TCPServer is installed


@pytest.mark.usefixtures("stock")
async def test_without_our_classes_the_guard_still_repairs_what_it_can(
    door: Door, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hypercorn_internals, "version", lambda name: "0.19.0")
    peer = await door.call(GET)
    assert b"hello" in await peer.hear()
    assert await peer.hear_end(35) == b""
    for status, request in (
        (401, b"POST /early HTTP/1.1\r\nHost: door\r\nContent-Length: 9\r\n\r\n"),
        (413, b"POST /small HTTP/1.1\r\nHost: door\r\nContent-Length: 101\r\n\r\n"),
        (400, b"GET / HTTP/1.1\r\nHost: a..b\r\n\r\n"),
        (400, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ):
        heard = await door.ask(request, 35)
        assert heard.startswith(b"HTTP/1.1 %d" % status)
        assert b"connection: close" in heard.lower()


async def test_other_applications_of_the_process_are_served_as_before(nursery: trio.Nursery) -> None:
    patch_hypercorn()
    config, stop = Config(), trio.Event()
    config.bind, config.errorlog = ["127.0.0.1:0"], None
    app: Any = bare_app

    async def run(task_status: trio.TaskStatus[list[str]]) -> None:
        await hypercorn_serve(app, config, shutdown_trigger=stop.wait, task_status=task_status)

    addresses: list[str] = await nursery.start(run)
    async with await trio.open_tcp_stream("127.0.0.1", int(addresses[0].rpartition(":")[2])) as stream:
        peer = Peer(stream)
        await peer.say(GET)
        assert b"server: hypercorn" in await peer.hear()
    stop.set()


@pytest.mark.parametrize("has_started, told", [(False, "the disk is gone"), (True, "ended by itself")])
async def test_a_dead_application_ends_the_server(limits: DoorLimits, has_started: bool, told: str) -> None:
    async def dying(scope: Any, receive: Any, send: Any) -> None:
        if has_started:
            await send({"type": "lifespan.startup.complete"})
            await trio.sleep(60)
        raise OSError("the disk is gone")

    guarded = Guard(dying, limits)
    with trio.fail_after(120), pytest.raises(ServerFailed, match=told):
        await serve_until(trio.Event(), guarded, bind="127.0.0.1:0", graceful_seconds=1, on_listening=print)
