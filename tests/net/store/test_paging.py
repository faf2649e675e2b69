"""Totals of long lists are remembered: one caller counts anew, and the others do not wait for it."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ostiary_core import Instant
from ostiary_core.model.instant import MINUTE_MS
from ostiary_core.storage.listing import ROLES, Listing
from ostiary_net.sql import paging
from ostiary_net.sql.columns import SQLValue
from ostiary_net.sql.paging import Dialect, Pager
from tests.support.story import START

BOUND_SECONDS = 20
DIALECT = Dialect(
    count="SELECT count(*) {}", contains="", sorted_afterwards="{}", of_few_users="", can_hold=lambda _: True
)


class Counted:
    """A database that counts `total` roles, once a test lets it count, and lists none of them."""

    def __init__(self) -> None:
        self.total = 10
        self.asked = threading.Event()
        self.let = threading.Event()
        self.let.set()

    def execute(self, statement: str, bindings: Sequence[SQLValue]) -> list[Any]:
        if "count(*)" not in statement:
            return []
        self.asked.set()
        assert self.let.wait(BOUND_SECONDS)
        return [(self.total,)]


def test_a_total_that_is_being_counted_anew_is_answered_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 5)
    database, pager, listing = Counted(), Pager(DIALECT), Listing(resource=ROLES)
    later = Instant(START + MINUTE_MS)
    assert pager.page(database.execute, listing, START).total == 10
    database.total = 11
    database.asked.clear()
    database.let.clear()
    with ThreadPoolExecutor(1) as threads:
        counting = threads.submit(pager.page, database.execute, listing, later)
        assert database.asked.wait(BOUND_SECONDS)
        assert pager.page(database.execute, listing, later).total == 10
        database.let.set()
        assert counting.result(BOUND_SECONDS).total == 11
    assert pager.page(database.execute, listing, later).total == 11


def test_a_list_that_has_become_short_is_counted_each_time_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 5)
    database, pager, listing = Counted(), Pager(DIALECT), Listing(resource=ROLES)
    assert pager.page(database.execute, listing, START).total == 10
    for database.total in (5, 4, 3):
        assert pager.page(database.execute, listing, Instant(START + MINUTE_MS)).total == database.total


def test_a_total_is_counted_anew_after_the_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the old total would stay until the clock has caught up."""
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 5)
    database, pager, listing = Counted(), Pager(DIALECT), Listing(resource=ROLES)
    assert pager.page(database.execute, listing, START).total == 10
    database.total = 11
    assert pager.page(database.execute, listing, START).total == 10
    assert pager.page(database.execute, listing, Instant(START - 1)).total == 11


def test_totals_of_more_lists_than_are_kept_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 5)
    database, pager = Counted(), Pager(DIALECT)
    for number in range(1_000):
        pager.page(database.execute, Listing(resource=ROLES, search=f"text {number}"), START)
    assert len(pager._counts) < 100
    database.total = 11
    assert pager.page(database.execute, Listing(resource=ROLES, search="text 0"), START).total == 11
    assert pager.page(database.execute, Listing(resource=ROLES, search="text 999"), START).total == 10


def test_running_sessions_are_counted_at_once_and_remembered_if_many(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[str] = []

    def execute(statement: str, bindings: Sequence[SQLValue]) -> list[Any]:
        passes.append(statement)
        return [(3, 2, 1, 0)]

    pager = Pager(DIALECT)
    assert list(pager.count_running(execute, START).values()) == [3, 2, 1, 0]
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 5)
    pager.count_running(execute, START)
    pager.count_running(execute, START)
    assert len(passes) == 2
