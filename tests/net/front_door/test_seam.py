"""The place where Hypercorn is reached into: as pinned, or left alone."""

from importlib import import_module
from typing import Any

import pytest
import trio
from hypercorn.config import Config
from hypercorn.trio import serve as hypercorn_serve

from ostiary_net.front_door import seam
from ostiary_net.front_door.connection import install_seam
from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.rules import DoorRules
from ostiary_net.front_door.seam import ATTRIBUTES, PARAMETERS, find_surprises
from ostiary_net.front_door.serving import ServerFailed, serve_until
from tests.net.front_door.conftest import OpenDoor, Peer, Way, bare_app

GET = b"GET / HTTP/1.1\r\nHost: door\r\n\r\n"
SERVER, MAKER, PROTOCOL = "hypercorn.trio.run", "hypercorn.trio.tcp_server", "hypercorn.protocol"


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypercorn as it is without the seam."""
    server = import_module("hypercorn.trio.tcp_server").TCPServer
    monkeypatch.setattr(import_module(SERVER), "TCPServer", server)
    monkeypatch.setattr(import_module(MAKER), "ProtocolWrapper", import_module(PROTOCOL).ProtocolWrapper)


def test_the_hypercorn_installed_is_the_one_that_was_read() -> None:
    assert find_surprises() == []


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("name", PARAMETERS)
def test_whatever_hypercorn_changes_is_noticed_and_then_nothing_is_replaced(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = import_module(SERVER).TCPServer, import_module(MAKER).ProtocolWrapper
    monkeypatch.setitem(PARAMETERS, name, ("something", "else"))
    assert not install_seam()
    assert (import_module(SERVER).TCPServer, import_module(MAKER).ProtocolWrapper) == before
    lines = capsys.readouterr()
    assert (lines.out + lines.err).count("\n") == 1
    assert name in lines.out + lines.err


def test_of_another_hypercorn_every_difference_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    run, moved = "hypercorn.trio.tcp_server:TCPServer.run", "hypercorn.elsewhere:TCPServer.run"
    context = "hypercorn.trio.worker_context:WorkerContext"
    monkeypatch.setattr(seam, "version", lambda name: "0.19.0")
    monkeypatch.setitem(PARAMETERS, run, ("self", "stop"))
    monkeypatch.setitem(PARAMETERS, moved, ("self",))
    monkeypatch.setitem(ATTRIBUTES, context, ("terminated", "stopped"))
    assert find_surprises() == [
        "version 0.19.0",
        f"{run} takes self",
        f"{moved} is gone",
        f"{context} has no stopped",
    ]


def test_doing_it_twice_does_no_more() -> None:
    assert install_seam()
    installed = import_module(SERVER).TCPServer
    assert install_seam()
    assert import_module(SERVER).TCPServer is installed


@pytest.mark.usefixtures("stock")
async def test_without_the_seam_the_guard_still_repairs_what_it_can(
    open_door: OpenDoor, app: Any, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seam, "version", lambda name: "0.19.0")
    door = await open_door(app)
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
    install_seam()
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


async def test_an_application_that_cannot_start_is_not_served(rules: DoorRules) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise OSError("the store is not there")

    with pytest.raises(ServerFailed, match="the store is not there"):
        await serve_until(
            trio.Event(), Guard(broken, rules), bind="127.0.0.1:0", graceful_seconds=1, started=lambda a: None
        )


async def test_a_server_whose_application_ended_by_itself_ends(rules: DoorRules) -> None:
    async def dying(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "lifespan.startup.complete"})
        await trio.sleep(60)
        raise OSError("the disk is gone")

    with trio.fail_after(120), pytest.raises(ServerFailed, match="ended by itself"):
        await serve_until(
            trio.Event(), Guard(dying, rules), bind="127.0.0.1:0", graceful_seconds=1, started=lambda a: None
        )
