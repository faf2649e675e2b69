"""A refresh was kept but never answered: its grace begins when the server can answer again."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest
import trio
from trio.testing import MockClock

from ostiary_core import Decision, Why
from ostiary_core.events import ClientCredentials, Event
from ostiary_core.model.instant import arrival_at
from ostiary_core.model.reply import Refused, Reply, TokensIssued
from ostiary_net.runtime.system import run_inline
from ostiary_net.turns import unanswered
from ostiary_net.turns.ports import CommitUnconfirmed
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_net.turns.turns import Turns, open_turns
from tests.support import asks
from tests.support.stores import BreakingStore, HandClock, world_on
from tests.support.story import World, client, user
from tests.support.strategies import copy_of

T = TypeVar("T")


class UnheardStore(BreakingStore):
    """A store whose answers are lost while it is `unheard`; if it `forgets`, it then keeps nothing."""

    unheard = forgets = False

    def turn(self, events: Sequence[Event], *more: Any) -> list[Decision]:
        is_lost = self.unheard and self.forgets
        decisions = copy_of(self).turn(events, *more) if is_lost else super().turn(events, *more)
        if self.unheard:
            unconfirmed = CommitUnconfirmed("no answer")
            unconfirmed.decisions = decisions
            raise unconfirmed
        return decisions


class Callers:
    """Clients that present tokens, under a clock that goes on with Trio's."""

    def __init__(self) -> None:
        self.store, self.clock = UnheardStore(), HandClock()
        self.world: World = world_on(self.store).given(client("other"), user("bob"))
        self.turns: Turns | None = None

    async def wait(self, seconds: float) -> None:
        self.clock.wait(seconds)
        await trio.sleep(seconds)

    async def refresh(self, pair: TokensIssued, by: ClientCredentials | None = None) -> Reply | None:
        """Return the reply; None if the turn failed."""
        event = asks.refresh(by or self.world.basic(), pair, arrival=arrival_at(self.clock.now()))
        assert self.turns is not None
        try:
            return (await self.turns.decide(event)).reply
        except TurnFailed:
            return None

    async def lose_answer(self, pair: TokensIssued) -> None:
        self.store.unheard = True
        assert await self.refresh(pair) is None
        self.store.unheard = False

    async def be_away(self, pair: TokensIssued, seconds: int) -> None:
        """Let the store be away, and the client retry every ten seconds."""
        self.store.broken = True
        for _ in range(0, seconds, 10):
            await self.wait(10)
            assert await self.refresh(pair) is None
        self.store.broken = False


async def test_the_grace_of_an_unanswered_refresh_awaits_a_kept_change(autojump_clock: MockClock) -> None:
    callers = Callers()
    pair, heard = callers.world.tokens(), callers.world.tokens()
    async with open_turns(callers.store, callers.clock, run_inline) as callers.turns:
        assert isinstance(await callers.refresh(heard), TokensIssued)
        await callers.lose_answer(pair)
        await callers.be_away(pair, 40)
        # Another client is refused as always, and a refresh that was answered has no second grace.
        stolen = await callers.refresh(pair, by=callers.world.basic("other"))
        assert stolen == Refused(Why.TOKEN_OF_ANOTHER_CLIENT)
        assert await callers.refresh(heard) == Refused(Why.REPLAYED_AFTER_GRACE)  # which the store keeps
        await callers.wait(29)
        first = await callers.refresh(pair)
        await callers.wait(1)
        second = await callers.refresh(pair)
        assert isinstance(first, TokensIssued)
        assert isinstance(second, TokensIssued)
        assert first.refresh_token == second.refresh_token
        await callers.wait(0.001)
        assert await callers.refresh(pair) == Refused(Why.REPLAYED_AFTER_GRACE)


async def test_a_refresh_that_was_not_kept_has_the_grace_of_its_retry(autojump_clock: MockClock) -> None:
    callers = Callers()
    callers.store.forgets = True
    pair, before = callers.world.tokens(), callers.world.everything()
    async with open_turns(callers.store, callers.clock, run_inline) as callers.turns:
        await callers.lose_answer(pair)
        assert callers.world.everything() == before
        await callers.be_away(pair, 40)
        assert isinstance(await callers.refresh(pair), TokensIssued)
        await callers.wait(30)
        assert isinstance(await callers.refresh(pair), TokensIssued)
        await callers.wait(0.001)
        assert await callers.refresh(pair) == Refused(Why.REPLAYED_AFTER_GRACE)


async def test_a_turn_longer_than_callers_wait_counts_as_unanswered(autojump_clock: MockClock) -> None:
    async def run_slowly(sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
        result = sync_fn()
        await trio.sleep(40 if seconds.pop() else 0)
        return result

    seconds = [False, False, True]
    callers = Callers()
    pair = callers.world.tokens()
    async with open_turns(callers.store, callers.clock, run_slowly) as callers.turns:
        assert await callers.refresh(pair) is None
        callers.clock.wait(9)
        await callers.wait(26)
        assert isinstance(await callers.refresh(pair), TokensIssued), "35 s after the rotation"


async def test_only_so_many_are_remembered_and_none_of_a_stranger(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unanswered, "_MOST_REMEMBERED", 2)
    callers = Callers()
    pairs = [callers.world.tokens() for _ in range(3)]
    async with open_turns(callers.store, callers.clock, run_inline) as callers.turns:
        for pair in pairs:
            await callers.lose_answer(pair)
        callers.store.unheard = True
        for pair in pairs:
            assert await callers.refresh(pair, by=callers.world.basic("other")) is None
        callers.store.unheard = False
        await callers.be_away(pairs[0], 40)
        replies = [await callers.refresh(pair) for pair in pairs]
    assert replies[0] == Refused(Why.REPLAYED_AFTER_GRACE)
    assert all(isinstance(reply, TokensIssued) for reply in replies[1:])
