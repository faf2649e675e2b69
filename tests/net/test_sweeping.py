"""The sweeper erases a salt when its window has passed, not before, and goes on after a failure."""

from functools import partial
from typing import cast

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock, wait_all_tasks_blocked

from ostiary_core import MemoryStore
from ostiary_core.events import GraceExpired
from ostiary_core.model.records import Session, Table
from ostiary_net.runtime.system import run_inline
from ostiary_net.turns.turns import open_turns
from ostiary_net.upkeep import sweeping
from ostiary_net.upkeep.repeating import repeat
from ostiary_net.upkeep.sweeping import erase_salts
from tests.net.conftest import AnyStore
from tests.support.asks import login_refresh
from tests.support.stores import BreakingStore, Gate, HandClock, PlainStore, registration_of
from tests.support.story import given, user

GRACE_SECONDS = 30


def rotate_sessions(store: AnyStore, sessions: int) -> None:
    world = given(user(), store=cast(MemoryStore, store))
    for _ in range(sessions):
        spent = world.login().tokens.refresh_token
        assert spent is not None
        world.when(login_refresh(spent))
    assert salts(store) == sessions


def salts(store: AnyStore) -> int:
    return sum(isinstance(each, Session) and each.salt is not None for each in store.records(Table.SESSION))


async def test_salts_stay_for_the_whole_window_and_all_batches_go_right_after_it(
    store: AnyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "_SESSIONS_A_BATCH", 3)
    clock = HandClock()
    rotate_sessions(store, sessions=7)
    async with open_turns(store, clock, run_inline) as turns:
        for seconds, erased, left in ((GRACE_SECONDS, 0, 7), (0.001, 7, 0), (1, 0, 0)):
            clock.wait(seconds)
            assert await erase_salts(turns, store, clock, run_inline) == erased
            assert salts(store) == left


async def test_salts_that_the_store_does_not_erase_yet_wait_for_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock of the store may be behind the one that the sweep asks by."""
    monkeypatch.setattr(sweeping, "_SESSIONS_A_BATCH", 3)
    store, clock = PlainStore(), HandClock()
    rotate_sessions(store, sessions=3)
    due = [each.session_id for each in store.records(Table.SESSION) if isinstance(each, Session)][:3]
    asks = iter([due, due])
    monkeypatch.setattr(store, "sessions_past_grace", lambda *_: next(asks))
    async with open_turns(store, clock, run_inline) as turns:
        assert await erase_salts(turns, store, clock, run_inline) == 0
    assert next(asks) == due


async def test_salts_that_a_stopped_sweep_still_waited_for_are_left(autojump_clock: MockClock) -> None:
    store, clock, gate = PlainStore(), HandClock(), Gate()
    rotate_sessions(store, sessions=3)
    clock.wait(GRACE_SECONDS + 1)
    async with open_turns(store, clock, gate) as turns, trio.open_nursery() as nursery:
        nursery.start_soon(turns.decide, registration_of("ahead"))
        await wait_all_tasks_blocked()
        with trio.move_on_after(1):
            await erase_salts(turns, store, clock, run_inline)
        gate.open()
    assert salts(store) == 3
    assert not any(isinstance(event, GraceExpired) for turn in store.turns for event in turn)


async def test_a_failure_is_logged_and_tried_again(autojump_clock: MockClock) -> None:
    store, clock = BreakingStore(), HandClock()
    rotate_sessions(store, sessions=3)
    store.broken = True
    clock.wait(GRACE_SECONDS + 1)
    with capture_logs() as log:
        async with open_turns(store, clock, run_inline) as turns, trio.open_nursery() as nursery:
            nursery.start_soon(
                repeat, partial(erase_salts, turns, store, clock, run_inline), 30.0, "sweep failed"
            )
            await trio.sleep(31)
            assert [(entry["event"], entry["cause"]) for entry in log] == [("sweep failed", "OSError")]
            assert salts(store) == 3
            store.broken = False
            await trio.sleep(30)
            assert salts(store) == 0
            nursery.cancel_scope.cancel()
    assert len(log) == 1
