"""A plain door answers the four operations by a shortcut, as the application would answer them."""

import pytest
import trio
from trio.testing import MockClock

from ostiary_net.front_door.limits import Application
from ostiary_net.lane import start_door
from tests.net.lane.test_both_doors import ASKED, ELSEWHERE
from tests.net.lane.test_lane import nobody
from tests.net.lane.twins import Heard, mask_answer, open_twin


def hear(data: bytes, *, short: bool, app: Application | None = None) -> Heard:
    """Return the answer of a plain door, by the shortcut or by the application."""

    async def ask() -> Heard:
        async with open_twin(lane=False, app=app) as door:
            if short:
                door.guarded.started = start_door(door.service, door.guarded.limits, has_lane=False)
            line = await door.call(data)
            said = await line.hear()
        return Heard(mask_answer(said.data), said.closed)

    return trio.run(ask, clock=MockClock(autojump_threshold=0))


@pytest.mark.parametrize("data", [*ASKED.values(), *ELSEWHERE.values()], ids=[*ASKED, *ELSEWHERE])
def test_the_shortcut_answers_plain_requests_as_the_application_does_and_leaves_it_the_others(
    data: bytes,
) -> None:
    app = nobody if data in ASKED.values() else None
    assert hear(data, short=True, app=app) == hear(data, short=False)


@pytest.mark.parametrize("name", ["query", "escaped path", "wrong method", "a browser's cookie"])
def test_requests_of_another_form_are_the_applications(name: str) -> None:
    assert b"HTTP/1.1 500" in hear(ELSEWHERE[name], short=True, app=nobody).data
