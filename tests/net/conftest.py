"""Stores of each kind, and a virtual clock for tests of connections, which jumps while no task has work."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.sqlite import SQLiteStore
from tests.support.stores import KINDS, PlainStore, open_kind

AnyStore = PlainStore | SQLiteStore | PostgreSQLStore

SECONDS_BEFORE_A_JUMP: Final = {"front_door": 0.02, "lane": 0.0}
"""Real time that must pass without work before the clock jumps: loopback sockets may need a moment."""


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyStore]:
    """An empty store that can do all that a server asks of one."""
    if request.param == "memory":
        yield PlainStore()
        return
    with open_kind(request.param, tmp_path) as open_store, open_store() as durable:
        assert isinstance(durable, SQLiteStore | PostgreSQLStore)
        yield durable


def virtually(seconds: float, fn: Any, *, clock: None, instruments: Any) -> Any:
    return trio.run(fn, clock=MockClock(autojump_threshold=seconds), instruments=instruments)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run every test that waits in virtual time."""
    for item in items:
        for folder, seconds in SECONDS_BEFORE_A_JUMP.items():
            is_here = item.path.is_relative_to(Path(__file__).parent / folder)
            if is_here and item.get_closest_marker("trio") and item.path.name != "test_streams.py":
                item.add_marker(pytest.mark.trio(run=partial(virtually, seconds)), append=False)
