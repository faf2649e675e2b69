"""The audit trail in the file: pending and indexed entries are read as one trail."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from ostiary_core.model.audit import AuditEntry, audit_entries
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.instant import Instant
from ostiary_core.model.reply import Done
from ostiary_core.storage.listing import AUDIT, Listing, Sort, TimeRange
from ostiary_net.sql import paging
from ostiary_net.sql.columns import ENTRIES
from ostiary_net.sqlite import SQLiteStore, record_sql
from ostiary_net.sqlite.record_sql import PARTS, index_pending, insert_entries
from tests.net.sqlite.test_plans import read_and_explain
from tests.support import asks
from tests.support.stores import PENDING_ENTRIES_MAX, origin
from tests.support.story import START

ROTATED = Fact(
    kind=FactKind.PAIR_ROTATED, user_id="anna", client_id="app", session_id="of anna", scopes=("user.read",)
)
[ENTRY] = audit_entries([Decision(Done(), facts=(ROTATED,))], [origin("trace")], START)
SINCE_START = (TimeRange(field="at", start=START),)

WHAT_ACTED = ("actor_session_id", "actor_name", "actor_token", "actor_fingerprint")
"""Columns that the release before does not know."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ostiary.db"


@pytest.fixture
def _a_few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_sql, "PENDING_ENTRIES_MAX", PENDING_ENTRIES_MAX)


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(path) as store:
        yield store


def put(store: SQLiteStore, entries: Sequence[AuditEntry], *, filed: bool) -> None:
    """Insert entries, indexed or pending."""
    with store._writer.transaction() as connection:
        insert_entries(connection, entries)
        if filed:
            index_pending(connection)
        connection.execute("COMMIT")


def parts(store: SQLiteStore) -> list[int]:
    """Return the numbers of indexed and pending entries."""
    with store._readers.snapshot() as connection:
        return [len(connection.execute(f"SELECT 1 FROM {part}").fetchall()) for part in PARTS]


def numbers(store: SQLiteStore) -> list[int]:
    return [entry.number for entry in store.audit()]


# --- filing


@pytest.mark.usefixtures("_a_few_at_once")
def test_a_turn_files_all_there_is_whenever_there_are_enough(store: SQLiteStore) -> None:
    told, seen = 0, []
    for turn, size in enumerate((1, 3, 2, 1, 20, 6, 1)):
        store.turn([asks.user(f"user{turn}-{number}") for number in range(size)], START)
        told += size
        seen.append(parts(store))
        assert numbers(store) == list(range(1, told + 1))
    assert seen == [[0, 1], [0, 4], [0, 6], [7, 0], [27, 0], [33, 0], [33, 1]]


@pytest.mark.usefixtures("_a_few_at_once")
def test_stores_of_one_file_file_for_one_another(path: Path) -> None:
    with SQLiteStore(path) as one, SQLiteStore(path) as other:
        for number in range(20):
            (one if number % 3 else other).turn([asks.user(f"user{number}")], START)
            assert parts(one)[1] < PENDING_ENTRIES_MAX
        assert numbers(one) == numbers(other) == list(range(1, 21))


def test_fields_unknown_to_the_release_before_are_kept_when_it_indexes_the_entry(store: SQLiteStore) -> None:
    who: dict[str, Any] = {"actor_id": "clerk", "actor_session_id": "of clerk", "actor_name": "Clerk"}
    acted = replace(ENTRY, **who, actor_token="deploys", actor_fingerprint="01234567")
    put(store, [ENTRY, acted, ENTRY], filed=False)
    known = ", ".join(name for name in ENTRIES.columns if name not in WHAT_ACTED)
    with store._writer.transaction() as connection:
        connection.execute(
            f"INSERT INTO audit_filed ({known}) SELECT {known} FROM audit_unfiled ORDER BY number"
        )
        connection.execute("DELETE FROM audit_unfiled")
        connection.execute("COMMIT")
    assert parts(store) == [3, 0]
    told = [replace(entry, number=0) for entry in store.audit()]
    assert told == [replace(entry, number=0) for entry in (ENTRY, acted, ENTRY)]


def test_a_number_is_never_given_twice(store: SQLiteStore) -> None:
    put(store, [ENTRY] * 3, filed=True)
    put(store, [ENTRY] * 2, filed=False)
    assert store.forget_entries(Instant(START + 10_000), 5, limit=100) == 5
    assert not store.audit()
    put(store, [ENTRY], filed=False)
    assert numbers(store) == [6]


def test_the_oldest_are_forgotten_first_wherever_they_are(store: SQLiteStore) -> None:
    old = [replace(ENTRY, at=Instant(START - age)) for age in (9_000, 8_000, 7_000)]
    put(store, old[:2], filed=True)
    put(store, [old[2], ENTRY], filed=False)
    assert [store.forget_entries(START, 5, limit=limit) for limit in (1, 2, 2)] == [1, 2, 0]
    assert numbers(store) == [4]


# --- reading


@pytest.fixture(scope="module")
def long_trail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    """Three blocks of indexed entries, and some pending ones."""
    with SQLiteStore(tmp_path_factory.mktemp("long") / "ostiary.db") as store:
        entries = (
            replace(
                ENTRY,
                at=Instant(START + number),
                user_id=f"user {number % 100}",
                session_id=f"session {number // 3}",
                actor_id=None if number % 50 else "root",
                role_id=None if number % 70 else "clerk",
            )
            for number in range(20_100)
        )
        put(store, list(islice(entries, 20_000)), filed=True)
        put(store, list(entries), filed=False)
        yield store


def test_entries_of_a_user_are_found_in_every_block(long_trail: SQLiteStore) -> None:
    listing = Listing(resource=AUDIT, filters={"user_id": "user 7"}, page_size=200)
    first, second = (long_trail.page(replace(listing, page=page), START) for page in (1, 2))
    assert first.total == second.total == 201
    assert [entry.number for entry in (*first.items, *second.items)] == list(range(20_008, 0, -100))


@pytest.mark.parametrize("first", [0, 8_190, 16_383, 20_097])
def test_entries_of_a_session_are_found_in_every_block(long_trail: SQLiteStore, first: int) -> None:
    wanted = Listing(resource=AUDIT, filters={"session_id": f"session {first // 3}"}, sort=(Sort("at"),))
    page = long_trail.page(wanted, START)
    assert [entry.number for entry in page.items] == [first // 3 * 3 + place for place in (1, 2, 3)]


@pytest.mark.parametrize("step", [paging.EXACT_TOTAL_MAX, 3], ids=["counted", "remembered"])
@pytest.mark.parametrize(
    "filters, ranges",
    [
        ({"user_id": "user 7"}, ()),
        ({"user_id": ("user 7", "user 8")}, ()),
        ({"user_id": "user 7", "client_id": "app", "kind": "pair-rotated"}, SINCE_START),
        ({"session_id": "session 9"}, ()),
        ({"session_id": "session 9", "user_id": "user 27", "client_id": "app"}, ()),
        ({"client_id": "app"}, SINCE_START),
        ({"kind": "pair-rotated"}, ()),
        ({"trace_id": "trace"}, ()),
        ({}, (TimeRange(field="at", start=START, end=START),)),
        ({"actor_id": "root"}, ()),
        ({"role_id": "clerk"}, ()),
        ({}, ()),
    ],
    ids=str,
)
def test_indexed_entries_are_read_by_an_index(
    long_trail: SQLiteStore,
    monkeypatch: pytest.MonkeyPatch,
    step: int,
    filters: dict[str, Any],
    ranges: tuple[TimeRange, ...],
) -> None:
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", step)
    listing = Listing(resource=AUDIT, filters=filters, ranges=ranges, page_size=1)
    _, plans = read_and_explain(long_trail, listing)
    narrowed = next((each for each in ("session", "user") if f"{each}_id" in filters), None)
    assert len(plans) >= 2
    for plan in plans:
        reading = [line for line in plan if line.startswith(("SCAN audit_filed", "SEARCH", "SCAN f"))]
        by_view = [line for line in reading if f"audit_by_{narrowed}" in line]
        assert any(" INDEX " in line for line in reading), plan
        assert not [line for line in reading if line in ("SCAN audit_filed", "SCAN f")], plan
        assert bool(by_view) == bool(narrowed), plan
