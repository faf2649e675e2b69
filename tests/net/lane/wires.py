"""Connections to Hypercorn's own Trio server, in memory and over pairs of sockets, from where a test says."""

import os
import socket
from contextlib import suppress
from enum import Enum
from types import SimpleNamespace
from typing import Any

import trio
import trio.testing
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from ostiary_net.front_door.guard import Guard

PEER = "203.0.113.7"
"""Where a client calls from, unless a test says otherwise."""

Stream = trio.abc.HalfCloseableStream


class Kind(Enum):
    """What a connection is made of: on a plain socket the lane lets it rest, in memory its task reads."""

    MEMORY = "memory"
    SOCKETS = "sockets"


class _Calling:
    """A socket, or as much of one as Hypercorn asks for, that names other addresses than it has."""

    family = socket.AF_INET

    def __init__(self, held: Any, peer: str) -> None:
        self._held = held
        self._peer = peer

    def getpeername(self) -> tuple[str, int]:
        return (self._peer, 4_711)

    def getsockname(self) -> tuple[str, int]:
        return ("192.0.2.1", 8_000)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held, name)


def connect_stream(
    guarded: Guard,
    nursery: trio.Nursery,
    config: Config,
    context: WorkerContext,
    *,
    peer: str = PEER,
    never_sends: bool = False,
    kind: Kind = Kind.MEMORY,
) -> Stream:
    """The client's end of a new connection, served as Hypercorn serves one that it accepts.

    With `never_sends` the server can send nothing, as to a client that does not read.
    """
    from ostiary_net.front_door.connection import open_connection

    client, held = _in_memory(peer, never_sends) if kind is Kind.MEMORY else _of_sockets(peer, never_sends)
    app: Any = guarded
    opened: Any = open_connection(ASGIWrapper(app), config, context, ConnectionState({}), held)
    nursery.start_soon(_serve, opened, held)
    return client


async def _serve(opened: Any, held: Any) -> None:
    """Until it is over; then whoever accepted a connection closes it."""
    try:
        await opened.run()
    finally:
        await trio.aclose_forcefully(held)


def _in_memory(peer: str, never_sends: bool) -> tuple[Stream, Any]:
    client, server = trio.testing.memory_stream_pair()
    if never_sends:
        server.send_stream.send_all_hook = trio.sleep_forever
    held: Any = server

    def close() -> None:
        held.send_stream.close()
        held.receive_stream.close()

    held.socket = _Calling(SimpleNamespace(close=close), peer)
    return client, held


def _of_sockets(peer: str, never_sends: bool) -> tuple[Stream, Any]:
    client, server = trio.socket.socketpair()
    if never_sends:
        _fill(server)
    held: Any = trio.SocketStream(server)
    held.socket = _Calling(server, peer)
    return trio.SocketStream(client), held


def _fill(sending: trio.socket.SocketType) -> None:
    """Until its other end takes no more."""
    with socket.socket(fileno=os.dup(sending.fileno())) as twin, suppress(BlockingIOError):
        twin.setblocking(False)
        while True:
            twin.send(bytes(65_536))
