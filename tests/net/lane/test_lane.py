"""The lane answers by itself, keeps the front door's limits, and stays closed for another Hypercorn."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from ostiary_core.http.answer import Answer
from ostiary_core.http.endpoint import PendingRequest, Request
from ostiary_core.model.secret import Entropy
from ostiary_net.front_door import hypercorn_internals, protocol
from ostiary_net.front_door.limits import Receive, Scope, Send
from ostiary_net.lane import start_door
from ostiary_net.turns.turn_queue import QueuedEvent
from tests.net.lane import twins
from tests.net.lane.test_both_doors import ASKED, ELSEWHERE
from tests.net.lane.twins import HOUSE, Heard, Opened
from tests.support.connections import Kind

PARTING_SECONDS = 1.0
"""A stop waits for so long for requests that are on their way (`DoorLimits`)."""

ACTIVE = ASKED["active access token"]


Door = Callable[..., AbstractAsyncContextManager[Opened]]


@pytest.fixture(params=Kind, ids=lambda kind: kind.value)
def opened(request: pytest.FixtureRequest) -> Door:
    """Return a function that opens a door whose connections rest, or have tasks that read."""
    return partial(twins.open_twin, kind=request.param)


async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the application was asked")


@pytest.mark.parametrize("lane", [True, False], ids=["lane", "shortcut"])
@pytest.mark.parametrize("data", ASKED.values(), ids=ASKED)
async def test_a_plain_request_never_reaches_the_application(opened: Door, data: bytes, lane: bool) -> None:
    with capture_logs() as log:
        async with opened(lane=lane, has_shortcut=not lane, app=nobody) as door:
            line = await door.call(data)
            heard = await line.hear()
    assert heard.data.startswith(b"HTTP/1.1 ")
    assert not heard.closed
    assert not any(entry["event"] == "unexpected error" for entry in log)


@pytest.mark.parametrize("name", ["query", "escaped path", "wrong method", "a browser's cookie"])
async def test_the_shortcut_leaves_other_requests_to_the_application(opened: Door, name: str) -> None:
    async with opened(lane=False, has_shortcut=True, app=nobody) as door:
        line = await door.call(ELSEWHERE[name])
        assert (await line.hear()).data.startswith(b"HTTP/1.1 500")


async def counting(asked: list[str], scope: Scope, receive: Receive, send: Send) -> None:
    asked.append(scope["path"])
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"asgi", "more_body": False})


async def test_the_lane_and_the_application_take_turns_on_one_connection_in_order(opened: Door) -> None:
    asked: list[str] = []
    app = partial(counting, asked)
    another = ELSEWHERE["another route"]
    async with opened(lane=True, app=app) as door:
        line, heard = door.connect(), []
        for data in (ACTIVE, ELSEWHERE["query"], ACTIVE, ACTIVE + another + ACTIVE, ACTIVE):
            await line.say(data)
            heard.append((await line.hear(1)).data)
    first, second, third, together, last = heard
    assert asked[:2] == ["/api/oauth2/introspect", "/api/auth/me"]
    assert [each[-1:] for each in (first, second, third, last)] == [b"}", b"i", b"}", b"}"]
    assert together.count(b"HTTP/1.1 200") == 3
    assert together.index(b'"active":true') < together.index(b"asgi")


async def test_a_plain_request_waits_for_the_one_that_the_application_still_answers(opened: Door) -> None:
    asked: list[str] = []

    release = trio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await release.wait()
        await counting(asked, scope, receive, send)

    async with opened(lane=True, app=app) as door:
        line = await door.call(ELSEWHERE["another route"], ACTIVE)
        before = await line.hear(1)
        release.set()
        after = await line.hear(1)
    assert before.data == b""
    assert after.data.count(b"asgi") == 2
    assert asked == ["/api/auth/me", "/api/oauth2/introspect"]


async def test_pipelined_requests_are_answered_in_order_and_sent_together(opened: Door) -> None:
    names = ("profile", "unknown token", "active access token", "revoke nothing")

    async with opened(lane=True, app=nobody) as door:
        line = await door.call(b"".join(ASKED[name] for name in names))
        await wait_all_tasks_blocked()
        data = bytes(await line.stream.receive_some(65_536))
    assert data.count(b"HTTP/1.1 200") == 4
    places = [data.index(mark) for mark in (b'"sub":', b'{"active":false}', b'"active":true')]
    assert places == sorted(places)
    assert data.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("asked", ["profile of nobody", "wrong method", "query"])
async def test_one_request_does_not_wait_for_all_others(
    opened: Door, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lane and the application answer a few requests of a connection, and then serve another one."""
    callers, many, received = 6, 800, 0
    before_other: list[int] = []
    data = {**ASKED, **ELSEWHERE}[asked]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal received
        received += 1
        await counting([], scope, receive, send)

    async with opened(lane=True, app=app) as door:
        receive = door.service.endpoint.receive

        def note(request: Request, **others: Any) -> PendingRequest | Answer:
            nonlocal received
            received += 1
            if request.path == "/api/oauth2/introspect":
                before_other.append(received)
            return receive(request, **others)

        monkeypatch.setattr(door.service.endpoint, "receive", note)
        lines = [door.connect() for _ in range(callers)]
        other = door.connect()
        await wait_all_tasks_blocked()
        for line in lines:
            await line.stream.send_all(data * many)
        await other.stream.send_all(ACTIVE)
        heard = [await line.hear(1) for line in (other, *lines)]
    assert [each.data.count(b"HTTP/1.1 ") for each in heard] == [1, *[many] * callers]
    assert [at < many / 2 for at in before_other] == [True]


async def test_an_idle_connection_is_closed_after_the_same_time_at_both_doors(opened: Door) -> None:
    closed_after = []
    for lane in (True, False):
        async with opened(lane=lane, idle_seconds=5) as door:
            line = door.connect()
            for _ in range(3):
                await trio.sleep(4)
                await line.say(ACTIVE)
                assert (await line.hear(0.5)).data.startswith(b"HTTP/1.1 200")
            began = trio.current_time()
            assert (await line.hear(1_000)).closed
            closed_after.append(trio.current_time() - began)
    through_lane, plain = closed_after
    assert through_lane == pytest.approx(plain, abs=1)
    assert plain == pytest.approx(4.5, abs=1)


@pytest.mark.parametrize("lane", [True, False], ids=["lane", "plain"])
async def test_a_body_that_never_comes_is_given_up_alike(opened: Door, lane: bool) -> None:
    async with opened(lane=lane, body_seconds=3) as door:
        line = await door.call(ACTIVE[:-5])
        began = trio.current_time()
        heard = await line.hear(1_000)
        seconds = trio.current_time() - began
    assert heard.data.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in heard.data
    assert heard.closed
    assert seconds < 10


async def test_a_body_that_trickles_in_does_not_hold_the_lane(opened: Door) -> None:
    async with opened(lane=True, body_seconds=3) as door:
        line = await door.call(ACTIVE[:-30])
        for byte in ACTIVE[-30:]:
            await line.say(bytes([byte]))
            await trio.sleep(0.4)
        heard = await line.hear(1_000)
    assert heard.data.startswith(b"HTTP/1.1 408")


async def test_connections_are_counted_and_the_idle_one_makes_room(opened: Door) -> None:
    async with opened(lane=True, app=nobody, most_connections=2) as door:
        lines = [door.connect(), door.connect()]
        for line in (lines[1], lines[0], lines[1]):
            await line.say(ACTIVE)
            await line.hear(0.1)
        third = await door.call(ACTIVE)
        assert (await third.hear(0.1)).data.startswith(b"HTTP/1.1 200")
        assert (await lines[0].hear(0.1)).closed
        assert not (await lines[1].hear(0.1)).closed
        assert len(door.guarded.connections) == 2


async def test_a_request_whose_body_does_not_come_makes_room(opened: Door) -> None:
    async with opened(lane=True, app=nobody, most_connections=2) as door:
        slow = [await door.call(ACTIVE[:-1]) for _ in range(2)]
        third = await door.call(ACTIVE)
        assert (await third.hear(0.1)).data.startswith(b"HTTP/1.1 200")
        assert (await slow[0].hear(0.1)).closed
        await slow[1].say(ACTIVE[-1:])
        assert (await slow[1].hear(0.1)).data.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("what", ["counts its requests", "has an access log"])
async def test_a_worker_with_counted_or_logged_requests_has_no_lane(opened: Door, what: str) -> None:
    asked: list[str] = []
    async with opened(lane=True, app=partial(counting, asked)) as door:
        if what == "counts its requests":
            door.context.max_requests = 2
        else:
            door.config.accesslog = "-"
        line = await door.call(ACTIVE * 3)
        await line.hear(0.1)
        assert door.context.terminate.is_set() == (what == "counts its requests")
    assert len(asked) == 3


async def test_a_stop_closes_idle_lanes_and_lets_a_request_that_runs_finish(opened: Door) -> None:
    async with opened(lane=True, app=nobody) as door:
        release = slow_down(door)
        busy, idle = door.connect(), door.connect()
        await busy.say(ACTIVE)
        await idle.say(ASKED["profile of nobody"])
        await idle.hear(0.1)
        await door.context.terminated.set()
        on_idle = await idle.hear(2 * PARTING_SECONDS)
        release.set()
        on_busy = await busy.hear(0.1)
    assert on_idle == Heard(b"", closed=True)
    assert on_busy.data.startswith(b"HTTP/1.1 200")
    assert on_busy.closed


async def test_a_request_on_its_way_at_a_stop_is_answered_with_connection_close(opened: Door) -> None:
    async with opened(lane=True, app=nobody) as door:
        kept, new = door.connect(), door.connect()
        await kept.say(ACTIVE)
        before = await kept.hear(0.1)
        assert b"connection: close" not in before.data
        await door.context.terminated.set()
        await trio.sleep(PARTING_SECONDS / 2)
        await kept.say(ACTIVE)
        await new.say(ACTIVE)
        all_heard = await kept.hear(0.1), await new.hear(0.1)
    for heard in all_heard:
        assert heard.data.startswith(b"HTTP/1.1 200")
        assert b"\r\nconnection: close\r\n" in heard.data
        assert heard.closed


async def test_a_stop_lets_a_request_finish_whose_body_is_on_its_way(opened: Door) -> None:
    async with opened(lane=True, app=nobody) as door:
        line = await door.call(ACTIVE[:-1])
        await wait_all_tasks_blocked()
        await door.context.terminated.set()
        await wait_all_tasks_blocked()
        await line.say(ACTIVE[-1:])
        heard = await line.hear(0.1)
    assert heard.data.startswith(b"HTTP/1.1 200")
    assert heard.closed


async def test_a_stop_cuts_off_a_request_that_runs_longer_than_the_grace(opened: Door) -> None:
    async with opened(lane=True, app=nobody) as door:
        slow_down(door)
        line = await door.call(ACTIVE)
        await door.context.terminated.set()
        began = trio.current_time()
        assert (await line.hear(60)).closed
        assert trio.current_time() - began == pytest.approx(3, abs=0.5)


def slow_down(door: Opened) -> trio.Event:
    """Let no decision be taken until the event is set."""
    release, submit = trio.Event(), door.service.turns.submit

    async def submit_later(waiting: QueuedEvent) -> None:
        await release.wait()
        submit(QueuedEvent(waiting.event, waiting.origin, waiting.resolve))

    def wait(waiting: QueuedEvent) -> None:
        door.nursery.start_soon(submit_later, waiting)

    door.service.turns.submit = wait  # type: ignore[method-assign]
    return release


async def test_a_client_that_does_not_read_is_cut_off(opened: Door) -> None:
    async with opened(lane=True, app=nobody, write_seconds=20) as door:
        line = door.connect(never_sends=True)
        await line.say(ACTIVE)
        await trio.sleep(19)
        before = len(door.guarded.connections)
        await trio.sleep(2)
        assert (before, len(door.guarded.connections)) == (1, 0)


async def test_a_fault_of_ours_is_a_500_in_the_documented_form_and_logs_no_secret(opened: Door) -> None:
    def broken(waiting: QueuedEvent) -> None:
        raise ZeroDivisionError(HOUSE.access)

    with capture_logs() as log:
        async with opened(lane=True, app=nobody) as door:
            door.service.turns.submit = broken  # type: ignore[method-assign]
            line = await door.call(ACTIVE)
            heard = await line.hear(0.1)
    assert heard.data.startswith(b"HTTP/1.1 500")
    assert b'"code":"A0500"' in heard.data
    [entry] = [entry for entry in log if entry["event"] == "unexpected error"]
    assert entry["trace_id"].encode() in heard.data
    assert HOUSE.access not in repr(log)


async def test_a_trace_id_is_drawn_when_an_answer_first_names_it(opened: Door) -> None:
    drawn: list[bytes] = []
    async with opened(lane=True, app=nobody) as door:
        source = door.service.entropy_source
        draw = source.draw

        def draw_counted() -> Entropy:
            drawn.append(entropy := draw())
            return entropy

        source.draw = draw_counted  # type: ignore[method-assign]
        line = await door.call(ACTIVE, ASKED["profile"])
        assert (await line.hear(0.1)).data.count(b"HTTP/1.1 200") == 2
        assert drawn == []
        await line.say(ASKED["profile in Chinese"])
        heard = await line.hear(0.1)
    assert [entropy[:10].hex().encode() in heard.data for entropy in drawn] == [True]


async def test_under_another_hypercorn_no_lane_opens(opened: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hypercorn_internals, "version", lambda name: "0.19.0")
    with capture_logs() as log:
        async with opened(lane=False) as door:
            door.guarded.started = start_door(door.service, door.guarded.limits, has_lane=True)
            assert door.guarded.started.open_connection is None
            line = await door.call(ACTIVE)
            assert (await line.hear(0.1)).data.startswith(b"HTTP/1.1 200")
    [entry] = [entry for entry in log if "the token lane stays closed" in entry["event"]]
    assert entry["found"] == "0.19.0"


async def test_a_connection_makes_h11_when_needed(opened: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    original = protocol.GuardedProtocol

    def counted(*arguments: Any) -> Any:
        made.append(len(made))
        return original(*arguments)

    async with opened(lane=True, app=partial(counting, [])) as door:
        monkeypatch.setattr(protocol, "GuardedProtocol", counted)
        line = await door.call(ACTIVE, ACTIVE)
        before = len(made)
        await line.say(ELSEWHERE["another route"], ACTIVE)
        after, heard = len(made), await line.hear(1)
    assert (before, after) == (0, 1)
    assert heard.data.count(b"HTTP/1.1 200") == 4
