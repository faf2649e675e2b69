"""The plans by which SQLite, which keeps no statistics, executes what lists ask."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ostiary_core.storage.listing import ONLINE_SESSIONS, ONLINE_USERS, Listable, Listing
from ostiary_net.sql import paging
from ostiary_net.sqlite import SQLiteStore
from tests.support.stores import world_on
from tests.support.story import START


@pytest.mark.parametrize("resource", [ONLINE_SESSIONS, ONLINE_USERS], ids=repr)
@pytest.mark.parametrize("field", ["username", "name"])
def test_sessions_are_found_by_the_name_of_their_user_once_users_are(
    resource: Listable[Any], field: str, tmp_path: Path
) -> None:
    asked: list[tuple[str, Sequence[Any]]] = []
    with SQLiteStore(tmp_path / "ostiary.db") as store:
        world_on(store).tokens()
        with store._readers.snapshot() as connection:

            def execute(statement: str, bindings: Sequence[Any]) -> list[Any]:
                asked.append((statement, bindings))
                return connection.execute(statement, bindings).fetchall()

            pager = paging.Pager(store._pager._dialect)
            page = pager.page(execute, Listing(resource=resource, filters={field: "alice"}), START)
            assert page.total >= 2
            assert len(asked) == 2
            for statement, bindings in asked:
                explained = connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)
                plan = [str(row[3]) for row in explained]
                [of_sessions] = [line for line in plan if line.split()[1] == "s"]
                assert "sessions_by_user (user_id=?)" in of_sessions, plan
