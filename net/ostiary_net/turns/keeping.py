"""Whether changes are kept: what became of the last turns that had something to keep.

A look at the store tells whether it can be reached and takes the one write that the look makes. That a disk
has no room for more than that, or that a table is gone, only the turns find out.
"""

import math
from typing import Final, Protocol, runtime_checkable

import trio

from ostiary_core.model.decision import Decision
from ostiary_net.turns.ports import ChooseEvents, CommitUnconfirmed
from ostiary_net.turns.turn_taking import TakeTurn

_REMEMBERED_SECONDS: Final = 30.0
"""Whoever is told that nothing is kept sends nothing more, so that no turn would ever tell of the end."""


class NothingKept(RuntimeError):
    """The last turn that had something to keep failed, and the store is to blame."""


@runtime_checkable
class BlamedStore(Protocol):
    """A store that knows which of its errors will come again with the next change, whatever that is."""

    def is_broken_by(self, error: Exception) -> bool:
        """Whether `error` is of the store itself, and a look at it might not find it."""
        ...


class Keeping:
    """Watches the turns that write."""

    def __init__(self, store: object) -> None:
        self._store = store
        self._failed_at = -math.inf

    def watch(self, take_turn: TakeTurn) -> TakeTurn:
        """A function that takes turns by `take_turn`, and remembers what became of the last."""

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
        """Raise `NothingKept` where the last of them failed, a moment ago."""
        if trio.current_time() < self._failed_at + _REMEMBERED_SECONDS:
            raise NothingKept

    def _record_failure(self, error: Exception) -> None:
        cause = error.__cause__ if isinstance(error, CommitUnconfirmed) else error
        if not isinstance(self._store, BlamedStore) or not isinstance(cause, Exception):
            return
        if self._store.is_broken_by(cause):
            self._failed_at = trio.current_time()
