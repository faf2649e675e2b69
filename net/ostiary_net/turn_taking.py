"""How a turn is taken: whole, in a thread; or in steps, of which only those that wait are a thread's."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import trio

from ostiary_core.audit import Origin
from ostiary_core.decision import Decision
from ostiary_core.events import Event
from ostiary_net.clock import Clock
from ostiary_net.ports import InPlaceStore
from ostiary_net.threads import RunSync

__all__ = ["Next", "TakeTurn", "in_steps", "whole"]

Next = Callable[[], tuple[Sequence[Event], Sequence[Origin | None]]]
"""Says which events the turn is to decide, and where they came from; asked once, as late as can be."""

TakeTurn = Callable[[Next], Awaitable[list[Decision]]]
"""Gives their decisions, which are kept; none for no events. Raising, it kept nothing."""


def whole(
    take: Callable[[Sequence[Event], Sequence[Origin | None]], list[Decision]], run_sync: RunSync
) -> TakeTurn:
    """Turns that a store takes from their beginning to their end."""
    limiter = trio.CapacityLimiter(1)

    async def taken(next_events: Next) -> list[Decision]:
        events, origins = next_events()
        if not events:
            return []
        return await run_sync(partial(take, events, origins), limiter=limiter)

    return taken


def in_steps(store: InPlaceStore, clock: Clock, run_sync: RunSync, committed: Callable[[], None]) -> TakeTurn:
    """Turns that are decided here: a thread waits for other writers, if there are any, and for the disk.

    Whoever comes while others are waited for is part of the turn. `committed` is called after each that was.
    """
    limiter = trio.CapacityLimiter(1)

    async def taken(next_events: Next) -> list[Decision]:
        begun = store.begin_turn_at_once()
        if begun is None:
            begun = await run_sync(store.begin_turn, limiter=limiter)
        try:
            events, origins = next_events()
            if not events:
                return []
            turn = begun.open(events, clock.now(), origins)
        finally:
            begun.abandon()
        try:
            if not turn.is_over:
                await run_sync(turn.commit, limiter=limiter)
                committed()
        finally:
            turn.abandon()
        return turn.decisions

    return taken
