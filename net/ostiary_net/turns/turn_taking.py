"""Run turns in one of three ways, whole in a thread, whole in the event loop, or in steps; remember the last.

Steps leave a write-ahead log behind, which is put into the database file beside the turns.
"""

import math
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Never, Protocol, runtime_checkable

import structlog
import trio

from ostiary_core.events import BatchRequested, Event
from ostiary_core.model.audit import NOT_KEPT
from ostiary_core.model.decision import Decision
from ostiary_net.observability.log import observe
from ostiary_net.runtime.system import Clock, RunSync
from ostiary_net.turns.ports import ChooseEvents, CommitUnconfirmed, InPlaceStore

_log = structlog.get_logger("ostiary")

_CHECKPOINT_PAUSE_SECONDS: Final = 0.05
"""Pause between two checkpoints: one that an open reader kept from finishing is not tried again at once."""

_REMEMBERED_SECONDS: Final = 30.0
"""Longest time a failure is reported: a load balancer that heard of it sends no turn that could end it."""

_MOST_PARTS_IN_PLACE: Final = 16
"""Most parts of batches that a turn decides in the event loop: all else there waits for about 5 ms."""

TakeTurn = Callable[[ChooseEvents], Awaitable[list[Decision]]]
"""Returns the kept decisions of the events that were chosen last, none for no events.

Raising, it kept nothing, unless it raises `CommitUnconfirmed`."""


def run_turns_in_thread(take: Callable[[ChooseEvents], list[Decision]], run_sync: RunSync) -> TakeTurn:
    """Return a function that takes each turn whole in a thread, by calling `take`."""
    limiter = trio.CapacityLimiter(1)

    async def take_turn(choose_events: ChooseEvents) -> list[Decision]:
        events, _ = choose_events()
        if not events:
            return []
        return await run_sync(partial(take, choose_events), limiter=limiter)

    return take_turn


def run_turns_inline(take: Callable[[ChooseEvents], list[Decision]]) -> TakeTurn:
    """Return a function that takes each turn by calling `take` in the event loop; it must not wait."""

    async def take_turn(choose_events: ChooseEvents) -> list[Decision]:
        return take(choose_events)

    return take_turn


def run_turns_in_steps(
    store: InPlaceStore, clock: Clock, run_sync: RunSync, after_commit: Callable[[], None]
) -> TakeTurn:
    """Return a function that takes turns in the event loop; a thread waits for other writers and the disk.

    A thread decides long batches as well. `after_commit` is called after each commit.
    """
    limiter = trio.CapacityLimiter(1)

    async def take_turn(choose_events: ChooseEvents) -> list[Decision]:
        turn = store.try_begin_turn()
        if turn is None:
            turn = await run_sync(store.begin_turn, limiter=limiter)
        try:
            # Chosen last, so that events which came while other writers were waited for share the turn.
            events, origins = choose_events()
            decide = partial(turn.decide, events, clock.now(), origins)
            is_heavy = sum(map(_count_parts, events)) > _MOST_PARTS_IN_PLACE
            decisions = await run_sync(decide, limiter=limiter) if is_heavy else decide()
            if turn.is_pending:
                try:
                    await run_sync(turn.commit, limiter=limiter)
                except Exception as error:
                    unconfirmed = CommitUnconfirmed("the disk did not say that it was kept")
                    unconfirmed.decisions = decisions
                    raise unconfirmed from error
                observe(after_commit)
        finally:
            turn.release()
        return decisions

    return take_turn


def _count_parts(event: Event) -> int:
    """Return how many parts of batches an event has."""
    return len(event.events) if isinstance(event, BatchRequested) else 0


class Checkpointing:
    """Puts the write-ahead log into the database file, in a thread, whenever the log is long."""

    def __init__(self, store: InPlaceStore, run_sync: RunSync) -> None:
        self._store = store
        self._run_sync = run_sync
        self._limiter = trio.CapacityLimiter(1)
        self._is_due = trio.Event()

    def schedule_if_due(self) -> None:
        """Schedule a checkpoint if the log is long enough."""
        if self._store.needs_checkpoint:
            self._is_due.set()

    async def run(self) -> Never:
        """Make checkpoints until cancelled; one that fails is tried again when the log is longer still."""
        while True:
            await self._is_due.wait()
            try:
                await self._run_sync(self._store.checkpoint, limiter=self._limiter)
            except Exception as error:
                _log.error("checkpoint failed", cause=type(error).__name__)
            await trio.sleep(_CHECKPOINT_PAUSE_SECONDS)
            self._is_due = trio.Event()


# --- whether they are kept

# A check of the store makes one small write. Only turns find out that a disk has no room for more than that,
# or that a table is gone.


class NothingKept(RuntimeError):
    """Raised when the last turn with something to keep failed because of the store."""


@runtime_checkable
class BlamedStore(Protocol):
    """A store that knows which of its errors any next change will meet too."""

    def is_broken_by(self, error: BaseException | None) -> bool:
        """Whether `error` is the store's own, and a check of the store might not find it."""
        ...


class Keeping:
    """Watches the turns that write."""

    def __init__(self, store: object) -> None:
        self._store = store
        self._failed_at = -math.inf

    def watch(self, take_turn: TakeTurn) -> TakeTurn:
        """Wrap `take_turn` so that the outcome of the last turn is remembered."""

        async def take_and_watch(choose_events: ChooseEvents) -> list[Decision]:
            try:
                decisions = await take_turn(choose_events)
            except Exception as error:
                self._record_failure(error)
                raise
            if any(map(has_something_to_keep, decisions)):
                self._failed_at = -math.inf
            return decisions

        return take_and_watch

    def require(self) -> None:
        """Raise `NothingKept` if the last of them failed a moment ago."""
        if trio.current_time() < self._failed_at + _REMEMBERED_SECONDS:
            raise NothingKept

    def _record_failure(self, error: Exception) -> None:
        cause = error.__cause__ if isinstance(error, CommitUnconfirmed) else error
        if isinstance(self._store, BlamedStore) and self._store.is_broken_by(cause):
            self._failed_at = trio.current_time()


def has_something_to_keep(decision: Decision) -> bool:
    """Whether a decision changes a record or the audit trail."""
    return bool(decision.changes) or any(fact.kind not in NOT_KEPT for fact in decision.facts)
