"""A server that stood still: a late refresh that lay in a socket meanwhile ends no session, at both doors
(READINGS 46)."""

import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from ostiary_net.runtime.arrivals import StallDetector, make_disconnect_check
from tests.net.lane.twins import HOUSE, Line, Opened, open_twin, request
from tests.support.connections import Kind
from tests.support.stores import HandClock

TOKEN: Final = "/api/oauth2/token"
REFRESH: Final = request(TOKEN, f"grant_type=refresh_token&refresh_token={HOUSE.refresh}")
WAYS: Final = [(True, Kind.SOCKETS), (True, Kind.MEMORY), (False, Kind.MEMORY), (False, Kind.SOCKETS)]


class Machine:
    """A machine that a test lets run or stand still: its clock, and the beats of the server on it."""

    def __init__(self, door: Opened) -> None:
        self.door = door
        self.stall_detector = StallDetector(door.clock)
        object.__setattr__(door.service, "stall_detector", self.stall_detector)
        self.stall_detector.tick()

    def stand_still(self, seconds: float) -> None:
        self.door.clock.wait(seconds)

    def run(self, seconds: int) -> None:
        """Let time pass while the server beats."""
        for _ in range(2 * seconds):
            self.stand_still(0.5)
            self.stall_detector.tick()


@asynccontextmanager
async def machine(lane: bool, kind: Kind) -> AsyncIterator[tuple[Machine, Line]]:
    async with open_twin(lane=lane, kind=kind) as door:
        yield Machine(door), door.connect()


async def ask(line: Line, asked: bytes) -> tuple[int, dict[str, Any]]:
    await line.say(asked)
    head, _, body = (await line.hear(0.1)).data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.mark.parametrize("lane, kind", WAYS)
async def test_a_retry_that_lay_in_a_socket_fails_and_the_next_by_itself(lane: bool, kind: Kind) -> None:
    async with machine(lane, kind) as (server, line):
        status, pair = await ask(line, REFRESH)
        assert status == 200
        server.run(1)
        server.stand_still(34)

        status, answer = await ask(line, REFRESH)
        assert (status, answer["code"], answer["data"]) == (500, "A0500", None)
        active = request("/api/oauth2/introspect", f"token={pair['access_token']}")
        assert (await ask(line, active))[1]["active"] is True

        server.run(5)
        status, answer = await ask(line, REFRESH)
        assert (status, answer["error"]) == (400, "invalid_grant")
        assert (await ask(line, active))[1] == {"active": False}


@pytest.mark.parametrize("lane, kind", WAYS)
async def test_requests_read_before_sockets_are_empty_may_have_lain_in_one(lane: bool, kind: Kind) -> None:
    async with machine(lane, kind) as (server, line):
        await ask(line, REFRESH)
        server.stand_still(34)
        server.stall_detector.tick()
        server.run(1)
        assert (await ask(line, REFRESH))[0] == 500


@pytest.mark.parametrize("lane, kind", WAYS)
async def test_a_retry_after_a_pause_within_the_grace_gets_the_same_pair(lane: bool, kind: Kind) -> None:
    async with machine(lane, kind) as (server, line):
        first = await ask(line, REFRESH)
        server.stand_still(20)
        status, pair = await ask(line, REFRESH)
        assert status == 200
        assert pair["refresh_token"] == first[1]["refresh_token"]


@pytest.mark.parametrize("lane", [True, False])
async def test_a_request_whose_client_has_gone_meanwhile_is_not_decided(lane: bool) -> None:
    async with open_twin(lane=lane, kind=Kind.SOCKETS) as door:
        server, line, other = Machine(door), door.connect(), door.connect()
        await trio.testing.wait_all_tasks_blocked()
        server.stand_still(34)
        descriptor = line.stream.socket.fileno()  # type: ignore[attr-defined]
        os.write(descriptor, REFRESH)
        line.stream.socket.shutdown(socket.SHUT_WR)  # type: ignore[attr-defined]
        await trio.testing.wait_all_tasks_blocked()

        active = request("/api/oauth2/introspect", f"token={HOUSE.access}")
        assert (await ask(other, active))[1]["active"] is True, "nothing was rotated"


async def test_a_beat_that_is_a_little_late_is_no_pause(autojump_clock: MockClock) -> None:
    clock = HandClock()
    stall_detector = StallDetector(clock)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stall_detector.watch)
        await trio.sleep(0.1)
        for _ in range(10):
            clock.wait(0.9)
            earliest, latest = stall_detector.estimate_arrival(clock.now(), clock.monotonic())
            assert earliest == latest == clock.now()
            await trio.sleep(0.5)
        clock.wait(34)
        earliest, latest = stall_detector.estimate_arrival(clock.now(), clock.monotonic())
        assert latest - earliest == 34_000
        nursery.cancel_scope.cancel()


async def test_a_socket_that_was_closed_here_has_gone() -> None:
    ours, theirs = trio.socket.socketpair()
    with theirs:
        has_gone = make_disconnect_check(trio.SocketStream(ours))
        ours.close()
        assert has_gone is not None
        assert has_gone()


def test_what_is_read_for_two_seconds_after_a_stall_may_have_come_since_it_began() -> None:
    clock = HandClock()
    stall_detector = StallDetector(clock)
    for seconds in (0.0, 1.001, 1.0):
        clock.wait(seconds)
        stall_detector.tick()
    for seconds, lain_ms in ((0.999, 3_000), (0.001, 0), (0.001, 1_001)):
        clock.wait(seconds)
        earliest, latest = stall_detector.estimate_arrival(clock.now(), clock.monotonic())
        assert latest - earliest == lain_ms
