"""The queue in front of a store: whatever waits while one turn is being committed makes up the next.

So a flush of the disk is shared by everybody who is waiting for one, and nobody waits for company: an event
that finds the store idle is a turn of its own.

An event whose caller has gone before its turn began is left out; one whose turn has begun is decided, and
kept, whether or not anybody waits for the answer.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import outcome
import trio

from ostiary_core.audit import Origin
from ostiary_core.decision import Decision
from ostiary_core.events import Event
from ostiary_net.metrics import Metrics
from ostiary_net.telling import Telling
from ostiary_net.tracing import Tracing
from ostiary_net.turn_taking import TakeTurn

__all__ = ["MOST_EVENTS_A_TURN", "Told", "TurnFailed", "TurnQueue", "Waiting", "failed"]

MOST_EVENTS_A_TURN: Final = 256
"""Bounds how long the first of a turn waits for the last of it."""


class TurnFailed(RuntimeError):
    """The turn an event was in could not be taken, and nothing of it is kept. The cause is chained."""

    def __init__(self) -> None:
        super().__init__("the turn could not be taken; nothing of it was kept")


class Waiting:
    """An event, and who is told its decision; nobody once they have gone."""

    __slots__ = ("_told", "event", "origin")

    def __init__(self, event: Event, origin: Origin | None, told: "Told") -> None:
        self.event = event
        self.origin = origin
        self._told: Told | None = told

    @property
    def is_wanted(self) -> bool:
        """Whether anybody still waits."""
        return self._told is not None

    def leave(self) -> None:
        """Nobody waits any more. What has begun is decided and kept all the same."""
        self._told = None

    def tell(self, result: outcome.Outcome[Decision]) -> None:
        """This is what became of it."""
        told, self._told = self._told, None
        if told is not None:
            told(result)


Told = Callable[[outcome.Outcome[Decision]], None]
"""Called once where turns are taken, with the decision or `TurnFailed`. It neither waits nor raises."""


class TurnQueue:
    """Waiting events, and one task that takes them as many at a time as there are."""

    def __init__(
        self,
        name: str,
        take_turn: TakeTurn,
        metrics: Metrics,
        tracing: Tracing | None,
        telling: Telling,
        most_events: int,
    ) -> None:
        self._name = name
        self._take_turn = take_turn
        self._metrics = metrics
        self._tracing = tracing
        self._telling = telling
        self._most_events = most_events
        self._waiting: deque[Waiting] = deque()
        self._arrived = trio.Event()
        self._batch: list[Waiting] = []
        self._closed = False

    def submit(self, event: Event, origin: Origin | None, told: Told) -> Waiting:
        if self._closed:
            raise TurnFailed
        waiting = Waiting(event, origin, told)
        self._waiting.append(waiting)
        self._arrived.set()
        return waiting

    async def drain(self) -> None:
        """Take turns until closed and empty; whatever ends this lets nobody wait on."""
        try:
            while self._waiting or not self._closed:
                if not self._waiting:
                    self._arrived = trio.Event()
                    await self._arrived.wait()
                    continue
                await self._turn()
                # Those who were answered go on first: what they ask next shares the next turn.
                await trio.lowlevel.checkpoint()
        finally:
            self._closed = True
            for waiting in (*self._batch, *self._waiting):
                waiting.tell(outcome.Error(TurnFailed()))
            self._waiting.clear()

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Take no more events; `drain` ends when those that wait are decided."""
        self._closed = True
        self._arrived.set()

    def _next(self) -> tuple[list[Event], list[Origin | None]]:
        """Those that make up the next turn; none where nobody waits any more."""
        self._batch = batch = list[Waiting]()
        while self._waiting and len(batch) < self._most_events:
            waiting = self._waiting.popleft()
            if waiting.is_wanted:
                batch.append(waiting)
        return [waiting.event for waiting in batch], [waiting.origin for waiting in batch]

    async def _turn(self) -> None:
        """Take one turn of those that wait."""
        began = time.perf_counter()
        self._batch = []
        try:
            decisions = await self._take_turn(self._next)
        except Exception as cause:
            if not self._batch:  # it could not even begin
                self._next()
            for waiting in self._batch:
                waiting.tell(outcome.Error(failed(cause)))
        else:
            if decisions:
                self._taken(decisions, time.perf_counter() - began)
        self._batch = []

    def _taken(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Count, tell the log, and then whoever waits."""
        origins = [waiting.origin for waiting in self._batch]
        self._metrics.turn_taken(self._name, len(decisions), seconds)
        if self._tracing is not None:
            self._tracing.turn_taken(self._name, origins, seconds)
        self._telling.told(origins, decisions)
        for waiting, decision in zip(self._batch, decisions, strict=True):
            waiting.tell(outcome.Value(decision))


def failed(cause: Exception) -> TurnFailed:
    """One exception for each waiting task: a shared one would collect the tracebacks of all."""
    failure = TurnFailed()
    failure.__cause__ = cause
    return failure
