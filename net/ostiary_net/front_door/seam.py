"""Where this project reaches below ASGI into Hypercorn: three class names, replaced by subclasses.

Hypercorn offers no other way to turn HTTP/2 off on a plain port, to bound a write, or to count connections
when it was started by its own command. What the subclasses rely on is listed here and looked at before
anything is replaced; where it is not as listed, the guard alone does what can be done above the server, and
one line in the log says so.
"""

import inspect
from importlib import import_module
from importlib.metadata import version
from typing import Any, Final

import structlog

__all__ = ["EXPECTED", "HYPERCORN", "find_surprises", "install_seam"]

_log = structlog.get_logger("ostiary")

HYPERCORN: Final = "0.18."
"""The version whose source was read."""

EXPECTED: Final = {
    "hypercorn.trio.tcp_server:TCPServer.__init__": ("self", "app", "config", "context", "state", "stream"),
    "hypercorn.trio.tcp_server:TCPServer.run": ("self",),
    "hypercorn.trio.tcp_server:TCPServer.protocol_send": ("self", "event"),
    "hypercorn.trio.tcp_server:TCPServer._read_data": ("self",),
    "hypercorn.trio.tcp_server:TCPServer._initiate_server_close": ("self",),
    "hypercorn.trio.worker_context:TrioSingleTask.restart": ("self", "task_group", "action"),
    "hypercorn.trio.worker_context:TrioSingleTask.stop": ("self",),
    "hypercorn.trio.run:TCPServer": ("app", "config", "context", "state", "stream"),
    "hypercorn.trio.run:worker_serve": ("app", "config", "sockets", "shutdown_trigger", "task_status"),
    "hypercorn.protocol:H11Protocol.handle": ("self", "event"),
    "hypercorn.protocol:ProtocolWrapper.__init__": (
        *("self", "app", "config", "context", "task_group", "state"),
        *("ssl", "client", "server", "send", "alpn_protocol"),
    ),
    "hypercorn.protocol:ProtocolWrapper.handle": ("self", "event"),
    "hypercorn.trio.tcp_server:ProtocolWrapper": (
        *("app", "config", "context", "task_group", "state"),
        *("ssl", "client", "server", "send", "alpn_protocol"),
    ),
    "hypercorn.protocol.h11:H11Protocol.__init__": (
        *("self", "app", "config", "context", "task_group", "connection_state"),
        *("ssl", "client", "server", "send"),
    ),
    "hypercorn.protocol.h11:H11Protocol._check_protocol": ("self", "event"),
    "hypercorn.protocol.h11:H11Protocol._handle_events": ("self",),
    "hypercorn.protocol.h11:H11Protocol._send_h11_event": ("self", "event"),
    "hypercorn.protocol.h11:H11Protocol._send_error_response": ("self", "status_code"),
}
"""Each name the subclasses rely on, with its parameters."""


def install_seam() -> bool:
    """Have every Hypercorn server of this process keep the front door's rules for guarded applications.

    Applications without a guard are served as before. Doing it twice does no more. False where Hypercorn is
    not as expected, which the log then says.
    """
    unexpected = find_surprises()
    if unexpected:
        _log.warning("hypercorn is not as expected; some limits of the front door are off", found=unexpected)
        return False
    from ostiary_net.front_door.connection import open_connection
    from ostiary_net.front_door.late import open_protocol
    from ostiary_net.front_door.protocol import GuardedProtocol

    vars(import_module("hypercorn.trio.run"))["TCPServer"] = open_connection
    vars(import_module("hypercorn.trio.tcp_server"))["ProtocolWrapper"] = open_protocol
    vars(import_module("hypercorn.protocol"))["H11Protocol"] = GuardedProtocol
    return True


def find_surprises() -> list[str]:
    """What differs from the Hypercorn that the subclasses were written for."""
    found = version("hypercorn")
    if not found.startswith(HYPERCORN):
        return [f"version {found}"]
    return [name for name, parameters in EXPECTED.items() if _parameters(name) != parameters]


def _parameters(name: str) -> tuple[str, ...] | None:
    module, _, path = name.partition(":")
    try:
        thing: Any = import_module(module)
        for part in path.split("."):
            thing = getattr(thing, part)
        return tuple(inspect.signature(thing).parameters)
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
