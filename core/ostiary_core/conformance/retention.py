"""Checks of retention: what has expired is found until it is gone, and old entries alone are erased."""

from typing import Any, Final

from ostiary_core.conformance.harness import Check, Contents, StoreFactory, difference, require
from ostiary_core.conformance.scenario import play, run_scenario
from ostiary_core.events import RecordExpired
from ostiary_core.model.instant import DAY_SECONDS, Instant, later
from ostiary_core.model.records import Key
from ostiary_core.retention import Expirable
from ostiary_core.storage.store import MemoryStore

_AGES_DAYS = (0, 2, 400)
_LIMIT = 2
_MOST_ROUNDS = 1_000


def what_has_expired_is_found_until_it_is_gone(stores: StoreFactory) -> None:
    """Check that `find_expired` finds all that the reference finds; one too many does no harm."""
    store, reference, now = _make_stores(stores)
    for days in _AGES_DAYS:
        at = later(now, days * DAY_SECONDS)
        for kind in Expirable:
            _sweep(store, kind, at)
            _sweep(reference, kind, at)
            wrong = difference(Contents.of(store), Contents.of(reference))
            require(
                wrong is None,
                f"of {kind.value} some have expired and are not found: the store grows ({wrong})",
            )


def _sweep(store: Any, kind: Expirable, at: Instant) -> None:
    """Delete what the store finds, until it has been through and found nothing that went."""
    after, went = b"", False
    for _ in range(_MOST_ROUNDS):
        batch = store.find_expired(kind, after, at, _LIMIT)
        for identifier in batch.identifiers:
            [decision] = store.turn([RecordExpired(key=Key(kind.table, identifier))], at)
            went = went or bool(decision.changes)
        if batch.next_after is None:
            if not went:
                return
            after, went = b"", False
        else:
            after = batch.next_after


def old_entries_are_erased_and_no_others(stores: StoreFactory) -> None:
    """Check that `forget_entries` erases as many old entries as it is told to, and no younger ones."""
    store, _, now = _make_stores(stores)
    before = later(now, -DAY_SECONDS)
    kept = [entry for entry in store.audit() if entry.at >= before]
    due = len(store.audit()) - len(kept)
    assert due > _LIMIT
    assert kept
    for expected in (_LIMIT, due - _LIMIT, 0):
        gone = store.forget_entries(now, DAY_SECONDS, expected or _LIMIT)
        require(gone == expected, "more or fewer old entries are said to be erased than there were")
        due -= gone
        require(len(store.audit()) == len(kept) + due, "other entries are erased than was said")
    require(list(store.audit()) == kept, "entries are erased that are not old")


def _make_stores(stores: StoreFactory) -> tuple[Any, MemoryStore, Instant]:
    store, reference = stores.make(), MemoryStore()
    here = run_scenario()
    play(here.batches, store, reference)
    return store, reference, here.now


CHECKS: Final[tuple[Check, ...]] = (
    what_has_expired_is_found_until_it_is_gone,
    old_entries_are_erased_and_no_others,
)
