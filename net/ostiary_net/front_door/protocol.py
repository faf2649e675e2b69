"""Hypercorn's HTTP/1.1 over h11, repaired: without upgrades, and with errors in the documented form."""

from collections.abc import Awaitable, Callable
from typing import Any

import h11

from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.hypercorn_internals import (
    AppWrapper,
    Closed,
    Config,
    ConnectionState,
    Event,
    H11Protocol,
    H11SendableEvent,
    ProtocolWrapper,
    RawData,
    TaskGroup,
    WorkerContext,
)
from ostiary_net.front_door.limits import DoorLimits, Scope


def find_guard(app: AppWrapper) -> Guard | None:
    """Return the guard in Hypercorn's wrapper; None for another application."""
    found = getattr(app, "app", None)
    return found if isinstance(found, Guard) else None


class _Connection(h11.Connection):
    """An h11 connection that reads nothing behind its last request (RFC 9112 §9.6)."""

    # h11 raises for such bytes, and on an error Hypercorn closes at once, the answer half sent. At a stop h11
    # pauses instead, and Hypercorn's reader would wait for the next request until the stop's grace is over.

    closing = False
    """Whether the connection is to be closed, at once or behind its last answer."""

    has_ignored_line = False
    """Whether an empty line before the next request was ignored."""

    @property
    def they_are_waiting_for_100_continue(self) -> bool:
        """Return False, so that Hypercorn, which asks before it has read what is here, sends no 100."""
        # The application would run while the 100 is sent, and a malformed body behind it would be answered by
        # whichever is quicker.
        return False

    @property
    def waits_for_100(self) -> bool:
        """Whether the client waits for 100, as nothing of its body is here (RFC 9110 §10.1.1)."""
        is_read = self.their_state is h11.SEND_BODY and not self.closing
        return is_read and self.client_is_waiting_for_100_continue

    def receive_data(self, data: bytes) -> None:
        if not self._is_last():
            super().receive_data(data)

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        if self._is_last() or self._waits_for_line_end():
            return h11.NEED_DATA
        try:
            event = super().next_event()
            if isinstance(event, h11.Request):
                self.has_ignored_line = False
            return event
        except h11.RemoteProtocolError:
            if self.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                raise
            self.closing = True  # the answer has begun, and is finished before the connection is closed
            return h11.NEED_DATA

    def _waits_for_line_end(self) -> bool:
        """Ignore one empty line before a request (RFC 9112 §2.2); return whether half of it is here."""
        if self.their_state is not h11.IDLE or self.has_ignored_line:
            return False
        data, is_closed = self.trailing_data
        if data.startswith(b"\r\n"):
            self.has_ignored_line = True
            self._receive_buffer.maybe_extract_at_most(2)
        return data == b"\r" and not is_closed

    def _is_last(self) -> bool:
        return self.closing or self.their_state is h11.MUST_CLOSE


class GuardedProtocol(H11Protocol):
    """Speaks Hypercorn's HTTP/1.1 with the front door's repairs, for an application behind a guard."""

    def __init__(self, guard: Guard, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._guard = guard
        self._head = b""
        most_bytes = self.config.h11_max_incomplete_size
        self.connection = _Connection(h11.SERVER, max_incomplete_event_size=most_bytes)
        self._send = self.send
        self.send = self._send_marking_end
        self._keeps_open = False
        """Whether the connection stays open behind the answer, as far as the client is concerned."""

    @property
    def is_at_rest(self) -> bool:
        """Whether h11 waits for a request of which it has seen nothing yet, nor a line before it."""
        connection = self.connection
        return (
            isinstance(connection, _Connection)  # no WebSocket
            and connection.our_state is h11.IDLE
            and connection.their_state is h11.IDLE
            and connection.trailing_data == (b"", False)
            and not connection.has_ignored_line
        )

    async def _send_marking_end(self, event: Event) -> None:
        if isinstance(event, Closed) and isinstance(self.connection, _Connection):
            self.connection.closing = True
        await self._send(event)

    async def _check_protocol(self, event: h11.Request) -> None:
        """Ignore an Upgrade to h2c (RFC 9110 §7.8), and HTTP/2 by prior knowledge; see if it keeps open."""
        named = b",".join(value for name, value in event.headers if name == b"connection").split(b",")
        is_asked = all(option.strip().lower() != b"close" for option in named)
        self._keeps_open = event.http_version >= b"1.1" and is_asked

    async def _handle_events(self) -> None:
        await super()._handle_events()
        if isinstance(self.connection, _Connection) and self.connection.waits_for_100:
            fields = self.config.response_headers("h11")
            await self._send_h11_event(h11.InformationalResponse(status_code=100, headers=fields))

    async def _send_h11_event(self, event: H11SendableEvent) -> None:
        """Send an event; hold an answer's head back, to send it with the body in one write."""
        if isinstance(event, h11.Response) and self._keeps_open:
            is_last = any(name == b"connection" for name, _ in event.headers)
            kept = () if is_last else keep_alive_fields(self._guard.limits)
            event = h11.Response(status_code=event.status_code, headers=[*event.headers, *kept])
        try:
            data = self._head + self.connection.send(event)
        except h11.LocalProtocolError:
            if self.connection.their_state != h11.ERROR:
                raise
            return
        self._head = b""
        if isinstance(event, h11.Response):
            self._head = data
        elif data:
            await self.send(RawData(data=data))

    async def _send_error_response(self, status_code: int) -> None:
        """Refuse, in the documented form, what h11 could not read."""
        nothing_read: Scope = {"type": "http", "path": "", "headers": []}
        scope: Scope = getattr(self.stream, "scope", nothing_read)
        trace_id = str(scope.get("ostiary.trace_id") or self._guard.started.draw_trace_id())
        source = self.client[0] if self.client else None
        self._guard.count_refusal(status_code, trace_id, source)
        fields, body = self._guard.limits.refusal(status_code, scope, trace_id)
        closing = [*fields, (b"connection", b"close"), *self._guard.limits.answer_fields]
        closing += self.config.response_headers("h11")
        await self._send_h11_event(h11.Response(status_code=status_code, headers=closing))
        await self._send_h11_event(h11.Data(data=body))
        await self._send_h11_event(h11.EndOfMessage())


def keep_alive_fields(limits: DoorLimits) -> tuple[tuple[bytes, bytes], ...]:
    """Return the fields that tell a client how long its connection is kept, so that it closes it first."""
    return (b"connection", b"keep-alive"), (b"keep-alive", b"timeout=%d" % limits.idle_seconds)


def open_protocol(
    app: AppWrapper,
    config: Config,
    context: WorkerContext,
    task_group: TaskGroup,
    state: ConnectionState,
    ssl: bool,
    client: tuple[str, int] | None,
    server: tuple[str, int] | None,
    send: Callable[[Event], Awaitable[None]],
    alpn_protocol: str | None = None,
) -> ProtocolWrapper | GuardedProtocol:
    """Make the protocol for a connection of Hypercorn's server."""
    guard = find_guard(app)
    arguments = (app, config, context, task_group, state, ssl, client, server, send)
    if guard is None or alpn_protocol == "h2":
        return ProtocolWrapper(*arguments, alpn_protocol)
    return GuardedProtocol(guard, *arguments)
