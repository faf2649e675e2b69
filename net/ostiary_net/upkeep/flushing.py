"""Flush what a process remembers of its clients' activity to the store."""

from typing import Final

import trio

from ostiary_net.observability.client_activity import ClientActivity
from ostiary_net.observability.summaries import SummaryStore
from ostiary_net.runtime.system import Clock, RunSync
from ostiary_net.turns.turns import Turns

_EVENTS_A_TURN: Final = 100
"""Most events that share a turn: few enough that a request in the same one does not notice."""


async def flush_uses(activity: ClientActivity, turns: Turns) -> None:
    """Flush the uses of secrets. Raises `TurnFailed`."""
    events = activity.take_uses()
    for start in range(0, len(events), _EVENTS_A_TURN):
        await turns.decide_all(events[start : start + _EVENTS_A_TURN])


async def flush_refusals(
    activity: ClientActivity, store: SummaryStore, clock: Clock, run_sync: RunSync
) -> None:
    """Flush refusals; those of a flush that fails are lost."""
    tallies, last = activity.take_refusals()
    if not tallies:
        return
    await run_sync(lambda: store.add_tallies(tallies, last, clock.now()), limiter=trio.CapacityLimiter(1))
