"""What a request costs in PostgreSQL with five thousand sessions and with five million, and what turns notice
of a million dead sessions being cleared away.

    python -m tests.bench.growth postgresql://... --sessions 5000 50000 500000 5000000 --dead 1000000

Makes a schema, fills it step by step, and after each step asks the store for introspections and refreshes of
sessions drawn at random, one a turn. Pages that a request touches, as the database counts them, do not depend
on who else works on the machine; the milliseconds beside them do. The schema is dropped.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from statistics import median, quantiles
from typing import Any, Final
from urllib.parse import quote

import psycopg
import trio

from ostiary_core import events as e
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Insert
from ostiary_core.model.instant import Instant
from ostiary_core.model.reply import TokensIssued
from ostiary_core.model.secret import Entropy, Secret, digest_of
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.runtime.system import SystemClock
from ostiary_net.turns.turns import Turns, open_turns
from ostiary_net.upkeep.sweeping import Purge
from tests.bench.names import CLIENTS, USERS, client_id, secret_of, token
from tests.bench.population import clients_and_users

_SCHEMA: Final = "ostiary_growth"
_AT_A_TIME: Final = 250_000
_DAY_MS: Final = 24 * 60 * 60 * 1_000
_LIFETIME_MS: Final = 30 * _DAY_MS
_DEAD_FOR_MS: Final = 31 * _DAY_MS
"""Longer than dead sessions are kept."""
_WARM_UP: Final = 300
_CLEAR_SECONDS: Final = 5.0
"""The server has 60, of which it works as many as there is something to do."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("address")
    parser.add_argument("--sessions", type=int, nargs="+", default=[5_000, 50_000, 500_000])
    parser.add_argument("--dead", type=int, default=0)
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the clearing is watched")
    asked = parser.parse_args()
    with _schema(asked.address) as (address, connection):
        with PostgreSQLStore(address) as store:
            store.write([Insert(record) for record in clients_and_users(SystemClock().now(), _user_id)])
        done = 0
        print(f"{'sessions':>10}  {'':<13} {'pages a request':>16} {'median ms':>10} {'p99 ms':>8}")
        for step in asked.sessions:
            took = _fill(connection, done, step, ended=False)
            done = step
            for name, ask in (("introspection", _introspection), ("refresh", _refresh)):
                figures = _measured(address, connection, partial(_asked, ask), step, asked.requests)
                print(f"{step:>10,}  {name:<13} {figures[0]:>16.1f} {figures[1]:>10.2f} {figures[2]:>8.2f}")
            print(f"{'':>10}  (filled in {took:.0f} s)", flush=True)
        if asked.dead:
            took = _fill(connection, done, done + asked.dead, ended=True)
            print(f"{asked.dead:,} dead sessions more, in {took:.0f} s", flush=True)
            with PostgreSQLStore(address) as store:
                trio.run(partial(_watch_clearing, store, connection, done, asked.seconds))


# --- the store


@contextmanager
def _schema(address: str) -> Iterator[tuple[str, psycopg.Connection[Any]]]:
    """A schema of its own, with a connection to look at it from."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {_SCHEMA}".encode())
        connection.execute(f"SET search_path = {_SCHEMA}".encode())
        connection.execute("SET synchronous_commit = off")
        try:
            joint = "&" if "?" in address else "?"
            yield f"{address}{joint}options={quote(f'-c search_path={_SCHEMA}')}", connection
        finally:
            connection.execute(f"DROP SCHEMA {_SCHEMA} CASCADE".encode())


def _user_id(number: int) -> str:
    return f"user-{number}"


def _fill(connection: psycopg.Connection[Any], first: int, end: int, *, ended: bool) -> float:
    """Sessions of these numbers with a pair of tokens each; the seconds it took."""
    began = time.monotonic()
    now = SystemClock().now()
    started = now - (_DEAD_FOR_MS if ended else 0)
    ending = f"{started}, 'revoked_by_client'" if ended else "NULL, NULL"
    for start in range(first, end, _AT_A_TIME):
        numbers = f"generate_series({start}, {min(start + _AT_A_TIME, end) - 1}) i"
        connection.execute(
            "INSERT INTO sessions (session_id, kind, client_id, user_id, scopes, user_epoch, client_epoch, "
            "consent_epoch, started_at, expires_at, generation, access_digest, access_scopes, "
            "access_expires_at, ended_at, ended_why, user_agent, source, revision) "
            f"SELECT md5('session ' || i), 'authorization_code', 'client-' || (i % {CLIENTS}), "
            f"'user-' || (i % {USERS}), '[\"user.read\"]', 0, 0, 0, {started} + i % 60000, "
            f"{started + _LIFETIME_MS} + i % 60000, 0, {_digest('access')}, '[\"user.read\"]', "
            f"{started + _DAY_MS}, {ending}, 'bench', '203.0.113.7', 1 FROM {numbers}".encode()
        )
        connection.execute(
            "INSERT INTO refresh_tokens (digest, session_id, generation, revision) "
            f"SELECT {_digest('refresh')}, md5('session ' || i), 0, 1 FROM {numbers}".encode()
        )
        connection.execute(
            "INSERT INTO access_tokens (digest, session_id) "
            f"SELECT {_digest('access')}, md5('session ' || i) FROM {numbers}".encode()
        )
    connection.execute("VACUUM ANALYZE")
    connection.execute("CHECKPOINT")
    return time.monotonic() - began


def _digest(kind: str) -> str:
    """SQL for the digest of a token's text, as `population.token` has it."""
    text = f"encode(sha256(convert_to('{kind} ' || i, 'UTF8')), 'base64')"
    return f"sha256(convert_to(translate({text}, '+/=', '-_'), 'UTF8'))"


# --- what is asked


def _credentials(number: int) -> e.ClientCredentials:
    client = client_id(number)
    return e.ClientCredentials(
        client_id=client, secret=Secret(secret_of(client)), method=e.AuthenticationMethod.BASIC
    )


def _introspection(number: int, known: dict[int, Secret]) -> e.Event:
    return e.IntrospectionRequested(credentials=_credentials(number), token=Secret(token("access", number)))


def _refresh(number: int, known: dict[int, Secret]) -> e.Event:
    return e.RefreshRequested(
        credentials=_credentials(number),
        refresh_token=known.get(number) or Secret(token("refresh", number)),
        scopes=None,
        user_agent="bench",
        entropy=Entropy(digest_of(f"{number} {time.perf_counter_ns()}")),
    )


Ask = Callable[[int, dict[int, Secret]], e.Event]


def _asked(ask: Ask, store: PostgreSQLStore, number: int, known: dict[int, Secret]) -> float:
    """The seconds of one turn of one event."""
    event, now = ask(number, known), Instant(0)
    origin = Origin(trace_id="0" * 32, source="203.0.113.7", user_agent="bench")
    began = time.perf_counter()
    [decision] = store.read([event], now) if ask is _introspection else store.turn([event], now, [origin])
    seconds = time.perf_counter() - began
    if isinstance(decision.reply, TokensIssued):
        assert decision.reply.refresh_token is not None
        known[number] = decision.reply.refresh_token
    return seconds


def _measured(
    address: str,
    connection: psycopg.Connection[Any],
    asked: Callable[[PostgreSQLStore, int, dict[int, Secret]], float],
    sessions: int,
    requests: int,
) -> tuple[float, float, float]:
    """Pages a request, its median and its 99th percentile in milliseconds."""
    # Other sessions each time, so that none is asked within its grace.
    chance = Random(f"{sessions} {requests} {time.time_ns()}")
    numbers = chance.sample(range(sessions), min(requests + _WARM_UP, sessions // 2))
    known: dict[int, Secret] = {}
    with PostgreSQLStore(address) as store:
        for number in numbers[:_WARM_UP]:
            asked(store, number, known)
    before = _pages(connection)
    with PostgreSQLStore(address) as store:
        seconds = [asked(store, number, known) for number in numbers[_WARM_UP:]]
    touched = _pages(connection) - before
    return touched / len(seconds), median(seconds) * 1_000, quantiles(seconds, n=100)[98] * 1_000


def _pages(connection: psycopg.Connection[Any]) -> int:
    """Pages of our tables and indexes that were touched so far, in memory or not. Sessions that have ended
    have told theirs."""
    time.sleep(1.5)  # a server's own processes tell theirs a little later
    connection.execute("SELECT pg_stat_clear_snapshot()")
    row = connection.execute(
        "SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0)) "
        "FROM pg_statio_user_tables WHERE schemaname = %s AND relname IN "
        "('access_tokens', 'refresh_tokens', 'sessions', 'users', 'clients', 'consents', 'audit')",
        (_SCHEMA,),
    ).fetchone()
    assert row is not None
    return int(row[0])


# --- while dead sessions are cleared away


async def _watch_clearing(
    store: PostgreSQLStore, connection: psycopg.Connection[Any], running: int, seconds: float
) -> None:
    """Refreshes and introspections without the sweeper, and then beside it."""
    clock = SystemClock()
    async with open_turns(store, clock) as turns:
        for name in ("without clearing", "beside clearing", "without clearing"):
            before = _dead(connection)
            async with trio.open_nursery() as nursery:
                if name == "beside clearing":
                    nursery.start_soon(Purge(turns, store, clock).run, "bench", _CLEAR_SECONDS)
                took = await _load(turns, running, seconds)
                nursery.cancel_scope.cancel()
            for what, times in took.items():
                print(
                    f"{name:<18} {what:<13} {len(times):>7} in {seconds:.0f} s   median "
                    f"{median(times) * 1_000:6.1f} ms   p99 {quantiles(times, n=100)[98] * 1_000:6.1f} ms   "
                    f"slowest {max(times) * 1_000:6.0f} ms"
                )
            print(
                f"{'':<18} dead sessions cleared away meanwhile: {before - _dead(connection):,}", flush=True
            )


def _dead(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT count(*) FROM sessions WHERE ended_at IS NOT NULL").fetchone()
    assert row is not None
    return int(row[0])


async def _load(turns: Turns, running: int, seconds: float) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {"introspection": [], "refresh": []}
    chance, known = Random(time.time_ns()), dict[int, Secret]()

    async def ask_for_ever(what: str, ask: Ask) -> None:
        while True:
            number = chance.randrange(running)
            began = time.perf_counter()
            await turns.decide(ask(number, known))
            took[what].append(time.perf_counter() - began)

    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(ask_for_ever, "introspection", _introspection)
                nursery.start_soon(ask_for_ever, "refresh", _refresh)
    return took


if __name__ == "__main__":
    main()
