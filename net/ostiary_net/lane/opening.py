"""Opens the lane where Hypercorn is as expected; else the lane stays closed, and one log line says so."""

import gc
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import structlog

from ostiary_net.front_door.guard import Guard
from ostiary_net.turns.service import Service

__all__ = ["EXPECTED_ATTRIBUTES", "open_lane"]

_log = structlog.get_logger("ostiary")

EXPECTED_ATTRIBUTES: Final = {
    "hypercorn.protocol:ProtocolWrapper": ("protocol", "ssl", "client"),
    "hypercorn.protocol.h11:H11Protocol": ("connection", "keep_alive_requests"),
    "hypercorn.trio.worker_context:WorkerContext": ("max_requests", "terminated"),
}
"""What each class of Hypercorn keeps under these names, beyond what the front door's own seam looks at."""


_MADE_BETWEEN_COLLECTIONS: Final = 20_000
"""In place of 700. Nearly everything that a turn makes goes by itself when it is answered; with 700 much of
it is looked at before. Measured: 3 % of a refresh."""

_LOCK_SECONDS: Final = 0.0005
"""After which a thread that waits for the interpreter's lock is given it, in place of 5 ms: one that has just
been given the store's lock, or has committed, keeps others waiting. Measured, two workers on one file: 5 %
more refreshes a second."""


def open_lane(guard: Guard, service: Service) -> bool:
    """Have the lane answer connections to `guard` from `service`.

    False where Hypercorn is not as expected, which the log then says: the plain door serves everything.
    """
    missing = [
        f"{name}.{attribute}"
        for name, attributes in EXPECTED_ATTRIBUTES.items()
        for attribute in attributes
        if not _has_attribute(name, attribute)
    ]
    if missing:
        _log.warning("hypercorn is not as expected; the token lane stays closed", missing=missing)
        return False
    guard.open_connection = _opener(guard, service)
    # What was made by now stays for good: a full collection, which holds up every request that is waiting,
    # need not go through all of it again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_MADE_BETWEEN_COLLECTIONS)
    sys.setswitchinterval(_LOCK_SECONDS)
    return True


def _opener(guard: Guard, service: Service) -> Callable[..., Any]:
    from ostiary_net.lane.connection import Lane, LaneConnection
    from ostiary_net.lane.deadline import SharedDeadline
    from ostiary_net.lane.heads import HeadReader
    from ostiary_net.lane.poller import open_poller
    from ostiary_net.lane.writer import AnswerWriter

    lane: Lane | None = None
    heads, deadline = HeadReader(guard.rules), SharedDeadline(guard.rules.patience_seconds)
    poller = open_poller()

    def open_connection(app: Any, config: Any, context: Any, state: Any, stream: Any) -> LaneConnection:
        nonlocal lane
        if lane is None:
            writer = AnswerWriter(lambda: config.response_headers("h11"))
            lane = Lane(service, heads, writer, deadline, poller)
        return LaneConnection(app, config, context, state, stream, guard, lane)

    return open_connection


def _has_attribute(name: str, attribute: str) -> bool:
    """Whether objects of a class get an attribute of this name when they are made."""
    module, _, class_name = name.partition(":")
    try:
        made: Any = getattr(import_module(module), class_name).__init__
        return attribute in made.__code__.co_names
    except (ImportError, AttributeError):
        return False
