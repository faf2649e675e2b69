"""Checks of lists: a store with lists gives the pages of the reference store, whatever it is asked for."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ostiary_core.conformance.crowd import make_crowd
from ostiary_core.conformance.harness import Check, StoreFactory, require, without_number
from ostiary_core.conformance.listings import PAGE_SIZE, make_listings
from ostiary_core.conformance.scenario import play, registration_of, run_scenario
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Delete, Insert
from ostiary_core.model.instant import Instant, later
from ostiary_core.model.reply import TokensIssued, UserKnown
from ostiary_core.storage.listing import ROLES, Listing
from ostiary_core.storage.store import MemoryStore

_ALL = 10_000
"""A page that holds everything."""


def lists_have_the_pages_and_totals_of_the_reference(stores: StoreFactory) -> None:
    """Check the pages of every resource, sorted, filtered, searched and within ranges by each field."""
    store, reference, now = _make_stores(stores)
    for what, listing in make_listings(reference, now):
        right = reference.page(replace(listing, page_size=_ALL), now)
        pages = -(-right.total // PAGE_SIZE)
        for page in range(1, pages + 2):  # one more page than there is
            found = store.page(replace(listing, page=page), now)
            require(found.total == right.total, f"more or fewer {what} are counted than there are")
            expected = right.items[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
            require(_is_same(found.items, expected), f"page {page} of {what} holds other items")
    require(store.count_running(now) == reference.count_running(now), "other numbers of sessions are running")


def whole_lists_are_read_piece_by_piece(stores: StoreFactory) -> None:
    """Check that `items_after` goes on after any item to the end of a list, also after one that has gone."""
    store, reference, now = _make_stores(stores)
    for what, listing in make_listings(reference, now):
        right = reference.page(replace(listing, page_size=_ALL), now).items
        last = None
        for place in range(0, len(right) + PAGE_SIZE, PAGE_SIZE):
            items = store.items_after(listing, last, now)
            require(_is_same(items, right[place : place + PAGE_SIZE]), f"other {what} come after one of them")
            last = items[-1] if items else last
    roles = Listing(resource=ROLES, page_size=PAGE_SIZE)
    gone = reference.items_after(roles, None, now)[2]
    for each in (store, reference):
        each.write([Delete(gone)])
    items, expected = store.items_after(roles, gone, now), reference.items_after(roles, gone, now)
    require(_is_same(items, expected), "a list does not go on after an item that has gone meanwhile")


def when_clients_were_last_used_is_known(stores: StoreFactory) -> None:
    """Check that `last_used` returns the latest use of each client, also if a clock was set back."""
    store, reference, _ = _make_stores(stores)
    used = dict(store.last_used(["app", "other", "nobody"]))
    require(used == reference.last_used(["app", "other", "nobody"]), "when clients were last used is wrong")
    require(not store.last_used([]), "asked when no client was last used, the store tells of some")


def _make_stores(stores: StoreFactory) -> tuple[Any, MemoryStore, Instant]:
    here = run_scenario()
    now = here.now
    # Entries are kept in the order of the turns and not of the clocks.
    for seconds_back in (0, 3600, 2, 3):
        here.now = later(now, -seconds_back)
        here.ask(here.machine(), TokensIssued)
        for number in range(seconds_back % 4 + 1):
            here.ask(registration_of(f"listed{number}-{seconds_back}", "lists"), UserKnown)
        here.wait(0)
    store, reference = stores.make(), MemoryStore()
    for each in (store, reference):
        each.write([Insert(record) for record in make_crowd(now)])
    play(here.batches, store, reference)
    return store, reference, now


def _is_same(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    return [*map(_comparable, found)] == [*map(_comparable, expected)]


def _comparable(item: Any) -> Any:
    return without_number(item) if isinstance(item, AuditEntry) else item


CHECKS: Final[tuple[Check, ...]] = (
    lists_have_the_pages_and_totals_of_the_reference,
    whole_lists_are_read_piece_by_piece,
    when_clients_were_last_used_is_known,
)
