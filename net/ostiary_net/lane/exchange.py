"""One request of the lane, from when it was read until its answer is known."""

from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from ostiary_core.http.answer import Answer
from ostiary_core.http.endpoint import PendingRequest, Request
from ostiary_core.model.decision import Decision
from ostiary_net.observability.log import list_frames, observe
from ostiary_net.observability.request_ids import REQUEST_IDS
from ostiary_net.runtime.arrivals import DisconnectCheck
from ostiary_net.runtime.system import draw_trace_id
from ostiary_net.turns.service import Service
from ostiary_net.turns.turn_queue import QueuedEvent, TurnFailed

_log = structlog.get_logger("ostiary")


@dataclass(slots=True, eq=False, repr=False)
class LaneExchange:
    """One request; `deliver` gets its answer, unless `begin` returned it or nobody waits any more."""

    service: Service
    request: Request
    deliver: Callable[[Answer], None]
    is_client_gone: DisconnectCheck | None
    _trace_id: str = field(init=False)
    _pending: PendingRequest = field(init=False)
    _waiting: QueuedEvent | None = field(default=None, init=False)

    def begin(self) -> Answer | None:
        """Begin the request; return its answer where that needs no turn, else None."""
        service, request = self.service, self.request
        now = service.clock.now()
        self._trace_id = trace_id = draw_trace_id(service.entropy_source, now)
        REQUEST_IDS.begin(trace_id, request.headers)
        if service.tracing is not None:
            service.tracing.begin_request(trace_id, request.method, request.headers)
        try:
            pending = service.receive(request, trace_id, now)
            if isinstance(pending, Answer):
                return self._end(pending)
            self._pending = pending
            self._waiting = QueuedEvent(
                pending.event,
                pending.origin,
                self._resolve,
                self.is_client_gone,
                may_be_stale=pending.may_be_stale,
            )
            service.turns.submit(self._waiting)
        except TurnFailed as failure:
            return self._end(service.fail(self._pending, failure))
        except Exception as error:
            return self._end(self._answer_fault(error))
        return None

    def leave(self) -> None:
        """Stop waiting for the answer."""
        if self._waiting is not None:
            self._waiting.leave()
        REQUEST_IDS.end(self._trace_id)
        if self.service.tracing is not None:
            self.service.tracing.end_request(self._trace_id)

    def _resolve(self, result: Decision | TurnFailed) -> None:
        try:
            if isinstance(result, TurnFailed):
                answer = self.service.fail(self._pending, result)
            else:
                answer = self.service.finish(self._pending, result)
        except Exception as error:
            answer = self._answer_fault(error)
        self.deliver(self._end(answer))

    def _answer_fault(self, error: Exception) -> Answer:
        """Log an error that must not happen, and return the 500 that answers it."""
        where = list_frames(error)
        _log.error("unexpected error", trace_id=self._trace_id, cause=type(error).__name__, where=where)
        return self.service.endpoint.failure(self.request, self._trace_id)

    def _end(self, answer: Answer) -> Answer:
        REQUEST_IDS.end(self._trace_id)
        tracing = self.service.tracing
        if tracing is not None:
            observe(tracing.record_answer, self._trace_id, answer.status, self.request.path)
            observe(tracing.end_request, self._trace_id)
        return answer
