"""Three ways to take a turn: whole in a thread, whole at once, or in steps of which some are a thread's.

Steps leave a write-ahead log behind, which is put into the database file beside the turns.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Never

import structlog
import trio

from ostiary_core.model.decision import Decision
from ostiary_net.observability.log import observe
from ostiary_net.runtime.system import Clock, RunSync
from ostiary_net.turns.ports import ChooseEvents, CommitUnconfirmed, InPlaceStore

_log = structlog.get_logger("ostiary")

_LEAST_SECONDS: Final = 0.05
"""Between two checkpoints: one that could not be finished, as somebody reads what is in the log, is not tried
again at once."""

TakeTurn = Callable[[ChooseEvents], Awaitable[list[Decision]]]
"""Gives the decisions of the events that were chosen last, which are kept; none for no events. Raising, it
kept nothing, unless it raises `CommitUnconfirmed`."""


def run_turns_in_thread(take: Callable[[ChooseEvents], list[Decision]], run_sync: RunSync) -> TakeTurn:
    """A function that takes each turn from beginning to end in a thread, by calling `take`."""
    limiter = trio.CapacityLimiter(1)

    async def take_turn(choose_events: ChooseEvents) -> list[Decision]:
        events, _ = choose_events()
        if not events:
            return []
        return await run_sync(partial(take, choose_events), limiter=limiter)

    return take_turn


def run_turns_inline(take: Callable[[ChooseEvents], list[Decision]]) -> TakeTurn:
    """A function that takes each turn by calling `take`, which waits for nobody."""

    async def take_turn(choose_events: ChooseEvents) -> list[Decision]:
        return take(choose_events)

    return take_turn


def run_turns_in_steps(
    store: InPlaceStore, clock: Clock, run_sync: RunSync, after_commit: Callable[[], None]
) -> TakeTurn:
    """A function that takes turns in the event loop; a thread waits for other writers and the disk.

    Whoever comes while others are waited for is part of the turn. `after_commit` is called after each commit.
    """
    limiter = trio.CapacityLimiter(1)

    async def take_turn(choose_events: ChooseEvents) -> list[Decision]:
        turn = store.try_begin_turn()
        if turn is None:
            turn = await run_sync(store.begin_turn, limiter=limiter)
        try:
            events, origins = choose_events()
            if not events:
                return []
            decisions = turn.decide(events, clock.now(), origins)
            if turn.is_pending:
                try:
                    await run_sync(turn.commit, limiter=limiter)
                except Exception as error:
                    raise CommitUnconfirmed("the disk did not say that it was kept") from error
                observe(after_commit)
        finally:
            turn.release()
        return decisions

    return take_turn


class Checkpointing:
    """Has a thread of its own put the write-ahead log into the file, whenever it has become long."""

    def __init__(self, store: InPlaceStore, run_sync: RunSync) -> None:
        self._store = store
        self._run_sync = run_sync
        self._limiter = trio.CapacityLimiter(1)
        self._is_due = trio.Event()

    def schedule_if_due(self) -> None:
        """Look after a turn whether it is time for a checkpoint."""
        if self._store.needs_checkpoint:
            self._is_due.set()

    async def run(self) -> Never:
        """Make checkpoints until cancelled. One that fails is tried again when the log is longer still."""
        while True:
            await self._is_due.wait()
            try:
                await self._run_sync(self._store.checkpoint, limiter=self._limiter)
            except Exception as error:
                _log.error("checkpoint failed", cause=type(error).__name__)
            await trio.sleep(_LEAST_SECONDS)
            self._is_due = trio.Event()
