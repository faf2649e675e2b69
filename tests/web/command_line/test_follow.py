"""`ostiary audit export --follow` leaves no entry out, also after its writer or its reader was killed."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from ostiary_core import Instant
from ostiary_net.sqlite import SQLiteStore
from tests.support import asks
from tests.support.processes import Cluster, Machine, Process, running_cluster
from tests.support.story import START

FOLLOW = ("audit", "export", "--follow", "--cursor")


@dataclass
class Follower:
    """The command, while it runs."""

    process: Process

    def ids(self, count: int) -> list[int]:
        """Wait for so many lines; return the numbers of their entries."""
        return [int(json.loads(self.process.out.readline())["id"]) for _ in range(count)]

    def read_error_line(self) -> str:
        """Read the next line on standard error."""
        return self.process.err.readline()


@contextmanager
def following(machine: Machine, cursor: Path) -> Iterator[Follower]:
    with machine.start(*FOLLOW, str(cursor), stderr=subprocess.PIPE) as process:
        try:
            yield Follower(process)
        finally:
            process.kill()


def test_it_goes_on_where_it_was_killed_and_ends_by_signal_or_pipe(machine: Machine, tmp_path: Path) -> None:
    machine.client()
    cursor = tmp_path / "cursor"
    there = [int(json.loads(line)["id"]) for line in machine.run("audit", "export").lines]
    with following(machine, cursor) as follower:
        assert follower.ids(len(there)) == there
        machine.script("client", "disable", "app")
        [last] = follower.ids(1)
    machine.script("client", "enable", "app")
    machine.script("client", "disable", "app")
    with following(machine, cursor) as follower:
        [first] = follower.ids(1)
        assert first in (*there, last, last + 1), "again, but never later"
        assert follower.ids(last + 2 - first) == list(range(first + 1, last + 3))
        while json.loads(cursor.read_text()) != {"number": last + 2}:
            pass
        follower.process.stop()
        assert follower.read_error_line() == ""
    machine.script("client", "enable", "app")
    with following(machine, cursor) as follower:
        assert follower.ids(1) == [last + 3]
        follower.process.out.close()
        machine.script("client", "disable", "app")
        assert (follower.process.wait(30), follower.read_error_line()) == (0, "")
    with machine.start("audit", "export", "--follow", "--kind", "client-enabled") as process:
        kinds = [json.loads(process.out.readline())["kind"] for _ in range(2)]
        process.kill()
    assert kinds == ["client-enabled"] * 2


def test_a_line_that_no_reader_took_is_not_noted_as_written(machine: Machine, tmp_path: Path) -> None:
    """There are more lines than a pipe holds, and the command is killed before a reader took them."""
    machine.client()
    cursor = tmp_path / "cursor"
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        store.turn([asks.user(f"user{number}") for number in range(400)], START)
    with following(machine, cursor) as follower:
        [first] = follower.ids(1)
        assert json.loads(cursor.read_text()) == {"number": 0}
    with following(machine, cursor) as follower:
        assert follower.ids(1) == [first]


def test_what_was_erased_is_said_and_a_bad_cursor_is_refused(machine: Machine, tmp_path: Path) -> None:
    machine.client()
    cursor = tmp_path / "cursor"
    cursor.write_text(json.dumps({"number": 1}))
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        last = store.audit()[-1]
        assert store.forget_entries(Instant(last.at + 2_000), 1, 100) == last.number
    machine.script("client", "disable", "app")
    with following(machine, cursor) as follower:
        assert follower.ids(1) == [last.number + 1]
        assert f"between 1 and {last.number + 1} were erased" in follower.read_error_line()
    later = json.dumps({"number": last.number + 2})
    for content in (later, '{"number": -1}', '{"number": true}', "{"):
        cursor.write_text(content)
        refused = machine.run(*FOLLOW, str(cursor))
        words = "put back" if content == later else "cannot be read"
        assert (refused.exit_code, words in refused.err) == (1, True), refused
        assert cursor.read_text() == content
    nowhere = machine.run(*FOLLOW, str(tmp_path / "nowhere" / "cursor"))
    assert (nowhere.exit_code, "cannot be written" in nowhere.err) == (1, True)
    assert machine.run("audit", "export", "--cursor", str(cursor)).exit_code == 2


# --- PostgreSQL, which may show a later number first

HOLD = """
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON audit DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.kind = 'client-disabled') EXECUTE FUNCTION hold();
"""
"""A turn that disables a client waits in its commit, after its entry was numbered."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as made:
        yield made


def wait_until(connection: psycopg.Connection[tuple[object, ...]], condition: str) -> None:
    while connection.execute(f"SELECT {condition}".encode()).fetchone() != (True,):
        pass


def test_a_late_entry_and_a_database_that_is_away_are_waited_for(cluster: Cluster, tmp_path: Path) -> None:
    machine = Machine(tmp_path, DATABASE_URL=cluster.address)
    assert machine.run("migrate").exit_code == 0
    machine.client()
    there = len(machine.run("audit", "export").lines)
    cluster.execute(HOLD)
    with (
        following(machine, tmp_path / "cursor") as follower,
        psycopg.connect(cluster.address, autocommit=True) as holder,
    ):
        begun = follower.ids(there)
        holder.execute("SELECT pg_advisory_lock(1)")
        late = machine.start("client", "disable", "app")
        wait_until(holder, "count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        machine.script("client", "create", "other", "--grant", "client_credentials")
        holder.execute("CREATE TEMP TABLE seen AS SELECT clock_timestamp() AS at")
        # The follower has seen the later entry, and looked again for transactions that are not over.
        for _ in range(2):
            wait_until(
                holder,
                "EXISTS (SELECT FROM pg_stat_activity, seen WHERE query_start > seen.at"
                " AND query LIKE '%pg_locks WHERE granted%' AND pid <> pg_backend_pid())",
            )
            holder.execute("UPDATE seen SET at = clock_timestamp()")
        holder.execute("SELECT pg_advisory_unlock(1)")
        assert late.communicate(timeout=30)
        ahead = begun[-1] + 1
        assert follower.ids(1) == [ahead]
        assert follower.ids(1) == [ahead + 1]

        cluster.stop()
        assert "could not be used" in follower.read_error_line()
        cluster.start()
        machine.script("client", "enable", "app")
        assert follower.ids(1) > [ahead + 1]
