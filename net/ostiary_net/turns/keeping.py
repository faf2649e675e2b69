"""Remember whether the last turn that had something to keep was kept.

A check of the store makes one small write. Only turns find out that a disk has no room for more than that,
or that a table is gone.
"""

import math
from typing import Final, Protocol, runtime_checkable

import trio

from ostiary_core.model.decision import Decision
from ostiary_net.turns.ports import ChooseEvents, CommitUnconfirmed
from ostiary_net.turns.turn_taking import TakeTurn

_REMEMBERED_SECONDS: Final = 30.0
"""Longest time a failure is reported: a load balancer that heard of it sends no turn that could end it."""


class NothingKept(RuntimeError):
    """Raised when the last turn with something to keep failed because of the store."""


@runtime_checkable
class BlamedStore(Protocol):
    """A store that knows which of its errors any next change will meet too."""

    def is_broken_by(self, error: Exception) -> bool:
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
            if any(decision.changes or decision.facts for decision in decisions):
                self._failed_at = -math.inf
            return decisions

        return take_and_watch

    def require(self) -> None:
        """Raise `NothingKept` if the last of them failed a moment ago."""
        if trio.current_time() < self._failed_at + _REMEMBERED_SECONDS:
            raise NothingKept

    def _record_failure(self, error: Exception) -> None:
        cause = error.__cause__ if isinstance(error, CommitUnconfirmed) else error
        if not isinstance(self._store, BlamedStore) or not isinstance(cause, Exception):
            return
        if self._store.is_broken_by(cause):
            self._failed_at = trio.current_time()
