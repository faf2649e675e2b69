"""The seam to Hypercorn: all that is taken from below its ASGI face, and what is relied on there.

Hypercorn offers no other way to turn HTTP/2 off on a plain port, to bound a write, or to count connections
when it was started by its own command. So two of its names are replaced, and what they make are objects of
our subclasses. Nothing else of this project imports Hypercorn. What the subclasses rely on is listed here and
looked at before anything is replaced; where it is not as listed, the guard alone does what can be done above
the server, and one line in the log says so.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

import structlog
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config, Sockets
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.run import worker_serve
from hypercorn.trio.tcp_server import MAX_RECV, TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState, H11SendableEvent, LifespanState, TaskGroup
from hypercorn.utils import LifespanFailureError, LifespanTimeoutError

__all__ = [
    "ATTRIBUTES",
    "HYPERCORN",
    "MAX_RECV",
    "PARAMETERS",
    "ASGIWrapper",
    "AppWrapper",
    "Closed",
    "Config",
    "ConnectionState",
    "Event",
    "H11Protocol",
    "H11SendableEvent",
    "LifespanFailureError",
    "LifespanState",
    "LifespanTimeoutError",
    "ProtocolWrapper",
    "RawData",
    "Sockets",
    "TCPServer",
    "TaskGroup",
    "WorkerContext",
    "find_surprises",
    "replace_classes",
    "worker_serve",
]

_log = structlog.get_logger("ostiary")

HYPERCORN: Final = "0.18."
"""The version whose source was read."""

PARAMETERS: Final = {
    "hypercorn.trio.tcp_server:TCPServer.__init__": ("self", "app", "config", "context", "state", "stream"),
    "hypercorn.trio.tcp_server:TCPServer.run": ("self",),
    "hypercorn.trio.tcp_server:TCPServer.protocol_send": ("self", "event"),
    "hypercorn.trio.tcp_server:TCPServer._read_data": ("self",),
    "hypercorn.trio.tcp_server:TCPServer._initiate_server_close": ("self",),
    "hypercorn.trio.worker_context:TrioSingleTask.restart": ("self", "task_group", "action"),
    "hypercorn.trio.worker_context:TrioSingleTask.stop": ("self",),
    "hypercorn.trio.run:TCPServer": ("app", "config", "context", "state", "stream"),
    "hypercorn.trio.run:worker_serve": ("app", "config", "sockets", "shutdown_trigger", "task_status"),
    "hypercorn.trio.tcp_server:ProtocolWrapper": (
        *("app", "config", "context", "task_group", "state"),
        *("ssl", "client", "server", "send", "alpn_protocol"),
    ),
    "hypercorn.protocol:ProtocolWrapper.initiate": ("self",),
    "hypercorn.protocol:ProtocolWrapper.handle": ("self", "event"),
    "hypercorn.protocol.h11:H11Protocol.__init__": (
        *("self", "app", "config", "context", "task_group", "connection_state"),
        *("ssl", "client", "server", "send"),
    ),
    "hypercorn.protocol.h11:H11Protocol.handle": ("self", "event"),
    "hypercorn.protocol.h11:H11Protocol._check_protocol": ("self", "event"),
    "hypercorn.protocol.h11:H11Protocol._handle_events": ("self",),
    "hypercorn.protocol.h11:H11Protocol._send_h11_event": ("self", "event"),
    "hypercorn.protocol.h11:H11Protocol._send_error_response": ("self", "status_code"),
}
"""Each function that the subclasses call or replace, with its parameters."""

ATTRIBUTES: Final = {
    "hypercorn.trio.tcp_server:TCPServer": (
        *("app", "config", "context", "idle_task", "send_lock", "state", "stream"),
    ),
    "hypercorn.protocol.h11:H11Protocol": (
        *("app", "client", "config", "connection", "keep_alive_requests", "send", "stream"),
    ),
    "hypercorn.trio.worker_context:WorkerContext": ("max_requests", "terminated"),
}
"""What the objects of a class keep under names that the subclasses use."""


def replace_classes(
    open_connection: Callable[..., TCPServer],
    open_protocol: Callable[..., ProtocolWrapper],
) -> bool:
    """Have every Hypercorn server of this process make its objects by these; doing it twice does no more.

    False where Hypercorn is not as expected, which the log then says.
    """
    surprises = find_surprises()
    if surprises:
        _log.warning("hypercorn is not as expected; some limits of the front door are off", found=surprises)
        return False
    vars(import_module("hypercorn.trio.run"))["TCPServer"] = open_connection
    vars(import_module("hypercorn.trio.tcp_server"))["ProtocolWrapper"] = open_protocol
    return True


def find_surprises() -> list[str]:
    """What differs from the Hypercorn that the subclasses were written for, each difference in words."""
    found = version("hypercorn")
    surprises = [] if found.startswith(HYPERCORN) else [f"version {found}"]
    for name, expected in PARAMETERS.items():
        parameters = _parameters_of(name)
        if parameters is None:
            surprises.append(f"{name} is gone")
        elif parameters != expected:
            surprises.append(f"{name} takes {', '.join(parameters)}")
    for name, attributes in ATTRIBUTES.items():
        made = _find(f"{name}.__init__")
        missing = set(attributes).difference(made.__code__.co_names if inspect.isfunction(made) else ())
        surprises += [f"{name} has no {attribute}" for attribute in sorted(missing)]
    return surprises


def _parameters_of(name: str) -> tuple[str, ...] | None:
    try:
        return tuple(inspect.signature(_find(name)).parameters)
    except (TypeError, ValueError):
        return None


def _find(name: str) -> Any:
    """What a name as `module:Class.function` stands for; None where there is no such thing."""
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found
