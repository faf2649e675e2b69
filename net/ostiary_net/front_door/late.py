"""A protocol that is made lazily: Hypercorn's side of a connection, made with the first bytes.

Behind the token lane most connections never bring it any. Until then they do without h11 and what stands
around it: measured, 1.8 of 14 KiB.

Imported only where `seam.py` found Hypercorn to be as this subclass expects it.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol import ProtocolWrapper
from hypercorn.typing import AppWrapper, ConnectionState, TaskGroup, WorkerContext

from ostiary_net.front_door.connection import guard_of

__all__ = ["LazyProtocol", "open_protocol"]


class LazyProtocol(ProtocolWrapper):
    """Makes Hypercorn's protocol for HTTP/1.1 with the first bytes, and is that protocol from then on."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments: tuple[Any, ...] | None = arguments
        self.ssl, self.client = arguments[5], arguments[6]
        self._requests_before = 0

    @property
    def is_silent(self) -> bool:
        """Whether no bytes have come yet."""
        return self._arguments is not None

    @property
    def requests(self) -> int:
        """How many requests the connection has brought."""
        if self._arguments is not None:
            return self._requests_before
        brought: int = getattr(self.protocol, "keep_alive_requests", 0)
        return brought

    def count_request(self) -> None:
        """Count a request that Hypercorn did not see."""
        if self._arguments is not None:
            self._requests_before += 1
        else:
            self.protocol.keep_alive_requests += 1

    async def initiate(self) -> None:
        """Do nothing: in HTTP/1.1 the client begins."""

    async def handle(self, event: Event) -> None:
        """Handle an event as Hypercorn does; ignore the end of a connection that brought no bytes."""
        if self._arguments is not None:
            if isinstance(event, Closed) or (isinstance(event, RawData) and not event.data):
                return
            super().__init__(*self._arguments)
            self._arguments = None
            self.protocol.keep_alive_requests = self._requests_before
        await super().handle(event)


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
    is_http_2 = alpn_protocol == "h2"  # where the server speaks first
    wanted = ProtocolWrapper if guard_of(app) is None or is_http_2 else LazyProtocol
    return wanted(app, config, context, task_group, state, ssl, client, server, send, alpn_protocol)
