"""The queue in front of a store: events that wait while one turn is committed make up the next.

So a flush of the disk is shared by everybody who is waiting for one, and nobody waits for company: an event
that finds the store idle is a turn of its own.

An event that nobody waits for any more when its turn begins is left out; one whose turn has begun is decided,
and kept, whether or not anybody waits for the answer. Nobody waits for longer than `LONGEST_WAIT_SECONDS`,
whatever the store does (READINGS 46, 47).
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

import trio

from ostiary_core.events import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_net.observability.log import RequestLog, observe
from ostiary_net.observability.metrics import Metrics
from ostiary_net.runtime.arrivals import DisconnectCheck
from ostiary_net.turns.ports import CommitUnconfirmed
from ostiary_net.turns.turn_taking import TakeTurn

if TYPE_CHECKING:  # or OpenTelemetry would be imported where nobody asks for it
    from ostiary_net.observability.spans import Spans

MOST_EVENTS_A_TURN: Final = 256
"""Bounds how long the first of a turn waits for the last of it."""

LONGEST_WAIT_SECONDS: Final = 9.0
"""From when an event came until its caller is told that nobody knows what becomes of it: a request is
answered within 10 s."""

_HALF_CLOSE_GRACE_SECONDS: Final = 1.0
"""A client may close its side as soon as it has sent its request, and still wait. One that has done so, and
was not answered for longer than this, is taken to have gone."""

_ALONE_SECONDS: Final = 2.0
"""How long the events of a turn that failed are taken each alone: a store that makes one wait is not asked
again for each of them."""


class TurnFailed(RuntimeError):
    """The turn of an event could not be taken, and nothing of it is known to be kept.

    The cause is chained.
    """

    def __init__(self) -> None:
        super().__init__("the turn could not be taken; nothing of it is known to be kept")


class QueuedEvent:
    """An event in a queue, and the caller who is told its decision, unless the caller has gone.

    `is_client_gone` is believed at once where the event `may_be_stale`, as it was found in a socket after the
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
        """Until then the sender is not asked after."""

    @property
    def is_answered(self) -> bool:
        """Whether nobody waits for the decision any more."""
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
        """Wait no longer; an event whose turn has begun is decided and kept all the same."""
        self._resolve = None

    def resolve(self, result: Decision | TurnFailed) -> None:
        """Tell the caller what became of the event, unless the caller has gone."""
        resolve, self._resolve = self._resolve, None
        if resolve is not None:
            resolve(result)


Resolve = Callable[[Decision | TurnFailed], None]
"""Called once where turns are taken, with the decision or `TurnFailed`. It neither waits nor raises."""


class TurnQueue:
    """Events that wait, and one task that takes them as many at a time as there are."""

    def __init__(
        self,
        name: str,
        take_turn: TakeTurn,
        most_events: int,
        *,
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
        self._watched: trio.Event | None = None
        """Set when there is somebody to watch over again, where nobody was."""
        self._batch: list[QueuedEvent] = []
        self._left_out: list[QueuedEvent] = []
        self._has_chosen = False
        self._retry_alone_left = 0
        """How many of the next events were in a turn that failed, and are taken each alone."""
        self._retry_alone_until = 0.0
        self._batch_error: Exception | None = None
        self._clock = trio.lowlevel.current_clock()
        self._closed = False

    def submit(self, waiting: QueuedEvent) -> None:
        """Put an event into the queue; its caller is told the decision, or `TurnFailed`.

        Raises `TurnFailed` where no more events are taken.
        """
        if self._closed:
            raise TurnFailed
        self._waiting.append(waiting)
        self._arrived.set()
        if self._watched is not None:
            self._watched.set()

    async def run(self) -> None:
        """Take turns until the queue is closed and empty, and let nobody wait for too long."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._release_overdue)
            await self._drain()
            nursery.cancel_scope.cancel()

    async def _drain(self) -> None:
        """Take turns until the queue is closed and empty; whatever ends this lets nobody wait on."""
        try:
            while self._waiting or not self._closed:
                if not self._waiting:
                    self._arrived = trio.Event()
                    await self._arrived.wait()
                    continue
                await self._take_next_turn()
                # Those who were answered go on first: what they ask next shares the next turn.
                await trio.lowlevel.checkpoint()
        finally:
            self._closed = True
            self._give_up((*self._batch, *self._waiting))
            self._waiting.clear()

    def __len__(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        """Take no more events; `run` ends when those that wait are decided."""
        self._closed = True
        self._arrived.set()

    async def _release_overdue(self) -> None:
        """Fail the events of callers who have waited for too long."""
        while True:
            oldest = next((one for one in (*self._batch, *self._waiting) if not one.is_answered), None)
            if oldest is None:
                self._watched = trio.Event()
                await self._watched.wait()
                self._watched = None
                continue
            deadline = oldest.since + LONGEST_WAIT_SECONDS
            await trio.sleep_until(deadline)
            now = trio.current_time()
            self._give_up(
                one for one in (*self._batch, *self._waiting) if one.since + LONGEST_WAIT_SECONDS <= now
            )

    def _choose(self) -> tuple[list[Event], list[Origin | None]]:
        """Choose the waiting events that make up the turn; called again, drop those no longer wanted.

        A store may ask in its own thread, while nobody else touches the batch.
        """
        batch = self._batch
        if not self._has_chosen:
            self._has_chosen = True
            most_events = 1 if self._retry_alone_left else self._most_events
            while self._waiting and len(batch) < most_events:
                batch.append(self._waiting.popleft())
        now = self._clock.current_time()
        wanted = [one for one in batch if one.is_wanted(now)]
        if len(wanted) < len(batch):
            self._left_out += [one for one in batch if one not in wanted]
        self._batch = wanted
        return [one.event for one in wanted], [one.origin for one in wanted]

    async def _take_next_turn(self) -> None:
        """Take one turn with the events that wait."""
        if self._retry_alone_left and self._clock.current_time() > self._retry_alone_until:
            self._give_up([self._waiting.popleft() for _ in range(self._retry_alone_left)], self._batch_error)
            self._retry_alone_left = 0
            return
        is_alone = self._retry_alone_left > 0
        began, began_at = time.perf_counter(), self._clock.current_time()
        self._batch, self._left_out, self._has_chosen = [], [], False
        try:
            decisions = await self._take_turn(self._choose)
        except Exception as cause:
            if not self._has_chosen:  # it could not even begin
                self._choose()
            self._fail(cause, began_at)
        else:
            if decisions:
                self._answer(decisions, time.perf_counter() - began)
        if is_alone:
            self._retry_alone_left -= 1
        self._give_up(self._left_out)
        self._batch = []

    def _fail(self, cause: Exception, began_at: float) -> None:
        """Take each event of a failed turn alone, so that only the one at fault fails.

        Not where the turn may be kept all the same, nor where the store made it wait.
        """
        until = began_at + _ALONE_SECONDS
        if len(self._batch) < 2 or isinstance(cause, CommitUnconfirmed) or self._clock.current_time() > until:
            self._give_up(self._batch, cause)
            return
        self._waiting.extendleft(reversed(self._batch))
        self._retry_alone_left, self._retry_alone_until, self._batch_error = len(self._batch), until, cause

    def _answer(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Count a kept turn, log it, and then answer its callers, whatever the observers do."""
        origins = [waiting.origin for waiting in self._batch]
        observe(self._metrics.count_turn, self._name, len(decisions), seconds)
        if self._tracing is not None:
            observe(self._tracing.record_turn, self._name, origins, seconds)
        observe(self._request_log.log_decisions, origins, decisions)
        for waiting, decision in zip(self._batch, decisions, strict=True):
            waiting.resolve(decision)

    @staticmethod
    def _give_up(events: Iterable[QueuedEvent], cause: Exception | None = None) -> None:
        for waiting in events:
            waiting.resolve(make_failure(cause))


def make_failure(cause: Exception | None) -> TurnFailed:
    """Make a `TurnFailed` for one waiting task: a shared one would collect the tracebacks of all."""
    failure = TurnFailed()
    failure.__cause__ = cause
    return failure
