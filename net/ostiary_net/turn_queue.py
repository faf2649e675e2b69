"""The queue in front of a store: whatever waits while one turn is being committed makes up the next.

So a flush of the disk is shared by everybody who is waiting for one, and nobody waits for company: an event
that finds the store idle is a turn of its own.

An event whose caller has gone before its turn began is left out; one whose turn has begun is decided, and
kept, whether or not anybody waits for the answer.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import outcome
import trio

from ostiary_core.audit import Origin
from ostiary_core.decision import Decision
from ostiary_core.events import Event
from ostiary_net.metrics import Metrics
from ostiary_net.ports import OpenTurn
from ostiary_net.telling import Telling
from ostiary_net.threads import RunSync
from ostiary_net.tracing import Tracing

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


Take = Callable[[Sequence[Event], Sequence[Origin | None]], list[Decision]]
Open = Callable[[Sequence[Event], Sequence[Origin | None]], OpenTurn | None]
"""None where somebody else would have to be waited for."""


class TurnQueue:
    """Waiting events, and one task that takes them as many at a time as there are."""

    def __init__(
        self,
        name: str,
        take: Take,
        run_sync: RunSync,
        metrics: Metrics,
        tracing: Tracing | None,
        telling: Telling,
        most_events: int = MOST_EVENTS_A_TURN,
        open_turn: Open | None = None,
    ) -> None:
        self._most_events = most_events
        self._open = open_turn
        self._name = name
        self._metrics = metrics
        self._tracing = tracing
        self._telling = telling
        self._take = take
        self._run_sync = run_sync
        self._limiter = trio.CapacityLimiter(1)
        self._waiting: deque[Waiting] = deque()
        self._arrived = trio.Event()
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
        batch: list[Waiting] = []
        try:
            while self._waiting or not self._closed:
                if not self._waiting:
                    self._arrived = trio.Event()
                    await self._arrived.wait()
                    continue
                batch = self._next()
                if batch:
                    await self._turn(batch)
                    # Those who were answered go on first: what they ask next shares the next turn.
                    await trio.lowlevel.checkpoint()
        finally:
            self._closed = True
            for waiting in (*batch, *self._waiting):
                waiting.tell(outcome.Error(TurnFailed()))
            self._waiting.clear()

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Take no more events; `drain` ends when those that wait are decided."""
        self._closed = True
        self._arrived.set()

    def _next(self) -> list[Waiting]:
        batch: list[Waiting] = []
        while self._waiting and len(batch) < self._most_events:
            waiting = self._waiting.popleft()
            if waiting.is_wanted:
                batch.append(waiting)
        return batch

    async def _turn(self, batch: list[Waiting]) -> None:
        events = [waiting.event for waiting in batch]
        origins = [waiting.origin for waiting in batch]
        began = time.perf_counter()
        try:
            decisions = await self._taken(events, origins)
        except Exception as cause:
            for waiting in batch:
                waiting.tell(outcome.Error(failed(cause)))
            return
        seconds = time.perf_counter() - began
        self._metrics.turn_taken(self._name, len(batch), seconds)
        if self._tracing is not None:
            self._tracing.turn_taken(self._name, origins, seconds)
        self._telling.told(origins, decisions)
        for waiting, decision in zip(batch, decisions, strict=True):
            waiting.tell(outcome.Value(decision))

    async def _taken(self, events: Sequence[Event], origins: Sequence[Origin | None]) -> list[Decision]:
        turn = None if self._open is None else self._open(events, origins)
        if turn is None:
            return await self._run_sync(partial(self._take, events, origins), limiter=self._limiter)
        try:
            if not turn.is_over:
                await self._run_sync(turn.commit, limiter=self._limiter)
        finally:
            turn.abandon()
        return turn.decisions


def failed(cause: Exception) -> TurnFailed:
    """One exception for each waiting task: a shared one would collect the tracebacks of all."""
    failure = TurnFailed()
    failure.__cause__ = cause
    return failure
