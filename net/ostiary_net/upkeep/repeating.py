"""Repeat background work until cancelled, on every instance or on one at a time."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Never

import structlog
import trio

from ostiary_net.runtime.system import Clock, RunSync
from ostiary_net.turns.ports import ServerStore

_log = structlog.get_logger("ostiary")


async def attempt(work: Callable[[], Awaitable[object]], failure: str) -> None:
    """Call `work`; log an error as `failure`."""
    try:
        await work()
    except Exception as error:
        _log.error(failure, cause=type(error.__cause__ or error).__name__)


async def repeat(work: Callable[[], Awaitable[object]], every_seconds: float, failure: str) -> Never:
    """Call `work` every so many seconds until cancelled; log an error as `failure` and try again."""
    while True:
        await trio.sleep(every_seconds)
        await attempt(work, failure)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease by which one instance at a time does some work."""

    name: str
    holder: str
    store: ServerStore
    clock: Clock
    run_sync: RunSync

    async def repeat(
        self, work: Callable[[float], Awaitable[object]], every_seconds: float, failure: str
    ) -> Never:
        """Call `work` every so many seconds on the holder, with the time at which it should end.

        An error is logged as `failure`, and the work tried again.
        """
        limiter = trio.CapacityLimiter(1)

        async def work_if_held(until: float) -> None:
            take = partial(self.store.take_lease, self.name, self.holder, 2 * every_seconds, self.clock.now())
            if await self.run_sync(take, limiter=limiter):
                await work(until)

        while True:
            until = trio.current_time() + every_seconds
            await attempt(partial(work_if_held, until), failure)
            await trio.sleep(max(0.0, until - trio.current_time()))
