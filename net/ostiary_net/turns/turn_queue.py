"""Queue events in front of a store: those that wait while one turn is committed make up the next.

So waiting callers share a flush of the disk, and an event that finds the store idle is a turn of its own.

An event whose caller left before its turn began is dropped; one whose turn has begun is decided and kept.
No caller waits longer than `LONGEST_WAIT_SECONDS`, whatever the store does (READINGS 46, 47).
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import outcome
import trio

from ostiary_core.events import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_net.observability.log import RequestLog, observe
from ostiary_net.observability.metrics import Metrics
from ostiary_net.runtime.arrivals import DisconnectCheck
from ostiary_net.turns.ports import CommitUnconfirmed
from ostiary_net.turns.turn_taking import TakeTurn, has_something_to_keep
from ostiary_net.turns.unanswered import UnansweredRefreshes

if TYPE_CHECKING:  # or OpenTelemetry would be imported if nobody asks for it
    from ostiary_net.observability.spans import Spans

T = TypeVar("T")

MOST_EVENTS_A_TURN: Final = 256
"""Most events of one turn: the first of them waits for the last."""

LONGEST_WAIT_SECONDS: Final = 9.0
"""Longest time until a caller is told that its event has no known outcome; answers take 10 s at most."""

_HALF_CLOSE_GRACE_SECONDS: Final = 1.0
"""Time after which a client that closed its side, and is not answered, counts as gone.

A client may close its side as soon as it has sent its request, and still wait."""

_ALONE_SECONDS: Final = 2.0
"""Longest time for retrying the events of a failed turn one by one: a slow store is not asked for each."""


class TurnFailed(RuntimeError):
    """Raised when a turn failed, and nothing of it is known to be kept; the cause is chained."""

    def __init__(self) -> None:
        super().__init__("the turn could not be taken; nothing of it is known to be kept")


class QueuedEvent:
    """An event in a queue, and the caller to tell its decision.

    `is_client_gone` is believed at once if the event `may_be_stale`, as it was found in a socket after the
    server had stood still.
    """

    __slots__ = ("_asks_after", "_is_client_gone", "_resolve", "event", "origin", "since")

    def __init__(
        self,
        event: Event,
        origin: Origin | None,
        resolve: "Resolve",
        is_client_gone: DisconnectCheck | None = None,
        *,
        may_be_stale: bool = False,
    ) -> None:
        self.event = event
        self.origin = origin
        self.since = since = trio.current_time()
        self._resolve: Resolve | None = resolve
        self._is_client_gone = is_client_gone
        self._asks_after = since - 1.0 if may_be_stale else since + _HALF_CLOSE_GRACE_SECONDS
        """Time until which the client is not checked for having gone."""

    @property
    def is_answered(self) -> bool:
        """Whether the caller was told, or has left."""
        return self._resolve is None

    def is_wanted(self, now: float) -> bool:
        """Whether the caller still waits at `now`, by the clock of `since`; any thread may ask."""
        if self._resolve is None:
            return False
        if now <= self._asks_after:
            return True
        has_waited_too_long = now - self.since > LONGEST_WAIT_SECONDS
        return not has_waited_too_long and (self._is_client_gone is None or not self._is_client_gone())

    def leave(self) -> None:
        """Stop waiting; an event whose turn has begun is decided and kept all the same."""
        self._resolve = None

    def resolve(self, result: Decision | TurnFailed) -> None:
        """Tell the caller the outcome, unless the caller has left."""
        resolve, self._resolve = self._resolve, None
        if resolve is not None:
            resolve(result)


Resolve = Callable[[Decision | TurnFailed], None]
"""Callback for the decision or `TurnFailed`; neither waits nor raises."""


async def wait_for_result(submit: Callable[[Callable[[T], None]], "QueuedEvent | T"]) -> T:
    """Wait in the current task for the result of `submit`, or of the event that it queues."""
    task = trio.lowlevel.current_task()
    queued = submit(lambda result: trio.lowlevel.reschedule(task, outcome.Value(result)))
    if not isinstance(queued, QueuedEvent):
        return queued

    def leave(_: object) -> trio.lowlevel.Abort:
        queued.leave()
        return trio.lowlevel.Abort.SUCCEEDED

    result: T = await trio.lowlevel.wait_task_rescheduled(leave)
    return result


class TurnQueue:
    """Events that wait, and the task that takes turns with as many as there are."""

    def __init__(
        self,
        name: str,
        take_turn: TakeTurn,
        most_events: int,
        *,
        grace_seconds: int,
        metrics: Metrics,
        tracing: "Spans | None",
        request_log: RequestLog,
    ) -> None:
        self._name = name
        self._take_turn = take_turn
        self._metrics = metrics
        self._tracing = tracing
        self._request_log = request_log
        self._most_events = most_events
        self._waiting: deque[QueuedEvent] = deque()
        self._arrived = trio.Event()
        self._has_work: trio.Event | None = None
        """Event to set when the queue is no longer empty; None while callers are watched over."""
        self._batch: list[QueuedEvent] = []
        self._left_out: list[QueuedEvent] = []
        self._has_chosen = False
        self._retry_alone_left = 0
        """Number of the next events that were in a failed turn, and are taken one by one."""
        self._retry_alone_until = 0.0
        self._batch_error: Exception | None = None
        self._unanswered = UnansweredRefreshes(grace_seconds)
        self._clock = trio.lowlevel.current_clock()
        self._closed = False

    def submit(self, waiting: QueuedEvent) -> None:
        """Append an event; raise `TurnFailed` once the queue is closed."""
        if self._closed:
            raise TurnFailed
        self._waiting.append(waiting)
        self._arrived.set()
        if self._has_work is not None:
            self._has_work.set()

    async def run(self) -> None:
        """Take turns until the queue is closed and empty, and fail callers that wait too long."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._release_overdue)
            await self._drain()
            nursery.cancel_scope.cancel()

    async def _drain(self) -> None:
        """Take turns until the queue is closed and empty; when cancelled, fail every caller."""
        try:
            while self._waiting or not self._closed:
                if not self._waiting:
                    self._arrived = trio.Event()
                    await self._arrived.wait()
                    continue
                await self._take_next_turn()
                # Callers that were answered run first: what they ask next shares the next turn.
                await trio.lowlevel.checkpoint()
        finally:
            self._closed = True
            self._give_up((*self._batch, *self._waiting))

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Take no more events; `run` ends when those that wait are decided."""
        self._closed = True
        self._arrived.set()

    async def _release_overdue(self) -> None:
        """Fail the callers that have waited too long."""
        while True:
            oldest = next((one for one in (*self._batch, *self._waiting) if not one.is_answered), None)
            if oldest is None:
                self._has_work = trio.Event()
                await self._has_work.wait()
                self._has_work = None
                continue
            deadline = oldest.since + LONGEST_WAIT_SECONDS
            await trio.sleep_until(deadline)
            now = trio.current_time()
            self._give_up(
                one for one in (*self._batch, *self._waiting) if one.since + LONGEST_WAIT_SECONDS <= now
            )

    def _choose(self) -> tuple[list[Event], list[Origin | None]]:
        """Choose the waiting events of the turn; called again, drop those no longer wanted.

        May be called in the store's thread, while the event loop leaves the batch alone.
        """
        batch = self._batch
        if not self._has_chosen:
            self._has_chosen = True
            most_events = self._most_events
            if self._retry_alone_left:
                most_events = 1
                self._retry_alone_left -= 1
            while self._waiting and len(batch) < most_events:
                batch.append(self._waiting.popleft())
        now = self._clock.current_time()
        wanted = [one for one in batch if one.is_wanted(now)]
        if len(wanted) < len(batch):
            self._left_out += [one for one in batch if one not in wanted]
        self._batch = wanted
        events = [one.event for one in wanted]
        if self._unanswered:
            events = [self._unanswered.restore_arrival(one.event, one.since) for one in wanted]
        return events, [one.origin for one in wanted]

    async def _take_next_turn(self) -> None:
        """Take one turn with the events that wait."""
        if self._retry_alone_left and self._clock.current_time() > self._retry_alone_until:
            self._give_up([self._waiting.popleft() for _ in range(self._retry_alone_left)], self._batch_error)
            self._retry_alone_left = 0
            return
        began, began_at = time.perf_counter(), self._clock.current_time()
        self._batch, self._left_out, self._has_chosen = [], [], False
        try:
            decisions = await self._take_turn(self._choose)
        except Exception as cause:
            if isinstance(cause, CommitUnconfirmed):
                for waiting, decision in zip(self._batch, cause.decisions, strict=False):
                    self._unanswered.record(waiting.event, decision)
            self._choose()  # if the turn could not even begin, nobody did
            self._fail(cause, began_at)
        else:
            if decisions:
                self._answer(decisions, time.perf_counter() - began)
        self._give_up(self._left_out)
        self._batch = []

    def _fail(self, cause: Exception, began_at: float) -> None:
        """Retry the events of a failed turn one by one, so that only the one at fault fails.

        Give them up instead if the turn may be kept.
        """
        if len(self._batch) < 2 or isinstance(cause, CommitUnconfirmed):
            self._give_up(self._batch, cause)
            return
        self._waiting.extendleft(reversed(self._batch))
        self._retry_alone_left, self._batch_error = len(self._batch), cause
        self._retry_alone_until = began_at + _ALONE_SECONDS

    def _answer(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Count a kept turn, log it, and answer its callers, whatever the observers do."""
        origins = [waiting.origin for waiting in self._batch]
        observe(self._metrics.count_turn, self._name, len(decisions), seconds)
        if self._tracing is not None:
            observe(self._tracing.record_turn, self._name, origins, seconds)
        observe(self._request_log.log_decisions, origins, decisions)
        now = self._clock.current_time()
        for waiting, decision in zip(self._batch, decisions, strict=True):
            if waiting.is_answered and now >= waiting.since + LONGEST_WAIT_SECONDS:
                self._unanswered.record(waiting.event, decision)
            waiting.resolve(decision)
        if self._unanswered.is_waiting and any(map(has_something_to_keep, decisions)):
            self._unanswered.begin_grace(now)

    @staticmethod
    def _give_up(events: Iterable[QueuedEvent], cause: Exception | None = None) -> None:
        for waiting in events:
            waiting.resolve(make_failure(cause))


def make_failure(cause: Exception | None) -> TurnFailed:
    """Make a `TurnFailed` for one caller: a shared one would collect the tracebacks of all."""
    failure = TurnFailed()
    failure.__cause__ = cause
    return failure
