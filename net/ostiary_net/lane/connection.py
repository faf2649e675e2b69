"""Answers the plain requests of a connection in the lane; Hypercorn and h11 answer all others.

The lane reads bytes only while h11 is at rest, or not made yet: no request begun, no byte kept. What the lane
hands over, h11 reads as if there were no lane. The answers of a connection leave in the order of its
requests, as none is read before the one ahead was answered.

Bytes come from a reader without a task if there is one, else the connection's own task reads. Whatever
brings bytes or an answer goes on with what they make possible (`_advance`); the task is woken for what it
alone can do: to hand over, to write to a client that is slow to read, to end.

What needs no turn of the store (no token, a full rate window) is answered where it is read, and a client may
send a thousand such requests at once. After a few answers in a row the others run (`CallbackQueue`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import outcome
import trio

from ostiary_core.http.answer import Answer
from ostiary_core.http.endpoint import Request
from ostiary_core.model.audit import TraceId
from ostiary_net.front_door.connection import GuardedConnection, receive_some, send_at_once
from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.hypercorn_internals import Closed, RawData, parse_socket_addr
from ostiary_net.front_door.protocol import GuardedProtocol
from ostiary_net.lane.heads import HeadReader
from ostiary_net.lane.parser import Need, RequestParser
from ostiary_net.lane.sockets import CallbackQueue, Poller, SocketReader
from ostiary_net.lane.writer import AnswerWriter
from ostiary_net.turns.service import Service
from ostiary_net.turns.turn_queue import QueuedEvent

_MOST_HELD: Final = 64
"""Most pipelined answers held before they are sent."""

_MOST_IN_A_ROW: Final = 16
"""Most answers without a turn of the store before other connections run: half a millisecond."""


class Phase(StrEnum):
    """What a connection does now, or waits for. As texts, phases are looked up without a call of Python."""

    RESTING = "nothing of the next request is there"
    RECEIVING = "the rest of a request is to come soon"
    ANSWERING = "a request has its turn"
    IN_LINE = "others are answered first"
    SENDING = "its client is slow to take answers"
    HANDED_OVER = "h11 has what it read last"


_NEXT: Final[Mapping[Phase, frozenset[Phase]]] = {
    Phase.RESTING: frozenset(Phase) - {Phase.RESTING},
    Phase.RECEIVING: frozenset({Phase.RESTING, Phase.IN_LINE, Phase.HANDED_OVER}),
    Phase.ANSWERING: frozenset({Phase.RESTING}),
    Phase.IN_LINE: frozenset({Phase.RESTING}),
    Phase.SENDING: frozenset({Phase.RESTING}),
    Phase.HANDED_OVER: frozenset({Phase.RESTING}),
}
"""The phases that may follow each. Only a connection that rests begins anything but to wait."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Objects that the connections of one server share."""

    service: Service
    heads: HeadReader
    writer: AnswerWriter
    deadlines: CallbackQueue
    """Connections that wait for the rest of a request that comes in pieces."""
    poller: Poller | None
    queue: CallbackQueue
    """Connections that were answered as often as is fair, and have more requests."""


class LaneConnection(GuardedConnection):
    """A connection of the front door that answers plain requests from the service of `lane`."""

    def __init__(self, *accepted: Any, guard: Guard, lane: Lane) -> None:
        super().__init__(*accepted, guard=guard)
        self._lane = lane
        self._parser: RequestParser | None = None
        self._reader: SocketReader | None = None
        stream: Any = self.stream
        if lane.poller is not None and isinstance(stream, trio.SocketStream):
            self._reader = SocketReader(stream, lane.poller, self)
        self._task: trio.lowlevel.Task | None = None
        """The connection's own task, while it waits to be woken."""
        self._reading: trio.CancelScope | None = None
        """Scope of the task, while it reads by itself."""
        self._queued: QueuedEvent | None = None
        """The event of the request that is being answered."""
        self._trace_id: TraceId = ""
        self._path = ""
        self._answered_in_a_row = 0
        """Count of answers without a turn since others ran."""
        self._row_lasts_until = 0
        """Wake-up of the poller until which its bytes belong to the same row, as others may not have run."""
        self._held: list[bytes] = []
        self._unsent = b""
        """Bytes for the task to write."""
        self._phase = Phase.HANDED_OVER
        self._bytes_for_hypercorn = b""
        self._has_ended = False
        """Whether the client sends no more."""
        self._has_said_close = False

    def _move(self, phase: Phase) -> None:
        """Go on to a phase; only while it lasts, its timer runs and its place in line is held."""
        before, self._phase = self._phase, phase
        assert phase in _NEXT[before], (before, phase)
        if before is Phase.RECEIVING:
            self._lane.deadlines.remove(self._expire)
        elif before is Phase.IN_LINE:
            self._lane.queue.remove(self._resume)
        if phase is Phase.RECEIVING:
            self._lane.deadlines.add(self._expire)
        elif phase is Phase.IN_LINE:
            self._lane.queue.add(self._resume)

    async def _serve(self) -> None:
        stream: Any = self.stream
        if not isinstance(stream, trio.SSLStream):
            # Before Hypercorn makes nursery, protocol and h11, which most connections never need: measured,
            # 4 KiB less for each. Over TLS its `run` goes first: the handshake there may choose HTTP/2.
            try:
                self._move(Phase.RESTING)
                await self.restart(None, None)
                client = parse_socket_addr(stream.socket.family, stream.socket.getpeername())
                self._bytes_for_hypercorn = await self._answer_plain_requests(client, b"")
            except trio.TooSlowError:
                self.abort()
            except (OSError, trio.ClosedResourceError, trio.BrokenResourceError, trio.BusyResourceError):
                pass
            if not self._bytes_for_hypercorn:
                await self._close()
                return
        await super()._serve()

    async def restart(self, task_group: object, action: object) -> None:
        """Mark the connection as idle or new, unless Hypercorn begins with what the lane handed over."""
        if not self._bytes_for_hypercorn:
            await super().restart(task_group, action)

    async def _read_data(self) -> None:
        data, self._bytes_for_hypercorn = self._bytes_for_hypercorn, b""
        while True:
            if data:
                await self.protocol.handle(RawData(data))
            if self._has_ended:
                break
            try:
                data = b""
                if not self._is_at_rest():
                    data = await self._receive()
                if self._is_at_rest():  # which it may have come to meanwhile
                    self._move(Phase.RESTING)
                    data = await self._answer_plain_requests(self.protocol.client, data)
            except trio.TooSlowError:
                self.abort()
                break
            except (trio.ClosedResourceError, trio.BrokenResourceError, trio.BusyResourceError):
                break
        if self._has_ended:
            await self.protocol.handle(RawData(b""))
        await self.protocol.handle(Closed())

    def _is_at_rest(self) -> bool:
        """Whether h11 waits for a request of which it has seen nothing yet."""
        protocol: object = self.protocol
        return isinstance(protocol, GuardedProtocol) and protocol.is_at_rest

    async def _receive(self) -> bytes:
        """Read the next bytes; none, with `_has_ended` set, if the client sends no more."""
        data = await receive_some(self.stream)
        self._answered_in_a_row = 0
        self._has_ended = not data
        return data

    async def _answer_plain_requests(self, client: tuple[str, int] | None, data: bytes) -> bytes:
        """Answer plain requests, `data` first, until other bytes come; return those, or none at the end."""
        if self._parser is None:
            self._parser = RequestParser(self._lane.heads, client)
        parser = self._parser
        parser.feed(data)
        while (need := self._advance(parser)) is not Need.HANDOVER:
            if self._phase is Phase.SENDING:
                data, self._unsent = self._unsent, b""
                await self._write(data)
                self._move(Phase.RESTING)
                self._mark_sent()
            elif need is not None and self._reader is None:
                with trio.CancelScope() as self._reading:
                    parser.feed(await self._receive())
                self._reading = None
            else:
                await self._wait(need)
        return parser.take_unread()

    def _advance(self, parser: RequestParser) -> Need | None:
        """Answer the requests that are there; return what is needed next, None while it waits for others."""
        while self._phase is Phase.RESTING or self._phase is Phase.RECEIVING:
            if self._answered_in_a_row >= _MOST_IN_A_ROW and parser.has_unread:
                if self._send_held():
                    self._move(Phase.IN_LINE)
                break
            event = parser.next_event()
            if isinstance(event, Request):
                self._begin(event)
                continue
            if not self._send_held():
                break
            if event is Need.HANDOVER or self._has_ended:
                self._move(Phase.HANDED_OVER)
                break
            if event is Need.BODY:
                self.mark_busy()  # a request has begun, and a stop lets it finish
                self.connections.mark_waiting(self)
            if event is not Need.REQUEST and self._phase is Phase.RESTING:
                self._move(Phase.RECEIVING)
            return event
        return Need.HANDOVER if self._phase is Phase.HANDED_OVER else None

    def _begin(self, request: Request) -> None:
        if self._phase is Phase.RECEIVING:
            self._move(Phase.RESTING)
        self.mark_busy()
        service = self._lane.service
        self._path, self._trace_id = request.path, service.open_request(request)
        begun = service.begin(request, self._trace_id, self._deliver, self._is_client_gone)
        if isinstance(begun, Answer):
            self._answered_in_a_row += 1
            service.close_request(self._trace_id, begun.status, self._path)
            self._hold(begun)
        else:
            self._queued = begun
            self._move(Phase.ANSWERING)

    def _hold(self, answer: Answer) -> None:
        """Hold an answer back, to send it with those to the requests that are there behind it."""
        self._has_said_close = self.context.terminated.is_set()
        self._held.append(self._lane.writer.write(answer, is_last=self._has_said_close))
        if self._has_said_close or len(self._held) > _MOST_HELD:
            self._send_held()

    def _send_held(self) -> bool:
        """Send the answers held back; return False if the client does not take them all at once."""
        if not self._held:
            return True
        self._unsent = send_at_once(self.stream, b"".join(self._held))
        self._held.clear()
        if self._unsent:
            self._move(Phase.SENDING)
            return False
        self._mark_sent()
        return True

    def _mark_sent(self) -> None:
        """Mark the connection as idle again. Raises `ClosedResourceError` if it is over."""
        if self._has_said_close:
            raise trio.ClosedResourceError("the server stops")
        self.mark_idle()

    # --- what happens while the connection's task waits

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered, or waits; the bytes behind it stay in the socket."""
        return self._phase is Phase.ANSWERING or self._phase is Phase.IN_LINE

    def receive(self, data: bytes) -> None:
        """Take the next bytes from the reader; none if the client sends no more."""
        assert self._lane.poller is not None
        if self._lane.poller.wake_ups > self._row_lasts_until:
            self._row_lasts_until = self._lane.poller.wake_ups
            self._answered_in_a_row = 0
        self._has_ended = not data
        assert self._parser is not None
        self._parser.feed(data)
        self._go_on()

    def fail(self, error: Exception) -> None:
        """End the connection's task with `error`."""
        self._wake(outcome.Error(error))

    def _deliver(self, answer: Answer) -> None:
        self._queued = None
        self._move(Phase.RESTING)
        self._lane.service.close_request(self._trace_id, answer.status, self._path)
        try:
            self._hold(answer)
            self._go_on()
        except Exception as error:
            self.fail(error)

    def _resume(self) -> None:
        """Go on after others have run."""
        self._move(Phase.RESTING)
        self._answered_in_a_row = 0
        if self._lane.poller is not None:
            self._row_lasts_until = self._lane.poller.wake_ups + 1
        try:
            self._go_on()
        except Exception as error:
            self.fail(error)

    def _expire(self) -> None:
        """Leave a request whose rest did not come soon to h11."""
        self._move(Phase.HANDED_OVER)
        if self._reading is not None:
            self._reading.cancel()
        else:
            self._wake(outcome.Value(None))

    def _go_on(self) -> None:
        """Go on as far as possible without the connection's task, and wake it for the rest."""
        assert self._parser is not None
        need = self._advance(self._parser)
        if self._phase is Phase.SENDING or need is Need.HANDOVER or (need and self._reader is None):
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
        """Stop the timer, the reader, and the wait for a decision or for others, as the task wakes."""
        self._task = None
        if self._phase not in (Phase.RESTING, Phase.SENDING, Phase.HANDED_OVER):
            self._move(Phase.RESTING)
        if self._reader is not None:
            self._reader.stop()
        if self._queued is not None:
            self._queued.leave()
            self._queued = None
            self._lane.service.close_request(self._trace_id)
        return trio.lowlevel.Abort.SUCCEEDED

    def abort(self) -> None:
        """Close the connection at once."""
        # The reader stops first: when a socket is closed, another one may get its number.
        self.fail(trio.ClosedResourceError("this connection was closed"))
        super().abort()

    def close_idle(self) -> None:
        """Close the connection between two requests."""
        if not hasattr(self, "protocol"):  # Hypercorn has not begun
            self.abort()
        else:
            self.fail(trio.ClosedResourceError("this connection was closed"))
            super().close_idle()
