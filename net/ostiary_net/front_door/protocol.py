"""HTTP/1.1 as Hypercorn speaks it, but made lazily, without upgrades, its errors in the documented form."""

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
from ostiary_net.front_door.rules import Scope


def guard_of(app: AppWrapper) -> Guard | None:
    """The guard in Hypercorn's wrapper; None where another application is served."""
    found = getattr(app, "app", None)
    return found if isinstance(found, Guard) else None


class _Connection(h11.Connection):
    """An h11 connection that reads nothing behind its last request (RFC 9112 §9.6).

    h11 calls such bytes an error, and on an error Hypercorn closes at once, the answer half sent. Where a
    request is the last because the server stops, h11 says to pause until the next may be read, and
    Hypercorn's reader would wait for that until the stop's grace is over. Nor is more read of a request that
    turns out to be malformed when its answer has begun: the answer is finished, and the connection closed
    behind it.
    """

    closing = False
    """Whether the connection is to be closed, at once or behind its last answer."""

    @property
    def they_are_waiting_for_100_continue(self) -> bool:
        """Always False, as Hypercorn asks before it has read what is here.

        To be told gives the application time to answer, so it would depend on who is quicker what a malformed
        body is answered.
        """
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
        if self._is_last():
            return h11.NEED_DATA
        try:
            return super().next_event()
        except h11.RemoteProtocolError:
            if self.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                raise
            self.closing = True
            return h11.NEED_DATA

    def _is_last(self) -> bool:
        return self.closing or self.their_state is h11.MUST_CLOSE


class GuardedProtocol(H11Protocol):
    """Hypercorn's HTTP/1.1 with the front door's repairs, for an application behind a guard."""

    def __init__(self, guard: Guard, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._guard = guard
        self._head = b""
        most_bytes = self.config.h11_max_incomplete_size
        self.connection = _Connection(h11.SERVER, max_incomplete_event_size=most_bytes)
        self._send = self.send
        self.send = self._send_noting_the_end

    async def _send_noting_the_end(self, event: Event) -> None:
        if isinstance(event, Closed) and isinstance(self.connection, _Connection):
            self.connection.closing = True
        await self._send(event)

    async def _check_protocol(self, event: h11.Request) -> None:
        """Ignore an Upgrade, so that there is no h2c (RFC 9110 §7.8).

        Nor HTTP/2 by prior knowledge: the guard refuses `PRI * HTTP/2.0`.
        """

    async def _handle_events(self) -> None:
        await super()._handle_events()
        if isinstance(self.connection, _Connection) and self.connection.waits_for_100:
            fields = self.config.response_headers("h11")
            await self._send_h11_event(h11.InformationalResponse(status_code=100, headers=fields))

    async def _send_h11_event(self, event: H11SendableEvent) -> None:
        """Send an event, but hold an answer's head back until there is a body to send with it.

        One write in place of two, and none for an end that has no bytes.
        """
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
        trace_id = scope.get("ostiary.trace_id") or self._guard.draw_trace_id()
        source = self.client[0] if self.client else None
        self._guard.count_refusal(status_code, trace_id, source)
        fields, body = self._guard.rules.refusal(status_code, scope, trace_id)
        closing = [*fields, (b"connection", b"close"), *self.config.response_headers("h11")]
        await self._send_h11_event(h11.Response(status_code=status_code, headers=closing))
        await self._send_h11_event(h11.Data(data=body))
        await self._send_h11_event(h11.EndOfMessage())


class LazyProtocol(ProtocolWrapper):
    """Makes Hypercorn's protocol for HTTP/1.1 with the first bytes, and is that protocol from then on.

    Behind the token lane most connections never bring it any. Until then they do without h11 and what stands
    around it: measured, 1.8 of 14 KiB.
    """

    protocol: GuardedProtocol

    def __init__(self, guard: Guard, *arguments: Any, client: tuple[str, int] | None) -> None:
        self._guard = guard
        self._arguments: tuple[Any, ...] | None = arguments
        self.client = client
        self._requests_before = 0

    @property
    def is_silent(self) -> bool:
        """Whether no bytes have come yet."""
        return self._arguments is not None

    @property
    def requests(self) -> int:
        """How many requests the connection has brought, those that Hypercorn did not see among them."""
        if self._arguments is not None:
            return self._requests_before
        return self.protocol.keep_alive_requests

    @requests.setter
    def requests(self, brought: int) -> None:
        if self._arguments is not None:
            self._requests_before = brought
        else:
            self.protocol.keep_alive_requests = brought

    async def initiate(self) -> None:
        """Do nothing: in HTTP/1.1 the client begins."""

    async def handle(self, event: Event) -> None:
        """Handle an event as Hypercorn does; ignore the end of a connection that brought no bytes."""
        if self._arguments is not None:
            if isinstance(event, Closed) or (isinstance(event, RawData) and not event.data):
                return
            self.protocol = GuardedProtocol(self._guard, *self._arguments)
            self.protocol.keep_alive_requests = self._requests_before
            self._arguments = None
        await self.protocol.handle(event)


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
) -> ProtocolWrapper:
    """Make the protocol for a connection of Hypercorn's server."""
    guard = guard_of(app)
    arguments = (app, config, context, task_group, state, ssl, client, server, send)
    if guard is None or alpn_protocol == "h2":  # in HTTP/2 the server speaks first
        return ProtocolWrapper(*arguments, alpn_protocol)
    return LazyProtocol(guard, *arguments, client=client)
