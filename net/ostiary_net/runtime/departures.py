"""Looks whether the sender of a request has gone, before anything is decided for them (READINGS 46).

A client that has given up closes its connection, and sends its request again over another. Of the first one
the server learns nothing while it waits for a decision; so it looks, once the request has waited for a while.
"""

import select
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import trio

__all__ = ["HAS_LEFT", "HasLeft", "make_has_left"]

HasLeft = Callable[[], bool]
"""Says whether the sender has closed the connection, or its side of it. It neither waits nor raises; any
thread may ask."""

HAS_LEFT: Final[ContextVar[HasLeft | None]] = ContextVar("HAS_LEFT", default=None)
"""Of the connection that the present task answers on; None where nobody can know."""

_CLOSED: Final = getattr(select, "POLLRDHUP", 0)


def make_has_left(stream: Any) -> HasLeft | None:
    """A function that asks the system whether the peer of `stream` has gone; None where nobody can know.

    Without a socket, or a system that can say, nobody can.
    """
    transport = getattr(stream, "transport_stream", stream)
    if not _CLOSED or not isinstance(transport, trio.SocketStream):
        return None
    return partial(_is_closed, transport.socket)


def _is_closed(socket: Any) -> bool:
    descriptor = socket.fileno()
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, _CLOSED)
    return bool(poll.poll(0))
