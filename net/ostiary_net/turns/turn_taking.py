"""Two ways to take a turn: whole in a thread, or in steps, of which only those that wait need a thread."""

from collections.abc import Awaitable, Callable
from functools import partial

import trio

from ostiary_core.model.decision import Decision
from ostiary_net.observability.log import observe
from ostiary_net.runtime.system import Clock, RunSync
from ostiary_net.turns.ports import ChooseEvents, CommitUnknown, InPlaceStore

__all__ = ["TakeTurn", "take_turns_in_steps", "take_whole_turns"]

TakeTurn = Callable[[ChooseEvents], Awaitable[list[Decision]]]
"""Gives the decisions of the events that were chosen last, which are kept; none for no events. Raising, it
kept nothing, unless it raises `CommitUnknown`."""


def take_whole_turns(take: Callable[[ChooseEvents], list[Decision]], run_sync: RunSync) -> TakeTurn:
    """A function that takes each turn from beginning to end in a thread, by calling `take`."""
    limiter = trio.CapacityLimiter(1)

    async def take_turn(choose_events: ChooseEvents) -> list[Decision]:
        events, _ = choose_events()
        if not events:
            return []
        return await run_sync(partial(take, choose_events), limiter=limiter)

    return take_turn


def take_turns_in_steps(
    store: InPlaceStore, clock: Clock, run_sync: RunSync, note_commit: Callable[[], None]
) -> TakeTurn:
    """A function that takes turns in the event loop; a thread waits for other writers and the disk.

    Whoever comes while others are waited for is part of the turn. `note_commit` is called after each commit.
    """
    limiter = trio.CapacityLimiter(1)

    async def take_turn(choose_events: ChooseEvents) -> list[Decision]:
        begun = store.begin_turn_at_once()
        if begun is None:
            begun = await run_sync(store.begin_turn, limiter=limiter)
        try:
            events, origins = choose_events()
            if not events:
                return []
            turn = begun.open(events, clock.now(), origins)
        finally:
            begun.abandon()
        try:
            if not turn.is_over:
                try:
                    await run_sync(turn.commit, limiter=limiter)
                except Exception as error:
                    raise CommitUnknown("the disk did not say that it was kept") from error
                observe(note_commit)
        finally:
            turn.abandon()
        return turn.decisions

    return take_turn
