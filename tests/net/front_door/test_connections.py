"""A connection ends when it should: idle, slow, not reading, one too many, or at the server's stop."""

import socket
from contextlib import suppress
from typing import Any

import pytest
import trio

from ostiary_net.front_door.connections import OpenConnections
from tests.net.front_door.conftest import Door, OpenDoor

PARTING_SECONDS = 1.0
"""A stop waits for so long for requests that are on their way (`DoorLimits`)."""

LETTING_IN_SECONDS = 1.0
"""A stop waits at most so long for a moment in which no client connects."""

GET = b"GET / HTTP/1.1\r\nHost: door\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: door\r\n\r\n"
LARGE = b"GET /large HTTP/1.1\r\nHost: door\r\n\r\n"


async def test_a_connection_that_is_idle_after_an_answer_is_closed(door: Door) -> None:
    peer = await door.call(GET)
    assert b"hello" in await peer.hear()
    began = trio.current_time()
    assert await peer.hear_end() == b""
    assert 4 < trio.current_time() - began <= 30


async def test_requests_on_one_connection_are_answered_in_order_and_keep_it_open(door: Door) -> None:
    peer = await door.call(GET)
    assert (await peer.hear()).count(b"hello") == 1
    await peer.say(b"POST /echo HTTP/1.1\r\nHost: door\r\nContent-Length: 3\r\n\r\nabc" + GET)
    heard = await peer.hear()
    assert heard.index(b"abc") < heard.index(b"hello")
    assert b"connection: close" not in heard


async def test_a_connection_that_never_asks_is_closed(bare_door: Door) -> None:
    peer = await bare_door.connect()
    began = trio.current_time()
    assert await peer.hear_end() == b""
    assert trio.current_time() - began == pytest.approx(10, abs=1)


async def test_a_head_that_trickles_in_is_not_waited_for(bare_door: Door) -> None:
    peer = await bare_door.connect()
    began = trio.current_time()
    with suppress(trio.BrokenResourceError):
        for byte in GET[:-1]:
            await peer.say(bytes([byte]))
            await trio.sleep(1)
    assert trio.current_time() - began < 15


async def test_a_body_that_trickles_in_is_answered_408(door: Door) -> None:
    peer = await door.call(b"POST /echo HTTP/1.1\r\nHost: door\r\nContent-Length: 1000\r\n\r\n")
    began = trio.current_time()
    heard = b""
    while not heard:
        await peer.say(b"x")
        heard = await peer.hear(1)
    assert heard.startswith(b"HTTP/1.1 408")
    assert b"refused 408 at /echo" in heard
    assert trio.current_time() - began == pytest.approx(30, abs=2)
    await peer.hear_end()


async def test_a_client_that_does_not_read_is_cut_off(bare: Any, open_door: OpenDoor) -> None:
    door = await open_door(bare, write_seconds=20)
    peer = await door.connect(receive_buffer_bytes=4_096)
    await peer.say(LARGE)
    await trio.sleep(60)
    assert len(door.guarded.connections) == 0


async def test_a_client_that_reads_slowly_gets_all_of_its_answer(bare: Any, open_door: OpenDoor) -> None:
    door = await open_door(bare, write_seconds=20)
    peer = await door.connect(receive_buffer_bytes=262_144)
    await peer.say(LARGE)
    received = 0
    with trio.fail_after(10_000):
        while received < 12 * 1024 * 1024:
            received += len(await peer.stream.receive_some(1024 * 1024))
            await trio.sleep(5)


async def test_a_stop_lets_running_requests_finish_and_closes_idle_connections(door: Door) -> None:
    idle, busy = await door.connect(), await door.connect()
    await idle.say(GET)
    await idle.hear()
    await busy.say(SLOW)
    await trio.sleep(1)
    door.stop.set()
    began = trio.current_time()
    assert await idle.hear_end() == b""
    assert trio.current_time() - began == pytest.approx(PARTING_SECONDS, abs=0.5)
    assert (await busy.hear_end()).endswith(b"hello")
    assert not door.stopped.is_set()
    await door.stopped.wait()
    assert trio.current_time() - began < 4


async def test_a_request_on_its_way_at_a_stop_is_answered_with_connection_close(door: Door) -> None:
    kept, new = await door.connect(), await door.connect()
    await kept.say(GET)
    await kept.hear()
    door.stop.set()
    await trio.sleep(PARTING_SECONDS / 2)
    for peer in (kept, new):
        await peer.say(GET)
        heard = await peer.hear_end()
        assert heard.startswith(b"HTTP/1.1 200")
        assert b"\r\nconnection: close\r\n" in heard
    with trio.fail_after(1):
        await door.stopped.wait()


@pytest.mark.parametrize("way", ["serve"])
async def test_clients_that_connected_before_a_stop_and_are_not_accepted_yet_are_answered(door: Door) -> None:
    callers = [socket.create_connection(("127.0.0.1", door.port), timeout=10) for _ in range(20)]
    for caller in callers:
        caller.sendall(GET)
    door.stop.set()  # the server has had no moment to run since they connected
    await door.stopped.wait()
    for caller in callers:
        with caller, caller.makefile("rb") as answer:
            assert answer.read().startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("way", ["serve"])
async def test_a_stop_accepts_connections_for_a_second_while_clients_still_come(bare_door: Door) -> None:
    bare_door.stop.set()
    stopped_at = trio.current_time()
    answered = 0
    with trio.fail_after(LETTING_IN_SECONDS * 1.2), suppress(ConnectionRefusedError):
        while True:
            assert (await bare_door.ask(GET, 0.02)).endswith(b"hello")
            answered += 1
    assert trio.current_time() - stopped_at > LETTING_IN_SECONDS * 0.8
    assert answered > 10
    await bare_door.stopped.wait()


@pytest.mark.parametrize("way", ["serve"])
async def test_a_stop_listens_no_longer_than_a_moment_if_no_client_comes(bare_door: Door) -> None:
    assert (await bare_door.ask(GET)).endswith(b"hello")
    bare_door.stop.set()
    await trio.sleep(LETTING_IN_SECONDS / 4)
    with pytest.raises(OSError, match="refused"):
        await bare_door.connect()


async def test_no_stop_waits_for_a_request_behind_the_last_answer(app: Any, open_door: OpenDoor) -> None:
    """The server reads the next request of an eager client before its answer to the last one is complete."""
    door = await open_door(app, graceful_seconds=100)
    peer = await door.call(SLOW + GET)
    await trio.sleep(1)
    door.stop.set()
    assert (await peer.hear_end()).count(b"hello") == 1
    with trio.fail_after(10):
        await door.stopped.wait()


async def test_a_stop_cuts_off_a_request_that_runs_beyond_the_grace(app: Any, open_door: OpenDoor) -> None:
    door = await open_door(app, graceful_seconds=1)
    peer = await door.call(SLOW)
    await trio.sleep(0.5)
    door.stop.set()
    with trio.fail_after(2):
        await door.stopped.wait()
    assert await peer.hear_end() == b""


async def test_a_stop_does_not_wait_for_a_client_that_does_not_read(bare: Any, open_door: OpenDoor) -> None:
    door = await open_door(bare, graceful_seconds=5, write_seconds=1_000)
    peer = await door.connect(receive_buffer_bytes=4_096)
    await peer.say(LARGE)
    await trio.sleep(1)
    door.stop.set()
    with trio.fail_after(7):
        await door.stopped.wait()


async def test_a_connection_that_its_client_closed_holds_nothing(door: Door) -> None:
    peer = await door.call(GET)
    await peer.hear()
    await peer.stream.aclose()
    await trio.sleep(0.1)
    assert len(door.guarded.connections) == 0


async def test_one_connection_too_many_replaces_the_one_idle_longest(bare: Any, open_door: OpenDoor) -> None:
    door = await open_door(bare, most_connections=2)
    older, newer = await door.connect(), await door.connect()
    for peer in (newer, older, newer):
        await peer.say(GET)
        await peer.hear()
    third = await door.call(GET)
    assert b"hello" in await third.hear()
    assert await older.hear_end(1) == b""
    await newer.say(GET)
    assert b"hello" in await newer.hear()
    assert (door.guarded.connections.evicted, door.guarded.connections.refused) == (1, 0)


async def test_one_connection_too_many_is_refused_while_all_are_busy(bare: Any, open_door: OpenDoor) -> None:
    door = await open_door(bare, most_connections=2)
    busy = [await door.connect(), await door.connect()]
    for peer in busy:
        await peer.say(SLOW)
    await trio.sleep(0.5)
    third = await door.connect()
    assert await third.hear_end(1) == b""
    assert (door.guarded.connections.evicted, door.guarded.connections.refused) == (0, 1)
    for peer in busy:
        assert (await peer.hear(4)).endswith(b"hello")
    assert len(door.guarded.connections) == 2


UNFINISHED = b"POST /echo HTTP/1.1\r\nHost: door\r\nContent-Length: 100\r\n\r\nx"


@pytest.mark.parametrize(
    "data, seconds",
    [
        pytest.param(UNFINISHED, 0.1, id="before the application sees it"),
        pytest.param(UNFINISHED, 1, id="while the application reads it"),
        pytest.param(UNFINISHED.replace(b"/echo", b"/early"), 1, id="behind an answer that came early"),
        pytest.param(UNFINISHED.replace(b"/echo", b"/small").replace(b"100", b"1000"), 1, id="behind a 413"),
        pytest.param(LARGE, 1, id="an answer that nobody takes"),
        pytest.param(GET[:-4], 1, id="a head"),
    ],
)
async def test_one_connection_too_many_takes_the_place_of_one_that_waits_for_its_client(
    bare: Any, open_door: OpenDoor, data: bytes, seconds: float
) -> None:
    """A few slow clients, who have no request to answer, would otherwise keep all others out."""
    door = await open_door(bare, most_connections=2)
    slow = [await door.connect(receive_buffer_bytes=4_096) for _ in range(2)]
    for peer in slow:
        await peer.say(data)
        await trio.sleep(seconds)
    assert b"hello" in await door.ask(GET)
    assert len(door.guarded.connections) == 2
    await slow[0].hear_end(1)
    assert not door.guarded.connections.refused


async def test_a_body_that_came_whole_keeps_its_place(bare: Any, open_door: OpenDoor) -> None:
    door = await open_door(bare, most_connections=1)
    peer = await door.call(b"POST /slow HTTP/1.1\r\nHost: door\r\nContent-Length: 2\r\n\r\nx")
    await trio.sleep(0.2)
    await peer.say(b"x")
    await trio.sleep(0.2)
    assert await (await door.connect()).hear_end(1) == b""
    assert (await peer.hear(4)).endswith(b"hello")


async def test_a_place_is_counted_once_whatever_happens_to_it() -> None:
    class Held:
        aborted = is_stopping = False

        def abort(self) -> None:
            self.aborted = True

        close_idle = abort

    connections, first, second = OpenConnections(1), Held(), Held()
    assert connections.admit(first)
    assert not connections.admit(second)
    connections.mark_idle(first, 0.0)
    assert connections.admit(second)
    assert first.aborted
    connections.mark_idle(first, 0.0)
    connections.leave(first)
    assert len(connections) == 1
