"""Behind the front door the four operations are answered without the application, and as it would."""

import pytest
import trio
from trio.testing import MockClock

from ostiary_net.front_door.rules import Application, Receive, Scope, Send
from ostiary_net.lane.shortcut import shortcut
from tests.net.lane.test_both_doors import ASKED, ELSEWHERE
from tests.net.lane.twins import HOUSE, Heard, masked, opened, request


async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the application was asked")


def heard(data: bytes, *, short: bool, app: Application | None = None) -> Heard:
    """What a plain door answers, by the shortcut or by the application."""

    async def ask() -> Heard:
        async with opened(lane=False, app=app) as door:
            if short:
                door.guarded.shortcut = shortcut(door.service)
            line = await door.call(data)
            said = await line.hear()
        return Heard(masked(said.data), said.closed)

    return trio.run(ask, clock=MockClock(autojump_threshold=0))


@pytest.mark.parametrize("data", [*ASKED.values(), *ELSEWHERE.values()], ids=[*ASKED, *ELSEWHERE])
def test_it_answers_as_the_application_does(data: bytes) -> None:
    assert heard(data, short=True) == heard(data, short=False)


@pytest.mark.parametrize("data", ASKED.values(), ids=ASKED)
def test_what_backends_ask_never_reaches_the_application(data: bytes) -> None:
    assert b"HTTP/1.1 500" not in heard(data, short=True, app=nobody).data


@pytest.mark.parametrize(
    "data",
    [
        request("/api/oauth2/introspect?a=b", f"token={HOUSE.access}"),
        request("/api/oauth2/%69ntrospect", f"token={HOUSE.access}"),
        request("/api/oauth2/introspect", method="GET"),
        request("/api/oauth2/userinfo", "", ("Cookie", "a=b"), method="GET", authorized=False),
    ],
    ids=["query", "spelling", "method", "cookie"],
)
def test_what_is_asked_in_another_way_is_the_applications(data: bytes) -> None:
    assert b"HTTP/1.1 500" in heard(data, short=True, app=nobody).data
    assert heard(data, short=True) == heard(data, short=False)
