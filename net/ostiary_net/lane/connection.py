"""A connection on which plain requests are answered in place, and all others by Hypercorn and h11.

The lane looks at bytes only while h11 is at rest: no request begun, no byte kept. What it hands over, h11
reads as if there were no lane, and the lane looks again when h11 has come to rest. All answers of one
connection leave in the order of their requests, as none is read before the one ahead of it was answered.

Limits and times are the front door's: a head is judged by `read_head`, a body that does not come soon is
handed over with its head, and the connection's watch is told when a request is being answered.
"""

import math
from typing import Any, Final

import h11
import outcome
import structlog
import trio
from hypercorn.config import Config
from hypercorn.events import Closed, RawData
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, LifespanState

from ostiary_core.http.answer import Answer
from ostiary_net.front_door.connection import GuardedConnection
from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.late import LateProtocol
from ostiary_net.front_door.rules import Scope
from ostiary_net.front_door.sockets import receive_some, send_at_once
from ostiary_net.lane.calls import Call, KnownHeads, judged
from ostiary_net.lane.patience import Patience
from ostiary_net.lane.plain import PlainRequest, Torn, read_plain
from ostiary_net.lane.poller import Poller
from ostiary_net.lane.rest import Rest
from ostiary_net.lane.writing import AnswerWriter
from ostiary_net.service import Begun, Service, where_raised

__all__ = ["LaneConnection"]

_log = structlog.get_logger("ostiary")

_MOST_HELD_BYTES: Final = 64 * 1024
"""Of answers to pipelined requests, before they are sent."""


class LaneConnection(GuardedConnection):
    """Answers from `service`."""

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        state: LifespanState,
        stream: Any,
        guard: Guard,
        service: Service,
        writer: AnswerWriter,
        known: KnownHeads,
    ) -> None:
        super().__init__(app, config, context, state, stream, guard)
        self._service = service
        self._writer = writer
        self._known = known
        self._rest: Rest | None = None
        self._late: LateProtocol
        self._peer = b""
        self._handed_over = True
        self._ended = False
        self._said_farewell = False

    def may_rest(self, poller: Poller, patience: Patience) -> None:
        """Let it rest between requests, if these need no more than a rest does for them: a span is the task's
        own, and so is the count of a worker that ends after so many requests."""
        stream: Any = self.stream
        is_plain = isinstance(stream, trio.SocketStream) and not self.config.read_timeout
        if is_plain and self._service.tracing is None and self.context.max_requests is None:
            self._rest = Rest(stream, self, self._service, poller, patience)

    async def _read_data(self) -> None:
        while not self._ended:
            try:
                if self._rest is not None and self._at_rest():
                    data = await self._rested(self._rest)
                else:
                    data = await self._receive(self.config.read_timeout or math.inf)
                    if data and self._at_rest():
                        data = await self._answer_in_place(data)
            except trio.TooSlowError:
                self.abort()
                break
            except (trio.ClosedResourceError, trio.BrokenResourceError, trio.BusyResourceError):
                break
            if data:
                self._handed_over = True
                await self.protocol.handle(RawData(data))
        if self._ended:
            await self.protocol.handle(RawData(b""))
        await self.protocol.handle(Closed())

    async def _rested(self, rest: Rest) -> bytes:
        """What is left to Hypercorn after a rest; `_ended` is set where the client sends no more."""
        data = await rest.until_something_else()
        if rest.unsent:
            await self._send([rest.unsent])
        self._ended = rest.is_over
        return data if rest.is_over or rest.is_torn else await self._answer_in_place(data)

    async def _receive(self, seconds: float) -> bytes:
        """The next bytes; none, and `_ended` set, where the client sends no more."""
        if seconds == math.inf:
            data = await receive_some(self.stream)
        else:
            with trio.fail_after(seconds):
                data = await receive_some(self.stream)
        self._ended = not data
        return data

    def _at_rest(self) -> bool:
        """Whether h11 waits for a request of which it has seen nothing yet."""
        if not self._handed_over:
            return True
        if not isinstance(self.protocol, LateProtocol):
            return False  # HTTP/2
        self._late = self.protocol
        self._peer = b"" if self._late.client is None else self._late.client[0].encode()
        if self._late.is_silent:
            self._handed_over = False
            return True
        protocol = self._late.protocol
        if not isinstance(protocol, H11Protocol) or not isinstance(protocol.connection, h11.Connection):
            return False
        connection = protocol.connection
        self._handed_over = (
            connection.our_state is not h11.IDLE
            or connection.their_state is not h11.IDLE
            or connection.trailing_data != (b"", False)
        )
        return not self._handed_over

    async def _answer_in_place(self, data: bytes) -> bytes:
        """Answer the plain requests that `data` begins with; what is left is Hypercorn's to read."""
        held: list[bytes] = []
        start = 0
        while start < len(data):
            call = self._call_at(data, start)
            if isinstance(call, Torn):
                await self._send(held)
                if data.find(b"\r\n\r\n", start) >= 0:
                    self.has_begun()
                data, start = await self._whole(data[start:]), 0
                call = self._call_at(data, 0)
            if call is None or isinstance(call, Torn):
                break
            held.append(await self._answer(call))
            if self.context.max_requests is not None:
                await self.context.mark_request()
            start = call.end
            if self._said_farewell or sum(map(len, held)) > _MOST_HELD_BYTES:
                await self._send(held)
        await self._send(held)
        return data[start:]

    async def _whole(self, data: bytes) -> bytes:
        """A torn request with the rest of it, or with as much as comes soon."""
        with trio.move_on_after(self._rules.patience_seconds):
            while isinstance(request := read_plain(data), Torn) and not self._ended:
                while len(data) < request.end and not self._ended:
                    data += await self._receive(math.inf)
        return data

    def _call_at(self, data: bytes, start: int) -> Call | Torn | None:
        """The request that begins at `start`; None where it is not the lane's."""
        if self._late.requests + 1 >= self.config.keep_alive_max_requests:
            return None  # the last one that a connection may bring is Hypercorn's, which then says `close`
        call = self._recalled(data, start)
        if call is None:
            request = read_plain(data, start)
            if not isinstance(request, PlainRequest):
                return request
            call = self._judged(request, data, start)
        if call is not None:
            call.trace_id = self._service.trace_id()
        return call

    def call_of(self, data: bytes) -> Call | Torn | None:
        """What is asked, if `data` is one request that may be answered here, or may become one."""
        call = self._call_at(data, 0)
        return None if isinstance(call, Call) and call.end != len(data) else call

    def has_begun(self) -> None:
        """A request has begun, and a stop lets it finish."""
        self._watch.busy()

    def _recalled(self, data: bytes, start: int) -> Call | None:
        """A request with a known head. Not where requests are traced: a span looks at other fields too."""
        return None if self._service.tracing else self._known.recall(data, start, self._peer)

    def _judged(self, request: PlainRequest, data: bytes, start: int) -> Call | None:
        call = judged(request, self._rules, self.protocol.client)
        if call is not None:
            self._known.keep(call, data[start : request.end - len(request.body)], self._peer)
        return call

    async def _answer(self, call: Call) -> bytes:
        tracing = self._service.tracing
        if tracing is None:
            return self.written(await self._answered(call))
        method = "GET" if call.operation is None else "POST"
        with tracing.request(call.trace_id, method, call.fields) as traced:
            answer = await self._answered(call)
            traced.answered(answer.status, call.path)
        return self.written(answer)

    async def _answered(self, call: Call) -> Answer:
        try:
            return await self._service.answered(self.begun(call))
        except Exception as error:
            return self.unexpected(error, call)

    def begun(self, call: Call) -> Begun | Answer:
        """Its beginning: the connection is busy from now on."""
        self._watch.busy()
        if call.operation is None or call.sender is None:
            return self._service.begin_userinfo(call.fields, call.source, call.trace_id)
        return self._service.begin_token_service(
            call.operation, call.sender, call.body, call.source, call.trace_id
        )

    def unexpected(self, error: Exception, call: Call) -> Answer:
        """The answer to what must not happen, which the log then knows of."""
        where = where_raised(error)
        _log.error("unexpected error", trace_id=call.trace_id, cause=type(error).__name__, where=where)
        fields = call.fields
        if not fields and call.sender is not None:
            fields = [(b"accept-language", call.sender.language.encode())]
        scope: Scope = {"type": "http", "path": call.path, "headers": fields}
        refused, body = self._rules.refusal(500, scope, call.trace_id)
        return Answer(500, tuple(refused), body)

    def written(self, answer: Answer) -> bytes:
        """An answer as it is sent."""
        self._late.count()
        self._said_farewell = self.context.terminated.is_set()
        return self._writer.written(answer, is_last=self._said_farewell)

    def answered(self) -> bool:
        """It was sent. Whether the connection is to be closed now; else it is idle."""
        if not self._said_farewell:
            self._watch.idle()
        return self._said_farewell

    async def _send(self, held: list[bytes]) -> None:
        """Send the answers that are held, if any; then the connection is idle again."""
        if not held:
            return
        data = send_at_once(self.stream, b"".join(held))
        held.clear()
        if data:
            await self._write(data)
        if self.answered():
            raise trio.ClosedResourceError("the server stops")

    def abort(self) -> None:
        """As any connection does it; a rest is over before the socket is closed."""
        self._disturb()
        super().abort()

    async def close_idle(self) -> None:
        """As any connection does it; a rest is over before the socket is closed."""
        self._disturb()
        await super().close_idle()

    def _disturb(self) -> None:
        if self._rest is not None:
            self._rest.end(outcome.Error(trio.ClosedResourceError("this connection was closed")))
