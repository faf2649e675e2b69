"""Serves as one process: Hypercorn's Trio worker on our sockets, from its start to a stop that always ends.

A stop is graceful first: running requests are answered, idle connections close (`idle_watcher.py`). After
`graceful_seconds` requests are cancelled and connections cut off. If a thread or a finalizer still hangs,
the process exits (`stopping.py`).
"""

import logging
import select
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, cast

import trio

from ostiary_net.front_door.connection import patch_hypercorn
from ostiary_net.front_door.connections import raise_file_limit
from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.hypercorn_internals import (
    ASGIWrapper,
    Config,
    LifespanFailureError,
    LifespanTimeoutError,
    Sockets,
    worker_serve,
)
from ostiary_net.front_door.lifeline import (
    Lifeline,
    feed_watchdog,
    notify_manager,
    take_inherited_lifeline,
)
from ostiary_net.front_door.listeners import format_listener_url, open_listeners
from ostiary_net.front_door.stopping import ForcedExit, heed_signals
from ostiary_net.observability.log import unwrap_error

OnListening = Callable[[list[str]], None]
"""Is called with the addresses once they are listened on."""

FORCE_EXIT_SECONDS: Final = 3.0
"""Seconds after the graceful ones until the process exits by force: time to close the store."""

_ACCEPT_SECONDS: Final = 1.0
"""Longest time that a stopping server keeps accepting."""

_QUIET_SECONDS: Final = 0.05
"""Seconds without a new connection after which a stop closes the sockets."""

_REQUESTS_A_CONNECTION: Final = 1_000_000


class ServerFailed(RuntimeError):
    """The server could not start, or ended by itself; the text tells an administrator why."""


async def serve(app: Guard, *, bind: str, graceful_seconds: float, on_listening: OnListening) -> None:
    """Serve until one of `STOP_SIGNALS` comes, also during the start; a second one ends the process.

    `on_listening` is called with the addresses. Raises `AddressError` for an address that cannot be listened
    on, `ServerFailed` if the application could not start or has ended.
    """
    stop = trio.Event()
    with (
        take_inherited_lifeline() or nullcontext() as lifeline,
        ForcedExit(graceful_seconds + FORCE_EXIT_SECONDS) as forced_exit,
    ):

        def announce(addresses: list[str]) -> None:
            on_listening(addresses)
            if lifeline is not None:
                lifeline.announce_ready()
                nursery.start_soon(lifeline.beat)
            else:
                notify_manager("READY=1")

        async with _open_nursery_raising_alone() as nursery:
            await nursery.start(heed_signals, stop, forced_exit)
            nursery.start_soon(forced_exit.start_timer_after, stop)
            if lifeline is not None:
                nursery.start_soon(_stop_without_parent, lifeline, stop)
            else:
                nursery.start_soon(_notify_of_stop, stop)
                nursery.start_soon(feed_watchdog)
            await serve_until(stop, app, bind=bind, graceful_seconds=graceful_seconds, on_listening=announce)
            nursery.cancel_scope.cancel()


async def run_until_signal(work: Callable[[], Awaitable[None]]) -> None:
    """Do `work`, and cancel it on a stop signal. Raises what `work` raises."""
    stop = trio.Event()
    async with _open_nursery_raising_alone() as nursery:
        await nursery.start(heed_signals, stop, ForcedExit(None))
        nursery.start_soon(_cancel_start, nursery.cancel_scope, stop, trio.Event())
        await work()
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def _open_nursery_raising_alone() -> AsyncIterator[trio.Nursery]:
    """Open a nursery that raises a lone error as it is, and not in a group."""
    try:
        async with trio.open_nursery() as nursery:
            yield nursery
    except BaseExceptionGroup as group:
        error = unwrap_error(group)
        raise error from error.__cause__


async def serve_until(
    stop: trio.Event, app: Guard, *, bind: str, graceful_seconds: float, on_listening: OnListening
) -> None:
    """Serve on `bind` until `stop` is set, or until the application breaks, which raises `ServerFailed`."""
    with open_listeners(bind) as listeners:
        await serve_on(listeners, stop, app, graceful_seconds=graceful_seconds, on_listening=on_listening)


async def serve_on(
    listeners: list[socket.socket],
    stop: trio.Event,
    app: Guard,
    *,
    graceful_seconds: float,
    on_listening: OnListening,
) -> None:
    """Serve on listening sockets until `stop` is set or the application breaks."""
    patch_hypercorn()
    raise_file_limit(app.limits.most_connections)
    failure: BaseException | None = None
    serving = trio.Event()

    def announce() -> None:
        serving.set()
        # Hypercorn reports its start also if the lifespan has failed, and raises a moment later.
        if app.lifespan.failure is None:
            on_listening([format_listener_url(each) for each in listeners])

    accept_seconds = min(_ACCEPT_SECONDS, graceful_seconds / 2)
    config = _make_config(app, graceful_seconds)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_stop_when_broken, app, stop)
        nursery.start_soon(_cancel_start, nursery.cancel_scope, stop, serving)
        try:
            await worker_serve(
                ASGIWrapper(cast(Any, app)),
                config,
                sockets=Sockets(secure_sockets=[], insecure_sockets=listeners, quic_sockets=[]),
                shutdown_trigger=partial(_wait_for_stop, stop, app, listeners, accept_seconds),
                # Trio's `task_status`, as no nursery starts the function.
                task_status=SimpleNamespace(started=lambda value=None: announce()),
            )
        except* (LifespanFailureError, LifespanTimeoutError) as group:
            failure = unwrap_error(group)
        nursery.cancel_scope.cancel()
    if app.lifespan.failure is not None:
        raise ServerFailed(app.lifespan.failure)
    if failure is not None:
        raise ServerFailed(str(failure))


def _make_config(app: Guard, graceful_seconds: float) -> Config:
    config = Config()
    config.graceful_timeout = graceful_seconds
    config.shutdown_timeout = FORCE_EXIT_SECONDS
    config.keep_alive_max_requests = _REQUESTS_A_CONNECTION
    config.include_server_header = False
    config.errorlog = logging.getLogger("hypercorn.error")
    return config


async def _wait_for_stop(
    stop: trio.Event, app: Guard, listeners: list[socket.socket], most_seconds: float
) -> None:
    """Wait for `stop`, and then until all connections in the queues of the sockets are accepted."""
    # To close a listening socket resets the connections in its queue, with the requests that they have sent.
    # Some may still come after the last poll: so it closes only when none has come for a moment.
    await stop.wait()
    knocking = select.poll()
    for listener in listeners:
        knocking.register(listener, select.POLLIN)
    known = app.connections.open
    last_came = trio.current_time()
    deadline = last_came + most_seconds
    while trio.current_time() < min(deadline, last_came + _QUIET_SECONDS):
        await trio.sleep(_QUIET_SECONDS / 10)
        present = app.connections.open
        if knocking.poll(0) or present - known:
            last_came = trio.current_time()
        known = present


async def _stop_when_broken(app: Guard, stop: trio.Event) -> None:
    await app.lifespan.broken.wait()
    stop.set()


async def _cancel_start(start: trio.CancelScope, stop: trio.Event, serving: trio.Event) -> None:
    """Cancel a start that is still under way when `stop` is set."""
    # Hypercorn calls `shutdown_trigger` only once the application has started, which may wait for its
    # database.
    await stop.wait()
    if not serving.is_set():
        start.cancel()


async def _notify_of_stop(stop: trio.Event) -> None:
    await stop.wait()
    notify_manager("STOPPING=1")


async def _stop_without_parent(lifeline: Lifeline, stop: trio.Event) -> None:
    while await lifeline.wait():
        pass
    stop.set()
