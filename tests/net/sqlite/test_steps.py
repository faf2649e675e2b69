"""A turn in steps: one thread decides and writes it, another may commit it, and nothing is kept before."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from ostiary_core.events import Event, PasswordHashRequested
from ostiary_core.model.reply import PasswordOnFile
from ostiary_net.observability.metrics import Metrics
from ostiary_net.runtime.system import run_inline
from ostiary_net.sqlite import SQLiteStore, StoreClosed
from ostiary_net.sqlite.store import SQLiteTurn
from ostiary_net.sqlite.writer import WriterLock
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_net.turns.turns import Turns
from tests.support import asks
from tests.support.stores import Gate, HandClock, origin, registration_of, usernames
from tests.support.story import START

BOUND_SECONDS = 5
"""A turn in one step waits twice as long; an answer takes a thousandth."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        store.turn([asks.user("first")], START)
        yield store


def decided_turn(store: SQLiteStore, event: Event) -> SQLiteTurn:
    """Return a turn that decided `event`, and did not wait for another turn."""
    turn = store.try_begin_turn()
    assert turn is not None
    turn.decide([event], START)
    return turn


# --- the store


def test_a_turn_is_unseen_until_it_is_committed_which_another_thread_may_do(store: SQLiteStore) -> None:
    turn = decided_turn(store, asks.user("anna"))
    assert (usernames(store), turn.is_pending) == ({"first"}, True)
    thread = threading.Thread(target=turn.commit)
    thread.start()
    thread.join()
    assert (usernames(store), turn.is_pending) == ({"first", "anna"}, False)
    turn.release()
    store.turn([asks.user("ben")], START)
    assert usernames(store) == {"first", "anna", "ben"}, "to release what was committed takes nothing back"


def test_it_does_not_wait_for_a_turn_of_the_same_store(store: SQLiteStore) -> None:
    turn = decided_turn(store, asks.user("anna"))
    assert store.try_begin_turn() is None
    turn.commit()
    decided_turn(store, asks.user("ben")).commit()
    assert usernames(store) == {"first", "anna", "ben"}


def test_it_does_not_wait_for_another_process(store: SQLiteStore) -> None:
    with SQLiteStore(store.path) as other:
        other.turn([asks.user("theirs")], START)
        turn = decided_turn(other, asks.user("anna"))
        assert store.try_begin_turn() is None
        turn.commit()
    assert usernames(store) == {"first", "theirs", "anna"}


def test_a_store_waits_in_turn_after_another_process_wrote(store: SQLiteStore) -> None:
    with SQLiteStore(store.path) as other:
        other.turn([asks.user("theirs")], START)
        assert store.try_begin_turn() is None
        store.turn([asks.user("anna")], START)
        assert other.try_begin_turn() is None
        turn = decided_turn(store, asks.user("ben"))  # no other process has written since
        turn.commit()
    assert usernames(store) == {"first", "theirs", "anna", "ben"}


def test_who_may_wait_waits_for_the_lock_of_another_process(store: SQLiteStore) -> None:
    with closing(WriterLock(store.path)) as lock:
        for wait in (store.check_ready, store.checkpoint):
            lock.acquire()
            assert store.try_begin_turn() is None
            waiting = threading.Thread(target=wait)
            waiting.start()
            waiting.join(0.05)
            assert waiting.is_alive()
            lock.release()
            waiting.join(BOUND_SECONDS)
            assert not waiting.is_alive()


def test_it_does_not_wait_for_a_program_that_knows_no_lock(store: SQLiteStore) -> None:
    held = apsw.Connection(str(store.path))
    held.execute("BEGIN IMMEDIATE")
    answers: list[object] = []
    asking = threading.Thread(target=lambda: answers.append(store.try_begin_turn()))
    try:
        asking.start()
        asking.join(BOUND_SECONDS)
        assert answers == [None], "it waited, as a turn in one step does"
    finally:
        held.close(force=True)
        asking.join()
    store.turn([asks.user("anna")], START)
    assert usernames(store) == {"first", "anna"}


def test_a_turn_that_waits_begins_when_the_one_before_ends(store: SQLiteStore) -> None:
    turn = decided_turn(store, asks.user("anna"))
    begun: list[SQLiteTurn] = []
    waiting = threading.Thread(target=lambda: begun.append(store.begin_turn()))
    waiting.start()
    assert begun == []
    turn.commit()
    waiting.join(BOUND_SECONDS)
    [after] = begun
    after.decide([asks.user("ben")], START)
    after.commit()
    assert usernames(store) == {"first", "anna", "ben"}


def test_a_turn_that_was_begun_and_not_decided_leaves_the_store_to_the_next(store: SQLiteStore) -> None:
    begun = store.begin_turn()
    begun.release()
    begun.release()
    store.turn([asks.user("anna")], START)
    with pytest.raises(RuntimeError):
        begun.decide([asks.user("ben")], START)
    assert usernames(store) == {"first", "anna"}


# --- the queue in front of it


@asynccontextmanager
async def turns_of(store: SQLiteStore, run_sync: Any, metrics: Metrics | None = None) -> AsyncIterator[Turns]:
    turns = Turns(store, HandClock(), run_sync, metrics or Metrics(), in_place=store)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        yield turns
        turns.close()


async def test_others_go_on_while_a_turn_waits_for_the_disk(store: SQLiteStore) -> None:
    gate, decided = Gate(), []

    async def ask(turns: Turns, name: str) -> None:
        decided.append(await turns.decide(registration_of(name), origin()))

    async with turns_of(store, gate) as turns, trio.open_nursery() as nursery:
        nursery.start_soon(ask, turns, "anna")
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, turns, "ben")
        with trio.fail_after(10):
            found = await turns.decide(PasswordHashRequested(of="anna"))
        assert found.reply == PasswordOnFile(None), "not committed yet"
        assert decided == []
        gate.open()
    assert usernames(store) == {"first", "anna", "ben"}
    assert len(decided) == 2


async def test_a_commit_that_fails_fails_the_turn_and_no_other(store: SQLiteStore) -> None:
    is_full = True

    async def run_sync(sync_fn: Any, /, *, limiter: trio.CapacityLimiter) -> Any:
        await trio.lowlevel.checkpoint()
        if is_full:
            raise OSError(28, "No space left on device")
        return sync_fn()

    async with turns_of(store, run_sync) as turns:
        with pytest.raises(TurnFailed):
            await turns.decide(registration_of("anna"), origin())
        is_full = False
        await turns.decide(registration_of("ben"), origin())
    assert usernames(store) == {"first", "ben"}


async def test_turns_that_are_cancelled_before_the_commit_keep_nothing(store: SQLiteStore) -> None:
    async def never(sync_fn: Any, /, *, limiter: trio.CapacityLimiter) -> Any:
        await trio.sleep_forever()

    failures = []

    async def ask(turns: Turns) -> None:
        with pytest.raises(TurnFailed) as failure:
            await turns.decide(registration_of("anna"), origin())
        failures.append(failure)

    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            async with turns_of(store, never) as turns:
                nursery.start_soon(ask, turns)
                await wait_all_tasks_blocked()
                scope.cancel()
                await trio.lowlevel.checkpoint()
    assert len(failures) == 1
    store.turn([asks.user("ben")], START)
    assert usernames(store) == {"first", "ben"}


async def test_a_thread_waits_if_another_process_writes_too(store: SQLiteStore) -> None:
    ran: list[str] = []

    async def run_sync(sync_fn: Any, /, *, limiter: trio.CapacityLimiter) -> Any:
        await trio.lowlevel.checkpoint()
        ran.append(sync_fn.__name__)
        return sync_fn()

    with SQLiteStore(store.path) as other:
        async with turns_of(store, run_sync) as turns:
            for name in ("anna", "ben"):
                await turns.decide(registration_of(name), origin())
            other.turn([asks.user("theirs")], START)
            for name in ("cleo", "dora"):
                await turns.decide(registration_of(name), origin())
    assert ran == ["commit", "commit", "begin_turn", "commit", "commit"]
    assert usernames(store) == {"first", "anna", "ben", "theirs", "cleo", "dora"}


async def test_callers_that_come_while_another_process_is_awaited_share_the_turn(store: SQLiteStore) -> None:
    gate = Gate()
    with SQLiteStore(store.path) as other:
        theirs = other.begin_turn()
        theirs.decide([asks.user("theirs")], START)
        metrics = Metrics()
        async with turns_of(store, gate, metrics) as turns, trio.open_nursery() as nursery:
            for name in ("anna", "ben", "cleo"):
                nursery.start_soon(turns.decide, registration_of(name), origin())
                await wait_all_tasks_blocked()
            theirs.commit()
            gate.open()
    assert usernames(store) == {"first", "theirs", "anna", "ben", "cleo"}
    assert 'ostiary_turn_events_count{queue="write"} 1' in metrics.write_exposition()


async def test_a_turn_on_a_closed_store_fails_at_once(store: SQLiteStore) -> None:
    async with turns_of(store, Gate()) as turns:
        store.close()
        with pytest.raises(TurnFailed) as failed:
            await turns.decide(registration_of("anna"), origin())
    assert isinstance(failed.value.__cause__, StoreClosed)


async def test_a_turn_that_lost_its_caller_while_it_waited_is_released(store: SQLiteStore) -> None:
    gate, metrics = Gate(), Metrics()
    with SQLiteStore(store.path) as other:
        theirs = other.begin_turn()
        theirs.decide([asks.user("theirs")], START)
        async with turns_of(store, gate, metrics) as turns:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(turns.decide, registration_of("anna"), origin())
                await wait_all_tasks_blocked()
                nursery.cancel_scope.cancel()
            theirs.commit()
            gate.open()
            await turns.decide(registration_of("ben"), origin())
    assert usernames(store) == {"first", "theirs", "ben"}
    assert 'ostiary_turn_events_count{queue="write"} 1' in metrics.write_exposition()


async def test_a_turn_with_nothing_to_keep_waits_for_no_disk(store: SQLiteStore) -> None:
    async def run_sync(sync_fn: Any, /, *, limiter: trio.CapacityLimiter) -> Any:
        raise AssertionError("there was nothing to run")

    async with turns_of(store, run_sync) as turns:
        decision = await turns.decide(asks.machine(asks.credentials("nobody", "wrong")))
    assert decision.changes == ()


async def test_a_fault_harms_no_later_turn(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*anything: Any) -> None:
        raise OSError("the disk is gone")

    async with turns_of(store, run_inline) as turns:
        with monkeypatch.context() as broken:
            broken.setattr("ostiary_net.sqlite.store.write", refuse)
            for _ in range(2):
                with pytest.raises(TurnFailed):
                    await turns.decide(registration_of("anna"), origin())
        await turns.decide(registration_of("ben"), origin())
    with SQLiteStore(store.path) as sound:
        sound.turn([asks.user("cleo")], START)
        assert usernames(sound) == {"first", "ben", "cleo"}
