"""A database that stands still, or has become a standby: turns have limits (READINGS 46, 47)."""

import math
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from ostiary_core import Instant, Policy, Why
from ostiary_core.events import Event, RefreshRequested
from ostiary_core.model.decision import Insert, Update
from ostiary_core.model.instant import MINUTE_MS, Arrival, arrival_at
from ostiary_core.model.records import RECORD_TABLES, Session, revise
from ostiary_core.model.reply import Refused, Reply, TokensIssued, UserKnown
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.postgres.connection import DatabaseStalled
from ostiary_net.postgres.transaction import StandbyAwaited
from ostiary_net.runtime.system import SystemClock
from ostiary_net.turns.ports import CommitUnconfirmed
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_net.turns.turns import open_turns
from tests.support import asks
from tests.support.processes import Cluster
from tests.support.stores import registration_of, usernames
from tests.support.story import START, given

SHORTLY = 0.3


def test_a_turn_is_given_up_with_its_connection_and_the_next_one_has_another(cluster: Cluster) -> None:
    with PostgreSQLStore(cluster.address, turn_seconds=SHORTLY) as store:
        store.turn([registration_of("before")], START)
        with cluster.freeze(), pytest.raises(DatabaseStalled):
            store.turn([registration_of("meanwhile")], START)
        [decision] = store.turn([registration_of("afterwards")], START)
        assert isinstance(decision.reply, UserKnown)
        assert usernames(store) >= {"before", "afterwards"}
        assert "meanwhile" not in usernames(store)


def test_a_connection_that_is_given_up_takes_the_others_along(cluster: Cluster) -> None:
    # They all lead to the same machine, and turns would wait for each of them in turn.
    with PostgreSQLStore(cluster.address, most_connections=2, turn_seconds=SHORTLY) as store:
        with store._connections.lend() as one, store._connections.lend() as other:
            before = {one, other}
        with cluster.freeze(), pytest.raises(DatabaseStalled):
            store.turn([registration_of("waiting")], START)
        with store._connections.lend() as one, store._connections.lend() as other:
            assert not before & {one, other}


def test_a_read_is_given_up_too(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostiary_net.postgres.store._QUERY_SECONDS", SHORTLY)
    with PostgreSQLStore(cluster.address) as store:
        with cluster.freeze(), pytest.raises(DatabaseStalled):
            store.session_history("0" * 32)
        assert store.session_history("0" * 32) is None


def test_reads_after_silence_await_a_standby(lone_primary: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    # Another server may have become the primary meanwhile: then no standby follows this one.
    monkeypatch.setattr("ostiary_net.postgres.store._QUERY_SECONDS", SHORTLY)
    with PostgreSQLStore(lone_primary.address) as store:
        for refusal in (DatabaseStalled, StandbyAwaited):
            with pytest.raises(refusal):
                store.session_history("0" * 32)


def test_a_commit_without_an_answer_is_unconfirmed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    execute = psycopg.Connection.execute

    def execute_frozen(connection: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        with cluster.freeze() if query == "COMMIT" else nullcontext():
            return execute(connection, query, *arguments, **named)

    with PostgreSQLStore(cluster.address, turn_seconds=SHORTLY) as store:
        monkeypatch.setattr(psycopg.Connection, "execute", execute_frozen)
        with pytest.raises(CommitUnconfirmed):
            store.turn([registration_of("perhaps")], START)


@contextmanager
def refusing(port: int) -> Iterator[list[None]]:
    """Yield a list that grows with each connection to a port, all of which are closed at once."""
    refused: list[None] = []

    def refuse(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                listener.accept()[0].close()
                refused.append(None)

    with socket.create_server(("127.0.0.1", port)) as listener, ThreadPoolExecutor(1) as thread:
        thread.submit(refuse, listener)
        yield refused
        listener.shutdown(socket.SHUT_RDWR)


def test_a_store_looks_for_its_database_again_and_again_logs_once_why_and_finds_it(cluster: Cluster) -> None:
    with PostgreSQLStore(cluster.address, keeps_time=False, wait_seconds=1.5) as store, capture_logs() as log:
        cluster.stop("fast")
        with refusing(cluster.port) as refused:
            for name in ("meanwhile", "and again"):
                with pytest.raises(psycopg.OperationalError):
                    store.turn([registration_of(name)], START)
                assert len(refused) >= 5, "it rested for longer than the database was away"
                refused.clear()
        cluster.start()
        store.turn([registration_of("returned")], START)
        assert "returned" in usernames(store)
    assert {entry["event"] for entry in log} == {"no connection to the database"}
    [reason] = [entry["reason"] for entry in log if "closed the connection" in entry["reason"]]
    assert "connection to server at" in reason
    assert "\n" not in reason


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.turn([registration_of("written")], START),
        lambda store: store.session_history("0" * 32),
        lambda store: store.present(START),
    ],
    ids=["turn", "question", "time"],
)
def test_connections_to_standbys_are_left(cluster: Cluster, use: Callable[[PostgreSQLStore], object]) -> None:
    with PostgreSQLStore(cluster.address, most_connections=2) as store:
        store.present(START)  # it is known as the primary
        with store._connections.lend() as one, store._connections.lend() as other:
            for connection in (one, other):
                connection.execute("SET default_transaction_read_only = on")
        use(store)
        assert one.closed
        with store._connections.lend() as one, store._connections.lend() as other:
            for connection in (one, other):
                assert connection.execute("SHOW default_transaction_read_only").fetchone() == ("off",)


def test_of_two_primaries_the_one_that_was_replaced_is_left(cluster: Cluster) -> None:
    PostgreSQLStore(cluster.address).close()
    cluster.stop("fast")
    with TemporaryDirectory() as folder:
        successor = Cluster(Path(folder), cluster.binaries, replaced=cluster)
        addresses = f"127.0.0.1:{cluster.port},127.0.0.1:{successor.port}"
        with PostgreSQLStore(f"postgresql://ostiary@{addresses}/postgres") as store:
            cluster.start()
            for number in range(8):
                for each in (cluster, successor):
                    each.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE usename = 'ostiary' AND pid <> pg_backend_pid()"
                    )
                store.turn([registration_of(f"kept-{number}")], START)
        with PostgreSQLStore(successor.address) as store:
            assert {f"kept-{number}" for number in range(8)} <= usernames(store)
        successor.stop()


@pytest.fixture
def lone_primary(cluster: Cluster) -> Iterator[Cluster]:
    """A primary that has lost its only synchronous standby."""
    PostgreSQLStore(cluster.address).close()
    cluster.set("synchronous_standby_names", "'nobody'")
    yield cluster
    cluster.set("synchronous_standby_names", "''")


def test_no_commit_is_awaited_beyond_its_turn(lone_primary: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    # Reads go on while the server is known to be the primary, and see nothing that may be lost with it.
    monkeypatch.setattr("ostiary_net.postgres.transaction._PRIMARY_LEASE_SECONDS", math.inf)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with (
        PostgreSQLStore(lone_primary.address, turn_seconds=1) as store,
        psycopg.connect(lone_primary.address, autocommit=True) as operator,
    ):
        with pytest.raises(CommitUnconfirmed):
            store.turn([registration_of("lonely")], START)
        assert store.session_history("0" * 32) is None
        assert store.turn([], START) == []
        for _ in range(3):
            with pytest.raises(StandbyAwaited):
                store.turn([registration_of("later")], START)
        assert operator.execute(waiting).fetchone() == (1,)
        assert not {"lonely", "later"} & usernames(store)
        lone_primary.set("synchronous_standby_names", "''")
        while operator.execute(waiting).fetchone() != (0,):
            pass
        store.turn([registration_of("restored")], START)
        assert usernames(store) & {"lonely", "later", "restored"} == {"lonely", "restored"}


def test_a_check_awaits_a_standby_as_a_turn_does(
    lone_primary: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostiary_net.postgres.transaction._PRIMARY_LEASE_SECONDS", math.inf)
    store = PostgreSQLStore(lone_primary.address, turn_seconds=SHORTLY)
    with store, pytest.raises(CommitUnconfirmed):
        store.check_ready()


def test_a_commit_whose_wait_for_a_standby_is_cancelled_is_not_sure_to_be_kept(lone_primary: Cluster) -> None:
    cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    with (
        PostgreSQLStore(lone_primary.address, turn_seconds=60) as store,
        ThreadPoolExecutor(1) as thread,
        psycopg.connect(lone_primary.address, autocommit=True) as operator,
    ):
        turn = thread.submit(store.turn, [registration_of("cancelled")], START)
        while not turn.done():
            operator.execute(cancel)
        with pytest.raises(CommitUnconfirmed):
            turn.result()


@pytest.mark.parametrize("how", ["its standby is away", "it stands still"])
async def test_a_refresh_whose_answer_was_lost_has_its_grace_once_the_database_is_back(
    how: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, clock = Policy(grace_seconds=3), SystemClock()
    execute, away = psycopg.Connection.execute, ExitStack()

    def execute_and_freeze(connection: Any, query: Any, *arguments: Any, **named: Any) -> Any:
        if query == "COMMIT":
            away.enter_context(cluster.freeze())
            monkeypatch.undo()
        return execute(connection, query, *arguments, **named)

    world = given()
    pair, stolen = world.tokens(), world.tokens()

    def ask(token: TokensIssued) -> RefreshRequested:
        return asks.refresh(world.basic(), token, arrival=arrival_at(clock.now()))

    schema = how.replace(" ", "_")
    cluster.execute(f"CREATE SCHEMA {schema}")
    address = f"{cluster.address}?options=-c%20search_path%3D{schema}"
    with PostgreSQLStore(address, policy=policy, turn_seconds=SHORTLY, wait_seconds=SHORTLY) as store:
        store.write([Insert(record) for table in RECORD_TABLES for record in world.store.records(table)])
        async with open_turns(store, clock) as turns:
            await turns.decide(ask(stolen))
            with away:
                if how == "it stands still":
                    monkeypatch.setattr(psycopg.Connection, "execute", execute_and_freeze)
                else:
                    cluster.set("synchronous_standby_names", "'nobody'")
                    away.callback(cluster.set, "synchronous_standby_names", "''")
                began = clock.now()
                while clock.now() < began + 4_500:
                    with pytest.raises(TurnFailed):
                        await turns.decide(ask(pair))
            retried: list[Reply] = []
            while len(retried) < 2:
                with suppress(TurnFailed):  # the database is still ending the transaction of the lost commit
                    retried.append((await turns.decide(ask(pair))).reply)
            tokens = [reply.refresh_token for reply in retried if isinstance(reply, TokensIssued)]
            assert len(tokens) == 2
            assert tokens[0] == tokens[1]
            assert (await turns.decide(ask(stolen))).reply == Refused(Why.REPLAYED_AFTER_GRACE)


def test_events_are_chosen_once_the_turn_has_begun_and_again_before_each_attempt(cluster: Cluster) -> None:
    with PostgreSQLStore(cluster.address) as store:
        assert store.turn_of(lambda: ([], []), START) == []
        waiting: list[Event] = [registration_of("anna"), registration_of("ben")]
        assert len(store.turn_of(lambda: (waiting[1:], [None]), START)) == 1
        assert "anna" not in usernames(store)


_LONG_MS = 60 * MINUTE_MS
"""Longer than two turns take on any machine."""


@pytest.mark.parametrize(
    "arrival, why",
    [
        (arrival_at(Instant(START - _LONG_MS)), None),
        (arrival_at(START), Why.REPLAYED_AFTER_GRACE),
        (Arrival(Instant(START - _LONG_MS), START), Why.ARRIVAL_UNKNOWN),
    ],
)
def test_an_arrival_is_read_by_the_databases_clock(address: str, arrival: Arrival, why: Why | None) -> None:
    # Clocks of instances differ from the database's: the store counts how long the request has waited.
    world = given()
    first = world.tokens()
    with PostgreSQLStore(address, policy=Policy(grace_seconds=0)) as store:
        store.write([Insert(record) for table in RECORD_TABLES for record in world.store.records(table)])
        [rotated] = store.turn([asks.refresh(world.basic(), first)], START)
        assert isinstance(rotated.reply, TokensIssued)
        [session] = [each.after for each in rotated.changes if isinstance(each, Update)]
        assert isinstance(session, Session)
        assert session.rotated_at is not None
        # Otherwise both turns may fall into one millisecond of the database's clock.
        store.write([Update(session, revise(session, rotated_at=Instant(session.rotated_at - 1)))])
        [retried] = store.turn([asks.refresh(world.basic(), first, arrival=arrival)], START)
    if why is None:
        assert isinstance(retried.reply, TokensIssued)
        assert retried.reply.access_token == rotated.reply.access_token
    else:
        assert retried.reply == Refused(why)
