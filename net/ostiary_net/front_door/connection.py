"""Reads and writes one connection of Hypercorn's Trio server, within the front door's limits."""

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
from ostiary_net.front_door.protocol import find_guard, open_protocol
from ostiary_net.observability.log import list_frames, unwrap_error
from ostiary_net.runtime.arrivals import CLIENT_GONE, make_disconnect_check

_log = structlog.get_logger("ostiary")

_SLICE_BYTES = 64 * 1024


def patch_hypercorn() -> bool:
    """Make every Hypercorn server of this process keep the front door's limits for guarded applications.

    Other applications are served as before. To call it twice changes nothing. Return False for another
    Hypercorn, which the log then names.
    """
    return replace_classes(open_connection, open_protocol)


def open_connection(
    app: AppWrapper, config: Config, context: WorkerContext, state: LifespanState, stream: Any
) -> TCPServer:
    """Make the object for a connection that Hypercorn has accepted."""
    guard = find_guard(app)
    accepted = (app, config, context, state, stream)
    if guard is None:
        return TCPServer(*accepted)
    config.include_server_header = False
    config.h11_max_incomplete_size = guard.limits.head_bytes
    # The lane writes no access log, reads without Hypercorn's timeout, and counts no requests of a worker.
    is_plain = config.accesslog is None and not config.read_timeout and context.max_requests is None
    if guard.started.open_connection is not None and is_plain:
        opened: TCPServer = guard.started.open_connection(guard, *accepted)
        return opened
    return GuardedConnection(*accepted, guard=guard)


class GuardedConnection(TCPServer):
    """A connection that is closed when it is idle, when its client does not read, and at a stop."""

    def __init__(self, *accepted: Any, guard: Guard) -> None:
        """Take what Hypercorn makes a connection of, as `open_connection` has it."""
        super().__init__(*accepted)
        self._limits = guard.limits
        self.connections = guard.connections
        self._idle_watcher = guard.watch_connections(self.context, self.config)
        self._is_client_gone = make_disconnect_check(self.stream)
        self._has_begun = False
        # Hypercorn calls `restart` and `stop` of this when a connection becomes idle and when a request
        # came.
        self.idle_task = self  # type: ignore[assignment]

    @property
    def is_stopping(self) -> bool:
        """Whether the server stops, so that an answer that begins now is the last."""
        return self.context.terminated.is_set()

    async def run(self) -> None:
        if not self.connections.admit(self):
            self.abort()
            return
        self._idle_watcher.start()
        CLIENT_GONE.set(self._is_client_gone)
        CONNECTION.set(self)
        try:
            await self._serve()
        except Exception as error:  # one connection's fault must not end the others
            self._log_fault(error)
        finally:
            self.connections.leave(self)

    async def _serve(self) -> None:
        await super().run()

    async def restart(self, task_group: object, action: object) -> None:
        """Mark the connection as idle, or as new when it begins."""
        if self._has_begun:
            self.mark_idle()
        else:
            self._has_begun = True
            self.connections.mark_new(self, trio.current_time())

    async def stop(self) -> None:
        """Mark the connection as busy."""
        self.mark_busy()

    def mark_idle(self) -> None:
        """Mark the connection as idle from now on."""
        self.connections.mark_idle(self, trio.current_time())

    def mark_busy(self) -> None:
        """Mark the connection as busy from now on."""
        self.connections.mark_busy(self)

    def abort(self) -> None:
        """Close the socket at once, which wakes its readers and writers with an error."""
        getattr(self.stream, "transport_stream", self.stream).socket.close()

    def close_idle(self) -> None:
        """Close the connection between two requests."""
        trio.lowlevel.spawn_system_task(self._close_idle)  # as TLS says goodbye, which may wait

    async def _close_idle(self) -> None:
        try:
            await self._initiate_server_close()
        except Exception as error:
            self._log_fault(error)

    def _log_fault(self, error: Exception) -> None:
        fault = unwrap_error(error)
        _log.error("connection failed", cause=type(fault).__name__, where=list_frames(fault))

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
            with trio.fail_after(self._limits.write_seconds, shield=True):
                await self.stream.send_all(data[start : start + _SLICE_BYTES])
        self.mark_busy()


# --- plain sockets, with as few steps as Trio allows


async def receive_some(stream: Any) -> bytes:
    """Read the next bytes, in fewer steps than `stream.receive_some`, with the same errors."""
    # Trio tries to read before it waits, and passes a checkpoint after reading; on a kept-alive connection
    # there is hardly ever anything to read at once.
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
    """Send what can be sent without waiting, and return the rest. Raises as `stream.send_all` does."""
    # What the kernel takes whole needs no deadline, and so no cancel scope.
    if not isinstance(stream, trio.SocketStream):
        return data
    try:
        return data[os.write(stream.socket.fileno(), data) :]
    except BlockingIOError:
        return data
    except OSError as error:
        raise trio.BrokenResourceError(str(error)) from error
