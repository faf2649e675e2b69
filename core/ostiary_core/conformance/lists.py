"""Checks of lists: a store with lists gives the same pages as the reference store."""

from collections.abc import Callable, Iterator
from typing import Any

from ostiary_core.conformance.bench import Bench, require
from ostiary_core.conformance.lives import a_life
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Table
from ostiary_core.storage.listing import (
    AUDIT,
    CLIENTS,
    GRANTS,
    ONLINE_SESSIONS,
    ROLES,
    USERS,
    FilterValue,
    Listing,
    Resource,
    Sort,
)
from ostiary_core.storage.store import MemoryStore

_PAGE_SIZE = 3
_RESOURCES: tuple[Resource[Any], ...] = (CLIENTS, USERS, ROLES, ONLINE_SESSIONS, AUDIT)


def lists_are_paged_as_the_reference_pages_them(bench: Bench) -> None:
    """Check that every resource has the reference's pages, sorted by each of its fields, both ways."""
    store, reference, now = _make_stores(bench)
    for resource, filters in _lists(reference):
        page, total = 1, 1
        while (page - 1) * _PAGE_SIZE < total:
            listing = Listing(resource=resource, filters=filters, page=page, page_size=_PAGE_SIZE)
            found, expected = store.page(listing, now), reference.page(listing, now)
            require(
                found.total == expected.total, f"{resource.name}: more or fewer are counted than there are"
            )
            require(found.items == expected.items, f"page {page} of {resource.name} holds other items")
            page, total = page + 1, expected.total


def whole_lists_are_read_piece_by_piece(bench: Bench) -> None:
    """Check that `items_after` continues after any item to the end of a list, both ways."""
    store, reference, now = _make_stores(bench)
    for resource, filters in _lists(reference):
        for descending in (False, True):
            sort = (Sort(resource.default_sort.field, descending),)
            listing = Listing(resource=resource, filters=filters, sort=sort, page_size=_PAGE_SIZE)
            last, items = None, (None,)
            while items:
                items = store.items_after(listing, last, now)
                expected = reference.items_after(listing, last, now)
                require(items == expected, f"other items of {resource.name} come after one of them")
                last = items[-1] if items else None


def a_session_has_its_own_life(bench: Bench) -> None:
    """Check that `session_history` and `last_used` return what the reference returns."""
    store, reference, _ = _make_stores(bench)
    for session in reference.records(Table.SESSION):
        session_id = str(session.key.id)
        found, expected = store.session_history(session_id), reference.session_history(session_id)
        assert expected is not None
        require(found is not None, "a session that is there has no life")
        kinds = [entry.kind for entry in found.entries]
        require(kinds == [entry.kind for entry in expected.entries], "the life of a session lacks entries")
        require(
            (found.inherited_ending and found.inherited_ending.kind)
            == (expected.inherited_ending and expected.inherited_ending.kind),
            "what ended a session from above is not found",
        )
    require(store.session_history("nobody") is None, "a session that is not there has a life")
    used = dict(store.last_used(["app", "other", "nobody"]))
    require(used == reference.last_used(["app", "other", "nobody"]), "when clients were last used is wrong")


def _lists(reference: MemoryStore) -> Iterator[tuple[Resource[Any], dict[str, FilterValue]]]:
    """Find what is listed: each resource whole, and the grants of each user."""
    yield from ((resource, {}) for resource in _RESOURCES)
    for user in reference.records(Table.USER):
        yield GRANTS, {"user_id": str(user.key.id)}


def _make_stores(bench: Bench) -> tuple[Any, MemoryStore, Instant]:
    store, reference, now = bench.make(), MemoryStore(), Instant(0)
    for wave in a_life():
        store.turn(wave.events, wave.at)
        reference.turn(wave.events, wave.at)
        now = wave.at
    return store, reference, now


CHECKS: tuple[Callable[[Bench], None], ...] = (
    lists_are_paged_as_the_reference_pages_them,
    whole_lists_are_read_piece_by_piece,
    a_session_has_its_own_life,
)
