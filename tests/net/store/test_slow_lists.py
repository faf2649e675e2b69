"""A list that is slow ends with the call that waits for it, and its place is free again (READINGS 47)."""

from collections.abc import Callable
from typing import Any

import trio
from trio.testing import MockClock

from ostiary_core.model.instant import Instant
from ostiary_net.turns.ports import ReadingStore
from ostiary_net.turns.turns import Turns, open_turns
from tests.support.stores import HandClock, OpenStore

SECONDS = 9
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def read_without_end(store: Any, now: Instant) -> object:
    return store._find(lambda reading: reading.execute(ENDLESS, ()))


async def test_a_slow_list_ends_when_its_caller_is_cancelled_and_the_next_one_has_its_place(
    open_durable_store: OpenStore, autojump_clock: MockClock
) -> None:
    ended_at = []

    async def ask(turns: Turns, query: Callable[[ReadingStore, Instant], object]) -> None:
        with trio.move_on_after(SECONDS) as limit:
            await turns.query(query)
        assert limit.cancelled_caught
        ended_at.append(trio.current_time())

    with open_durable_store() as opened:
        store: Any = opened
        async with open_turns(store, HandClock()) as turns:
            autojump_clock.autojump_threshold = 0.2  # the real queries have begun by then
            began_at = trio.current_time()
            async with trio.open_nursery() as nursery:
                for _ in range(3):  # one more than there are places
                    nursery.start_soon(ask, turns, read_without_end)
            assert [round(at - began_at) for at in ended_at] == [SECONDS] * 3
            autojump_clock.autojump_threshold = 60.0
            with trio.fail_after(5):
                assert await turns.query(lambda store, now: store.session_history("0" * 32)) is None
