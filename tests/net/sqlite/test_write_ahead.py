"""The log is folded into the file beside the turns, and no turn is lost, whatever happens meanwhile."""

import random
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio
from structlog.testing import capture_logs

from ostiary_net.sqlite import SQLiteStore, write_ahead
from ostiary_net.turns.turns import open_turns
from tests.net.sqlite.disk import Disk
from tests.support import asks
from tests.support.stores import HandClock, usernames
from tests.support.story import START

BOUND_SECONDS = 5
LONG, LONGEST = 60, 120


@pytest.fixture(autouse=True)
def short_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ahead, "_LONG", LONG)
    monkeypatch.setattr(write_ahead, "_LONGEST", LONGEST)
    monkeypatch.setattr(write_ahead, "_MEASURE_AFTER", 1)
    monkeypatch.setattr(write_ahead, "_FEW", 3)
    monkeypatch.setattr(write_ahead, "_WARN_AT", 2 * LONG)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        yield store


def is_due(store: SQLiteStore) -> bool:
    return store.needs_checkpoint


def pages_in_log(store: SQLiteStore) -> int:
    connection = apsw.Connection(str(store.path))
    try:
        connection.execute("SELECT 1 FROM sqlite_schema").fetchall()
        pages, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        return pages
    finally:
        connection.close()


def write_until(store: SQLiteStore, is_enough: Callable[[], bool]) -> set[str]:
    """Take turns one after the other; return the registered names."""
    before = usernames(store)
    names: set[str] = set()
    while not is_enough():
        name = f"user{len(before) + len(names)}"
        store.turn([asks.user(name)], START)
        names.add(name)
        assert len(names) < 1_000
    return names


def test_a_long_log_says_so_and_once_folded_is_begun_anew(store: SQLiteStore) -> None:
    names = write_until(store, lambda: is_due(store))
    assert LONG <= pages_in_log(store) < LONGEST
    size = store.path.stat().st_size
    store.checkpoint()
    assert not is_due(store)
    assert store.path.stat().st_size > size
    store.turn([asks.user("after")], START)
    assert pages_in_log(store) < LONG // 2
    assert usernames(store) == names | {"after"}


def test_a_commit_folds_a_log_that_became_too_long(store: SQLiteStore) -> None:
    names = write_until(store, lambda: is_due(store))
    longest = 0
    for number in range(100):
        store.turn([asks.user(f"more{number}")], START)
        longest = max(longest, pages_in_log(store))
    assert longest < 2 * LONGEST
    assert pages_in_log(store) < LONGEST
    assert usernames(store) == names | {f"more{number}" for number in range(100)}


class Folds:
    """Counts every pass over the log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = threading.Semaphore(0)
        self._fold = write_ahead._checkpoint
        monkeypatch.setattr(write_ahead, "_checkpoint", self)

    def __call__(self, connection: apsw.Connection) -> int:
        try:
            return self._fold(connection)
        finally:
            self.made.release()


def test_a_turn_is_waited_for_at_the_end_alone(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    names = write_until(store, lambda: is_due(store))
    folds = Folds(monkeypatch)
    turn = store.begin_turn()
    folding = threading.Thread(target=store.checkpoint)
    folding.start()
    assert folds.made.acquire(timeout=BOUND_SECONDS), "it waited for the turn"
    assert not folds.made.acquire(timeout=0.05), "it did not wait for its end"
    turn.decide([asks.user("meanwhile")], START)
    assert folding.is_alive()
    turn.commit()
    folding.join(BOUND_SECONDS)
    assert folds.made.acquire(timeout=0), "the rest of it"
    store.turn([asks.user("after")], START)
    assert pages_in_log(store) < LONG // 2
    assert usernames(store) == names | {"meanwhile", "after"}


def test_pages_that_a_reader_still_needs_stay_in_the_log_until_later(store: SQLiteStore) -> None:
    write_until(store, lambda: is_due(store))
    with store._readers.snapshot() as reading:
        before = reading.execute("SELECT count(*) FROM users").get
        store.turn([asks.user("after")], START)
        store.checkpoint()
        assert not is_due(store), "to try at once would be in vain"
        store.turn([asks.user("later")], START)
        assert pages_in_log(store) >= LONG
        assert reading.execute("SELECT count(*) FROM users").get == before
    assert is_due(store)
    store.checkpoint()
    store.turn([asks.user("last")], START)
    assert pages_in_log(store) < LONG // 2


def test_a_log_that_a_reader_keeps_long_is_logged_whenever_it_has_doubled(store: SQLiteStore) -> None:
    names = map("reader{}".format, count())
    with capture_logs() as log:
        write_until(store, lambda: is_due(store))
        store.turn([asks.user(next(names)) for _ in range(500)], START)
        assert pages_in_log(store) > 2 * LONG
        store.checkpoint()
        assert log == [], "nobody reads"
        for _ in range(2):
            store.turn([asks.user(next(names))], START)
            reading = apsw.Connection(str(store.path))
            reading.execute("BEGIN; SELECT 1 FROM users").fetchall()
            for pages in (2 * LONG, 5 * LONG, 12 * LONG):
                while pages_in_log(store) <= pages:
                    store.turn([asks.user(next(names))], START)
                for _ in range(3):
                    store.checkpoint()
                    store.turn([asks.user(next(names))], START)
            reading.close()
            store.checkpoint()
    assert {entry["event"] for entry in log} == {"somebody reads the database for long, and its log grows"}
    told = [entry["bytes"] for entry in log]
    assert len(told) == 6
    assert told == [*sorted(told[:3]), *sorted(told[3:])]
    assert min(told) > 2 * LONG * 4_096


def test_one_process_folds_at_a_time(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    write_until(store, lambda: is_due(store))
    with SQLiteStore(store.path) as other:
        other.turn([asks.user("theirs")], START)
        assert is_due(other)
        folds = Folds(monkeypatch)
        turn = store.begin_turn()
        folding = threading.Thread(target=store.checkpoint)
        folding.start()
        assert folds.made.acquire(timeout=BOUND_SECONDS)
        store.checkpoint()  # a second one in the same process does nothing
        assert not folds.made.acquire(timeout=0)
        turn.release()
        folding.join(BOUND_SECONDS)
        other.checkpoint()
        store.turn([asks.user("after")], START)
        assert pages_in_log(store) < LONG // 2
        assert {"theirs", "after"} <= usernames(other)


def test_closing_waits_for_a_fold_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SQLiteStore(tmp_path / "ostiary.db")
    names = write_until(store, lambda: is_due(store))
    folds = Folds(monkeypatch)
    turn = store.begin_turn()
    folding = threading.Thread(target=store.checkpoint)
    folding.start()
    assert folds.made.acquire(timeout=BOUND_SECONDS)
    closing = threading.Thread(target=store.close)
    closing.start()
    turn.release()
    folding.join(BOUND_SECONDS)
    closing.join(BOUND_SECONDS)
    assert not store.log_bytes(), "the last connection has closed"
    store.checkpoint()
    with SQLiteStore(store.path) as again:
        assert usernames(again) == names


# --- what goes wrong


def test_a_disk_that_fails_while_folding_loses_nothing(tmp_path: Path) -> None:
    with Disk() as disk, SQLiteStore(tmp_path / "ostiary.db") as store:
        names = write_until(store, lambda: is_due(store))
        disk.fail_after(5)
        with pytest.raises(apsw.Error):
            store.checkpoint()
        disk.fail_after(None)
        assert not is_due(store)
        store.turn([asks.user("after")], START)
        assert is_due(store)
        store.checkpoint()
        store.turn([asks.user("last")], START)
        assert pages_in_log(store) < LONG // 2
        assert usernames(store) == names | {"after", "last"}


@pytest.mark.parametrize("seed", range(8))
def test_what_was_acknowledged_survives_a_power_cut_while_folding(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    after = tmp_path / "after"
    after.mkdir()
    with Disk() as disk:
        store = SQLiteStore(tmp_path / "ostiary.db")
        names: set[str] = set()
        for _ in range(chance.randrange(1, 4)):
            names |= write_until(store, lambda: is_due(store))
            disk.fail_after(chance.randrange(1, 100))
            try:
                store.checkpoint()
            except apsw.Error:
                break
            finally:
                disk.fail_after(None)
        disk.lose_power(after, chance)
        store.close()
    with SQLiteStore(after / "ostiary.db") as survived:
        assert usernames(survived) == names
        assert survived._writer._open_connection().pragma("integrity_check") == "ok"


class Resolve(SQLiteStore):
    """Counts every folding, and fails the first `failures`."""

    def __init__(self, path: Path, *, failures: int = 0) -> None:
        super().__init__(path)
        self.failures = failures
        self.folded = threading.Semaphore(0)

    def checkpoint(self) -> None:
        if self.failures:
            self.failures -= 1
            self._writer.log._due_at = 0
            raise OSError("no disk")
        super().checkpoint()
        self.folded.release()


@pytest.mark.parametrize("failures", [0, 2])
async def test_turns_have_the_log_folded_and_again_after_a_failure(
    tmp_path: Path, failures: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with Resolve(tmp_path / "ostiary.db", failures=failures) as store:
        async with open_turns(store, HandClock(START)) as turns:
            wait: Any = store.folded.acquire
            with trio.fail_after(BOUND_SECONDS):
                number = 0
                while not await trio.to_thread.run_sync(wait, True, 0.001):
                    await turns.decide(asks.user(f"user{number}"))
                    number += 1
            await turns.decide(asks.user("after"))
        assert len(usernames(store)) == number + 1
    told = [line for line in capsys.readouterr().out.splitlines() if "checkpoint failed" in line]
    assert len(told) == failures
    assert all("OSError" in line for line in told)
