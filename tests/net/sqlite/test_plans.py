"""The plans by which SQLite, which keeps no statistics, executes what lists ask."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from ostiary_core import Listing
from ostiary_core.storage.listing import (
    AUDIT,
    CLIENTS,
    GRANTS,
    ONLINE_SESSIONS,
    ONLINE_USERS,
    USERS,
    Listable,
    Match,
    Sort,
)
from ostiary_net.sql import paging
from ostiary_net.sqlite import SQLiteStore
from tests.net.store.test_listing import RESOURCES
from tests.support.stores import world_on
from tests.support.story import START


def explain(connection: apsw.Connection, statement: str, bindings: Sequence[Any]) -> list[str]:
    """Return the lines of the plan of a statement."""
    return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)]


def read_and_explain(store: SQLiteStore, listing: Listing[Any]) -> tuple[int, list[list[str]]]:
    """Read a page; return the total of its list and the plan of each statement."""
    plans = list[list[str]]()
    with store._readers.snapshot() as connection:

        def execute(statement: str, bindings: Sequence[Any]) -> list[Any]:
            plans.append(explain(connection, statement, bindings))
            return connection.execute(statement, bindings).fetchall()

        return paging.Pager(store._pager._dialect).page(execute, listing, START).total, plans


@pytest.mark.parametrize("resource", [ONLINE_SESSIONS, ONLINE_USERS], ids=repr)
@pytest.mark.parametrize("field", ["username", "name"])
def test_sessions_are_found_by_their_users_name(resource: Listable[Any], field: str, tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        world_on(store).tokens()
        total, plans = read_and_explain(store, Listing(resource=resource, filters={field: "alice"}))
    assert total >= 2
    assert len(plans) == 2
    for plan in plans:
        [of_sessions] = [line for line in plan if line.split()[1] == "s"]
        assert "sessions_by_user (user_id=?)" in of_sessions, plan


_TO_COUNT_BY = {
    *("sessions_by_user", "sessions_by_start", "users_by_username", "users_by_name", "clients_by_id")
}
_FOR_CODES = {"users_with_roles"}
_ANY_ORDER = re.compile(r"SCAN \w+ USING (?:COVERING )?INDEX (\w+)")
_FAR = 2 * paging.EXACT_TOTAL_MAX


def _narrowings(resource: Listable[Any]) -> Iterator[dict[str, Any]]:
    """Yield arguments of listings: without a filter, with each filter, with a search."""
    yield {}
    for name, match in resource.filters.items():
        yield {"filters": {name: True if match is Match.IS else "some"}}
    if resource.searched:
        yield {"search": "some"}


@pytest.mark.parametrize("resource", [each for each in RESOURCES if each is not GRANTS], ids=repr)
def test_no_list_walks_an_index_that_it_does_not_ask_for(resource: Listable[Any], tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "ostiary.db") as store, store._readers.snapshot() as connection:
        first_columns = {
            name: sql.partition(" ON ")[2].partition("(")[2]
            for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index'")
            if sql
        }

        plan = partial(explain, connection)
        for narrowing in _narrowings(resource):
            for field in resource.sorts:
                listing = Listing(resource=resource, sort=(Sort(field),), **narrowing)
                sql = store._pager._to_sql(listing, START)
                assert sql is not None
                for count in (sql.count(limit=10), sql.count()):
                    scanned = set(_ANY_ORDER.findall("\n".join(plan(*count))))
                    covering = {each for each in scanned if f"COVERING INDEX {each}" in str(plan(*count))}
                    assert scanned - covering <= _TO_COUNT_BY | _FOR_CODES, (narrowing, plan(*count))
                few = plan(*sql.items_of_few(limit=10, offset=0))
                assert not sql.is_read_whole or set(_ANY_ORDER.findall("\n".join(few))) <= _TO_COUNT_BY, few
                for offset, total in ((0, 10), (0, 2 * _FAR), (_FAR, 2 * _FAR)):
                    items = plan(*sql.items(sql.order, None, limit=10, offset=offset, total=total))
                    for name in set(_ANY_ORDER.findall("\n".join(items))) - _TO_COUNT_BY - _FOR_CODES:
                        by = sql.source.expression(field).replace("s.", "")
                        assert first_columns[name].startswith(by), (narrowing, field, items)


@pytest.mark.parametrize(
    "resource, asked, way",
    [
        (AUDIT, {"filters": {"session_id": "some"}}, "audit_by_session (<expr>=?"),
        (AUDIT, {"filters": {"user_id": "some"}}, "audit_by_user (<expr>=?"),
        (USERS, {"filters": {"enabled": True}}, "INDEX users_by_username"),
        (CLIENTS, {"filters": {"enabled": True}}, "INDEX clients_by_id"),
        (USERS, {"search": "some"}, "'SCAN users'"),
    ],
    ids=repr,
)
def test_a_narrowed_list_is_counted_the_short_way(
    resource: Listable[Any], asked: dict[str, Any], way: str, tmp_path: Path
) -> None:
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        assert way in str(read_and_explain(store, Listing(resource=resource, **asked)))


def test_entries_before_a_far_page_are_not_read(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "ostiary.db") as store, store._readers.snapshot() as connection:
        sql = store._pager._to_sql(Listing(resource=AUDIT), START)
        assert sql is not None
        plan = explain(connection, *sql.items(sql.order, None, limit=10, offset=_FAR, total=2 * _FAR))
        assert "SCAN audit_filed USING COVERING INDEX audit_by_time" in plan, plan


@pytest.mark.parametrize("resource", [ONLINE_SESSIONS, ONLINE_USERS], ids=repr)
def test_users_of_sessions_before_a_far_page_are_not_read(resource: Listable[Any], tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "ostiary.db") as store, store._readers.snapshot() as connection:
        sql = store._pager._to_sql(Listing(resource=resource), START)
        assert sql is not None
        for offset in (0, _FAR):
            plan = explain(connection, *sql.items(sql.order, None, limit=10, offset=offset, total=2 * _FAR))
            [of_users] = [line for line in plan if line.startswith("SEARCH u ")]
            assert ("users_standing" in of_users) == (offset == _FAR), of_users
