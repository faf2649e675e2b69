"""The server itself on a socket of its own: as `ostiary serve` runs it, as plain Hypercorn does, or with the
application to answer everything."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

import trio

from ostiary_net.front_door import Guard
from ostiary_net.front_door.rules import Receive, Scope, Send
from ostiary_net.front_door.serving import serve_until
from ostiary_net.lane import open_lane
from ostiary_net.lane.shortcut import shortcut
from ostiary_web.entrance import door_rules
from tests.web.served import Served

__all__ = ["Listened", "SocketDoor", "listening"]

SocketDoor = Literal["application", "plain", "lane"]


@dataclass
class Listened:
    """Where it listens, and how many requests got as far as the application."""

    port: int = 0
    passed_on: int = 0


@asynccontextmanager
async def listening(served: Served, door: SocketDoor) -> AsyncIterator[Listened]:
    """A running application on `127.0.0.1`, for as long as the block runs."""
    listened = Listened()
    application: Any = served.application.quart

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        listened.passed_on += scope["type"] == "http"
        await application(scope, receive, send)

    guarded = Guard(counted, door_rules(served.application.settings))
    if door != "application":
        guarded.shortcut = shortcut(served.service)
    if door == "lane":
        assert open_lane(guarded, served.service)
    stop, started = trio.Event(), trio.Event()

    def begun(addresses: list[str]) -> None:
        listened.port = urlsplit(addresses[0]).port or 0
        started.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            partial(serve_until, stop, guarded, bind="127.0.0.1:0", graceful_seconds=1.0, started=begun)
        )
        with trio.fail_after(10):
            await started.wait()
        try:
            yield listened
        finally:
            stop.set()
