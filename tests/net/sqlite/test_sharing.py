"""Several use one file: readers beside a writer, threads, and two processes that take fair turns."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from ostiary_core.events import PasswordHashRequested
from ostiary_core.model.records import Table, User
from ostiary_core.model.reply import PasswordOnFile
from ostiary_core.storage.listing import USERS, Listing
from ostiary_net.sqlite import SQLiteStore
from tests.support import asks
from tests.support.processes import Process
from tests.support.story import START

BOUND_SECONDS = 20
"""A wait that would never end fails after this time; no step of these tests takes a tenth of it."""


def test_reading_never_waits_for_a_turn_that_is_being_written(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "ostiary.db") as store, ThreadPoolExecutor(4) as threads:
        store.turn([asks.user("alice")], START)
        with store._writer.transaction() as connection:
            connection.execute("DELETE FROM users")
            reading = threads.submit(store.read, [PasswordHashRequested(of="alice")], START)
            listing = threads.submit(store.page, Listing(resource=USERS), START)
            inspecting = threads.submit(store.records, Table.USER)
            [decision] = reading.result(BOUND_SECONDS)
            assert decision.reply == PasswordOnFile(asks.hash_of("right"))
            assert listing.result(BOUND_SECONDS).total == 1
            assert len(inspecting.result(BOUND_SECONDS)) == 1
            connection.execute("ROLLBACK")


@pytest.mark.parametrize("in_place", [False, True])
def test_a_turn_keeps_programs_without_the_lock_from_writing_at_once(tmp_path: Path, in_place: bool) -> None:
    """The lock file only makes turns fair; SQLite's own lock protects what a turn has read."""
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        store.turn([asks.user("alice")], START)
        turn = store.try_begin_turn() if in_place else store.begin_turn()
        assert turn is not None
        stranger = apsw.Connection(str(store.path))
        try:
            with pytest.raises(apsw.BusyError):
                stranger.execute("DELETE FROM users")
        finally:
            stranger.close()
            turn.release()


NEIGHBOUR = """
import os, sys, time
from dataclasses import replace
from ostiary_core.model.reply import UserKnown
from ostiary_core.storage.store import LostRace
from ostiary_net.sqlite import SQLiteStore
from tests.support import asks
from tests.support.story import START

path, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
def register(username):
    [decision] = store.turn([replace(asks.user(username), entropy=os.urandom(32))], START)
    return isinstance(decision.reply, UserKnown)
with SQLiteStore(path) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    turns = won = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        won += register(f"contended{turns // 2}")
        won += register(f"{name}-{turns}")
        turns += 1
    print(turns, won, flush=True)
"""


def test_two_processes_on_one_file_are_correct_and_fair(tmp_path: Path) -> None:
    path = tmp_path / "ostiary.db"
    neighbours = [
        Process(
            [sys.executable, "-c", NEIGHBOUR, str(path), name, "1.0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("left", "right")
    ]
    # Both open the fresh file at once, and start when both are ready.
    for neighbour in neighbours:
        assert neighbour.out.readline() == "ready\n"
    for neighbour in neighbours:
        assert neighbour.stdin is not None
        neighbour.stdin.write("go\n")
        neighbour.stdin.flush()
    answers = [neighbour.communicate(timeout=BOUND_SECONDS)[0] for neighbour in neighbours]
    (left_turns, left_won), (right_turns, right_won) = (map(int, answer.split()) for answer in answers)
    with SQLiteStore(path) as store:
        users = [record for record in store.records(Table.USER) if isinstance(record, User)]
    assert len(users) == len({user.username for user in users}) == left_won + right_won
    # With SQLite's own busy wait alone one of them gets a turn in a thousand.
    assert min(left_turns, right_turns) * 5 > max(left_turns, right_turns)
