"""Decide many events, each by itself: a refusal keeps none of the others from being done.

They go to the turn queue some at a time, so no turn is long and other requests come between, and end within
the time of their request.
"""

from collections.abc import Sequence
from typing import Final

import trio

from ostiary_core.events import Event
from ostiary_core.model.decision import Decision
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.http.context import RequestContext

_AT_A_TIME: Final = 20
_MARGIN_SECONDS: Final = 3.0
"""Time that is left to a request for its answer."""


async def decide_each(context: RequestContext, events: Sequence[Event]) -> list[Decision | None]:
    """Return the decision on each event, None for those that the time or the store did not allow.

    Raises `TurnFailed` if that is all of them.
    """
    ends_at = trio.current_effective_deadline() - _MARGIN_SECONDS
    decisions: list[Decision | None] = [None] * len(events)
    failure: TurnFailed | None = None

    async def decide(place: int) -> None:
        nonlocal failure
        try:
            decisions[place] = await context.submit(events[place])
        except TurnFailed as error:
            failure = error

    for first in range(0, len(events), _AT_A_TIME):
        if failure is not None or (first and trio.current_time() > ends_at):
            break
        async with trio.open_nursery() as nursery:
            for place in range(first, min(first + _AT_A_TIME, len(events))):
                nursery.start_soon(decide, place)
    if failure is not None and not any(decisions):
        raise failure
    return decisions
