"""Several instances on one database: they agree on the time and on the winner of a race, and wait for it."""

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import errors

from ostiary_core import Decision, Instant, LostRace, retry_lost_races, take_turn
from ostiary_core.events import Event, IntrospectionRequested, Operator, UserForcedOut
from ostiary_core.model.instant import SECOND_MS, Monotonic
from ostiary_core.model.records import Table
from ostiary_core.model.reply import TokenActive, TokensIssued, UserKnown
from ostiary_core.model.why import Why
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.postgres.record_sql import fetch_with_all
from ostiary_net.postgres.transaction import Transaction
from ostiary_net.runtime.system import SystemClock
from tests.support import asks
from tests.support.stores import world_on
from tests.support.story import START, World


def application_name() -> str:
    """Return the name of connections that a test may kill: those of this process, which may be a fork."""
    return f"killable_{os.getpid()}"


def test_each_connection_is_made_with_the_password_of_its_time(address: str) -> None:
    password = "first"
    with PostgreSQLStore(address, read_password=lambda: password) as store:
        for password in ("first", "second"):
            with store._connections.lend() as connection:
                assert connection.info.password == password
                store._connections.discard_stale(connection)


# --- who was first


def test_a_deadlock_is_a_lost_race(address: str) -> None:
    slow_to_look = address + "%20-c%20deadlock_timeout%3D3s"
    with PostgreSQLStore(slow_to_look, turn_seconds=30) as store, ThreadPoolExecutor(1) as thread:
        replies = [decision.reply for decision in store.turn([asks.user("anna"), asks.user("ben")], START)]
        first, second = sorted(reply.user.user_id for reply in replies if isinstance(reply, UserKnown))
        force_out = [UserForcedOut(caller=Operator(), user_id=user_id) for user_id in (second, first)]
        with psycopg.connect(address) as other:
            other.execute("SET deadlock_timeout = '60s'")
            other.execute("SELECT FROM users WHERE user_id = %s FOR UPDATE", (second,))
            turn = thread.submit(store.turn, force_out, START)
            waiting = "SELECT 1 FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            while not turn.done() and not other.execute(waiting).fetchone():
                time.sleep(0.01)
            other.execute("SELECT FROM users WHERE user_id = %s FOR UPDATE", (first,))
            with pytest.raises(LostRace) as lost:
                turn.result(60)
        assert isinstance(lost.value.__cause__, psycopg.errors.DeadlockDetected)
        retry_lost_races(lambda: store.turn(force_out, START))


def test_a_conflict_that_the_database_finds_at_the_commit_is_a_lost_race(address: str) -> None:
    with PostgreSQLStore(address) as store, psycopg.connect(address, autocommit=True) as operator:
        operator.execute(
            """
            CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = 'serialization_failure'; END $$;
            CREATE CONSTRAINT TRIGGER conflict AFTER INSERT ON users DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION conflict();
            """
        )
        with pytest.raises(LostRace):
            store.turn([asks.user("anna")], START)


def test_the_time_of_a_turn_is_the_databases_whatever_the_instance_says(address: str) -> None:
    def database_says() -> Instant:
        with psycopg.connect(address) as connection:
            told = connection.execute("SELECT extract(epoch FROM clock_timestamp()) * 1000").fetchone()
        assert told is not None
        return Instant(int(told[0]))

    with PostgreSQLStore(address) as fast, PostgreSQLStore(address) as slow:
        before = database_says()
        for store, wrong, name in ((fast, Instant(2**50), "alice"), (slow, Instant(0), "bob")):
            [decision] = store.turn([asks.user(name)], wrong)
            assert isinstance(decision.reply, UserKnown)
            assert before <= decision.reply.user.created_at <= database_says()


class ClockOfDatabase:
    """The clocks of a database, by a function of a schema, and of a machine; a test sets them forward."""

    def __init__(self, address: str) -> None:
        self.address = address + "%2Cpg_catalog"
        self._monotonic_ms = 0
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(
                f"""
                CREATE TABLE shown AS SELECT to_timestamp({START / SECOND_MS}) AS at;
                CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
                    'SELECT at FROM shown';
                """.encode()
            )

    def read_monotonic(self) -> Monotonic:
        return Monotonic(self._monotonic_ms)

    def put(self, seconds: float) -> None:
        """Set the clock; no time passes by it."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute("UPDATE shown SET at = at + %s * interval '1 second'", (seconds,))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._monotonic_ms += round(seconds * SECOND_MS)
        self.put(seconds)


@contextmanager
def store_by_hand(address: str) -> Iterator[tuple[ClockOfDatabase, PostgreSQLStore]]:
    """Yield a store, and the clock of its database."""
    with PostgreSQLStore(address):
        clock = ClockOfDatabase(address)
    with PostgreSQLStore(clock.address, read_monotonic=clock.read_monotonic) as store:
        yield clock, store


def test_a_turn_counts_how_long_it_waited_for_its_time(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, ahead_ms = Transaction._begin, list[int]()

    def begin_late(transaction: Transaction, *arguments: Any) -> Any:
        rows = begin(transaction, *arguments)
        transaction.clock_read_at += 1_000
        return rows

    def record(event: Event, milliseconds: int) -> Event:
        ahead_ms.append(milliseconds)
        return event

    monkeypatch.setattr(Transaction, "_begin", begin_late)
    monkeypatch.setattr("ostiary_net.postgres.store.with_clock_ahead", record)
    for keeps_time in (True, False):
        with PostgreSQLStore(address, keeps_time=keeps_time) as store:
            store.turn([asks.user(f"user{keeps_time}")], SystemClock().now())
    [milliseconds] = ahead_ms
    assert -1_060_000 < milliseconds < -940_000, "the instance and the database have one clock here"


def test_time_goes_on_slowed_down_after_the_databases_clock_was_ahead(address: str) -> None:
    with store_by_hand(address) as (clock, store):
        world = world_on(store)

        def world_after(seconds: float) -> World:
            clock.wait(seconds)
            world.now = store.present(START)
            return world

        clock.put(600)
        code, pair = world_after(0).code(), world.tokens()
        retry = asks.refresh(world.basic(), pair)
        world.when(retry).then(TokensIssued)
        clock.put(-600)
        world_after(30).when(retry).then(TokensIssued)
        assert world.now - START == 627_000
        world_after(5).when(retry).then_refused(Why.REPLAYED_AFTER_GRACE, changes=["update session"])
        world_after(300).when(asks.redeem(world.basic(), code)).then_refused(
            Why.CODE_EXPIRED, changes=["update code"]
        )
        assert world_after(6_000).now - START == 6_335_000, "both agree again"


def test_entries_that_a_clock_ahead_stamped_hold_up_neither_counting_nor_the_sweeper(address: str) -> None:
    with store_by_hand(address) as (clock, store):
        clock.put(3_600)
        store.turn([asks.user("anna")], START)
        assert store.take_lease("sweeper", "gone", 60, START)
        clock.put(-3_600)
    with PostgreSQLStore(clock.address, read_monotonic=clock.read_monotonic) as store:
        store.turn([asks.user("ben")], START)
        assert store.count_entries(START, 10) == 0, "an entry with a lower number may still come"
        assert store.take_lease("sweeper", "next", 60, START)
        assert not store.take_lease("sweeper", "third", 60, START)
        clock.wait(61)
        assert store.count_entries(START, 10) == len(store.audit()) > 1


def test_entries_whose_times_and_numbers_run_opposite_are_each_counted_once(address: str) -> None:
    with PostgreSQLStore(address, keeps_time=False) as store:
        at = [Instant(START + seconds * SECOND_MS) for seconds in (50, 0, 90, 20, 200)]
        for number, moment in enumerate(at):
            store.turn([asks.user(f"user{number}")], moment)
        # All entries up to the last one that is a minute old are counted, also younger ones before it.
        counts = [store.count_entries(Instant(START + now * SECOND_MS), 10) for now in (59, 79, 110, 260)]
        assert counts == [0, 2, 0, 3]
        assert store.state().uncounted == 0


# --- a database that goes away


def kill_connections(address: str) -> None:
    """End every other connection of this schema's stores, as an administrator would."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = %s AND pid <> pg_backend_pid()",
            (application_name(),),
        )


def test_a_pool_makes_connections_anew_only_when_a_turn_waits_for_one(address: str) -> None:
    with PostgreSQLStore(f"{address}&application_name={application_name()}", keeps_time=False) as store:
        with ExitStack() as stack:
            lent = [stack.enter_context(store._connections.lend()) for _ in range(8)]
            kill_connections(address)
            for connection in lent:
                with suppress(psycopg.OperationalError):
                    connection.execute("SELECT 1")
        while store._connections._pool.get_stats()["connections_num"] < 16:
            pass  # until the pool has looked at each of them
        with psycopg.connect(address) as operator:
            alive = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
            assert operator.execute(alive, (application_name(),)).fetchone() == (0,)
        store.turn([asks.user("alice")], START)


def test_a_turn_passes_over_all_connections_that_died_while_idle(address: str) -> None:
    with PostgreSQLStore(f"{address}&application_name={application_name()}", keeps_time=False) as store:
        with ExitStack() as stack:
            for _ in range(4):
                stack.enter_context(store._connections.lend())
        kill_connections(address)
        store.turn([asks.user("alice")], START)


@pytest.mark.parametrize(
    "failures, expected",
    [
        ([errors.ReadOnlySqlTransaction], None),
        ([errors.ReadOnlySqlTransaction] * 2, errors.ReadOnlySqlTransaction),
        ([errors.QueryCanceled], errors.QueryCanceled),
    ],
    ids=["standby once", "standby twice", "no lost connection"],
)
def test_a_turn_is_taken_again_once_if_its_server_became_a_standby(
    address: str,
    failures: list[type[psycopg.Error]],
    expected: type[psycopg.Error] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = iter(failures)

    def fetching(*arguments: Any) -> Any:
        if failure := next(left, None):
            raise failure
        return fetch_with_all(*arguments)

    with PostgreSQLStore(address, keeps_time=False) as store:
        with store._connections.lend() as first:
            pass
        monkeypatch.setattr(store, "_fetch_by", fetching)
        with nullcontext() if expected is None else pytest.raises(expected):
            store.turn([asks.user("alice")], START)
        assert first.closed == (errors.ReadOnlySqlTransaction in failures)


@pytest.mark.parametrize("times", [1, 2])
def test_a_kill_before_the_commit_takes_the_turn_again_once(
    address: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kills = iter([True] * times)

    def deciding(*arguments: Any) -> list[Decision]:
        if next(kills, False):
            kill_connections(address)
        return take_turn(*arguments)

    with PostgreSQLStore(f"{address}&application_name={application_name()}", keeps_time=False) as store:
        monkeypatch.setattr("ostiary_net.sql.store.take_turn", deciding)
        with nullcontext() if times == 1 else pytest.raises(psycopg.OperationalError):
            [decision] = store.turn([asks.user("alice")], START)
            assert isinstance(decision.reply, UserKnown)
        assert len(store.records(Table.USER)) == (times == 1)


def test_a_read_on_a_killed_connection_is_made_again(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with PostgreSQLStore(f"{address}&application_name={application_name()}", keeps_time=False) as store:
        world = world_on(store)
        introspection = IntrospectionRequested(credentials=world.basic(), token=world.tokens().access_token)
        kills = iter([True])

        def fetching(*arguments: Any) -> Any:
            if next(kills, False):
                kill_connections(address)
            return fetch_with_all(*arguments)

        monkeypatch.setattr(store, "_fetch_by", fetching)
        [decision] = store.read([introspection], START)
        assert isinstance(decision.reply, TokenActive)
        assert next(kills, None) is None, "no connection was killed"


def test_reads_are_made_again_after_a_lost_race(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Distributed engines and standbys also end transactions that only read (40001).
    losses = iter([True, True])

    def fetching(*arguments: Any) -> Any:
        if next(losses, False):
            raise psycopg.errors.SerializationFailure
        return fetch_with_all(*arguments)

    with PostgreSQLStore(address, keeps_time=False) as store:
        monkeypatch.setattr(store, "_fetch_by", fetching)
        assert store.session_history("0" * 32) is None
        assert next(losses, None) is None


def test_no_entry_is_counted_while_an_earlier_may_come(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostiary_net.postgres.store.SLOW_SECONDS", 0)
    with PostgreSQLStore(address, keeps_time=False) as store, psycopg.connect(address) as slow:
        store.turn([asks.user("alice")], START)
        slow.execute("LOCK TABLE audit IN ROW EXCLUSIVE MODE")
        assert store.count_entries(Instant(START + 60_000), 10) == 0
        slow.rollback()
        assert store.count_entries(Instant(START + 60_000), 10) == 1


def test_a_host_that_does_not_answer_holds_up_no_other(address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        _, _, place = urlsplit(address).netloc.rpartition("@")
        both = address.replace(place, f"127.0.0.1:{silent.getsockname()[1]},{place}", 1)
        with PostgreSQLStore(
            f"{both}&application_name={application_name()}", turn_seconds=3, wait_seconds=3
        ) as store:
            kill_connections(address)
            [decision] = store.turn([asks.user("alice")], START)
    assert isinstance(decision.reply, UserKnown)
