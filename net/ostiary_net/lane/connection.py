"""A connection on which the lane answers plain requests, and Hypercorn and h11 answer all others.

The lane looks at bytes only while h11 is at rest: no request begun, no byte kept. What it hands over, h11
reads as if there were no lane, and the lane looks again when h11 has come to rest. All answers of one
connection leave in the order of their requests, as none is read before the one ahead of it was answered.

Bytes come from a reader without a task where there is one, else the connection's own task reads. Whoever
brings bytes or an answer goes on with what they make possible (`_advance`); the task is woken for what it
alone can do: to hand over, to write to a client that is slow to read, to end.

What needs no turn of the store (no token, a full rate window) is answered where it is read, and a client may
send a thousand such requests at once. After a few answers in a row the others run (`FairQueue`).

Limits and times are the front door's: a head is judged by `read_head`, a body that does not come soon is
handed over with its head, and the connection's watch is told when a request is being answered.
"""

from dataclasses import dataclass
from typing import Any, Final

import h11
import outcome
import trio

from ostiary_core.http.answer import Answer
from ostiary_core.http.endpoint import Request
from ostiary_net.front_door.connection import GuardedConnection, receive_some, send_at_once
from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.hypercorn_internals import Closed, RawData
from ostiary_net.front_door.protocol import LazyProtocol
from ostiary_net.lane.fairness import FairQueue
from ostiary_net.lane.heads import HeadReader
from ostiary_net.lane.parser import Need, RequestParser
from ostiary_net.lane.sockets import Poller, SharedDeadline, SocketReader
from ostiary_net.lane.writer import AnswerWriter
from ostiary_net.observability.log import observe
from ostiary_net.observability.request_ids import REQUEST_IDS
from ostiary_net.runtime.arrivals import make_disconnect_check
from ostiary_net.turns.service import Service
from ostiary_net.turns.turn_queue import QueuedEvent

_MOST_HELD: Final = 64
"""Answers to pipelined requests, before they are sent."""

_MOST_IN_A_ROW: Final = 16
"""Answers without a turn of the store that one connection is given before others run: half a millisecond."""


@dataclass(frozen=True, slots=True)
class Lane:
    """What the connections of one server share."""

    service: Service
    heads: HeadReader
    writer: AnswerWriter
    deadline: SharedDeadline
    """Of a request that comes in pieces."""
    poller: Poller | None
    queue: FairQueue


class LaneConnection(GuardedConnection):
    """A connection of the front door that answers plain requests from the service of `lane`."""

    def __init__(self, *accepted: Any, guard: Guard, lane: Lane) -> None:
        super().__init__(*accepted, guard=guard)
        self._lane = lane
        self._is_client_gone = make_disconnect_check(self.stream)
        self._lazy_protocol: LazyProtocol
        self._parser: RequestParser
        self._reader: SocketReader | None = None
        # A worker that ends after so many requests counts in the task, where Hypercorn's timeouts are too.
        stream: Any = self.stream
        needs_task = self.config.read_timeout or self.context.max_requests is not None
        if lane.poller is not None and isinstance(stream, trio.SocketStream) and not needs_task:
            self._reader = SocketReader(stream, lane.poller, self)
        self._task: trio.lowlevel.Task | None = None
        """The connection's own, where it waits to be woken."""
        self._reading: trio.CancelScope | None = None
        """Of the task, where it reads by itself."""
        self._queued: QueuedEvent | None = None
        """The event of the request that is being answered."""
        self._trace_id = self._path = ""
        self._answered_in_a_row = 0
        """Without a turn, since others ran."""
        self._is_queued = False
        """Whether it waits until others have run."""
        self._greedy_until = 0
        """The wake-up of the poller until which what it is brought belongs to the same row: others may not
        have run since."""
        self._held: list[bytes] = []
        self._unsent = b""
        """For the task to write."""
        self._unmarked_requests = 0
        self._requests_left = 0
        """So many may come before the last one, which is Hypercorn's: it then says `close`."""
        self._is_timed = False
        self._is_late = False
        """Whether the rest of a request did not come soon."""
        self._is_handed_over = True
        self._has_ended = False
        self._has_said_close = False

    async def _read_data(self) -> None:
        while not self._has_ended:
            try:
                data = b""
                if not self._is_at_rest():
                    data = await self._receive()
                if self._is_at_rest():  # which it may have come to meanwhile
                    data = await self._answer_plain_requests(data)
            except trio.TooSlowError:
                self.abort()
                break
            except (trio.ClosedResourceError, trio.BrokenResourceError, trio.BusyResourceError):
                break
            if data:
                self._is_handed_over = True
                await self.protocol.handle(RawData(data))
        if self._has_ended:
            await self.protocol.handle(RawData(b""))
        await self.protocol.handle(Closed())

    async def _receive(self) -> bytes:
        """Read the next bytes; none, with `_has_ended` set, where the client sends no more."""
        if self.config.read_timeout:
            with trio.fail_after(self.config.read_timeout):
                data = await receive_some(self.stream)
        else:
            data = await receive_some(self.stream)
        self._answered_in_a_row = 0
        self._has_ended = not data
        return data

    def _is_at_rest(self) -> bool:
        """Whether h11 waits for a request of which it has seen nothing yet."""
        if not self._is_handed_over:
            return True
        if not isinstance(self.protocol, LazyProtocol):
            return False  # HTTP/2
        self._lazy_protocol = self.protocol
        self._requests_left = self.config.keep_alive_max_requests - 1 - self._lazy_protocol.requests
        if self._lazy_protocol.is_silent:
            self._parser = RequestParser(self._lane.heads, self._lazy_protocol.client)
            self._is_handed_over = False
            return True
        connection = self._lazy_protocol.protocol.connection
        if not isinstance(connection, h11.Connection):
            return False  # WebSocket
        self._is_handed_over = (
            connection.our_state is not h11.IDLE
            or connection.their_state is not h11.IDLE
            or connection.trailing_data != (b"", False)
        )
        return not self._is_handed_over

    async def _answer_plain_requests(self, data: bytes) -> bytes:
        """Answer plain requests, `data` first, until other bytes come; return those, or none."""
        if data:
            self._parser.feed(data)
        while (need := self._advance()) is not Need.HANDOVER:
            if self._unsent:
                data, self._unsent = self._unsent, b""
                await self._write(data)
                self._note_sent()
            elif need is not None and self._reader is None:
                with trio.CancelScope() as self._reading:
                    self._parser.feed(await self._receive())
                self._reading = None
            else:
                await self._wait(need)
            for _ in range(self._unmarked_requests):
                await self.context.mark_request()
            self._unmarked_requests = 0
        self._is_late = False
        self._lazy_protocol.requests = self.config.keep_alive_max_requests - 1 - self._requests_left
        return self._parser.take_unread()

    def _advance(self) -> Need | None:
        """Answer the requests that are there; return what is needed next, None while it waits for others."""
        while self._queued is None and not self._unsent and not self._is_queued:
            if self._answered_in_a_row >= _MOST_IN_A_ROW and self._parser.has_unread:
                if self._held and not self._send_held():
                    break
                self._is_queued = True
                self._lane.queue.add(self._take_turn)
                break
            is_last = self._requests_left <= 0 and self._parser.has_unread
            event = Need.HANDOVER if is_last else self._parser.next_event()
            if isinstance(event, Request):
                self._begin(event)
                continue
            if self._held and not self._send_held():
                break
            if event is Need.HANDOVER or self._has_ended or self._is_late:
                self._end_timing()
                return Need.HANDOVER
            if event is Need.BODY:
                self._watch.mark_busy()  # a request has begun, and a stop lets it finish
                self.connections.mark_waiting(self)
            if event is not Need.REQUEST and not self._is_timed:
                self._is_timed = True
                self._lane.deadline.begin(self._expire)
            return event
        return None

    def _begin(self, request: Request) -> None:
        self._end_timing()
        self._watch.mark_busy()
        service = self._lane.service
        self._path = request.path
        self._trace_id = trace_id = service.trace_id()
        REQUEST_IDS.begin(trace_id, request.headers)
        if service.tracing is not None:
            service.tracing.begin_request(trace_id, request.method, request.headers)
        begun = service.begin(request, trace_id, self._deliver, self._is_client_gone)
        if isinstance(begun, Answer):
            self._answered_in_a_row += 1
            self._end_request(begun.status)
            self._hold(begun)
        else:
            self._queued = begun

    def _end_request(self, status: int | None) -> None:
        """End the span of a request, and forget its id; the status is None where nobody waits any more."""
        REQUEST_IDS.end(self._trace_id)
        tracing = self._lane.service.tracing
        if tracing is not None:
            if status is not None:
                observe(tracing.record_answer, self._trace_id, status, self._path)
            observe(tracing.end_request, self._trace_id)

    def _hold(self, answer: Answer) -> None:
        """Hold an answer back, to send it with those to the requests behind it that are there already."""
        self._requests_left -= 1
        self._unmarked_requests += self.context.max_requests is not None
        self._has_said_close = self.context.terminated.is_set()
        self._held.append(self._lane.writer.write(answer, is_last=self._has_said_close))
        if self._has_said_close or len(self._held) > _MOST_HELD:
            self._send_held()

    def _send_held(self) -> bool:
        """Send the answers held back; False where the client does not take them all at once."""
        self._unsent = send_at_once(self.stream, b"".join(self._held))
        self._held.clear()
        if self._unsent:
            return False
        self._note_sent()
        return True

    def _note_sent(self) -> None:
        """Note that the connection is idle again, or over. Raises `ClosedResourceError`."""
        if self._has_said_close:
            raise trio.ClosedResourceError("the server stops")
        self._watch.mark_idle()

    # --- what happens while the connection's task waits

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered, or waits; the bytes behind it then stay in the socket."""
        return self._queued is not None or self._is_queued

    def receive(self, data: bytes) -> None:
        """Take the next bytes from the reader; none where the client sends no more."""
        assert self._lane.poller is not None
        if self._lane.poller.wake_ups > self._greedy_until:
            self._greedy_until = self._lane.poller.wake_ups
            self._answered_in_a_row = 0
        self._has_ended = not data
        self._parser.feed(data)
        self._go_on()

    def fail(self, error: Exception) -> None:
        """End the connection's task with `error`."""
        self._wake(outcome.Error(error))

    def _deliver(self, answer: Answer) -> None:
        self._queued = None
        self._end_request(answer.status)
        try:
            self._hold(answer)
            self._go_on()
        except Exception as error:
            self.fail(error)

    def _take_turn(self) -> None:
        """Go on where others have run."""
        self._is_queued = False
        self._answered_in_a_row = 0
        if self._lane.poller is not None:
            self._greedy_until = self._lane.poller.wake_ups + 1
        try:
            self._go_on()
        except Exception as error:
            self.fail(error)

    def _expire(self) -> None:
        self._is_timed, self._is_late = False, True
        if self._reading is not None:
            self._reading.cancel()
        else:
            self._wake(outcome.Value(None))

    def _end_timing(self) -> None:
        if self._is_timed:
            self._is_timed = False
            self._lane.deadline.end(self._expire)

    def _go_on(self) -> None:
        """Go on as far as possible without the connection's task, and wake it for the rest."""
        need = self._advance()
        if self._unsent or need is Need.HANDOVER or (need is not None and self._reader is None):
            self._wake(outcome.Value(None))
        elif need is not None and self._reader is not None and self._task is not None:
            self._reader.start()

    async def _wait(self, need: Need | None) -> None:
        """Sleep until the connection's task is needed."""
        if need is not None and self._reader is not None:
            self._reader.start()
        self._task = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(self._leave)

    def _wake(self, result: outcome.Outcome[None]) -> None:
        task = self._task
        if task is not None:
            self._leave()
            trio.lowlevel.reschedule(task, result)

    def _leave(self, _: object = None) -> trio.lowlevel.Abort:
        """Stop the timer, the reader, and the wait for a decision or for others: the task sleeps no more."""
        self._task = None
        self._end_timing()
        if self._is_queued:
            self._is_queued = False
            self._lane.queue.remove(self._take_turn)
        if self._reader is not None:
            self._reader.stop()
        if self._queued is not None:
            self._queued.leave()
            self._queued = None
            self._end_request(None)
        return trio.lowlevel.Abort.SUCCEEDED

    def abort(self) -> None:
        """Close the connection at once, after its reader has stopped."""
        self.fail(trio.ClosedResourceError("this connection was closed"))
        super().abort()

    async def close_idle(self) -> None:
        """Close the connection between two requests, after its reader has stopped."""
        self.fail(trio.ClosedResourceError("this connection was closed"))
        await super().close_idle()
