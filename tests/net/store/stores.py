"""The stores that are held to one contract, and how a test opens each."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import pytest

from fuzz.shared.memory_store import ServerMemoryStore
from ostiary_core import Instant
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Change
from ostiary_core.model.records import Record, Table
from ostiary_core.storage.listing import ListingStore
from ostiary_core.storage.store import Store
from ostiary_net.observability.summaries import SummaryStore
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.sqlite import SQLiteStore, record_sql
from tests.net.postgres.schemas import lent_schema


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

POSTGRESQL = os.environ.get("OSTIARY_TEST_POSTGRES")
"""A PostgreSQL server that the tests may use, as postgresql://user@host:port/database."""

if POSTGRESQL is None and "postgres" in os.environ.get("OSTIARY_TEST_REQUIRE", ""):
    raise RuntimeError("OSTIARY_TEST_REQUIRE asks for PostgreSQL, and OSTIARY_TEST_POSTGRES names no server")

_postgresql = pytest.param(
    "postgresql",
    marks=pytest.mark.skipif(
        POSTGRESQL is None,
        reason="OSTIARY_TEST_POSTGRES names no server (postgresql://user@host:port/database)",
    ),
)

KINDS = ("memory", "sqlite", _postgresql)

DURABLE = ("sqlite", _postgresql)
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
            assert POSTGRESQL is not None
            with lent_schema(POSTGRESQL) as address:
                yield lambda: PostgreSQLStore(address, keeps_time=False, most_connections=16)
        case _:
            raise ValueError(f"there is no store called {kind}")
