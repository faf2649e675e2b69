"""One request of the lane, from when it was read until its answer is known."""

from collections.abc import Callable

import outcome
import structlog

from ostiary_core.http.answer import Answer
from ostiary_core.http.endpoint import PendingRequest, Request
from ostiary_core.model.decision import Decision
from ostiary_net.observability.log import observe, where_raised
from ostiary_net.observability.tracing import TracedRequest
from ostiary_net.runtime.arrivals import HasLeft
from ostiary_net.turns.service import Service
from ostiary_net.turns.turn_queue import QueuedEvent, TurnFailed

__all__ = ["LaneExchange"]

_log = structlog.get_logger("ostiary")


class LaneExchange:
    """One request; `deliver` gets its answer, unless `begin` returned it or nobody waits any more."""

    __slots__ = ("_deliver", "_pending", "_request", "_service", "_trace_id", "_traced", "_waiting")

    def __init__(self, service: Service, request: Request, deliver: Callable[[Answer], None]) -> None:
        self._service = service
        self._request = request
        self._deliver = deliver
        self._trace_id = service.trace_id()
        self._pending: PendingRequest
        self._waiting: QueuedEvent | None = None
        self._traced: TracedRequest | None = None

    def begin(self, has_left: HasLeft | None) -> Answer | None:
        """Begin the request; return its answer where that needs no turn, else None."""
        service, request = self._service, self._request
        if service.tracing is not None:
            self._traced = service.tracing.begin_request(self._trace_id, request.method, request.headers)
        try:
            pending = service.receive(request, self._trace_id)
            if isinstance(pending, Answer):
                return self._end(pending)
            self._pending = pending
            self._waiting = service.submit(pending, self._resolve, has_left)
        except TurnFailed as failure:
            return self._end(service.fail(self._pending, failure))
        except Exception as error:
            return self._end(self._answer_fault(error))
        return None

    def leave(self) -> None:
        """Stop waiting for the answer."""
        if self._waiting is not None:
            self._waiting.leave()
        if self._traced is not None:
            self._traced.end()

    def _resolve(self, result: outcome.Outcome[Decision]) -> None:
        try:
            answer = self._service.finish(self._pending, result.unwrap())
        except TurnFailed as failure:
            answer = self._service.fail(self._pending, failure)
        except Exception as error:
            answer = self._answer_fault(error)
        self._deliver(self._end(answer))

    def _answer_fault(self, error: Exception) -> Answer:
        """Log an error that must not happen, and return the 500 that answers it."""
        where = where_raised(error)
        _log.error("unexpected error", trace_id=self._trace_id, cause=type(error).__name__, where=where)
        return self._request.failure(self._trace_id)

    def _end(self, answer: Answer) -> Answer:
        if self._traced is not None:
            observe(self._traced.note_answer, answer.status, self._request.path)
            observe(self._traced.end)
        return answer
