"""Decide events against a store, durably: one queue for events that write, one for those that read.

Events that only read never wait behind a flush. Lists are read beside both queues.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import trio

from ostiary_core.decide import READ_ONLY
from ostiary_core.events import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.storage.store import Store, retry_lost_races
from ostiary_net.observability.log import RequestLog
from ostiary_net.observability.metrics import Metrics
from ostiary_net.runtime.arrivals import CLIENT_GONE
from ostiary_net.runtime.system import Clock, RunSync
from ostiary_net.turns.ports import ChooseEvents, ChoosingStore, InPlaceStore, ReadingStore
from ostiary_net.turns.turn_queue import (
    MOST_EVENTS_A_TURN,
    QueuedEvent,
    Resolve,
    TurnFailed,
    TurnQueue,
    make_failure,
    wait_for_result,
)
from ostiary_net.turns.turn_taking import (
    Checkpointing,
    Keeping,
    run_turns_in_steps,
    run_turns_in_thread,
    run_turns_inline,
)

if TYPE_CHECKING:  # or OpenTelemetry would be imported if nobody asks for it
    from ostiary_net.observability.spans import Spans

_MOST_READ_IN_PLACE: Final = 32
_MOST_WRITTEN_IN_PLACE: Final = 64
"""Most events of a turn in the event loop: everything else there waits for it."""

_MOST_LIST_QUERIES: Final = 2
"""Most lists read at a time: administrators read them, and the other threads are for the token service."""


T = TypeVar("T")


ListQuery = Callable[[ReadingStore, Instant], T]
"""Query of a store's lists or summaries at an instant."""


class Turns:
    """Decides events against a store, for any number of tasks at once."""

    def __init__(
        self,
        store: ReadingStore,
        clock: Clock,
        run_sync: RunSync,
        metrics: Metrics,
        *,
        tracing: "Spans | None" = None,
        in_place: InPlaceStore | None = None,
    ) -> None:
        decide = partial(_take_turn, store, clock)
        read = partial(_read, store, clock)
        make_queue = partial(
            TurnQueue,
            grace_seconds=store.policy.grace_seconds,
            metrics=metrics,
            tracing=tracing,
            request_log=RequestLog(),
        )
        self.keeping = Keeping(store)
        self._beside: list[Callable[[], Awaitable[object]]] = []
        if in_place is None:
            take_turn = self.keeping.watch(run_turns_in_thread(decide, run_sync))
            self._writing = make_queue("write", take_turn, MOST_EVENTS_A_TURN)
            self._reading = make_queue("read", run_turns_in_thread(read, run_sync), MOST_EVENTS_A_TURN)
        else:
            checkpointing = Checkpointing(in_place, run_sync)
            self._beside.append(checkpointing.run)
            in_steps = run_turns_in_steps(in_place, clock, run_sync, checkpointing.schedule_if_due)
            self._writing = make_queue("write", self.keeping.watch(in_steps), _MOST_WRITTEN_IN_PLACE)
            self._reading = make_queue("read", run_turns_inline(read), _MOST_READ_IN_PLACE)
        self._store = store
        self._clock = clock
        self._run_sync = run_sync
        self._list_limiter = trio.CapacityLimiter(_MOST_LIST_QUERIES)
        self._whole_list_limiter = trio.CapacityLimiter(1)

    async def decide(self, event: Event, origin: Origin | None = None) -> Decision:
        """Decide `event`; it is on disk when this returns, its facts kept with `origin` and logged.

        Raises `TurnFailed`, after `LONGEST_WAIT_SECONDS` at the latest.
        """

        def submit(resolve: Resolve) -> QueuedEvent:
            queued = QueuedEvent(event, origin, resolve, CLIENT_GONE.get())
            self.submit(queued)
            return queued

        result = await wait_for_result(submit)
        if isinstance(result, TurnFailed):
            raise result
        return result

    def submit(self, waiting: QueuedEvent) -> None:
        """Put an event into its queue, also without a task; raise `TurnFailed` once the queue is closed."""
        queue = self._reading if type(waiting.event) in READ_ONLY else self._writing
        queue.submit(waiting)

    async def decide_all(self, events: Sequence[Event]) -> list[Decision]:
        """Decide the server's own events in few turns; raise `TurnFailed` once all are through."""
        decisions: list[Decision] = []
        failures: list[TurnFailed] = []
        all_resolved = trio.Event()

        def resolve(result: Decision | TurnFailed) -> None:
            if isinstance(result, TurnFailed):
                failures.append(result)
            else:
                decisions.append(result)
            if len(decisions) + len(failures) == len(events):
                all_resolved.set()

        # No task for each event: measured, that was a quarter of the cost of an erased salt.
        waiting = [QueuedEvent(event, None, resolve) for event in events]
        try:
            for each in waiting:
                self.submit(each)
            if waiting:
                await all_resolved.wait()
        finally:
            for each in waiting:
                each.leave()
        if failures:
            raise failures[0]
        return decisions

    async def query(self, read: ListQuery[T]) -> T:
        """Read lists of the store, beside all turns. Raises `TurnFailed`."""
        return await self._ask(read, self._list_limiter)

    async def query_whole_lists(self, read: ListQuery[T]) -> T:
        """Read whole lists, one query at a time, so that pages do not wait. Raises `TurnFailed`."""
        return await self._ask(read, self._whole_list_limiter)

    async def _ask(self, read: ListQuery[T], limiter: trio.CapacityLimiter) -> T:
        try:
            return await self._run_sync(lambda: read(self._store, self._clock.now()), limiter=limiter)
        except Exception as cause:
            raise make_failure(cause) from cause

    def count_waiting(self) -> dict[str, int]:
        """Return how many events wait in each queue."""
        return {"write": len(self._writing), "read": len(self._reading)}

    async def run(self) -> None:
        """Take turns until `close` was called and nothing waits."""
        async with trio.open_nursery() as beside:
            for work in self._beside:
                beside.start_soon(work)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._writing.run)
                nursery.start_soon(self._reading.run)
            beside.cancel_scope.cancel()

    def close(self) -> None:
        """Take no more events."""
        self._writing.close()
        self._reading.close()


def _take_turn(store: Store, clock: Clock, choose_events: ChooseEvents) -> list[Decision]:
    """Take one turn, again while another instance is quicker."""
    return retry_lost_races(partial(_take_once, store, clock, choose_events))


def _take_once(store: Store, clock: Clock, choose_events: ChooseEvents) -> list[Decision]:
    if isinstance(store, ChoosingStore):
        return store.turn_of(choose_events, clock.now())
    events, origins = choose_events()
    return store.turn(events, clock.now(), origins) if events else []


def _read(store: ReadingStore, clock: Clock, choose_events: ChooseEvents) -> list[Decision]:
    events, _ = choose_events()
    return store.read(events, clock.now())


@asynccontextmanager
async def open_turns(
    store: ReadingStore,
    clock: Clock,
    run_sync: RunSync | None = None,
    metrics: Metrics | None = None,
    tracing: "Spans | None" = None,
) -> AsyncIterator[Turns]:
    """Run turns on `store` while the block runs; at its end, decide the waiting events first.

    `run_sync` runs the store: in a worker thread, unless a simulation says otherwise.
    """
    thread: Any = trio.to_thread.run_sync
    # In place: a way to a thread and back costs as much as loading four records, and a thread that writes
    # takes the interpreter's lock from the event loop with every call of the system. Measured on two cores: a
    # seventh less CPU for a client-credentials grant, a fourteenth for a refresh.
    in_place = store if run_sync is None and isinstance(store, InPlaceStore) else None
    turns = Turns(store, clock, run_sync or thread, metrics or Metrics(), tracing=tracing, in_place=in_place)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        try:
            yield turns
        finally:
            turns.close()
