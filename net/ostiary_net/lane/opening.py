"""Makes what a started application gives its front door: the shortcut, and the lane in front of Hypercorn."""

from collections.abc import Callable
from typing import Any

import structlog

from ostiary_net.front_door.guard import Guard, StartedApplication
from ostiary_net.front_door.hypercorn_internals import find_unsupported_version
from ostiary_net.front_door.limits import DoorLimits
from ostiary_net.front_door.protocol import keep_alive_fields
from ostiary_net.lane.connection import Lane, LaneConnection
from ostiary_net.lane.heads import HeadReader
from ostiary_net.lane.shortcut import make_shortcut
from ostiary_net.lane.sockets import CallbackQueue, open_poller
from ostiary_net.lane.writer import AnswerWriter
from ostiary_net.turns.service import Service

_log = structlog.get_logger("ostiary")


def start_door(service: Service, limits: DoorLimits, *, has_lane: bool) -> StartedApplication:
    """Return what the front door of a started `service` needs, with the lane if the server is to have one.

    In front of another Hypercorn, which the log names, the lane stays closed and the plain door serves all.
    """
    unsupported = find_unsupported_version() if has_lane else None
    if unsupported is not None:
        _log.warning("hypercorn is not as expected; the token lane stays closed", found=unsupported)
    is_open = has_lane and unsupported is None
    return StartedApplication(
        draw_trace_id=service.draw_trace_id,
        tracing=service.tracing,
        shortcut=make_shortcut(service),
        open_connection=_make_opener(service, limits) if is_open else None,
    )


def _make_opener(service: Service, limits: DoorLimits) -> Callable[..., Any]:
    lane: Lane | None = None
    heads = HeadReader(limits, service.endpoint.languages)
    deadline = CallbackQueue(limits.body_wait_seconds)
    poller = open_poller()

    def open_connection(guard: Guard, app: Any, config: Any, *accepted: Any) -> LaneConnection:
        nonlocal lane
        if lane is None:
            writer = AnswerWriter(
                lambda: [*limits.answer_fields, *config.response_headers("h11")], keep_alive_fields(limits)
            )
            lane = Lane(service, heads, writer, deadline, poller, CallbackQueue())
        return LaneConnection(app, config, *accepted, guard=guard, lane=lane)

    return open_connection
