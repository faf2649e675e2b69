"""Tests of connections run under a clock that jumps when nobody has anything to do."""

from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

SECONDS_BEFORE_A_JUMP: Final = {"front_door": 0.02, "lane": 0.0}
"""Loopback sockets within one process may need a moment, pairs of sockets and streams in memory none."""


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
