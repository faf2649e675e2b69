"""Runs blocking work: in a worker thread, or in place for a simulation.

Storage and hashing block, so they are handed to a `RunSync`. `trio.to_thread.run_sync` is one. A virtual
clock does not see threads (it would jump ahead while one works), so under `MockClock` it is `run_inline`.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

import trio

__all__ = ["RunSync", "run_inline"]

T = TypeVar("T")


class RunSync(Protocol):
    """Runs a blocking function and gives its result; like `trio.to_thread.run_sync`, never half of it."""

    async def __call__(self, sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T: ...


async def run_inline(sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
    """Run `sync_fn` in place, after letting everybody else have a turn: deterministic, and it blocks."""
    async with limiter:
        return sync_fn()
