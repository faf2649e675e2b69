"""One connection of Hypercorn's Trio server, held to the front door's limits."""

import math
import os
from typing import Any

import structlog
import trio

from ostiary_net.front_door.connections import CONNECTION
from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.hypercorn_internals import (
    MAX_RECV,
    AppWrapper,
    Closed,
    Config,
    Event,
    LifespanState,
    RawData,
    TCPServer,
    WorkerContext,
    replace_classes,
)
from ostiary_net.front_door.protocol import guard_of, open_protocol
from ostiary_net.observability.log import list_frames, unwrap_error
from ostiary_net.runtime.arrivals import CLIENT_GONE, make_disconnect_check

_log = structlog.get_logger("ostiary")

_SLICE_BYTES = 64 * 1024


def patch_hypercorn() -> bool:
    """Have every Hypercorn server of this process keep the front door's rules for guarded applications.

    Applications without a guard are served as before. Doing it twice does no more. False where Hypercorn is
    not as expected, which the log then says.
    """
    return replace_classes(open_connection, open_protocol)


def open_connection(
    app: AppWrapper, config: Config, context: WorkerContext, state: LifespanState, stream: Any
) -> TCPServer:
    """Make the object for a connection that Hypercorn has accepted."""
    guard = guard_of(app)
    accepted = (app, config, context, state, stream)
    if guard is None:
        return TCPServer(*accepted)
    config.include_server_header = False
    config.h11_max_incomplete_size = guard.rules.head_bytes
    if guard.open_connection is not None and config.accesslog is None:
        opened: TCPServer = guard.open_connection(*accepted)
        return opened
    return GuardedConnection(*accepted, guard=guard)


class GuardedConnection(TCPServer):
    """A connection that is closed when it is idle, when its client does not read, and at a stop.

    It is counted among the open ones. One task a connection watches over the time, in place of the one a
    request that Hypercorn starts.
    """

    def __init__(self, *accepted: Any, guard: Guard) -> None:
        """`accepted` is what Hypercorn makes a connection of, as `open_connection` has it."""
        super().__init__(*accepted)
        self._rules = guard.rules
        guard.is_stopping = self.context.terminated.is_set
        self.connections = guard.connections
        self._watch = _IdleWatch(self, guard.rules.head_seconds)
        # It has the two methods that Hypercorn calls.
        self.idle_task = self._watch  # type: ignore[assignment]

    async def run(self) -> None:
        if not self.connections.admit(self):
            self.abort()
            return
        CLIENT_GONE.set(make_disconnect_check(self.stream))
        CONNECTION.set(self)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch.run)
                await super().run()
                self._watch.end()
        except Exception as error:  # one connection's fault must not end the others
            fault = unwrap_error(error)
            _log.error("connection failed", cause=type(fault).__name__, where=list_frames(fault))
        finally:
            self.connections.leave(self)

    def abort(self) -> None:
        """Close the socket at once; whoever reads or writes it is woken with an error."""
        getattr(self.stream, "transport_stream", self.stream).socket.close()

    async def protocol_send(self, event: Event) -> None:
        if not isinstance(event, RawData):
            await super().protocol_send(event)
            return
        async with self.send_lock:
            try:
                await self._write(event.data)
            except trio.TooSlowError:
                self.abort()
                await self.protocol.handle(Closed())
            except (trio.BrokenResourceError, trio.ClosedResourceError, trio.BusyResourceError):
                await self.protocol.handle(Closed())

    async def _write(self, data: bytes) -> None:
        data = send_at_once(self.stream, data)
        if not data:
            return
        self.connections.mark_waiting(self)
        for start in range(0, len(data), _SLICE_BYTES):
            with trio.fail_after(self._rules.write_seconds, shield=True):
                await self.stream.send_all(data[start : start + _SLICE_BYTES])
        self.connections.mark_busy(self)

    @property
    def parting_seconds(self) -> float:
        return self._rules.parting_seconds

    async def close_idle(self) -> None:
        """Close the connection between two requests."""
        with trio.CancelScope(shield=True):
            await self._initiate_server_close()


class _IdleWatch:
    """Ends a connection that has been idle for too long, or that a stopping server waits for in vain.

    `restart` and `stop` are what Hypercorn calls when a connection becomes idle and when a request came;
    neither waits for anything, so who is not Hypercorn says `mark_idle` and `mark_busy`.
    """

    def __init__(self, connection: GuardedConnection, first_seconds: float) -> None:
        self._connection = connection
        self._seconds = first_seconds
        self._deadline = math.inf
        self._clock = trio.lowlevel.current_clock()
        self._timer = trio.CancelScope()
        self._is_over = False

    async def restart(self, task_group: object, action: object) -> None:
        """Note that the connection is idle; Hypercorn calls it."""
        self.mark_idle()

    async def stop(self) -> None:
        """Note that the connection is busy; Hypercorn calls it."""
        self.mark_busy()

    def mark_idle(self) -> None:
        """Note that the connection is idle from now on."""
        self._deadline = deadline = self._clock.current_time() + self._seconds
        # A timer that goes off too early looks at the deadline and goes on; to put it off with every request
        # would cost more than the one time in half a minute.
        if deadline < self._timer.deadline:
            self._timer.deadline = deadline
        self._seconds = self._connection.config.keep_alive_timeout
        self._connection.connections.mark_idle(self._connection)

    def mark_busy(self) -> None:
        """Note that the connection is busy from now on."""
        self._deadline = math.inf
        self._connection.connections.mark_busy(self._connection)

    async def run(self) -> None:
        """Watch the connection until it is over."""
        connection = self._connection
        terminated = connection.context.terminated
        while not self._is_over and not terminated.is_set() and self._deadline > trio.current_time():
            with trio.CancelScope(deadline=self._deadline) as self._timer:
                await terminated.wait()
        woken = trio.current_time()
        if terminated.is_set():
            await self._await_last_requests()
        if self._is_over:
            return
        if self._deadline < math.inf:
            await connection.close_idle()
            return
        # A request runs, and its end ends the connection, unless its client does not take the answer:
        # Hypercorn would wait for that without limit.
        with trio.CancelScope(shield=True) as self._timer:
            await trio.sleep_until(woken + connection.config.graceful_timeout)
        if not self._is_over:
            connection.abort()

    async def _await_last_requests(self) -> None:
        """Wait for a request that is on its way. It makes the connection busy, and its answer ends it."""
        parting = trio.current_time() + self._connection.parting_seconds
        while not self._is_over and trio.current_time() < min(parting, self._deadline):
            with trio.CancelScope(deadline=min(parting, self._deadline)) as self._timer:
                await trio.sleep_forever()

    def end(self) -> None:
        """Stop watching, as the connection is over."""
        self._is_over = True
        self._timer.cancel()


# --- plain sockets, with as few steps as Trio allows


async def receive_some(stream: Any) -> bytes:
    """Read the next bytes, in fewer steps than `stream.receive_some`, with the same errors.

    That one tries to read before it waits, and checks in with the scheduler once more after reading; on a
    kept-alive connection there is hardly ever anything to read at once.
    """
    if not isinstance(stream, trio.SocketStream):
        return bytes(await stream.receive_some(MAX_RECV))
    while True:
        if stream.socket.fileno() < 0:
            raise trio.ClosedResourceError("this connection was closed")
        await trio.lowlevel.wait_readable(stream.socket)
        try:
            return os.read(stream.socket.fileno(), MAX_RECV)
        except BlockingIOError:
            continue
        except OSError as error:
            raise trio.BrokenResourceError(str(error)) from error


def send_at_once(stream: Any, data: bytes) -> bytes:
    """Send what can be sent without waiting, and return the rest. Raises as `stream.send_all` does.

    What the kernel takes whole needs no deadline, and so no cancel scope.
    """
    if not isinstance(stream, trio.SocketStream):
        return data
    try:
        return data[os.write(stream.socket.fileno(), data) :]
    except BlockingIOError:
        return data
    except OSError as error:
        raise trio.BrokenResourceError(str(error)) from error
