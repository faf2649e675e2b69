"""The plans by which PostgreSQL executes what lists ask, on a trail in which some values are rare."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from ostiary_core import Listing
from ostiary_core.model.fact import FactKind
from ostiary_core.storage.listing import AUDIT, ONLINE_SESSIONS, ONLINE_USERS, USERS, USES, Listable, Sort
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.postgres.connection import BoundedConnection
from ostiary_net.sql import paging
from tests.support.stores import lent_schema, world_on
from tests.support.story import START, client

_RARE = FactKind.SALT_ERASED
_INDEXED = {
    **{key: f"audit_by_{key.removesuffix('_id')}" for key in ("client_id", "user_id", "role_id", "actor_id")},
    "session_id": "audit_by_session",
    "actor_session_id": "audit_by_actor_session",
    "trace_id": "audit_by_request",
}
"""Indexes of the trail, by the column in which a rare value stands; the kind has one as well."""
_TRAIL = f"""
    INSERT INTO audit (at, kind, scopes, user_agent, {", ".join(_INDEXED)})
    SELECT number,
        CASE WHEN number <= 30 THEN %(rare)s WHEN number %% 3 = 0 THEN 'another' ELSE %(often)s END,
        '[]', repeat('x', 700),
        {", ".join(["CASE WHEN number <= 30 THEN 'rare' ELSE 'busy' || number %% 4 END"] * len(_INDEXED))}
    FROM generate_series(1, 8000) AS number
"""
_USERS = """
    INSERT INTO users SELECT (jsonb_populate_record(u, jsonb_build_object(
        'user_id', 'user-' || number, 'username', 'user-' || number))).*
    FROM users u, generate_series(1, 3000) AS number WHERE username = 'alice'
"""
_SESSIONS = """
    INSERT INTO sessions SELECT (jsonb_populate_record(s, jsonb_build_object(
        'session_id', number, 'user_id', 'user-' || number, 'access_digest', '\\x' || md5(number::text)))).*
    FROM sessions s, generate_series(1, 3000) AS number WHERE kind = 'authorization_code'
"""


@pytest.fixture(scope="module")
def long_lists() -> Iterator[str]:
    """Yield the address of a database with a long trail, many users and sessions."""
    with lent_schema() as address:
        with PostgreSQLStore(address, keeps_time=False) as made:
            world_on(made).given(client("rare"), client("unused")).tokens()
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(_TRAIL.encode(), {"often": next(iter(USES)).value, "rare": _RARE.value})
            connection.execute(_USERS.encode())
            connection.execute(_SESSIONS.encode())
            connection.execute("VACUUM ANALYZE")
        yield address


@pytest.fixture
def _a_thousand_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "EXACT_TOTAL_MAX", 1_000)


@pytest.fixture
def plans(long_lists: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[PostgreSQLStore, list[str]]]:
    """Yield a store of these, and the plans that its database executes from now on."""
    told: list[str] = []
    monkeypatch.setattr(
        BoundedConnection, "_record_warning", lambda _, notice: told.append(notice.message_primary or "")
    )
    explaining = (
        " -c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0"
        " -c auto_explain.log_level=warning"
    )
    with PostgreSQLStore(long_lists + quote(explaining)) as store:
        told.clear()
        yield store, told


def find_rare(store: PostgreSQLStore, name: str, value: str = "rare") -> None:
    """Read the entries with a rare value in both orders, as a page and one after another."""
    for is_descending in (False, True):
        order = (Sort("at", descending=is_descending),)
        listing = Listing(resource=AUDIT, filters={name: (value,)}, sort=order)
        assert 30 <= store.page(listing, START).total <= 31
        assert store.items_after(listing, None, START)


@pytest.mark.parametrize(
    "look, index",
    [
        (lambda store: store.last_used(["rare", "unused"]), "audit_by_client"),
        (lambda store: find_rare(store, "kind", _RARE.value), "audit_by_kind"),
        *((partial(find_rare, name=name), index) for name, index in _INDEXED.items()),
    ],
    ids=["last used", "of a kind", *_INDEXED],
)
def test_a_rare_value_is_found_by_its_own_index(
    look: Callable[[PostgreSQLStore], object], index: str, plans: tuple[PostgreSQLStore, list[str]]
) -> None:
    store, told = plans
    look(store)
    of_trail = [plan for plan in told if " audit" in plan]
    assert of_trail, told
    for plan in of_trail:
        used = set(re.findall(r"(?:using|Bitmap Index Scan on|Seq Scan on) (audit\w*)", plan))
        assert used == {index}, plan


def test_sessions_are_found_by_their_users_name(plans: tuple[PostgreSQLStore, list[str]]) -> None:
    store, told = plans
    for name in ("username", "name"):
        assert store.page(Listing(resource=ONLINE_SESSIONS, filters={name: "alice"}), START).total >= 2
    of_sessions = [plan for plan in told if "sessions s" in plan and "username" in plan.lower()]
    assert len(of_sessions) >= 2, told
    for plan in of_sessions:
        assert "sessions_by_user" in plan, plan
        assert "Seq Scan on sessions" not in plan, plan


@pytest.mark.usefixtures("_a_thousand_is_many")
@pytest.mark.parametrize(
    "resource, field", [(resource, field) for resource in (USERS, AUDIT) for field in resource.sorts], ids=str
)
def test_rows_before_a_far_page_are_not_read(
    resource: Listable[Any], field: str, plans: tuple[PostgreSQLStore, list[str]]
) -> None:
    store, told = plans
    found = store.page(Listing(resource=resource, sort=(Sort(field),), page=60), START)
    assert found.total >= 3_000
    assert len(found.items) == 20
    [walk] = [plan for plan in told if "OFFSET" in plan]
    assert "Index Only Scan" in walk, walk


@pytest.mark.usefixtures("_a_thousand_is_many")
@pytest.mark.parametrize(
    "resource, filters",
    [
        (USERS, {}),
        (USERS, {"enabled": True}),
        (ONLINE_SESSIONS, {}),
        (ONLINE_USERS, {"kind": ("authorization_code",)}),
        (AUDIT, {}),
        (AUDIT, {"client_id": ("busy1",)}),
    ],
    ids=str,
)
def test_the_first_page_of_a_long_list_is_read_in_the_order_of_an_index(
    resource: Listable[Any], filters: dict[str, Any], plans: tuple[PostgreSQLStore, list[str]]
) -> None:
    store, told = plans
    for field in resource.sorts:
        told.clear()
        found = store.page(Listing(resource=resource, filters=filters, sort=(Sort(field),)), START)
        assert found.total > 1_000
        [page] = [plan for plan in told if "OFFSET" in plan]
        assert "Sort" not in page.partition("\n")[2], page
        assert not re.search("Seq Scan on (users u|sessions|audit)", page), page
