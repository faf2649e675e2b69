"""A connection at rest: what a backend asks next is read, decided and answered without its task being woken.

Nearly all requests of a kept-alive connection are one whole plain request after the other. Each is read when
the lane's poller sees it, waits for its turn with all others, and is answered by whoever took that turn.
One that comes in pieces is waited for a moment. Whatever is anything else ends the rest, and the connection's
own task goes on with it.
"""

import os
from typing import Any, Protocol

import outcome
import trio
from hypercorn.trio.tcp_server import MAX_RECV

from ostiary_core.decision import Decision
from ostiary_core.http.answer import Answer
from ostiary_net.departures import leaving_of
from ostiary_net.front_door.sockets import send_at_once
from ostiary_net.lane.calls import Call
from ostiary_net.lane.patience import Patience
from ostiary_net.lane.plain import Torn
from ostiary_net.lane.poller import Poller
from ostiary_net.service import Begun, Service
from ostiary_net.turn_queue import TurnFailed, Waiting

__all__ = ["Rest", "Resting"]


class Resting(Protocol):
    """What a connection does with its requests, whoever runs it."""

    def call_of(self, data: bytes) -> Call | Torn | None:
        """What is asked, if `data` is one request that may be answered here, or may become one."""
        ...

    def has_begun(self) -> None:
        """A request has begun, and a stop lets it finish."""
        ...

    def begun(self, call: Call) -> Begun | Answer:
        """Its beginning: the connection is busy from now on."""
        ...

    def unexpected(self, error: Exception, call: Call) -> Answer:
        """The answer to what must not happen, which the log then knows of."""
        ...

    def written(self, answer: Answer) -> bytes:
        """An answer as it is sent."""
        ...

    def answered(self) -> bool:
        """It was sent. Whether the connection is to be closed now; else it is idle."""
        ...


class Rest:
    """The rests of one connection on a plain socket."""

    __slots__ = (
        "_asked",
        "_descriptor",
        "_has_left",
        "_is_watched",
        "_patience",
        "_poller",
        "_resting",
        "_service",
        "_stream",
        "_task",
        "_torn",
        "_waiting",
        "_wanted",
        "is_over",
        "is_torn",
        "unsent",
    )

    def __init__(
        self,
        stream: trio.SocketStream,
        resting: Resting,
        service: Service,
        poller: Poller,
        patience: Patience,
    ) -> None:
        self._stream: Any = stream
        self._resting = resting
        self._service = service
        self._poller = poller
        self._patience = patience
        self._has_left = leaving_of(stream)
        self._task: trio.lowlevel.Task | None = None
        self._descriptor = -1
        self._is_watched = False
        self._asked: tuple[Call, Begun] | None = None
        self._waiting: Waiting | None = None
        self._torn = b""
        self._wanted = 0
        self.unsent = b""
        """At the end of a rest: what is left of an answer whose client was slow to read."""
        self.is_over = False
        """Likewise: whether the client sends no more."""
        self.is_torn = False
        """Likewise: whether the rest of a request did not come soon."""

    async def until_something_else(self) -> bytes:
        """Answer plain requests until there is something else: its first bytes, none at the end of all.

        Raises as reading does.
        """
        self._descriptor = self._stream.socket.fileno()
        if self._descriptor < 0:
            raise trio.ClosedResourceError("this connection was closed")
        self.unsent, self.is_over, self.is_torn = b"", False, False
        self._watch()
        self._task = trio.lowlevel.current_task()
        data: bytes = await trio.lowlevel.wait_task_rescheduled(self._cancelled)
        return data

    def end(self, result: outcome.Outcome[bytes]) -> None:
        """Have the connection's task go on with this, if it is at rest. Nobody waits for a decision then."""
        task = self._task
        if task is not None:
            self._leave()
            trio.lowlevel.reschedule(task, result)

    def _cancelled(self, _: object) -> trio.lowlevel.Abort:
        self._leave()
        return trio.lowlevel.Abort.SUCCEEDED

    def _leave(self) -> None:
        self._task = None
        self._look_away()
        self._hold(b"")
        self._asked = None
        if self._waiting is not None:
            self._waiting.leave()
            self._waiting = None

    def _watch(self) -> None:
        self._poller.watch(self._descriptor, self._readable)
        self._is_watched = True

    def _look_away(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._poller.forget(self._descriptor)

    def _readable(self) -> None:
        if self._asked is not None:
            self._look_away()  # what comes behind a request waits until that is answered
            return
        try:
            data = os.read(self._descriptor, MAX_RECV)
        except BlockingIOError:
            return
        except OSError as error:
            self.end(outcome.Error(trio.BrokenResourceError(str(error))))
            return
        try:
            if data:
                self._take(self._torn + data)
            else:
                self.is_over = True
                self.end(outcome.Value(self._torn))
        except Exception as error:
            self.end(outcome.Error(error))

    def _take(self, data: bytes) -> None:
        call = Torn(self._wanted) if len(data) < self._wanted else self._resting.call_of(data)
        if isinstance(call, Torn):
            if b"\r\n\r\n" in data:
                self._resting.has_begun()
            self._hold(data, call.end)
            return
        self._hold(b"")
        if call is None:
            self.end(outcome.Value(data))
            return
        try:
            answer = self._answer_to(call)
        except Exception as error:
            answer = self._resting.unexpected(error, call)
        if answer is not None:
            self._send(answer)

    def _hold(self, torn: bytes, wanted: int = 0) -> None:
        """Have the beginning of a request, of which so many bytes are wanted; or none."""
        if torn and not self._torn:
            self._patience.begin(self._out_of_patience)
        elif self._torn and not torn:
            self._patience.end(self._out_of_patience)
        self._torn, self._wanted = torn, wanted

    def _out_of_patience(self) -> None:
        self.is_torn = True
        self.end(outcome.Value(self._torn))

    def _answer_to(self, call: Call) -> Answer | None:
        """The answer, if it is not for a turn to find."""
        begun = self._resting.begun(call)
        if isinstance(begun, Answer):
            return begun
        try:
            self._waiting = self._service.submit(begun, self._told, self._has_left)
        except TurnFailed as failure:
            return self._service.failure(begun, failure)
        self._asked = (call, begun)
        return None

    def _told(self, result: outcome.Outcome[Decision]) -> None:
        assert self._asked is not None
        call, begun = self._asked
        self._asked = self._waiting = None
        try:
            try:
                answer = self._service.answer(begun, result.unwrap())
            except TurnFailed as failure:
                answer = self._service.failure(begun, failure)
            except Exception as error:
                answer = self._resting.unexpected(error, call)
            self._send(answer)
            if self._task is not None and not self._is_watched:
                self._watch()
        except Exception as error:
            self.end(outcome.Error(error))

    def _send(self, answer: Answer) -> None:
        self.unsent = send_at_once(self._stream, self._resting.written(answer))
        if self.unsent:
            self.end(outcome.Value(b""))
        elif self._resting.answered():
            self.end(outcome.Error(trio.ClosedResourceError("the server stops")))
