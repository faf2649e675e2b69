"""The queue in front of a store: whatever waits while one turn is being committed makes up the next.

So a flush of the disk is shared by everybody who is waiting for one, and nobody waits for company: an event
that finds the store idle is a turn of its own. Events that only read have a queue of their own, because
they never wait behind a flush.

An event whose caller has gone before its turn began is left out; one whose turn has begun is decided, and
kept, whether or not anybody waits for the answer.
"""

import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, NoReturn, TypeVar

import outcome
import trio

from ostiary_core.audit import Origin
from ostiary_core.decision import Decision
from ostiary_core.events import READ_ONLY, Event
from ostiary_core.instant import Instant
from ostiary_core.life import SessionLife
from ostiary_core.listing import Listing, ListingStore, Page
from ostiary_core.store import LostRace, Store
from ostiary_net.clock import Clock
from ostiary_net.metrics import Metrics
from ostiary_net.ports import InPlaceStore, OpenTurn, ReadingStore
from ostiary_net.telling import Telling
from ostiary_net.threads import RunSync, run_inline
from ostiary_net.tracing import Tracing

__all__ = ["MOST_EVENTS_A_TURN", "Question", "TurnFailed", "Turns", "open_turns"]

MOST_EVENTS_A_TURN: Final = 256
"""Bounds how long the first of a turn waits for the last of it."""

_MOST_READ_IN_PLACE: Final = 32
_MOST_WRITTEN_IN_PLACE: Final = 64
"""Bound how long everybody else waits for a turn that is not taken in a thread."""

_MOST_LOOKERS: Final = 2
"""Lists that are read at a time: they are an administrator's, and the rest is for the token service."""

_MOST_ATTEMPTS: Final = 20
"""How often a turn is taken again after another instance was quicker."""


T = TypeVar("T")


Question = Callable[[ListingStore, Instant], T]
"""Something to be found in a store's lists at an instant."""


class TurnFailed(RuntimeError):
    """The turn an event was in could not be taken, and nothing of it is kept. The cause is chained."""

    def __init__(self) -> None:
        super().__init__("the turn could not be taken; nothing of it was kept")


class _Waiting:
    """An event and the task that waits for its decision; no task once the caller has gone."""

    __slots__ = ("event", "origin", "task")

    def __init__(self, event: Event, origin: Origin | None, task: trio.lowlevel.Task) -> None:
        self.event = event
        self.origin = origin
        self.task: trio.lowlevel.Task | None = task

    def leave(self, raise_cancel: Callable[[], NoReturn]) -> trio.lowlevel.Abort:
        """The caller was cancelled."""
        self.task = None
        return trio.lowlevel.Abort.SUCCEEDED

    def resume(self, result: outcome.Outcome[Decision]) -> None:
        if self.task is not None:
            trio.lowlevel.reschedule(self.task, result)
            self.task = None


Take = Callable[[Sequence[Event], Sequence[Origin | None]], list[Decision]]
Open = Callable[[Sequence[Event], Sequence[Origin | None]], OpenTurn | None]
"""None where somebody else would have to be waited for."""


class _Queue:
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
        self._waiting: deque[_Waiting] = deque()
        self._arrived = trio.Event()
        self._closed = False

    async def decide(self, event: Event, origin: Origin | None) -> Decision:
        if self._closed:
            raise TurnFailed
        waiting = _Waiting(event, origin, trio.lowlevel.current_task())
        self._waiting.append(waiting)
        self._arrived.set()
        decision: Decision = await trio.lowlevel.wait_task_rescheduled(waiting.leave)
        return decision

    async def drain(self) -> None:
        """Take turns until closed and empty; whatever ends this lets nobody wait on."""
        batch: list[_Waiting] = []
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
                waiting.resume(outcome.Error(TurnFailed()))
            self._waiting.clear()

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Take no more events; `drain` ends when those that wait are decided."""
        self._closed = True
        self._arrived.set()

    def _next(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        while self._waiting and len(batch) < self._most_events:
            waiting = self._waiting.popleft()
            if waiting.task is not None:
                batch.append(waiting)
        return batch

    async def _turn(self, batch: list[_Waiting]) -> None:
        events = [waiting.event for waiting in batch]
        origins = [waiting.origin for waiting in batch]
        began = time.perf_counter()
        try:
            decisions = await self._taken(events, origins)
        except Exception as cause:
            for waiting in batch:
                waiting.resume(outcome.Error(_failed(cause)))
            return
        seconds = time.perf_counter() - began
        self._metrics.turn_taken(self._name, len(batch), seconds)
        if self._tracing is not None:
            self._tracing.turn_taken(self._name, origins, seconds)
        self._telling.told(origins, decisions)
        for waiting, decision in zip(batch, decisions, strict=True):
            waiting.resume(outcome.Value(decision))

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


def _failed(cause: Exception) -> TurnFailed:
    """One exception for each waiting task: a shared one would collect the tracebacks of all."""
    failure = TurnFailed()
    failure.__cause__ = cause
    return failure


class Turns:
    """Decides events against a store, durably; any number of tasks may ask at once."""

    def __init__(
        self,
        store: ReadingStore,
        clock: Clock,
        run_sync: RunSync,
        metrics: Metrics,
        *,
        tracing: Tracing | None = None,
        in_place: InPlaceStore | None = None,
    ) -> None:
        telling = Telling()
        self._writing = _Queue(
            "write",
            partial(_taken, store, clock),
            run_sync,
            metrics,
            tracing,
            telling,
            _MOST_WRITTEN_IN_PLACE if in_place else MOST_EVENTS_A_TURN,
            partial(_opened, in_place, clock) if in_place else None,
        )
        self._reading = _Queue(
            "read",
            lambda events, origins: store.read(events, clock.now()),
            run_inline if in_place else run_sync,
            metrics,
            tracing,
            telling,
            _MOST_READ_IN_PLACE if in_place else MOST_EVENTS_A_TURN,
        )
        self._store = store
        self._clock = clock
        self._run_sync = run_sync
        self._lookers = trio.CapacityLimiter(_MOST_LOOKERS)
        self._reader_of_whole_lists = trio.CapacityLimiter(1)

    async def decide(self, event: Event, origin: Origin | None = None) -> Decision:
        """The decision on `event`, on disk when this returns, its facts kept with `origin` and in the log.

        Raises `TurnFailed`.
        """
        queue = self._reading if isinstance(event, READ_ONLY) else self._writing
        return await queue.decide(event, origin)

    async def page(self, listing: Listing[T]) -> Page[T]:
        """One page of a list, as it stands now; beside all turns. Raises `TurnFailed`."""
        return await self.look(lambda store, now: store.page(listing, now))

    async def session_life(self, session_id: str) -> SessionLife | None:
        """All there is to tell about a session, None where there is none. Raises `TurnFailed`."""
        return await self.look(lambda store, now: store.session_life(session_id))

    async def look(self, question: Question[T]) -> T:
        """What a question finds in the store's lists; beside all turns. Raises `TurnFailed`."""
        return await self._looked(question, self._lookers)

    async def look_through(self, question: Question[T]) -> T:
        """The same for a question that reads whole lists and takes its time: one at once, and those who
        only look at a page do not wait for it. Raises `TurnFailed`."""
        return await self._looked(question, self._reader_of_whole_lists)

    async def _looked(self, question: Question[T], limiter: trio.CapacityLimiter) -> T:
        try:
            return await self._run_sync(lambda: question(self._store, self._clock.now()), limiter=limiter)
        except Exception as cause:
            raise _failed(cause) from cause

    def waiting(self) -> dict[str, int]:
        """How many events wait for their turn in each queue."""
        return {"write": len(self._writing), "read": len(self._reading)}

    async def run(self) -> None:
        """Take turns until `close` was called and nothing waits."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._writing.drain)
            nursery.start_soon(self._reading.drain)

    def close(self) -> None:
        """Take no more events."""
        self._writing.close()
        self._reading.close()


def _taken(
    store: Store, clock: Clock, events: Sequence[Event], origins: Sequence[Origin | None]
) -> list[Decision]:
    """One turn, taken again while another instance is quicker."""
    for _ in range(_MOST_ATTEMPTS - 1):
        try:
            return store.turn(events, clock.now(), origins)
        except LostRace:
            continue
    return store.turn(events, clock.now(), origins)


def _opened(
    store: InPlaceStore, clock: Clock, events: Sequence[Event], origins: Sequence[Origin | None]
) -> OpenTurn | None:
    try:
        return store.open_turn(events, clock.now(), origins)
    except LostRace:
        return None


@asynccontextmanager
async def open_turns(
    store: ReadingStore,
    clock: Clock,
    run_sync: RunSync | None = None,
    metrics: Metrics | None = None,
    tracing: Tracing | None = None,
) -> AsyncIterator[Turns]:
    """Turns on `store` for as long as the block runs; on leaving it, what waits is decided first.

    `run_sync` is where the store works: a worker thread unless a simulation says otherwise. An `InPlaceStore`
    answers reading turns sooner than a thread could be asked: measured, a way there and back costs as much as
    loading four records. Of its writing turns only the commit is a thread's: when they ran there whole, it
    and the event loop took the interpreter's lock from each other with every call of the system. Measured, on
    two cores: a seventh less CPU for a client-credentials grant, a fourteenth for a refresh.
    """
    thread: Any = trio.to_thread.run_sync
    in_place = store if run_sync is None and isinstance(store, InPlaceStore) else None
    turns = Turns(store, clock, run_sync or thread, metrics or Metrics(), tracing=tracing, in_place=in_place)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        try:
            yield turns
        finally:
            turns.close()
