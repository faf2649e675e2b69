"""The server itself on a socket of its own: as `ostiary serve` runs it, as plain Hypercorn does, or with the
application to answer everything."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

import trio

from ostiary_net.front_door import Guard
from ostiary_net.front_door.serving import serve_until
from ostiary_net.lane import open_lane
from ostiary_net.lane.shortcut import make_shortcut
from ostiary_web.app.asgi_app import make_door_limits
from tests.web.served import Served

SocketDoor = Literal["application", "plain", "lane"]


@asynccontextmanager
async def listening(served: Served, door: SocketDoor) -> AsyncIterator[int]:
    """A running application on `127.0.0.1`, for as long as the block runs; its port."""
    application: Any = served.application.quart
    guarded = Guard(application, make_door_limits(served.application.settings))
    if door != "application":
        guarded.shortcut = make_shortcut(served.service)
    if door == "lane":
        assert open_lane(guarded, served.service)
    stop, started = trio.Event(), trio.Event()
    ports: list[int] = []

    def begun(addresses: list[str]) -> None:
        ports.append(urlsplit(addresses[0]).port or 0)
        started.set()

    async with trio.open_nursery() as nursery:
        serve = partial(
            serve_until, stop, guarded, bind="127.0.0.1:0", graceful_seconds=1.0, on_listening=begun
        )
        nursery.start_soon(serve)
        with trio.fail_after(10):
            await started.wait()
        try:
            yield ports[0]
        finally:
            stop.set()
