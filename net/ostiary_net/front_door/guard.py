"""Wraps the application as an ASGI layer: only valid requests reach it, and answers go out whole.

What can be repaired above the server is repaired here: limits on bodies, refusals in the documented form, and
answers that overtake their request's body (docs/decisions/0010-front-door-repairs.md).
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import structlog
import trio

from ostiary_core.http.answer import Answer
from ostiary_core.model.audit import LateTraceId, TraceId
from ostiary_net.front_door.connections import CONNECTION, OpenConnections
from ostiary_net.front_door.heads import HeadVerdict, read_head
from ostiary_net.front_door.hypercorn_internals import Config, WorkerContext
from ostiary_net.front_door.idle_watcher import IdleWatcher
from ostiary_net.front_door.lifespan import Lifespan
from ostiary_net.front_door.limits import (
    AnswerCutOff,
    Application,
    DoorLimits,
    Fields,
    Message,
    Receive,
    Scope,
    Send,
)
from ostiary_net.observability.log import list_frames, log_door_refusal, unwrap_error
from ostiary_net.observability.request_ids import REQUEST_IDS
from ostiary_net.runtime.system import SystemEntropy

if TYPE_CHECKING:  # OpenTelemetry is imported only if it is configured
    from ostiary_net.observability.spans import Spans

_log = structlog.get_logger("ostiary")

_DISCONNECT: Final = "http.disconnect"
_BODY_FIELDS: Final = frozenset({b"content-length", b"transfer-encoding", b"expect"})

_PAGE_SECONDS: Final = 2.0
"""Longest time for the application to make a page that says why a request is refused."""

_ROUTE_MARGIN_SECONDS: Final = 0.2
"""Time between a route's cancellation and the door's 500, in which the route may answer on a page."""


def _draw_trace_id() -> str:
    return SystemEntropy().draw()[:16].hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedApplication:
    """What an application gives its front door as it starts; before, the door draws trace ids itself."""

    draw_trace_id: Callable[[], str] = _draw_trace_id
    tracing: "Spans | None" = None
    shortcut: Callable[[Scope], Callable[[bytes], Awaitable[Answer]] | None] | None = None
    """Finds the function that answers a whole request without the application."""
    open_connection: Callable[..., Any] | None = None
    """Maker of Hypercorn's connections, in place of the front door's own."""


class Guard:
    """Passes to the ASGI application `app` only requests that keep the limits."""

    def __init__(self, app: Application, limits: DoorLimits) -> None:
        self.app = app
        self.limits = limits
        self.started = StartedApplication()
        self.connections = OpenConnections(limits.most_connections)
        self.lifespan = Lifespan()
        self.refused: dict[int, int] = {}
        """Count of requests that were refused before a route answered, by status."""
        self.late = 0
        """Count of requests whose answer did not begin in time."""
        self._has_missed_path = False
        self._idle_watcher: IdleWatcher | None = None

    def watch_connections(self, context: WorkerContext, config: Config) -> IdleWatcher:
        """Return the watcher of the connections of one server: all of them share it."""
        if self._idle_watcher is None or self._idle_watcher.context is not context:
            self._idle_watcher = IdleWatcher(self.connections, context, config, self.limits)
        return self._idle_watcher

    def count_refusal(self, status: int, trace_id: TraceId, source: str | None) -> None:
        """Count and log a request that is refused before a route answered."""
        self.refused[status] = self.refused.get(status, 0) + 1
        log_door_refusal(status, trace_id, source)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["ostiary.trace_id"] = LateTraceId(self.started.draw_trace_id)
            if self.limits.answer_fields:
                send = self._add_answer_fields(send)
            if self.started.tracing is None:
                await self._serve_request(scope, receive, send)
            else:
                await self._serve_traced(self.started.tracing, scope, receive, send)
        elif scope["type"] == "lifespan":
            await self.lifespan.serve(self.app, scope, receive, send)
        else:
            await send({"type": "websocket.close"})

    def _add_answer_fields(self, send: Send) -> Send:
        async def send_with_fields(message: Message) -> None:
            if message["type"] == "http.response.start":
                fields = [*message.get("headers", ()), *self.limits.answer_fields]
                message = {**message, "headers": fields}
            await send(message)

        return send_with_fields

    async def _serve_traced(self, tracing: "Spans", scope: Scope, receive: Receive, send: Send) -> None:
        trace_id = str(scope["ostiary.trace_id"])
        tracing.begin_request(trace_id, scope["method"], scope["headers"])

        async def send_recorded(message: Message) -> None:
            if message["type"] == "http.response.start":
                tracing.record_answer(trace_id, message["status"], scope.get("ostiary.route"))
            await send(message)

        try:
            await self._serve_request(scope, receive, send_recorded)
        finally:
            tracing.end_request(trace_id)

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = read_head(scope, self.limits)
        REQUEST_IDS.begin(scope["ostiary.trace_id"], scope["headers"])
        try:
            await self._serve_with_head(head, scope, receive, send)
        finally:
            REQUEST_IDS.end(scope["ostiary.trace_id"])

    async def _serve_with_head(self, head: HeadVerdict, scope: Scope, receive: Receive, send: Send) -> None:
        context = _GuardedRequest(self, scope, receive, send, head)
        if head.status:
            if head.status == 404 and not self._has_missed_path:
                self._has_missed_path = True  # logged once, or a client that tries paths would fill the log
                _log.warning(
                    "a request came without the path of the public address, which a proxy must keep",
                    public_path=self.limits.public_path,
                    source=scope["ostiary.source"],
                )
            await context.refuse(head.status)
        elif await context.gather_body():
            find = self.started.shortcut
            answer_request = find(scope) if find is not None and context.is_whole else None
            try:
                with context.limit:
                    if answer_request is None:
                        await self.app(scope, context.receive, context.send)
                    else:
                        await context.answer(await answer_request(context.body))
                self.late += context.is_late
                if context.limit.cancelled_caught:
                    await context.fail(trio.TooSlowError())
            except Exception as error:
                await context.fail(error)


class _GuardedRequest:
    """Holds one request and its answer to the limits, between the server and the application."""

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send, head: HeadVerdict) -> None:
        self._guard = guard
        self._limits = limits = guard.limits
        self._scope = scope
        self._receive = receive
        self._send = send
        self._body_deadline = trio.current_time() + limits.body_seconds
        self._received_bytes = 0
        self._gathered: list[bytes] | None = [] if head.has_body else None
        self._whole = trio.Event()
        self._is_answering = False
        self._is_over = False
        self._refusing = trio.CancelScope(shield=True)  # to give a request up must not cancel its refusal
        self._reads_after_sending = False
        """Whether a browser is answered, which shows no answer before it has sent its whole body."""
        self.limit = trio.CancelScope()
        """Scope of the time in which the application must begin to answer."""
        scope["ostiary.limit"] = self._limit_of_routes = trio.CancelScope()
        """Scope that the application enters: a little shorter, so that it can answer a timeout on a page."""
        if not head.has_body:
            self._mark_whole()

    async def gather_body(self) -> bool:
        """Wait a moment for the body; return False when the request is over already."""
        if self._gathered is None:
            return True
        with trio.move_on_after(self._limits.body_wait_seconds):
            while not self._whole.is_set():
                message = await self._receive_piece()
                if message["type"] == _DISCONNECT:
                    return False
                self._gathered.append(message.get("body", b""))
        return not self._is_over

    @property
    def is_whole(self) -> bool:
        """Whether the whole request has arrived."""
        return self._whole.is_set()

    @property
    def is_late(self) -> bool:
        """Whether the time to begin an answer was over."""
        return self.limit.cancelled_caught or self._limit_of_routes.cancelled_caught

    @property
    def body(self) -> bytes:
        """Return the part of the body that was gathered."""
        return b"".join(self._gathered or ())

    async def answer(self, answer: Answer) -> None:
        """Send an answer that did not come from the application."""
        await self.send(
            {"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)}
        )
        await self.send({"type": "http.response.body", "body": answer.body})

    async def receive(self) -> Message:
        """Return the application's next message: first the gathered body, then the rest."""
        if self._is_over:
            return {"type": _DISCONNECT}
        if self._gathered is not None:
            body, self._gathered = b"".join(self._gathered), None
            return {"type": "http.request", "body": body, "more_body": not self._whole.is_set()}
        if self._whole.is_set():
            return await self._receive()
        with trio.move_on_at(self._body_deadline):
            return await self._receive_piece()
        await self.refuse(408)
        return {"type": _DISCONNECT}

    async def send(self, message: Message) -> None:
        """Send a message of the application; drop it once the request was refused."""
        if self._is_over:
            return
        if message["type"] == "http.response.start":
            self._is_answering = True
            self.limit.deadline = math.inf
            connection = CONNECTION.get()
            if not self._whole.is_set() or (connection is not None and connection.is_stopping):
                message = self._mark_last(message)
            await self._send(message)
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            await self._finish(message)
        else:
            await self._send(message)

    async def refuse(self, status: int) -> None:
        """Refuse the request in the documented form, as the last answer on its connection."""
        if self._is_answering or self._is_over:
            self._is_over = True
            return
        self._is_answering = True
        self._is_over = True
        trace_id = str(self._scope["ostiary.trace_id"])
        self._guard.count_refusal(status, trace_id, self._scope["ostiary.source"])
        answer = await self._make_page(status) if self._limits.has_page(status, self._scope) else None
        self._reads_after_sending = answer is not None and status != 408
        fields, body = answer or self._limits.refusal(status, self._scope, trace_id)
        start = {"type": "http.response.start", "status": status, "headers": fields}
        with self._refusing:
            await self._send(self._mark_last(start))
            await self._finish_early({"type": "http.response.body", "body": body})

    async def _make_page(self, status: int) -> tuple[Fields, bytes] | None:
        """Return fields and body of the application's page for a refusal; None if it makes none."""
        fields = [field for field in self._scope["headers"] if field[0] not in _BODY_FIELDS]
        limit = trio.CancelScope()
        scope = {**self._scope, "headers": fields, "ostiary.refused": status, "ostiary.limit": limit}
        unread = [{"type": "http.request", "body": b"", "more_body": False}]
        sent: list[Message] = []

        async def receive() -> Message:
            return unread.pop() if unread else await trio.sleep_forever()

        async def send(message: Message) -> None:
            sent.append(message)

        with trio.move_on_after(_PAGE_SECONDS, shield=True):
            try:
                await self._guard.app(scope, receive, send)
            except Exception as error:
                _log.error("unexpected error", cause=type(error).__name__, where=list_frames(error))
                return None
        if not sent or sent[-1].get("more_body", False):
            return None
        return list(sent[0]["headers"]), b"".join(message.get("body", b"") for message in sent[1:])

    async def fail(self, error: Exception) -> None:
        """Log an error that the application did not handle, and answer 500."""
        trace_id, fault = str(self._scope["ostiary.trace_id"]), unwrap_error(error)
        if isinstance(fault, AnswerCutOff):
            _log.warning("an answer was cut off", trace_id=trace_id)
        else:
            where = list_frames(fault)
            _log.error("unexpected error", trace_id=trace_id, cause=type(fault).__name__, where=where)
        await self.refuse(500)

    async def _receive_piece(self) -> Message:
        """Receive the next piece of the body, and count its bytes."""
        self._mark_waiting()
        message = await self._receive()
        if message["type"] == "http.request":
            self._received_bytes += len(message.get("body", b""))
            if not message.get("more_body", False):
                self._mark_whole()
            if self._received_bytes > self._limits.body_limit(self._scope["path"]):
                await self.refuse(413)
                return {"type": _DISCONNECT}
        return message

    def _mark_waiting(self) -> None:
        """Mark the connection as waiting for the rest of the body."""
        connection = CONNECTION.get()  # in HTTP/2 other requests share it
        if connection is not None and not self._is_multiplexed:
            self._guard.connections.mark_waiting(connection)

    @property
    def _is_multiplexed(self) -> bool:
        return self._scope["http_version"] in ("2", "3")

    def _mark_whole(self) -> None:
        """Mark the request as whole, and start the application's time to answer."""
        self._whole.set()
        if (connection := CONNECTION.get()) is not None:
            self._guard.connections.mark_busy(connection)
        if not self._is_answering:
            self.limit.deadline = trio.current_time() + self._limits.answer_seconds
            self._limit_of_routes.deadline = self.limit.deadline - _ROUTE_MARGIN_SECONDS

    def _mark_last(self, start: Message) -> Message:
        """Return an answer's start with `Connection: close`."""
        if self._is_multiplexed:  # HTTP/2 has no such field (RFC 9113 §8.2.2)
            return start
        kept = [(name, value) for name, value in start.get("headers", ()) if name.lower() != b"connection"]
        return {**start, "headers": [*kept, (b"connection", b"close")]}

    async def _finish(self, message: Message) -> None:
        """Send the end of the answer."""
        # Hypercorn sends the application `http.disconnect` while it still ends the answer. Quart-Trio then
        # cancels its task, which must not cancel Hypercorn's work too: that starts the idle timer.
        with trio.CancelScope(shield=True):
            if self._whole.is_set():
                await self._send(message)
            else:
                await self._finish_early(message)

    async def _finish_early(self, message: Message) -> None:
        """End an answer while the body still comes, and read on for a while."""
        # To close with unread bytes would reset the connection before the client has read its answer
        # (RFC 9112 §9.6).
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._drain)
            if message.get("body"):
                await self._send({**message, "more_body": True})
            self._refusing.shield = not self._reads_after_sending  # a stop does not wait 30 s for a browser
            seconds = self._limits.body_seconds if self._reads_after_sending else self._limits.linger_seconds
            with trio.move_on_after(seconds):
                await self._whole.wait()
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            nursery.cancel_scope.cancel()

    async def _drain(self) -> None:
        self._mark_waiting()
        while (message := await self._receive())["type"] != _DISCONNECT:
            if not message.get("more_body", False):
                self._whole.set()
        self._whole.set()
