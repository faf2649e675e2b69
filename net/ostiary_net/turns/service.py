"""Decide, count and answer requests in one way, for all doors."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import structlog

from ostiary_core.events import Event
from ostiary_core.http.answer import Answer
from ostiary_core.http.endpoint import PendingRequest, Request, TokenEndpoint
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.http.sender import HeaderFields, user_agent_of
from ostiary_core.http.token_service import PATHS, PATHS_USING_ENTROPY
from ostiary_core.model.audit import LateTraceId, Origin, TraceId
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Arrival, Instant, Monotonic, arrival_at
from ostiary_core.model.permissions import Permission
from ostiary_core.model.secret import Entropy
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_core.throttling.sign_in_throttle import SignInThrottle
from ostiary_net.observability.client_activity import ClientActivity
from ostiary_net.observability.log import list_frames, log_observer_fault, log_refusal, observe
from ostiary_net.observability.metrics import Metrics
from ostiary_net.observability.request_ids import REQUEST_IDS
from ostiary_net.runtime.arrivals import CLIENT_GONE, DisconnectCheck, StallDetector
from ostiary_net.runtime.system import Clock, EntropySource, draw_trace_id
from ostiary_net.turns.ports import CommitUnconfirmed
from ostiary_net.turns.refused_administrators import RefusedAdministrators
from ostiary_net.turns.turn_queue import QueuedEvent, TurnFailed, wait_for_result
from ostiary_net.turns.turns import ListQuery, Turns
from ostiary_net.turns.unlocks import Unlocks

if TYPE_CHECKING:  # or OpenTelemetry would be imported if nobody asks for it
    from ostiary_net.observability.spans import Spans

_log = structlog.get_logger("ostiary")

T = TypeVar("T")

_UNUSED: Final = Entropy(b"")
"""Entropy of operations that mint nothing: to draw some costs a call of the system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """All that a front door needs: turns on a store, a clock, a random source and what is counted."""

    turns: Turns
    clock: Clock
    entropy_source: EntropySource
    endpoint: TokenEndpoint = field(default_factory=TokenEndpoint)
    sign_in_throttle: SignInThrottle = field(default_factory=SignInThrottle)
    unlocks: Unlocks = field(default_factory=Unlocks)
    refused_administrators: RefusedAdministrators = field(default_factory=RefusedAdministrators)
    activity: ClientActivity = field(default_factory=ClientActivity)
    metrics: Metrics = field(default_factory=Metrics)
    tracing: "Spans | None" = None
    stall_detector: StallDetector | None = None

    def draw_entropy(self) -> Entropy:
        """Draw 32 random bytes for one event."""
        return self.entropy_source.draw()

    def draw_trace_id(self) -> str:
        """Draw a fresh identifier for a request."""
        return draw_trace_id(self.entropy_source, self.clock.now())

    def make_origin(self, headers: HeaderFields, source: str, trace_id: TraceId) -> Origin:
        """Return the origin of a request: its trace id, source and User-Agent."""
        return Origin(trace_id=trace_id, source=source, user_agent=user_agent_of(headers))

    def estimate_arrival(self) -> Arrival:
        """Return when a request that is read now may have arrived (READINGS 46)."""
        return self._estimate_arrival(self.clock.now(), self.clock.monotonic())

    def _estimate_arrival(self, now: Instant, monotonic: Monotonic) -> Arrival:
        if self.stall_detector is None:
            return arrival_at(now)
        return self.stall_detector.estimate_arrival(now, monotonic)

    def admit(self, operation: Operation, source: str) -> int:
        """Count a request against the limit of its source; return the seconds to wait, 0 within the limit."""
        seconds = self.endpoint.rate_windows.admit(operation, source, self.clock.monotonic())
        if seconds:
            self.metrics.count_rate_limited(operation)
        return seconds

    async def admit_guess(self, name: str, origin: Origin) -> int:
        """Admit a guess at the canonical `name` and return 0, else the seconds to wait.

        An admitted guess counts as failed until `SignInThrottle.forgive`. Before one has to wait, unlocks are
        looked for. Raises `TurnFailed`.
        """
        now = self.clock.monotonic()
        wait_seconds = self.sign_in_throttle.admit(origin.source, name, now)
        if not wait_seconds or not self.unlocks.may_look(now):
            return wait_seconds
        await self.apply_unlocks(origin)
        return self.sign_in_throttle.admit(origin.source, name, self.clock.monotonic())

    async def apply_unlocks(self, origin: Origin) -> None:
        """Apply the unlocks that are new to this process. Raises `TurnFailed`, after logging it."""
        look = self.unlocks.look(self.turns, self.sign_in_throttle, self.clock)
        await self._log_if_failed(look, origin, "unlocks")

    async def decide(self, event: Event, origin: Origin) -> Decision:
        """Decide an event durably, and count it. Raises `TurnFailed`, after logging it."""
        try:
            decision = await self.turns.decide(event, origin)
        except TurnFailed as failure:
            self._record_failure(event, origin, failure)
            raise
        self._record_decision(event, origin, decision, self.clock.now())
        return decision

    async def report_refusals(
        self, decision: Decision, permission: Permission | None, origin: Origin
    ) -> None:
        """Tell the trail what a decision refused an administrator who asked under `permission`."""
        monotonic = self.clock.monotonic()
        await self.refused_administrators.report(decision, permission, origin, self.turns, monotonic)

    async def report_repeated_refusals(self, *, are_last: bool = False) -> None:
        """Tell the trail of refusals that came again; of all, `are_last`, as the process ends."""
        now = None if are_last else self.clock.monotonic()
        await self.refused_administrators.report_repeated(self.turns, now)

    def _record_decision(self, event: Event, origin: Origin, decision: Decision, now: Instant) -> None:
        try:
            self.metrics.count_decision(event, decision, self.clock.now)
            self.activity.record(event, decision, now, origin.trace_id)
            if self.tracing is not None:
                self.tracing.record_outcome(origin, event, decision)
        except Exception as error:
            log_observer_fault(error)

    def _record_failure(self, event: Event, origin: Origin, failure: TurnFailed) -> None:
        observe(self.metrics.count_failure, event)
        if self.tracing is not None:
            observe(self.tracing.record_outcome, origin, event, None)
        observe(_log_failure, "turn failed", failure, origin, type(event).__name__)

    async def query(self, read: ListQuery[T], origin: Origin) -> T:
        """Read lists of the store. Raises `TurnFailed`, after logging it."""
        return await self._log_if_failed(self.turns.query(read), origin, "a list")

    async def query_whole_lists(self, read: ListQuery[T], origin: Origin) -> T:
        """Read whole lists of the store. Raises `TurnFailed`, after logging it."""
        return await self._log_if_failed(self.turns.query_whole_lists(read), origin, "a whole list")

    async def _log_if_failed(self, answer: Awaitable[T], origin: Origin, asked: str) -> T:
        try:
            return await answer
        except TurnFailed as failure:
            self.metrics.count_failed_list()
            _log_failure("looking failed", failure, origin, asked)
            raise

    def open_request(self, request: Request) -> TraceId:
        """Begin to log and trace a request that comes past the guard; return its trace id."""
        trace_id = LateTraceId(self.draw_trace_id)
        REQUEST_IDS.begin(trace_id, request.headers)
        if self.tracing is not None:
            self.tracing.begin_request(str(trace_id), request.method, request.headers)
        return trace_id

    def close_request(self, trace_id: TraceId, status: int | None = None, route: str | None = None) -> None:
        """End what `open_request` began; without a status if the connection closed before the answer."""
        REQUEST_IDS.end(trace_id)
        if self.tracing is not None:
            if status is not None:
                observe(self.tracing.record_answer, str(trace_id), status, route)
            observe(self.tracing.end_request, str(trace_id))

    async def answer(self, request: Request, trace_id: TraceId) -> Answer:
        """Answer a request for one of the four operations, whose body is complete."""
        return await wait_for_result(partial(self.begin, request, trace_id, is_client_gone=CLIENT_GONE.get()))

    def begin(
        self,
        request: Request,
        trace_id: TraceId,
        deliver: Callable[[Answer], None],
        is_client_gone: DisconnectCheck | None,
    ) -> Answer | QueuedEvent:
        """Begin to answer a request; return its answer if that needs no turn, else its queued event.

        `deliver` is given the answer once that event is decided, unless it has left the queue. What must not
        happen is logged and answered 500.
        """
        try:
            pending = self.receive(request, trace_id)
            if isinstance(pending, Answer):
                return pending
            queued = QueuedEvent(
                pending.event,
                pending.origin,
                lambda result: deliver(self._finish(request, pending, result)),
                is_client_gone,
                may_be_stale=pending.may_be_stale,
            )
            try:
                self.turns.submit(queued)
            except TurnFailed as failure:
                return self._finish(request, pending, failure)
            return queued
        except Exception as error:
            return self._fail(request, trace_id, error)

    def receive(self, request: Request, trace_id: TraceId) -> PendingRequest | Answer:
        """Read a request; return what to decide for it, or its answer if that needs no turn."""
        now, monotonic = self.clock.now(), self.clock.monotonic()
        pending = self.endpoint.receive(
            request,
            now=now,
            monotonic=monotonic,
            entropy=self.entropy_source.draw() if request.path in PATHS_USING_ENTROPY else _UNUSED,
            trace_id=trace_id,
            arrival=self._estimate_arrival(now, monotonic),
        )
        if isinstance(pending, Answer):
            self._log_refusal(request, pending, trace_id)
        return pending

    def _finish(self, request: Request, pending: PendingRequest, result: Decision | TurnFailed) -> Answer:
        """Record what became of a request, and return its answer."""
        try:
            if isinstance(result, TurnFailed):
                self._record_failure(pending.event, pending.origin, result)
                return pending.failure()
            self._record_decision(pending.event, pending.origin, result, pending.arrival.latest)
            return pending.answer(result)
        except Exception as error:
            return self._fail(request, pending.origin.trace_id, error)

    def _fail(self, request: Request, trace_id: TraceId, error: Exception) -> Answer:
        """Log an error that must not happen, and return the 500 that answers it."""
        where = list_frames(error)
        _log.error("unexpected error", trace_id=str(trace_id), cause=type(error).__name__, where=where)
        return self.endpoint.failure(request, trace_id)

    def _log_refusal(self, request: Request, answer: Answer, trace_id: TraceId) -> None:
        """Log a refusal that needs no turn: its answer names a trace id ("Errors")."""
        operation = PATHS.get(request.path)
        if operation is None:
            log_refusal(Why.NOT_SIGNED_IN, trace_id, request.source)
        elif answer.status == MEANINGS[Why.TOO_MANY_REQUESTS].status:
            self.metrics.count_rate_limited(operation)
            self.activity.count_limited(self.clock.now())
            log_refusal(Why.TOO_MANY_REQUESTS, trace_id, request.source)


def _log_failure(what: str, failure: TurnFailed, origin: Origin, asked: str) -> None:
    """Log what failed, under the trace id that the client is given."""
    cause = failure.__cause__ or failure
    unknown = {}
    if isinstance(cause, CommitUnconfirmed):
        unknown, cause = {"kept": "unknown"}, cause.__cause__ or cause
    _log.error(
        what,
        trace_id=str(origin.trace_id),
        asked=asked,
        cause=type(cause).__name__,
        where=list_frames(cause),
        **unknown,
    )
