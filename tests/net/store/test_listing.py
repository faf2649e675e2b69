"""Lists: every store gives the same pages as the reference store."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fuzz.shared.memory_store import ServerMemoryStore
from ostiary_core import Instant
from ostiary_core.conformance.crowd import make_crowd
from ostiary_core.conformance.harness import StoreFactory
from ostiary_core.conformance.lists import lists_have_the_pages_and_totals_of_the_reference
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Insert
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import MINUTE_MS
from ostiary_core.model.records import SessionKind, Table
from ostiary_core.storage.listing import (
    AUDIT,
    CLIENTS,
    GRANTS,
    ONLINE_SESSIONS,
    ONLINE_USERS,
    ROLES,
    USERS,
    Listable,
    Listing,
    Page,
    Sort,
    TimeRange,
    contained_text,
)
from ostiary_net.sql import paging
from tests.support import asks
from tests.support.stores import DURABLE, ContractStore, live, open_kind
from tests.support.story import START

RESOURCES: tuple[Listable[Any], ...] = (
    CLIENTS, USERS, ROLES, ONLINE_USERS, ONLINE_SESSIONS, AUDIT, GRANTS,
)  # fmt: skip

EVERYTHING = 100_000


@pytest.fixture(scope="module")
def reference() -> ServerMemoryStore:
    store = ServerMemoryStore()
    store.write([Insert(record) for record in make_crowd(START)])
    live(store)
    return store


@pytest.mark.parametrize("kind", DURABLE)
def test_lists_of_which_each_is_long_have_the_pages_of_the_reference(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kit compares the pages of short lists (test_conformance.py)."""
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 3)
    with open_kind(kind, tmp_path) as open_store, open_store() as store:
        lists_have_the_pages_and_totals_of_the_reference(StoreFactory(lambda: store))


@pytest.mark.parametrize(
    "listing",
    [
        *(Listing(resource=USERS, filters={"username": text}) for text in ("\x00", "\ud800")),
        *(Listing(resource=USERS, search=text) for text in ("\x00", "\ud800")),
        *(Listing(resource=AUDIT, filters={"kind": values}) for values in ("\ud800", ("\ud800",), ())),
    ],
    ids=repr,
)
def test_texts_that_no_database_holds_are_found_nowhere(store: ContractStore, listing: Listing[Any]) -> None:
    store.turn([asks.user("anna")], START)
    assert store.page(listing, START) == Page((), 0)
    assert store.items_after(listing, None, START) == ()
    beside_another = Listing(resource=AUDIT, filters={"kind": ("\ud800", FactKind.USER_REGISTERED.value)})
    assert store.page(beside_another, START).total == 1


def test_the_crowd_puts_something_on_every_list_and_leaves_some_off(reference: ServerMemoryStore) -> None:
    totals = {
        resource.name: reference.page(Listing(resource=resource), START).total
        for resource in RESOURCES
        if resource is not GRANTS
    }
    assert all(totals.values())
    assert totals["online users"] < totals["online sessions"] < len(reference.records(Table.SESSION)) / 2
    assert totals["clients"] < len(reference.records(Table.CLIENT))
    assert totals["users"] < len(reference.records(Table.USER))


# --- what is listed, of which the other stores give what the reference gives


def test_deleted_clients_and_users_are_not_listed(reference: ServerMemoryStore) -> None:
    for resource, table in ((CLIENTS, Table.CLIENT), (USERS, Table.USER)):
        listed = reference.page(Listing(resource=resource, page_size=EVERYTHING), START).items
        standing = [each for each in reference.records(table) if getattr(each, "deleted_at", None) is None]
        assert {getattr(each, resource.key) for each in listed} == {each.key.id for each in standing}


def test_sessions_of_client_credentials_are_not_among_online_users(reference: ServerMemoryStore) -> None:
    users = reference.page(Listing(resource=ONLINE_USERS, page_size=EVERYTHING), START).items
    sessions = reference.page(Listing(resource=ONLINE_SESSIONS, page_size=EVERYTHING), START).items
    assert all(online.kind is not SessionKind.CLIENT_CREDENTIALS for online in users)
    assert all(online.username is not None for online in users)
    assert set(users) < set(sessions)
    assert {online.kind for online in sessions} == set(SessionKind)


def test_a_short_list_is_never_behind(store: ContractStore) -> None:
    for number in range(3):
        store.turn([asks.user(f"user{number}")], START)
        assert store.page(Listing(resource=USERS), START).total == number + 1


def test_a_total_may_be_a_minute_old(durable_store: ContractStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 2)
    durable_store.turn([asks.user(f"user{number}") for number in range(9)], START)
    listing = Listing(resource=USERS, page_size=4, page=2)
    before = durable_store.page(listing, START)
    assert before.total == 9
    durable_store.turn([asks.user("zoe")], START)
    assert durable_store.page(listing, Instant(START + MINUTE_MS - 1)).items == before.items
    assert durable_store.page(listing, Instant(START + MINUTE_MS)).total == 10


def test_a_list_that_grew_is_read_to_its_end(store: ContractStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 2)
    listing = Listing(resource=USERS, page_size=3, sort=(Sort("username", descending=True), Sort("name")))
    store.turn([asks.user(f"user{number:02}") for number in range(9)], START)
    assert store.page(listing, START).total == 9
    store.turn([asks.user(f"user{number:02}") for number in range(9, 13)], START)
    read = [user.username for user in _all_of(store, listing)]
    assert read == [f"user{number:02}" for number in reversed(range(13))]


def _all_of(store: ContractStore, listing: Listing[Any]) -> list[Any]:
    found: list[Any] = []
    while items := store.items_after(listing, found[-1] if found else None, START):
        found += items
    return found


# --- what cannot be asked


@pytest.mark.parametrize(
    "resource, fault, asked",
    [
        (USERS, "users", {"filters": {"passwordHash": "x"}}),
        (USERS, "users", {"filters": {"enabled": "true"}}),
        (USERS, "users", {"filters": {"name": ("a", "b")}}),
        (USERS, "users", {"ranges": (TimeRange(field="name"),)}),
        (USERS, "users", {"sort": (Sort("password_hash"),)}),
        (USERS, "users", {"sort": (Sort("name; DROP TABLE users"),)}),
        (USERS, "count from 1", {"page": 0}),
        (USERS, "count from 1", {"page_size": 0}),
        (GRANTS, "searched", {"filters": {"user_id": "u"}, "search": "x"}),
        (GRANTS, "user_id", {}),
    ],
    ids=repr,
)
def test_a_wrong_listing_is_refused(resource: Listable[Any], fault: str, asked: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=fault):
        Listing(resource=resource, **asked)


@pytest.mark.parametrize("resource", RESOURCES, ids=repr)
def test_every_declared_field_is_one_of_the_items(resource: Listable[Any]) -> None:
    names = {*resource.sorts, *resource.ranges, *resource.filters, *resource.searched, resource.key}
    assert names <= set(resource.item.__dataclass_fields__)
    assert resource.item in (AuditEntry, *{other.item for other in RESOURCES})


@pytest.mark.parametrize(
    "resource, filters",
    [
        (CLIENTS, "built_in client_id enabled name"),
        (ROLES, "built_in name role_id"),
        (USERS, "enabled has_second_factor must_change_password name phone role_ids user_id username"),
        (ONLINE_SESSIONS, "client_id kind name session_id source user_id username"),
    ],
    ids=repr,
)
def test_a_list_is_filtered_by_the_fields_of_the_interface(resource: Listable[Any], filters: str) -> None:
    assert set(resource.filters) == set(filters.split())


@pytest.mark.parametrize("resource", [USERS, ONLINE_SESSIONS, AUDIT], ids=repr)
def test_the_reference_is_walked_in_each_order(reference: ServerMemoryStore, resource: Listable[Any]) -> None:
    for sort in (Sort(field, descending) for field in resource.sorts for descending in (False, True)):
        whole = Listing(resource=resource, sort=(sort,), page_size=EVERYTHING)
        seen: list[Any] = []
        while batch := reference.items_after(replace(whole, page_size=5), seen[-1] if seen else None, START):
            seen += batch
        assert seen == list(reference.page(whole, START).items), sort
        assert len(seen) > 10


def test_a_part_of_a_text_is_found_in_any_case_and_a_number_by_its_digits() -> None:
    assert contained_text("name", "AZaz[`{É") == "azaz[`{É"
    assert contained_text("phone", "+49 (151) 2-3") == "+4915123"
    assert contained_text("phone", " - ") == " - "
    assert contained_text("changes", 'Ab"') == 'ab\\"'
