"""Opens the lane where Hypercorn is as expected; else the lane stays closed, and one log line says so."""

import gc
import sys
from collections.abc import Callable
from typing import Any, Final

import structlog

from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.hypercorn_internals import find_unsupported_version
from ostiary_net.lane.connection import Lane, LaneConnection
from ostiary_net.lane.fairness import FairQueue
from ostiary_net.lane.heads import HeadReader
from ostiary_net.lane.sockets import SharedDeadline, open_poller
from ostiary_net.lane.writer import AnswerWriter
from ostiary_net.turns.service import Service

_log = structlog.get_logger("ostiary")

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
    if (found := find_unsupported_version()) is not None:
        _log.warning("hypercorn is not as expected; the token lane stays closed", found=found)
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
    lane: Lane | None = None
    heads = HeadReader(guard.rules, service.endpoint.languages)
    deadline = SharedDeadline(guard.rules.body_wait_seconds)
    poller = open_poller()

    def open_connection(app: Any, config: Any, *accepted: Any) -> LaneConnection:
        nonlocal lane
        if lane is None:
            writer = AnswerWriter(lambda: config.response_headers("h11"))
            lane = Lane(service, heads, writer, deadline, poller, FairQueue())
        return LaneConnection(app, config, *accepted, guard=guard, lane=lane)

    return open_connection
