"""Connections in memory to Hypercorn's own Trio server, which cannot tell them from sockets."""

import socket
from collections.abc import Callable
from typing import Any

import trio
import trio.testing
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from ostiary_net.front_door.guard import Guard

__all__ = ["PEER", "Stream", "connected"]

PEER = "203.0.113.7"
"""Where a client calls from, unless a test says otherwise."""

Stream = trio.StapledStream[Any, Any]


class _Socket:
    """As much of a socket as Hypercorn asks for."""

    family = socket.AF_INET

    def __init__(self, peer: str, close: Callable[[], None]) -> None:
        self._peer = peer
        self.close = close

    def getpeername(self) -> tuple[str, int]:
        return (self._peer, 4_711)

    def getsockname(self) -> tuple[str, int]:
        return ("192.0.2.1", 8_000)


def connected(
    guarded: Guard,
    nursery: trio.Nursery,
    config: Config,
    context: WorkerContext,
    *,
    peer: str = PEER,
    never_sends: bool = False,
) -> Stream:
    """The client's end of a new connection, served as Hypercorn serves one that it accepts."""
    from ostiary_net.front_door.connection import open_connection

    client, server = trio.testing.memory_stream_pair()
    if never_sends:
        server.send_stream.send_all_hook = trio.sleep_forever
    held: Any = server

    def close() -> None:
        held.send_stream.close()
        held.receive_stream.close()

    held.socket = _Socket(peer, close)
    app: Any = guarded
    opened: Any = open_connection(ASGIWrapper(app), config, context, ConnectionState({}), held)
    nursery.start_soon(opened.run)
    return client
