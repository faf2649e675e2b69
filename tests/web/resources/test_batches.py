"""Many events of one request: each decided by itself, in the time that the request has."""

from collections.abc import Sequence
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from ostiary_core.events import Event, Operator, UserChanged
from ostiary_core.model.decision import Decision
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.api.resources import users
from ostiary_web.application.resources.batches import decide_each
from ostiary_web.http.context import RequestContext
from tests.support.callers import Api
from tests.support.served import Served


class Turns:
    """Turns that take some time each, and of which some fail."""

    def __init__(self, seconds: float, failing: Sequence[int]) -> None:
        self._seconds, self._failing = seconds, failing

    async def submit(self, event: int) -> str:
        await trio.sleep(self._seconds)
        if event in self._failing:
            raise TurnFailed
        return "decided"


@pytest.mark.parametrize(
    "seconds, within, failing, decided",
    [(1, 100, (), 45), (4, 10, (), 40), (1, 2, (), 20), (1, 100, (3,), 19), (1, 100, (21,), 39)],
    ids=["in time", "until its request must answer", "late from the start", "a failure", "a later failure"],
)
async def test_no_more_are_decided_when_time_is_over_or_the_store_fails(
    autojump_clock: MockClock, seconds: float, within: float, failing: Sequence[int], decided: int
) -> None:
    turns: Any = Turns(seconds, failing)
    events: Any = range(45)
    with trio.fail_after(within):
        decisions = await decide_each(turns, events)
    expected = [place < decided + len(failing) and place not in failing for place in range(45)]
    assert [each is not None for each in decisions] == expected


async def test_a_store_that_allows_none_is_an_error_and_nothing_to_decide_is_none(
    autojump_clock: MockClock,
) -> None:
    turns: Any = Turns(1, [0, 1])
    events: Any = range(2)
    with pytest.raises(TurnFailed):
        await decide_each(turns, events)
    assert await decide_each(turns, []) == []


async def test_users_who_were_not_read_in_time_are_not_called_unknown(
    served: Served, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def decide_first(context: RequestContext, events: Sequence[Event]) -> list[Decision | None]:
        return [*await decide_each(context, events[:1]), None]

    monkeypatch.setattr(users, "decide_each", decide_first)
    body = {"ids": [await served.user("anna"), await served.user("bert")], "remove": ["clerk"]}
    await api.fail(500, "A0500", "POST", "/api/iam/users/batch-roles", body)


async def test_a_role_that_another_gave_meanwhile_is_no_change(
    served: Served, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = await served.user("anna")
    await api.succeed("POST", "/api/iam/roles", {"code": "clerk", "name": "Clerks"}, status=201)

    async def decide_late(context: RequestContext, events: Sequence[Event]) -> list[Decision | None]:
        known = await decide_each(context, events)
        await served.decide(UserChanged(caller=Operator(), user_id=anna, fields={"roleIds": ["clerk"]}))
        return known

    monkeypatch.setattr(users, "decide_each", decide_late)
    body = {"ids": [anna], "add": ["clerk"]}
    assert await api.succeed("POST", "/api/iam/users/batch-roles", body) == {"changed": 0}
