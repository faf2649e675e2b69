"""Imports and replaces what lies below Hypercorn's ASGI face.

Hypercorn offers no other way to turn HTTP/2 off on a plain port, to bound a write, or to count connections
when its own command started it. So two of its names are replaced, and what they make are objects of our
subclasses. Nothing else of this project imports Hypercorn.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Final

import structlog
from hypercorn.app_wrappers import ASGIWrapper as ASGIWrapper
from hypercorn.config import Config as Config, Sockets as Sockets
from hypercorn.events import Closed as Closed, Event as Event, RawData as RawData
from hypercorn.protocol import ProtocolWrapper as ProtocolWrapper
from hypercorn.protocol.h11 import H11Protocol as H11Protocol
from hypercorn.trio.run import worker_serve as worker_serve
from hypercorn.trio.tcp_server import MAX_RECV as MAX_RECV, TCPServer as TCPServer
from hypercorn.trio.worker_context import WorkerContext as WorkerContext
from hypercorn.typing import (
    AppWrapper as AppWrapper,
    ConnectionState as ConnectionState,
    H11SendableEvent as H11SendableEvent,
    LifespanState as LifespanState,
    TaskGroup as TaskGroup,
)
from hypercorn.utils import (
    LifespanFailureError as LifespanFailureError,
    LifespanTimeoutError as LifespanTimeoutError,
    parse_socket_addr as parse_socket_addr,
)

_log = structlog.get_logger("ostiary")

_SUPPORTED_VERSION: Final = "0.18.0"
"""The only one: the tests hold each name and signature in it that the subclasses use."""


def replace_classes(
    open_connection: Callable[..., TCPServer], open_protocol: Callable[..., ProtocolWrapper | H11Protocol]
) -> bool:
    """Make every Hypercorn server of this process call these functions; return False for another Hypercorn.

    A log line then says which. To call it twice changes nothing.
    """
    if (found := find_unsupported_version()) is not None:
        _log.warning("hypercorn is not as expected; some limits of the front door are off", found=found)
        return False
    # `worker_serve` and `TCPServer.run` look their class up in their module's globals at each connection.
    vars(import_module("hypercorn.trio.run"))["TCPServer"] = open_connection
    vars(import_module("hypercorn.trio.tcp_server"))["ProtocolWrapper"] = open_protocol
    return True


def find_unsupported_version() -> str | None:
    """Return the version of an installed Hypercorn that is not the supported one, else None."""
    found = version("hypercorn")
    return None if found == _SUPPORTED_VERSION else found
