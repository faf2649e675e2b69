"""Sends OpenTelemetry spans, one for each request and one for its turn, by OTLP over HTTP.

A span has the route, the operation, its outcome and time, and our trace id. It never holds what a caller
sent: no path, query, header field or body, and so no token, code or secret. Of the caller only `traceparent`
is read (W3C Trace Context), which joins a span to the caller's trace. Our trace id is always our own, so that
no caller chooses it; without a caller's trace it is the id of the trace as well.

The SDK sends in its own thread: a collector that is slow or away costs spans and no request.
"""

import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import trio
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AnyValue

from ostiary_core.events import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_net.observability.metrics import RUNNING_VERSION, describe_outcome, name_operation

_METHODS: Final = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
_OTHER_METHOD: Final = "_OTHER"
"""Name of every other method, as a caller's own word must not enter a span."""
_LONGEST_TRACEPARENT: Final = 128
"""Most bytes of a `traceparent`; a later version may be longer than the 55 of this one."""
_LAST_SPANS_SECONDS: Final = 0.5
"""Longest time that a stop waits for the last spans to be sent. The address is closed by then, and a server
that takes its place may wait for this one's end: so each second more would refuse connections."""


@asynccontextmanager
async def open_spans(endpoint: str) -> AsyncIterator["Spans"]:
    """Open spans that are sent to `endpoint` while the block runs; at its end, the last are sent.

    The SDK reads its own variables for everything else: OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, ...
    """
    ids = _Ids()
    provider = TracerProvider(resource=_describe_resource(), id_generator=ids, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    try:
        yield Spans(provider, ids)
    finally:
        with trio.move_on_after(_LAST_SPANS_SECONDS, shield=True):
            await trio.to_thread.run_sync(provider.shutdown, abandon_on_cancel=True)


def _describe_resource() -> Resource:
    """Describe the sender of the spans; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence."""
    defaults: dict[str, AnyValue] = {
        "service.name": "ostiary",
        "service.version": RUNNING_VERSION,
        "process.pid": os.getpid(),
    }
    return Resource.create({**defaults, **OTELResourceDetector().detect().attributes})


class _Ids(RandomIdGenerator):
    """Draws random ids, but gives a trace that begins with a request the request's trace id."""

    def __init__(self) -> None:
        self.next_trace_id = 0

    def generate_trace_id(self) -> int:
        return self.next_trace_id or super().generate_trace_id()


class Spans:
    """Makes the spans of one process, in its event loop."""

    def __init__(self, provider: TracerProvider, ids: _Ids) -> None:
        self._tracer = provider.get_tracer("ostiary", RUNNING_VERSION)
        self._ids = ids
        self._propagator = TraceContextTextMapPropagator()
        self._running: dict[str, Span] = {}
        self._methods: dict[str, str] = {}
        """Methods of the requests whose spans are running, by trace id."""

    def begin_request(self, trace_id: str, method: str, fields: Sequence[tuple[bytes, bytes]]) -> None:
        """Begin the span of a request that was just read, which lasts until `end_request`."""
        method = method if method in _METHODS else _OTHER_METHOD
        self._ids.next_trace_id = int(trace_id, 16)
        span = self._tracer.start_span(
            method,
            context=self._extract_context(fields),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method, "ostiary.trace_id": trace_id},
        )
        self._running[trace_id] = span
        self._methods[trace_id] = method

    def record_answer(self, trace_id: str, status: int, route: str | None) -> None:
        """Record the status of a request's answer, and our route, never what the caller wrote."""
        span = self._running[trace_id]
        span.set_attribute("http.response.status_code", status)
        if route is not None:
            span.set_attribute("http.route", route)
            span.update_name(f"{self._methods[trace_id]} {route}")
        if status >= 500:
            span.set_status(StatusCode.ERROR)

    def end_request(self, trace_id: str) -> None:
        """End the span of a request that was answered or given up."""
        del self._methods[trace_id]
        self._running.pop(trace_id).end()

    def record_outcome(self, origin: Origin, event: Event, decision: Decision | None) -> None:
        """Record a request's operation and outcome in its span; the last, if a page asks for several.

        `decision` is None if no turn could be taken.
        """
        span = self._running.get(str(origin.trace_id))
        if span is not None:
            outcome = "failed" if decision is None else str(describe_outcome(decision))
            span.set_attribute("ostiary.operation", name_operation(type(event)))
            span.set_attribute("ostiary.outcome", outcome)

    def record_turn(self, queue: str, origins: Sequence[Origin | None], seconds: float) -> None:
        """Make a span of a turn in the trace of each request that shared it."""
        ended = time.time_ns()
        attributes: dict[str, AnyValue] = {"ostiary.turn.queue": queue, "ostiary.turn.events": len(origins)}
        for origin in origins:
            span = None if origin is None else self._running.get(str(origin.trace_id))
            if span is not None and span.is_recording():
                self._tracer.start_span(
                    f"turn {queue}",
                    context=set_span_in_context(span, Context()),
                    attributes=attributes,
                    start_time=ended - round(seconds * 1e9),
                ).end(ended)

    def _extract_context(self, fields: Sequence[tuple[bytes, bytes]]) -> Context:
        """Return the context of the caller's span, if `traceparent` is valid (W3C Trace Context §3.2)."""
        parents = [value for name, value in fields if name == b"traceparent"]
        if len(parents) != 1 or len(parents[0]) > _LONGEST_TRACEPARENT:
            return Context()
        return self._propagator.extract({"traceparent": parents[0].decode("latin-1")}, context=Context())
