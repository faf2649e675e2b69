"""Connections at rest: plain requests are answered in order and wake no task; others end the rest."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from ostiary_core.events import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_net.lane import opening
from ostiary_net.lane.parser import RequestParser
from tests.net.lane import twins
from tests.net.lane.test_both_doors import ASKED, ELSEWHERE
from tests.net.lane.test_lane import nobody, slow_down
from tests.net.lane.twins import LIMITS, Heard, Line, Opened
from tests.support.connections import Kind
from tests.support.stores import Gate

ACTIVE = ASKED["active access token"]
PROFILE = ASKED["profile"]
ENOUGH = 10_000
"""So many answers do not fit into a socket whose client does not read."""


@asynccontextmanager
async def open_resting(**named: Any) -> AsyncIterator[Opened]:
    async with twins.open_twin(lane=True, kind=Kind.SOCKETS, **named) as door:
        yield door


class Woken(trio.abc.Instrument):
    """Counts how often tasks of connections run inside the block."""

    steps = 0

    def __enter__(self) -> Self:
        trio.lowlevel.add_instrument(self)
        return self

    def __exit__(self, *_: object) -> None:
        trio.lowlevel.remove_instrument(self)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += task.name.endswith("connections._serve")


HEAD, END_OF_HEAD, BODY = ACTIVE.partition(b"\r\n\r\n")


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([ACTIVE], id="introspection"),
        pytest.param([PROFILE], id="user-info"),
        pytest.param([ASKED["client credentials"]], id="credentials"),
        pytest.param([ASKED["no token"]], id="refused"),
        pytest.param([HEAD + END_OF_HEAD, BODY], id="head and body apart"),
        pytest.param([HEAD[:20], HEAD[20:] + END_OF_HEAD + BODY[:3], BODY[3:]], id="in pieces"),
    ],
)
async def test_later_requests_of_a_backend_wake_no_task_of_its_connection(pieces: Sequence[bytes]) -> None:
    async with open_resting(app=nobody) as door:
        line = await door.call(*pieces)
        with Woken() as woken:
            for _ in range(5):
                await line.say(*pieces)
        assert (await line.hear(0.1)).data.count(b"HTTP/1.1 ") == 6
        assert woken.steps == 0


class Recorder:
    """Records each span: its beginning, its answer and its end."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def begin_request(self, trace_id: str, method: str, fields: Sequence[tuple[bytes, bytes]]) -> None:
        parents = [value for name, value in fields if name == b"traceparent"]
        self.told.append(("begin", method, *parents))

    def record_answer(self, trace_id: str, status: int, route: str | None) -> None:
        self.told.append((status, route))

    def end_request(self, trace_id: str) -> None:
        self.told.append(("end",))

    def record_outcome(self, origin: Origin, event: Event, decision: Decision | None) -> None:
        self.told.append((type(event).__name__,))


PARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACED = ACTIVE.replace(b"\r\n\r\n", b"\r\nTraceparent: " + PARENT + b"\r\n\r\n")


async def test_a_request_that_is_traced_wakes_no_task_and_has_its_span_each_time() -> None:
    recorder = Recorder()

    async with open_resting(app=nobody) as door:
        object.__setattr__(door.service, "tracing", recorder)
        line = await door.call(TRACED)
        with Woken() as woken:
            await line.say(TRACED, ASKED["profile of nobody"])
        assert (await line.hear(0.1)).data.count(b"HTTP/1.1 ") == 3
        assert woken.steps == 0
    path = "/api/oauth2/introspect"
    introspected = [("begin", "POST", PARENT), ("IntrospectionRequested",), (200, path), ("end",)]
    refused = [("begin", "GET"), (401, "/api/oauth2/userinfo"), ("end",)]
    assert recorder.told == [*introspected, *introspected, *refused]


async def test_the_span_of_a_request_ends_with_its_connection() -> None:
    recorder = Recorder()

    async with open_resting(app=nobody) as door:
        object.__setattr__(door.service, "tracing", recorder)
        slow_down(door)
        await door.connect().say(TRACED)
        [connection] = door.guarded.connections.open
        connection.abort()
        await wait_all_tasks_blocked()
    assert recorder.told == [("begin", "POST", PARENT), ("end",)]


@pytest.mark.parametrize("behind", [ACTIVE, PROFILE * 2, ELSEWHERE["another route"], ACTIVE[:-5]])
async def test_bytes_behind_a_request_wait_for_its_answer(behind: bytes) -> None:
    async with open_resting() as door:
        release = slow_down(door)
        line = await door.call(ASKED["machine token"], behind, ACTIVE[-5:] if behind == ACTIVE[:-5] else b"")
        before = await line.hear(0.5)
        release.set()
        after = await line.hear(2)
    assert before == Heard(b"", closed=False)
    first, *others = after.data.split(b"HTTP/1.1 ")[1:]
    assert b'"token_type":"Bearer","sub"' not in first
    assert b'"active":true' in first
    assert len(others) == (2 if behind == PROFILE * 2 else 1)
    assert not after.closed


@pytest.mark.parametrize("seconds", [0.4, 0.6], ids=["in time", "late"])
async def test_a_body_is_waited_for_a_moment_before_the_connection_s_task_has_it(seconds: float) -> None:
    async with open_resting() as door:
        line = await door.call(ACTIVE)
        assert (await line.hear(0.1)).data.startswith(b"HTTP/1.1 200")
        with Woken() as woken:
            await line.say(HEAD + END_OF_HEAD)
            await trio.sleep(seconds)
            await line.say(BODY)
        heard = await line.hear(1)
    assert (woken.steps > 0) == (seconds > LIMITS.body_wait_seconds)
    assert heard.data.startswith(b"HTTP/1.1 200")
    assert not heard.closed


@pytest.mark.parametrize(
    "said", [HEAD[:30], HEAD, HEAD + END_OF_HEAD + BODY[:2]], ids=["line", "head", "body"]
)
async def test_a_client_that_leaves_in_the_middle_of_a_request_is_let_go(said: bytes) -> None:
    async with open_resting() as door:
        line = await door.call(said)
        await line.stream.send_eof()
        heard = await line.hear(5)
        await wait_all_tasks_blocked()
        still_open = len(door.guarded.connections)
    assert heard.closed
    assert still_open == 0


async def test_a_client_that_says_no_more_is_answered_before_its_connection_is_closed() -> None:
    async with open_resting(app=nobody) as door:
        release = slow_down(door)
        line = await door.call(ACTIVE)
        await line.stream.send_eof()
        before = await line.hear(0.5)
        release.set()
        after = await line.hear(0.5)
    assert before == Heard(b"", closed=False)
    assert after.data.startswith(b"HTTP/1.1 200")
    assert after.closed


async def close_line(door: Opened, line: Line) -> None:
    await trio.aclose_forcefully(line.stream)


async def abort_line(door: Opened, line: Line) -> None:
    [connection] = door.guarded.connections.open
    connection.abort()


@pytest.mark.parametrize("leave", [close_line, abort_line], ids=["client", "server"])
async def test_a_connection_that_ends_while_it_waits_for_its_turn_is_forgotten(leave: Any) -> None:
    with capture_logs() as log:
        async with open_resting(app=nobody) as door:
            release = slow_down(door)
            line = await door.call(ACTIVE)
            await leave(door, line)
            await wait_all_tasks_blocked()
            release.set()
            await wait_all_tasks_blocked()
            assert len(door.guarded.connections) == 0
            other = await door.call(ACTIVE)
            assert (await other.hear(0.1)).data.startswith(b"HTTP/1.1 200")
    assert [entry for entry in log if entry["log_level"] == "error"] == []


async def test_an_event_whose_connection_was_aborted_before_its_turn_is_left_out() -> None:
    gate = Gate()
    async with open_resting(app=nobody, run_sync=gate) as door:
        first = door.connect()
        await first.say(ASKED["client credentials"])  # its turn has begun
        [connection] = door.guarded.connections.open
        await door.call(ASKED["client credentials"])
        [waiting] = door.guarded.connections.open - {connection}
        waiting.abort()
        gate.open()
        await wait_all_tasks_blocked()
        assert (await first.hear(0.1)).data.startswith(b"HTTP/1.1 200")
        turns: Any = door.service.turns
        assert [len(turn) for turn in turns._store.turns] == [1]


async def test_an_answer_that_its_client_reads_slowly_arrives_whole() -> None:
    async with open_resting(app=nobody) as door:
        line = door.connect()
        for _ in range(ENOUGH):
            with trio.move_on_after(1) as late:
                await line.stream.send_all(ACTIVE)
            if late.cancelled_caught:
                break
            await trio.lowlevel.checkpoint()
        else:
            raise AssertionError("the server never waited for its client")
        data = (await line.hear(1)).data
    answers = data.split(b"HTTP/1.1 200 ")
    assert len(answers) > 100
    assert all(answer.endswith(b"}") for answer in answers[1:])


async def test_a_fault_of_reading_ends_one_connection_and_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    original = RequestParser.feed
    faults = [ZeroDivisionError()]

    def feed(self: RequestParser, data: bytes) -> None:
        if data and faults:
            raise faults.pop()
        original(self, data)

    monkeypatch.setattr(RequestParser, "feed", feed)
    with capture_logs() as log:
        async with open_resting(app=nobody) as door:
            heard = []
            for line in [door.connect(), door.connect()]:
                await line.say(ACTIVE)
                heard.append(await line.hear(0.1))
            first, second = heard
    assert first == Heard(b"", closed=True)
    assert second.data.startswith(b"HTTP/1.1 200")
    errors = [(entry["event"], entry["cause"]) for entry in log if entry["log_level"] == "error"]
    assert errors == [("connection failed", "ZeroDivisionError")]


async def test_without_epoll_the_task_of_a_connection_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "open_poller", lambda: None)

    async with open_resting(app=nobody) as door:
        line = await door.call(ACTIVE)
        with Woken() as woken:
            await line.say(ACTIVE)
        heard = await line.hear(0.1)
    assert woken.steps > 0
    assert heard.data.count(b"HTTP/1.1 200") == 2
