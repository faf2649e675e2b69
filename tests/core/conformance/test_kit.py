"""The kit passes the reference store, and names what is wrong with any other."""

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from typing import Any

import pytest

from ostiary_core import MemoryStore
from ostiary_core.conformance import check_store
from ostiary_core.conformance.lives import a_life
from ostiary_core.decision import Change, Delete, Insert
from ostiary_core.records import RECORD_TABLES, Record, Table
from tests.core.conformance.faulty import FAULTS


def test_the_reference_store_is_sound_and_what_was_not_looked_at_is_said() -> None:
    report = check_store(MemoryStore)
    assert report.is_sound, report
    assert len(report.passed) >= 16
    assert [words.split(": give")[0] for words in report.left_out] == [
        "what is there after a crash was not looked at",
        "callers at the same time were not tried",
    ]
    assert "right  two stores share nothing" in str(report)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_named(fault: type[MemoryStore]) -> None:
    report = check_store(fault)
    assert not report.is_sound
    assert FAULTS[fault] in " | ".join(finding.words for finding in report.findings), str(report)


def test_a_store_that_forgets_the_last_turn_is_not_durable() -> None:
    class Forgetful(MemoryStore):
        kept: Any = None

        def turn(self, *anything: Any) -> Any:
            self.kept = deepcopy((self._tables, self._audit))
            return super().turn(*anything)

    def reopened(store: Forgetful) -> Forgetful:
        again = Forgetful()
        if store.kept is not None:
            again._tables, again._audit = store.kept
        return again

    report = check_store(Forgetful, reopen=reopened)
    assert "an answered turn was not durable" in str(report)


def test_a_store_that_decides_on_what_stood_before_loses_races() -> None:
    """Calls at the same time all see the store as it was before any of them, and all of them are kept."""

    class Racing(MemoryStore):
        before: Any = None

        def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
            rows = self._tables[table] if self.before is None else self.before[table]
            return [rows[identifier] for identifier in identifiers if identifier in rows]

        def write(self, changes: Sequence[Change]) -> None:
            if self.before is None:
                super().write(changes)
                return
            for change in changes:
                if not isinstance(change, Delete):
                    after = change.record if isinstance(change, Insert) else change.after
                    self._tables[after.table][after.key.id] = after

    made: list[Racing] = []

    def make() -> Racing:
        made.append(Racing())
        return made[-1]

    def at_once(calls: Sequence[Callable[[], object]]) -> list[object]:
        made[-1].before = deepcopy(made[-1]._tables)
        told = [call() for call in calls]
        made[-1].before = None
        return told

    assert "lost races: 6 accounts were given one name" in str(check_store(make, at_once=at_once))


def test_a_store_that_raises_where_it_should_not_is_told_without_its_words() -> None:
    class Raising(MemoryStore):
        def fetch(self, *anything: Any) -> Any:
            raise RuntimeError("a secret")

    report = check_store(Raising)
    assert "RuntimeError was raised" in str(report)
    assert "a secret" not in str(report)


def test_the_life_touches_every_table() -> None:
    store = MemoryStore()
    for wave in a_life():
        store.turn(wave.events, wave.at)
    assert all(store.records(table) for table in RECORD_TABLES)
