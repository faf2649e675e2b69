"""Opens the lane in front of the supported Hypercorn."""

import gc
import sys
from collections.abc import Callable
from typing import Any, Final

import structlog

from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.hypercorn_internals import find_unsupported_version
from ostiary_net.front_door.protocol import keep_alive_fields
from ostiary_net.lane.connection import Lane, LaneConnection
from ostiary_net.lane.heads import HeadReader
from ostiary_net.lane.sockets import CallbackQueue, open_poller
from ostiary_net.lane.writer import AnswerWriter
from ostiary_net.turns.service import Service

_log = structlog.get_logger("ostiary")

_COLLECT_AFTER_ALLOCATIONS: Final = 20_000
"""Allocations between two garbage collections, in place of 700: reference counts free nearly all that a turn
makes when it is answered; with 700 much is examined before. Measured: 3 % of a refresh."""

_SWITCH_SECONDS: Final = 0.0005
"""Time after which a waiting thread gets the interpreter's lock, in place of 5 ms: a thread that has just got
the store's lock, or has committed, keeps others waiting. Measured, two workers on one file: 5 % more
refreshes a second."""


def open_lane(guard: Guard, service: Service) -> bool:
    """Answer connections to `guard` by the lane from `service`.

    Return False for another Hypercorn, which the log names: the plain door serves everything.
    """
    if (found := find_unsupported_version()) is not None:
        _log.warning("hypercorn is not as expected; the token lane stays closed", found=found)
        return False
    guard.open_connection = _make_opener(guard, service)
    # What was made by now stays for good: a full collection, which stops every waiting request, need not
    # examine it again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER_ALLOCATIONS)
    sys.setswitchinterval(_SWITCH_SECONDS)
    return True


def _make_opener(guard: Guard, service: Service) -> Callable[..., Any]:
    lane: Lane | None = None
    heads = HeadReader(guard.limits, service.endpoint.languages)
    deadline = CallbackQueue(guard.limits.body_wait_seconds)
    poller = open_poller()

    def open_connection(app: Any, config: Any, *accepted: Any) -> LaneConnection:
        nonlocal lane
        if lane is None:
            writer = AnswerWriter(
                lambda: [*guard.limits.answer_fields, *config.response_headers("h11")],
                keep_alive_fields(guard.limits),
            )
            lane = Lane(service, heads, writer, deadline, poller, CallbackQueue())
        return LaneConnection(app, config, *accepted, guard=guard, lane=lane)

    return open_connection
