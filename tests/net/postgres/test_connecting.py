"""How often a database is looked for, the reasons that are logged, and connections that are left."""

import math
import re
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from itertools import count
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import psycopg
import pytest
import trio
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout
from structlog.testing import capture_logs

from ostiary_core.model.records import Table
from ostiary_net.postgres import PostgreSQLStore, connection, connections
from ostiary_net.postgres.connection import (
    BoundedConnection,
    ConnectionDemand,
    DatabaseStalled,
    PrimarySearch,
    ReasonLog,
    Timelines,
)
from ostiary_net.postgres.connections import PrimaryConnections
from ostiary_net.postgres.hosts import Hosts
from ostiary_net.turns.ports import CommitUnconfirmed
from tests.support.story import START

AWAY = "connection refused\n\tIs the server running?"


def test_a_reason_is_logged_again_after_ten_seconds_and_another_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(connection, "time", SimpleNamespace(monotonic=lambda: now))
    reasons = ReasonLog()
    with capture_logs() as log:
        for seconds, reason in ((0, "a"), (9, "a"), (1, "a"), (1, "b"), (1, "b"), (1, "a")):
            now += seconds
            reasons.log(reason)
    assert [entry["reason"] for entry in log] == ["a", "a", "b", "a"]


def test_no_more_connections_are_made_at_a_time_than_threads_wait() -> None:
    demand = ConnectionDemand()
    for _ in range(2):
        refused = pytest.raises(psycopg.OperationalError, match="no thread waits")
        with refused, demand.connecting():
            pass
        with (
            demand.waiting(),
            demand.waiting(),
            demand.connecting(),
            demand.connecting(),
            refused,
            demand.connecting(),
        ):
            pass


class Primary:
    """A connection to a database that says its identifier and timeline, or that it has none."""

    database, timeline = 0, 0

    def __init__(self, *says: int) -> None:
        self._says = says

    def execute(self, statement: str, *, prepare: bool) -> Any:
        if not self._says:
            raise psycopg.errors.UndefinedFunction
        return SimpleNamespace(fetchall=lambda: [self._says])


def test_a_primary_that_another_has_replaced_is_left() -> None:
    timelines = Timelines()
    for says in ((7, 2), (7, 2), (8, 1), (7, 3), ()):
        reached = Primary(*says)
        timelines.require_newest(cast(BoundedConnection, reached))
        assert (reached.database, reached.timeline) == (says or (0, 0))
    with pytest.raises(psycopg.OperationalError, match="replaced"):
        timelines.require_newest(cast(BoundedConnection, Primary(7, 2)))
    timelines.require_newest(cast(BoundedConnection, Primary(7, 3)))
    assert timelines.is_newest(Primary.database, Primary.timeline), (
        "an engine without timelines has one primary"
    )


@pytest.mark.parametrize("prepares, threshold", [(None, None), (False, None), (True, 5)])
def test_behind_a_pooler_nothing_is_prepared_unless_it_is_said(
    prepares: bool | None, threshold: int | None
) -> None:
    other_process = SimpleNamespace(fetchall=lambda: [[2]])
    made: Any = SimpleNamespace(info=SimpleNamespace(backend_pid=1), prepare_threshold=5)
    made.execute = lambda statement, *, prepare: other_process
    connection._apply_session_settings(made, prepares)
    assert (made.is_pooled, made.prepare_threshold) == (True, threshold)


def test_a_connection_that_was_made_before_another_primary_took_over_is_lent_no_more(address: str) -> None:
    with PostgreSQLStore(address, most_connections=2) as store:
        newest = store._connections._search.timelines._newest
        with store._connections.lend() as made:
            newest[made.database] += 1
        with pytest.raises(DatabaseStalled), store._connections.lend(time.monotonic() + 0.3):
            pass
        newest.clear()
    assert made.closed


def test_a_read_that_reaches_another_server_than_before_is_made_again(address: str) -> None:
    with PostgreSQLStore(address) as store:
        with store._connections.lend() as made:
            made.server = "another"
        store._memory.confirmed_at = {"another": math.inf}
        store.present(START)
        assert made.closed


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Reasons for which the next connections are refused."""
    reasons: list[str] = []
    connect = psycopg.connect

    def refuse(*arguments: Any, **named: Any) -> Any:
        if reasons:
            assert named["connect_timeout"] == 5, "a silent host holds up no start for minutes"
            raise psycopg.OperationalError(reasons.pop(0))
        return connect(*arguments, **named)

    monkeypatch.setattr(psycopg, "connect", refuse)
    return reasons


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The pauses between attempts, in which time goes on by itself."""
    made: list[float] = []

    def sleep(seconds: float) -> None:
        made.append(seconds)
        assert len(made) < 50, "it never gives up"

    clock = SimpleNamespace(monotonic=lambda: sum(made), sleep=sleep)
    with monkeypatch.context() as patched:
        patched.setattr(connections, "time", clock)
        yield made


def make(address: str) -> PrimaryConnections:
    return PrimaryConnections(address, most=1, wait_seconds=30, prepares=None)


def test_a_database_that_is_away_at_first_is_waited_for_and_said_so_once(
    address: str, refusals: list[str], pauses: list[float]
) -> None:
    told: list[str] = []
    refusals += [AWAY] * 8
    made = make(address)
    made.open(30, told.append)
    made.close()
    assert told == ["connection refused Is the server running?"]
    assert pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]


@pytest.mark.parametrize(
    "reason, within_seconds, expected",
    [(AWAY, 1, [0.05, 0.1, 0.2, 0.4]), (AWAY, 0, []), ('FATAL:  role "x" does not exist', 30, [])],
)
def test_a_database_is_not_waited_for_in_vain(
    reason: str, within_seconds: float, expected: list[float], refusals: list[str], pauses: list[float]
) -> None:
    refusals += [reason] * 9
    made = make("postgresql://nobody@127.0.0.1:9/none")
    with pytest.raises(psycopg.OperationalError, match=reason.split("\n")[0]):
        made.open(within_seconds, lambda reason: None)
    assert pauses == expected


RELIED_ON = {
    "array_nulls": ("off", "on"),
    "standard_conforming_strings": ("off", "on"),
    "bytea_output": ("escape", "hex"),
    "client_min_messages": ("error", "warning"),
    "lock_timeout": ("1h", "0"),
    "synchronous_commit": ("off", "on"),
    "statement_timeout": ("1h", "15s"),
    "idle_in_transaction_session_timeout": ("1h", "8s"),
    "plan_cache_mode": ("auto", "force_generic_plan"),
    "tcp_user_timeout": ("1h", "5000"),
    "tcp_keepalives_idle": ("99", "2"),
    "tcp_keepalives_interval": ("99", "1"),
    "tcp_keepalives_count": ("99", "3"),
}
"""Settings with what an address names, and what a connection has."""
PARAMETERS = (
    "client_encoding=UTF8 connect_timeout=5 target_session_attrs=read-write tcp_user_timeout=10000"
    " keepalives=1 keepalives_idle=5 keepalives_interval=5 keepalives_count=2"
)


def test_a_connection_has_its_settings_whatever_the_address_names(address: str) -> None:
    named = "".join(f"%20-c%20{name}%3D{wrong}" for name, (wrong, _) in RELIED_ON.items())
    with PostgreSQLStore(address + named) as store, store._connections.lend() as made:
        shown = {name: made.execute(f"SHOW {name}".encode()).fetchone() for name in RELIED_ON}
        assert shown == {name: (right,) for name, (_, right) in RELIED_ON.items()}
        given = {f"{name}={value}" for name, value in made.info.get_parameters().items()}
        assert {*PARAMETERS.split()} <= given
        assert (made.plans_once, made.is_pooled, made.prepare_threshold) == (True, False, 5)
        assert made.info.encoding == "utf-8"
        assert made.timeline > 0 != made.database
    own = PostgreSQLStore(f"{address}&tcp_user_timeout=3000", prepares=False)
    with own as store, store._connections.lend() as made:
        assert made.info.get_parameters()["tcp_user_timeout"] == "3000"
        assert made.prepare_threshold is None
    assert store._connections._pool.closed


def test_a_connection_is_given_back_without_a_transaction_and_left_if_it_led_to_no_primary(
    address: str,
) -> None:
    lent: list[BoundedConnection] = []
    with PostgreSQLStore(address, most_connections=2) as store:

        def use(*statements: str, until: float | None = None) -> None:
            with store._connections.lend(until) as made:
                assert made.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
                assert not made.ends_when_cancelled
                made.ends_when_cancelled = True
                lent.append(made)
                for statement in statements:
                    made.execute(statement.encode())
                made.has_stalled = bool(until)

        for statements, why in (
            (["BEGIN", "NONSENSE"], psycopg.errors.SyntaxError),
            (["BEGIN READ ONLY", "CREATE TABLE x (y BIGINT)"], psycopg.errors.ReadOnlySqlTransaction),
        ):
            with pytest.raises(why):
                use(*statements)
            assert lent[-1].deadline == math.inf
        use(until=time.monotonic() + 60)
        use()
    assert lent[0] is lent[1], "it was rolled back, and is lent again"
    assert len({*lent}) == 3, "none is lent again that led to a standby, or stood still"


LONG, SHORT = "SELECT pg_sleep(8)", "SELECT pg_sleep(0.7)"


def expect_end(operator: psycopg.Connection[Any]) -> None:
    """Wait until the database executes the long statement no more, for much less than it takes."""
    began = time.monotonic()
    asked = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = %s"
    while operator.execute(asked, (LONG,)).fetchone() != (0,):
        assert time.monotonic() - began < 4


@pytest.mark.parametrize("hears", [True, False])
def test_a_wait_ends_at_its_deadline_and_a_read_is_ended_in_the_database(
    address: str, hears: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def be_deaf(made: BoundedConnection, *, timeout: float) -> None:
        asked.append(timeout)
        raise psycopg.OperationalError("no answer")

    if not hears:
        monkeypatch.setattr(BoundedConnection, "cancel_safe", be_deaf)
    stalled = []
    with PostgreSQLStore(address) as store, psycopg.connect(address, autocommit=True) as operator:
        for is_reading in (True, False):
            with store._connections.lend() as made:
                made.deadline, made.ends_when_cancelled = time.monotonic() + 0.2, is_reading
                with pytest.raises(DatabaseStalled):
                    made.execute(LONG if hears and is_reading else SHORT)
                stalled.append(made.has_stalled)
                assert made.closed
            if hears and is_reading:
                expect_end(operator)
        with store._connections.lend(time.monotonic() + 60) as made:
            operator.execute("SELECT pg_terminate_backend(%s)", (made.info.backend_pid,))
            with pytest.raises(psycopg.OperationalError) as lost:
                made.execute("SELECT 1")
            assert not isinstance(lost.value, DatabaseStalled)
    assert stalled == [not hears, True]
    assert asked == [0.3] * (not hears)


def test_what_may_take_long_has_not_the_deadline_of_a_query(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostiary_net.postgres.store._QUERY_SECONDS", 0)
    with PostgreSQLStore(address) as store:
        with pytest.raises(DatabaseStalled):
            store.mark()
        assert store.fetch(Table.USER, ["nobody"]) == []
        assert {store.counts()[name] for name in ("users", "audit")} == {0}


async def test_a_read_ends_with_its_caller_and_a_turn_does_not(address: str) -> None:
    with PostgreSQLStore(address) as store, psycopg.connect(address, autocommit=True) as operator:
        for is_reading in (True, False):
            with store._connections.lend(time.monotonic() + 60) as made:
                made.ends_when_cancelled = is_reading
                with trio.move_on_after(0.1):
                    await trio.to_thread.run_sync(made.execute, LONG if is_reading else SHORT)
                assert made.closed == is_reading
            expect_end(operator)


async def test_a_reader_who_left_waits_for_no_connection(address: str) -> None:
    made, ended = make(address), []

    def have_none(seconds: float) -> Any:
        time.sleep(seconds)
        raise PoolTimeout

    pool: Any = made._pool
    pool.getconn = have_none
    for is_reading in (True, False):

        def ask(ends: bool = is_reading) -> None:
            with made.lend(time.monotonic() + 0.5, ends_when_cancelled=ends):
                pass

        began = time.monotonic()
        with trio.move_on_after(0.1) as scope, suppress(DatabaseStalled):
            await trio.to_thread.run_sync(ask)
        ended.append((scope.cancelled_caught, 0.5 <= time.monotonic() - began < 20))
    assert ended == [(True, False), (False, True)]


async def test_a_read_that_nobody_awaits_waits_for_no_connection(address: str) -> None:
    with PostgreSQLStore(address, most_connections=2, wait_seconds=1) as store:
        with store._connections.lend(), store._connections.lend():
            with trio.move_on_after(0.1) as scope:
                await trio.to_thread.run_sync(store.mark)
        assert scope.cancelled_caught


def test_only_a_warning_of_the_commit_itself_leaves_it_unconfirmed(address: str) -> None:
    with PostgreSQLStore(address) as store, store._connections.lend() as made:
        made.execute(
            """
            CREATE TABLE kept (level TEXT);
            CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.level = 'notice' THEN RAISE NOTICE 'nothing';
                ELSE RAISE WARNING 'it may'; RAISE WARNING 'be lost'; END IF;
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER say AFTER INSERT ON kept DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION say();
            SET client_min_messages = notice;
            BEGIN;
            DO $$ BEGIN RAISE WARNING 'before the commit'; END $$;
            INSERT INTO kept VALUES ('notice');
            """
        )
        made.commit_confirmed()
        made.execute("BEGIN; INSERT INTO kept VALUES ('warning')")
        with pytest.raises(CommitUnconfirmed, match=r"^it may$"):
            made.commit_confirmed()
        made.rollback()
        assert made.execute("SELECT count(*) FROM kept").fetchone() == (2,)


@pytest.mark.parametrize(
    "hosts, times, logged", [(1, 1, ["refused 0"]), (2, 1, []), (2, 99, [r"refused \d+"])]
)
def test_of_several_hosts_only_the_last_refusal_of_all_is_logged(
    hosts: int, times: int, logged: list[str], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, number = psycopg.Connection.connect.__func__, count()  # type: ignore[attr-defined]

    def refuse(kind: Any, *arguments: Any, **named: Any) -> Any:
        if (place := next(number)) < times:
            raise psycopg.OperationalError(f"refused {place}")
        return connect(kind, *arguments, **named)

    monkeypatch.setattr(psycopg.Connection, "connect", classmethod(refuse))
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.5)
    place = urlsplit(address).netloc.rpartition("@")[2]
    conninfo = address.replace(place, ",".join([place] * hosts), 1)
    search = PrimarySearch(Hosts(conninfo_to_dict(conninfo)), None, lambda: None)
    ends = nullcontext() if times == 1 else pytest.raises(psycopg.OperationalError)
    with capture_logs() as log, search.demand.waiting(), ends:
        BoundedConnection.connect(conninfo, search=search, autocommit=True).close()
    assert len(log) == len(logged)
    assert all(re.fullmatch(right, entry["reason"]) for right, entry in zip(logged, log, strict=True))
