"""The server's clock and every store that a test may run on, in memory, on SQLite and on PostgreSQL."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast
from urllib.parse import quote

import psycopg
import pytest
import trio
from argon2 import PasswordHasher, Type

from fuzz.shared.memory_store import ServerMemoryStore
from ostiary_core import Decision, Instant, MemoryStore
from ostiary_core.conformance import scenario
from ostiary_core.conformance.scenario import EventBatch, origin_of
from ostiary_core.decide import READ_ONLY
from ostiary_core.events import Event, UserRegistered
from ostiary_core.model.audit import AuditEntry, Origin
from ostiary_core.model.decision import Change
from ostiary_core.model.instant import SECOND_MS
from ostiary_core.model.records import Record, Table, User
from ostiary_core.storage.listing import ListingStore
from ostiary_core.storage.store import Store
from ostiary_net.observability.summaries import SummaryStore
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.runtime.system import SystemClock
from ostiary_net.sql.columns import TABLES
from ostiary_net.sql.store import SQLStore
from ostiary_net.sqlite import SQLiteStore, record_sql
from ostiary_net.turns.ports import TrailEnd
from tests.support import asks, story
from tests.support.story import START

T = TypeVar("T")

NANOSECONDS_A_MILLISECOND: Final = 1_000_000
_RUNNING_MS: Final = 3_600_123
"""Uptime of the machine at `START`: an hour, and no whole second."""

CHEAP: Final = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1, type=Type.ID)
"""Argon2id that costs nothing; what it costs in earnest is `passwords.OWASP`."""


class HandClock(SystemClock):
    """The server's clock over a machine's that stands still until it is set on."""

    def __init__(self, start: Instant = START) -> None:
        self._wall_ms, self._monotonic_ms = int(start), _RUNNING_MS
        super().__init__(
            lambda: self._wall_ms * NANOSECONDS_A_MILLISECOND,
            lambda: self._monotonic_ms * NANOSECONDS_A_MILLISECOND,
        )

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._wall_ms += round(seconds * SECOND_MS)
        self._monotonic_ms += round(seconds * SECOND_MS)

    def set_back(self, seconds: float) -> None:
        """Set what the machine's clock on the wall shows; no time passes by it."""
        self._wall_ms -= round(seconds * SECOND_MS)


class PlainStore(ServerMemoryStore):
    """The reference store with what a server asks of one, which keeps the events of its turns."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[list[Event]] = []

    def turn(self, events: Sequence[Event], *more: Any) -> list[Decision]:
        self.turns.append(list(events))
        return super().turn(events, *more)

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        assert all(type(event) in READ_ONLY for event in events)
        return super().turn(events, now)

    def has_password_hash_unlike(self, prefix: str) -> bool:
        users = (record for record in self.records(Table.USER) if isinstance(record, User))
        return any(user.password_hash and not user.password_hash.startswith(prefix) for user in users)

    def trail_end(self) -> TrailEnd:
        return TrailEnd(self._entries_kept, frozenset())

    def entries_between(self, after: int, last: int, most: int) -> tuple[AuditEntry, ...]:
        return tuple(entry for entry in self.audit() if after < entry.number <= last)[:most]

    def close(self) -> None:
        """Keep nothing open."""

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        """Grant every lease: one process shares with no other."""
        return True


def usernames(store: PlainStore | SQLStore) -> set[str]:
    """Return the usernames in a store."""
    return {record.username for record in store.records(Table.USER) if isinstance(record, User)}


class BreakingStore(PlainStore):
    """Works until it is broken. Its errors quote what they were about, as errors of storage do."""

    def __init__(self, quoting: str = "secret detail") -> None:
        super().__init__()
        self.broken = False
        self.quoting = quoting

    def turn(self, events: Sequence[Event], *more: Any) -> list[Decision]:
        self._break()
        return super().turn(events, *more)

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        self._break()
        return super().read(events, now)

    def _break(self) -> None:
        if self.broken:
            raise OSError(f"disk I/O error near {self.quoting!r}")


class Gate:
    """A `RunSync` in place, which holds whatever began until it is opened."""

    def __init__(self) -> None:
        self._opened = trio.Event()
        self.running = 0
        self.most_running = 0

    def open(self) -> None:
        self._opened.set()

    async def __call__(self, sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
        async with limiter:
            self.running += 1
            self.most_running = max(self.most_running, self.running)
            try:
                await self._opened.wait()
                return sync_fn()
            finally:
                self.running -= 1


def origin(trace_id: str = "0123456789abcdef0123456789abcdef") -> Origin:
    """Return the origin of a request of the tests."""
    return Origin(trace_id=trace_id, source="203.0.113.7", user_agent="app-backend/1.0")


def registration_of(username: str) -> UserRegistered:
    """Return an event that registers a user, who shows by name that it was kept."""
    return asks.user(username)


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(lambda call: call(), calls))


_numbers = count()
_made: list[str] = []
_free: list[str] = []
_WITHOUT_RECORDS = ("TRUNCATE audit RESTART IDENTITY", "TRUNCATE summaries, refusals, milestones")


POSTGRESQL = os.environ.get("OSTIARY_TEST_POSTGRES")
"""A PostgreSQL server that the tests may use, as postgresql://user@host:port/database."""

if POSTGRESQL is None and "postgres" in os.environ.get("OSTIARY_TEST_REQUIRE", ""):
    raise RuntimeError("OSTIARY_TEST_REQUIRE asks for PostgreSQL, and OSTIARY_TEST_POSTGRES names no server")


def need_postgresql() -> str:
    """Return the address of that server; skip the test without one."""
    if POSTGRESQL is None:
        pytest.skip("OSTIARY_TEST_POSTGRES names no server (postgresql://user@host:port/database)")
    return POSTGRESQL


@contextmanager
def lent_schema() -> Iterator[str]:
    """Yield the address of a schema without records."""
    address = _free.pop() if _free else made_schema()
    try:
        yield address
    finally:
        _empty(address)
        _free.append(address)


def made_schema() -> str:
    """Return the address of an empty schema."""
    server, name = need_postgresql(), f"ostiary_test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    _made.append(name)
    joint = "&" if "?" in server else "?"
    return f"{server}{joint}options={quote(f'-c search_path={name}')}"


def drop_schemas() -> None:
    """Take back all schemas that this process made."""
    _free.clear()
    while _made:
        with psycopg.connect(need_postgresql(), autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {_made.pop()} CASCADE".encode())


def _empty(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        there = connection.execute("SELECT to_regclass('audit')").fetchone()
        if there is not None and there[0] is not None:
            names = ["access_tokens", *(stored.name for stored in TABLES.values())]
            statements = [f"DELETE FROM {name}" for name in names]
            connection.execute("; ".join([*statements, *_WITHOUT_RECORDS]).encode())


class ContractStore(Store, ListingStore, SummaryStore, Protocol):
    """A store with what lets a test look into it."""

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]: ...

    def write(self, changes: Sequence[Change]) -> None: ...

    def records(self, table: Table) -> tuple[Record, ...]: ...

    def audit(self) -> tuple[AuditEntry, ...]: ...

    def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int: ...


PENDING_ENTRIES_MAX = 7
"""So few that a test of the audit trail nearly always has entries on either side."""

OpenStore = Callable[[], AbstractContextManager[ContractStore]]
"""Opens the store of one test; opened again, it is the same store."""

KINDS = ("memory", "sqlite", "postgresql")

DURABLE = ("sqlite", "postgresql")
"""Kinds of stores that keep their data, and that many threads may use at once."""


@contextmanager
def open_kind(kind: str, folder: Path) -> Iterator[OpenStore]:
    """Yield a function that opens a store of this kind, empty at first."""
    match kind:
        case "memory":
            kept = ServerMemoryStore()
            yield lambda: nullcontext(kept)
        case "sqlite":
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(record_sql, "PENDING_ENTRIES_MAX", PENDING_ENTRIES_MAX)
                yield lambda: SQLiteStore(folder / "ostiary.db")
        case "postgresql":
            with lent_schema() as address:
                yield lambda: PostgreSQLStore(address, keeps_time=False, most_connections=16)
        case _:
            raise ValueError(f"there is no store called {kind}")


@cache
def make_scenario() -> tuple[EventBatch, ...]:
    """Yield one sequence of events each time: issued, rotated, repeated, replayed, ended, deleted, read."""
    return tuple(scenario.make_scenario())


def live(store: ContractStore) -> list[tuple[Event, Decision]]:
    """Let a store live the scenario, a batch a turn; return each event with its decision."""
    told: list[tuple[Event, Decision]] = []
    for batch in make_scenario():
        origins = [origin_of(place) for place in range(len(told), len(told) + len(batch.events))]
        told += zip(batch.events, store.turn(batch.events, batch.at, origins), strict=True)
    return told


def world_on(store: ContractStore) -> story.World:
    """Return a world with one client and one user, on this store."""
    return story.given(store=cast(MemoryStore, store))
