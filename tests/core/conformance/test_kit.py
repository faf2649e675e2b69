"""The kit passes the reference store, and names what is wrong with any other."""

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from threading import Lock
from typing import Any

import pytest

from ostiary_core import MemoryStore
from ostiary_core.conformance import check_store, choose_checks, run_check
from ostiary_core.conformance.harness import StoreFactory
from ostiary_core.conformance.scenario import make_scenario
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.records import RECORD_TABLES, Key, Record, Table
from ostiary_core.storage.store import net_changes
from tests.core.conformance.faulty import FAULTS
from tests.core.conformance.faulty_lists import LIST_FAULTS
from tests.support.stores import at_once

ALL_FAULTS = FAULTS | LIST_FAULTS


def test_the_reference_store_is_sound_and_the_report_names_what_was_left_out() -> None:
    report = check_store(MemoryStore)
    assert report.is_sound, report
    assert len(report.passed) >= 16
    assert [words.split(": give")[0] for words in report.left_out] == [
        "what is there after a crash was not looked at",
        "callers at the same time were not tried",
    ]
    assert "right  two stores share nothing" in str(report)


@pytest.mark.parametrize("fault", ALL_FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_named(fault: type[MemoryStore]) -> None:
    # The checks of lists, histories and retention are the last ones.
    assert is_named(ALL_FAULTS[fault], StoreFactory(fault), last_first=fault in LIST_FAULTS)


def is_named(words: str, stores: StoreFactory, *, last_first: bool = False) -> bool:
    """Whether a check reports these words; checks run until one does."""
    checks = choose_checks(stores)[0]
    found = (run_check(check, stores) for check in (reversed(checks) if last_first else checks))
    return any(words in (said or "") for said in found)


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

    assert is_named("an answered turn was not durable", StoreFactory(Forgetful, reopened))


def test_a_store_that_decides_on_what_stood_before_loses_races() -> None:
    """Let simultaneous calls all read the store as it was before them, and keep the writes of all."""

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
        answers = [call() for call in calls]
        made[-1].before = None
        return answers

    assert is_named("lost races: 6 accounts were given one name", StoreFactory(make, at_once=at_once))


def test_a_store_for_one_caller_at_a_time_writes_over_what_was_made_again() -> None:
    words = "a turn wrote over a record that was made again after it had read"
    assert is_named(words, StoreFactory(MemoryStore, at_once=at_once))


def test_a_store_that_takes_one_turn_at_a_time_is_sound_for_many_callers() -> None:
    class Locked(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.lock = Lock()

        def turn(self, *anything: Any) -> Any:
            with self.lock:
                return super().turn(*anything)

    assert check_store(Locked, at_once=at_once).is_sound


def test_the_report_names_the_error_that_a_store_raises_without_its_text() -> None:
    class Raising(MemoryStore):
        def fetch(self, *anything: Any) -> Any:
            raise RuntimeError("a secret")

    report = check_store(Raising)
    assert "RuntimeError was raised" in str(report)
    assert "a secret" not in str(report)


def test_the_life_writes_every_table_in_every_way_and_makes_again_what_it_deleted() -> None:
    """Make records again in the turn that deleted them, and in later turns."""
    store, deleted_before = MemoryStore(), set[Key]()
    ways = set[tuple[type[Change], Table]]()
    at_once, later = set[Table](), set[Table]()
    for batch in make_scenario():
        deleted = set[Key]()
        decisions = store.turn(batch.events, batch.at)
        for net in net_changes(decisions):
            ways.add((type(net), (net.record if isinstance(net, Insert) else net.before).table))
        for change in (change for decision in decisions for change in decision.changes):
            record = change.record if isinstance(change, Insert) else change.before
            if isinstance(change, Delete):
                deleted.add(record.key)
            elif isinstance(change, Insert) and record.key in deleted:
                at_once.add(record.table)
            elif isinstance(change, Insert) and record.key in deleted_before:
                later.add(record.table)
        deleted_before |= deleted
    # Second factors need a key: single writes of them are made instead (`a_second_factor_is_kept_whole`), and
    # of invitations (`an_invitation_is_kept_whole`).
    alone = (Table.SECOND_FACTOR, Table.INVITATION)
    tables = [table for table in RECORD_TABLES if table not in alone]
    assert all(store.records(table) for table in tables)
    never_changed = {Table.REFRESH_TOKEN}
    never_deleted = {Table.USER, Table.CLIENT, Table.CONSENT}
    assert ways == {
        *((Insert, table) for table in tables),
        *((Update, table) for table in tables if table not in never_changed),
        *((Delete, table) for table in tables if table not in never_deleted),
    }
    assert at_once == later == {Table.IDENTIFIER, Table.ROLE, Table.TEXT_CODE}
