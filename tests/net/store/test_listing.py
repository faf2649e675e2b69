"""Lists: every store gives the very page that the reference store gives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from fuzz.shared.memory_store import ServerMemoryStore
from ostiary_core import Instant
from ostiary_core.events import Operator, UserDeleted
from ostiary_core.model.audit import AuditEntry
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
    Match,
    Sort,
    TimeRange,
)
from ostiary_net.sql import paging
from tests.core import asks
from tests.core.story import START
from tests.net.store.population import NAMES, populate
from tests.net.store.stores import KINDS, ContractStore, open_kind

RESOURCES: tuple[Listable[Any], ...] = (
    CLIENTS, USERS, ROLES, ONLINE_USERS, ONLINE_SESSIONS, AUDIT, GRANTS,
)  # fmt: skip

EVERYTHING = 100_000


@pytest.fixture(scope="module")
def reference() -> ServerMemoryStore:
    store = ServerMemoryStore()
    populate(store)
    return store


@pytest.fixture(scope="module", params=KINDS)
def peopled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ContractStore]:
    folder: Path = tmp_path_factory.mktemp("peopled")
    with open_kind(request.param, folder) as open_store, open_store() as store:
        populate(store)
        yield store


@pytest.fixture(params=[paging.EXACT_TOTAL_MAX, 3], ids=["short lists", "long lists"])
def step(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Lists of more than this many items are remembered; with 3, all of them."""
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", request.param)
    return int(request.param)


def fragments() -> st.SearchStrategy[str]:
    """Return what people type into a search box."""
    return st.sampled_from(
        [*NAMES, "a", "A", "ph", "%", "_", "\\", "ZO", "ä", "+1555", "+1 (55-5", " .", "\x00", "\ud800", "-1"]
    )


@st.composite
def listings(draw: st.DrawFn) -> Listing[Any]:
    resource = draw(st.sampled_from(RESOURCES))
    filters: dict[str, Any] = {}
    for name, match in resource.filters.items():
        if draw(st.booleans()) and (name != "user_id" or resource is GRANTS):
            continue
        if match is Match.IS:
            filters[name] = draw(st.booleans())
        elif match is Match.CONTAINS:
            filters[name] = draw(fragments())
        elif name == "kind":
            kinds = list(FactKind) if resource is AUDIT else list(SessionKind)
            filters[name] = draw(
                st.sampled_from([kind.value for kind in kinds])
                | st.lists(st.sampled_from([kind.value for kind in kinds])).map(tuple)
            )
        else:
            filters[name] = draw(
                st.sampled_from(
                    [*(f"crowd user {n}" for n in range(30)), "app", "trace 3", "nobody", "\ud800"]
                )
            )
    if draw(st.integers(0, 2)):
        filters = dict(list(filters.items())[:1])
    if resource is GRANTS:
        filters["user_id"] = f"crowd user {draw(st.integers(0, 30))}"
    instants = st.none() | st.integers(-50, 50).map(lambda seconds: Instant(START + seconds * 1_000))
    return Listing(
        resource=resource,
        filters=filters,
        ranges=tuple(
            TimeRange(field=name, start=draw(instants), end=draw(instants))
            for name in resource.ranges
            if draw(st.integers(0, 3)) == 0
        ),
        search=draw(st.none() | fragments()) if resource.searched else None,
        sort=tuple(
            Sort(name, draw(st.booleans()))
            for name in draw(st.lists(st.sampled_from(resource.sorts), max_size=2, unique=True))
        ),
        page=draw(st.integers(1, 12)),
        page_size=draw(st.sampled_from([1, 2, 3, 5, 20, 200])),
    )


def test_every_listing_gives_the_page_of_the_reference_store(
    peopled: ContractStore, reference: ServerMemoryStore, step: int
) -> None:
    @settings(max_examples=150)
    @given(listings(), st.integers(-10, 70))
    def same(listing: Listing[Any], seconds: int) -> None:
        # A survey is of one moment: asked at other ones within its minute, it would be behind.
        now = START if step == 3 else Instant(START + seconds * 1_000)
        assert peopled.page(listing, now) == reference.page(listing, now)

    same()


@pytest.mark.usefixtures("step")
@pytest.mark.parametrize("resource", RESOURCES, ids=repr)
def test_the_pages_of_a_list_are_all_of_it_once(
    peopled: ContractStore, reference: ServerMemoryStore, resource: Listable[Any]
) -> None:
    filters = {"user_id": "crowd user 3"} if resource is GRANTS else {}
    for sort in resource.sorts:
        for descending in (False, True):
            order = (Sort(sort, descending),)
            whole = Listing(resource=resource, filters=filters, sort=order, page_size=EVERYTHING)
            expected = reference.page(whole, START)
            paged: list[Any] = []
            for page in range(1, 1_000):
                one = Listing(resource=resource, filters=filters, sort=order, page=page, page_size=7)
                found = peopled.page(one, START)
                assert found.total == expected.total
                if not found.items:
                    break
                paged += found.items
            assert tuple(paged) == expected.items
            in_pieces = Listing(resource=resource, filters=filters, sort=order, page_size=7)
            assert tuple(_all_of(peopled, in_pieces)) == expected.items


def test_the_crowd_puts_something_on_every_list_and_keeps_something_off_it(
    reference: ServerMemoryStore,
) -> None:
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


def test_the_total_of_a_long_list_is_at_most_a_minute_behind(
    durable_store: ContractStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 2)
    durable_store.turn([asks.user(f"user{number}") for number in range(9)], START)
    listing = Listing(resource=USERS, page_size=4, page=2)
    before = durable_store.page(listing, START)
    assert before.total == 9
    durable_store.turn([asks.user("zoe")], START)
    assert durable_store.page(listing, Instant(START + MINUTE_MS - 1)).items == before.items
    assert durable_store.page(listing, Instant(START + MINUTE_MS)).total == 10


def test_a_list_is_read_to_its_end_though_it_grew_since_it_was_counted(
    store: ContractStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 2)
    listing = Listing(resource=USERS, page_size=3)
    store.turn([asks.user(f"user{number:02}") for number in range(9)], START)
    assert store.page(listing, START).total == 9
    store.turn([asks.user(f"user{number:02}") for number in range(9, 13)], START)
    names = [user.username for user in _all_of(store, listing)]
    assert names == [f"user{number:02}" for number in range(13)]


def test_a_list_goes_on_behind_an_item_that_is_gone(store: ContractStore) -> None:
    listing = Listing(resource=USERS, page_size=2)
    store.turn([asks.user(f"user{number}") for number in range(4)], START)
    first, second = store.items_after(listing, None, START)
    store.turn([UserDeleted(caller=Operator(), user_id=second.user_id)], START)
    assert [user.username for user in store.items_after(listing, second, START)] == ["user2", "user3"]
    assert [user.username for user in store.items_after(listing, first, START)] == ["user2", "user3"]


def _all_of(store: ContractStore, listing: Listing[Any]) -> list[Any]:
    found: list[Any] = []
    while items := store.items_after(listing, found[-1] if found else None, START):
        found += items
    return found


# --- what cannot be asked


@pytest.mark.parametrize(
    "asked",
    [
        {"filters": {"passwordHash": "x"}},
        {"filters": {"enabled": "true"}},
        {"filters": {"name": ("a", "b")}},
        {"ranges": (TimeRange(field="name"),)},
        {"sort": (Sort("password_hash"),)},
        {"sort": (Sort("name; DROP TABLE users"),)},
        {"page": 0},
        {"page_size": 0},
    ],
    ids=repr,
)
def test_what_a_resource_does_not_declare_cannot_be_asked(asked: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"users|count from 1"):
        Listing(resource=USERS, **asked)


def test_a_resource_without_searched_fields_cannot_be_searched() -> None:
    with pytest.raises(ValueError, match="searched"):
        Listing(resource=AUDIT, search="x")


def test_consents_are_listed_of_one_user_only() -> None:
    with pytest.raises(ValueError, match="user_id"):
        Listing(resource=GRANTS)


@pytest.mark.parametrize("resource", RESOURCES, ids=repr)
def test_every_declared_field_is_one_of_the_items(resource: Listable[Any]) -> None:
    names = {*resource.sorts, *resource.ranges, *resource.filters, *resource.searched, resource.key}
    assert names <= set(resource.item.__dataclass_fields__)
    assert resource.item in (AuditEntry, *{other.item for other in RESOURCES})
