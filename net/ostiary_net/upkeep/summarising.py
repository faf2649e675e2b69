"""Count the audit trail into summaries by the hour, sample the running sessions, and forget old summaries.

One instance at a time does it, by a lease; two that think they hold it still count each entry once
(`SummaryStore.count_entries`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import trio

from ostiary_core.model.instant import Instant
from ostiary_net.observability.summaries import (
    ALL_CLIENTS,
    HOUR_MS,
    Metric,
    SummaryKey,
    Tally,
    hour_of,
)
from ostiary_net.runtime.system import Clock, RunSync, run_in_thread
from ostiary_net.turns.ports import ServerStore
from ostiary_net.upkeep.repeating import Lease

T = TypeVar("T")

SUMMARIES_SECONDS: Final = 400 * 24 * 60 * 60
"""Time that summaries are kept: a year, and a month to compare it with."""
_ENTRIES_A_BATCH: Final = 1_000
_SUMMARIES_A_BATCH: Final = 500
_LEASE: Final = "summaries"


@dataclass(slots=True, eq=False)
class Summarising:
    """Keeps the summaries of a store up to date, in batches, each followed by a rest as long."""

    store: ServerStore
    clock: Clock
    run_sync: RunSync = field(default=run_in_thread, kw_only=True)
    _limiter: trio.CapacityLimiter = field(default_factory=partial(trio.CapacityLimiter, 1), init=False)

    async def summarise_once(self, until: float = math.inf) -> int:
        """Count entries that are not counted yet, `until` then at the latest; return how many."""
        number = await self._repeat(self.store.count_entries, _ENTRIES_A_BATCH, until)
        await self._sample_running()
        forget: Callable[[Instant, int], int] = lambda now, limit: self.store.forget_summaries(  # noqa: E731
            now, SUMMARIES_SECONDS, limit
        )
        await self._repeat(forget, _SUMMARIES_A_BATCH, until)
        return number

    async def run(self, holder: str, every_seconds: float) -> None:
        """Summarise until cancelled, on one instance at a time; log a failure and try again."""
        lease = Lease(_LEASE, holder, self.store, self.clock, self.run_sync)
        await lease.repeat(self.summarise_once, every_seconds, "summaries failed")

    async def _repeat(self, do_some: Callable[[Instant, int], int], limit: int, until: float) -> int:
        total = 0
        while True:
            began = trio.current_time()
            number = await self._do(partial(do_some, self.clock.now(), limit))
            total += number
            if number < limit or trio.current_time() >= until:
                return total
            await trio.sleep(trio.current_time() - began)

    async def _sample_running(self) -> None:
        """Count the running sessions once an hour: a million of them take seconds."""
        hour = hour_of(self.clock.now())

        def sample() -> None:
            end = Instant(hour + HOUR_MS)
            if any(key.what is Metric.RUNNING for key in self.store.summaries(hour, end, of_clients=False)):
                return
            now = self.clock.now()
            sampled = {
                SummaryKey(ALL_CLIENTS, hour, Metric.RUNNING, kind.value): Tally(number)
                for kind, number in self.store.count_running(now).items()
            }
            self.store.add_tallies(sampled, (), now)

        await self._do(sample)

    async def _do(self, work: Callable[[], T]) -> T:
        return await self.run_sync(work, limiter=self._limiter)
