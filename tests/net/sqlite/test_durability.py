"""An acknowledged turn outlives a power cut, and a full disk or a failing statement keeps nothing of one.

For killed processes there is `python -m fuzz machine --fault killed`.
"""

import random
from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path

import apsw
import pytest

from ostiary_core import Secret
from ostiary_core.events import Event
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import RECORD_TABLES, Record, User
from ostiary_net.sqlite import SQLiteStore, record_sql
from tests.net.sqlite.disk import Disk
from tests.support import asks
from tests.support.stores import make_scenario, usernames, world_on
from tests.support.story import START


def contents(store: SQLiteStore) -> tuple[set[Record], tuple[AuditEntry, ...]]:
    return {record for table in RECORD_TABLES for record in store.records(table)}, store.audit()


def is_sound(path: Path) -> bool:
    """Whether SQLite itself finds nothing wrong with the file."""
    connection = apsw.Connection(str(path))
    try:
        return bool(connection.pragma("integrity_check") == "ok")
    finally:
        connection.close()


# --- flushes


def test_a_turn_costs_one_flush_however_many_events_it_has(tmp_path: Path) -> None:
    with Disk() as disk, SQLiteStore(tmp_path / "ostiary.db") as store:
        world_on(store)
        for size in (1, 40):
            before = disk.flushes
            store.turn([asks.user(f"user-{size}-{number}") for number in range(size)], START)
            assert disk.flushes == before + 1


def test_a_turn_that_changes_nothing_and_a_read_cost_no_flush(tmp_path: Path) -> None:
    with Disk() as disk, SQLiteStore(tmp_path / "ostiary.db") as store:
        world_on(store)
        before = disk.flushes
        store.turn([asks.machine(asks.credentials("app", "a wrong secret"))], START)
        store.read([asks.profile(Secret("no token"))], START)
        assert disk.flushes == before


@pytest.mark.parametrize("seed", range(6))
def test_what_was_acknowledged_survives_a_power_cut(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    after = tmp_path / "after"
    after.mkdir()
    with Disk() as disk:
        store = SQLiteStore(tmp_path / "ostiary.db")
        names = [f"user{number}" for number in range(chance.randrange(1, 60))]
        for name in names:
            store.turn([asks.user(name)], START)
        # The power goes in the middle of one more turn, whose writes are not flushed yet.
        disk.fail_after(chance.randrange(1, 6))
        with pytest.raises(apsw.Error):
            store.turn([asks.user(f"late{number}") for number in range(100)], START)
        disk.lose_power(after, chance)
        disk.fail_after(None)
        store.close()
    with SQLiteStore(after / "ostiary.db") as survived:
        assert usernames(survived) == set(names)
    assert is_sound(after / "ostiary.db")


# --- failing


@pytest.mark.parametrize("operation", range(8))
def test_a_disk_that_fails_at_any_moment_keeps_nothing_of_the_turn(tmp_path: Path, operation: int) -> None:
    with Disk() as disk, SQLiteStore(tmp_path / "ostiary.db") as store:
        world_on(store)
        before = contents(store)
        turn = [asks.user(f"late{number}") for number in range(100)]
        disk.fail_after(operation)
        with pytest.raises(apsw.Error):
            store.turn(turn, START)
        disk.fail_after(None)
        assert contents(store) == before
        store.turn(turn, START)
        assert len(usernames(store)) == len({u for u in before[0] if isinstance(u, User)}) + 100
    assert is_sound(tmp_path / "ostiary.db")


class StatementFailed(Exception):
    pass


def in_steps(store: SQLiteStore, events: Sequence[Event], now: Instant) -> None:
    # A connection that was given up is made again by the turn that may wait.
    turn = store.try_begin_turn() or store.begin_turn()
    try:
        turn.decide(events, now)
        turn.commit()
    finally:
        turn.release()


@pytest.mark.parametrize("pending", [record_sql.PENDING_ENTRIES_MAX, 1], ids=["kept", "and filed"])
@pytest.mark.parametrize("lasts", [False, True], ids=["once", "also while rolling back"])
@pytest.mark.parametrize("take", [SQLiteStore.turn, in_steps], ids=["in one", "in steps"])
def test_a_turn_that_fails_at_any_one_statement_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take: Callable[..., object], lasts: bool, pending: int
) -> None:
    monkeypatch.setattr(record_sql, "PENDING_ENTRIES_MAX", pending)
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        largest = max(make_scenario(), key=lambda batch: len(batch.events))
        for batch in takewhile(lambda batch: batch is not largest, make_scenario()):
            store.turn(batch.events, batch.at)
        before = contents(store)
        failing_at = 0
        while True:
            countdown = iter(range(failing_at, -1, -1))

            def failing(
                cursor: apsw.Cursor, statement: str, bindings: object, countdown: object = countdown
            ) -> bool:
                left = next(countdown, None)  # type: ignore[call-overload]
                if left == 0 or (left is None and lasts):
                    raise StatementFailed
                return True

            writer = store._writer._open_connection()
            writer.exec_trace = failing
            try:
                take(store, largest.events, largest.at)
            except StatementFailed:
                assert contents(store) == before
                failing_at += 1
            else:
                break
            finally:
                if store._writer._connection is writer:
                    writer.exec_trace = None
        assert failing_at > 10, "the turn was expected to take more statements"
        assert contents(store) != before
