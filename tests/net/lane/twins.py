"""Two doors of the same house: the same people, tokens and time behind the lane and behind plain ASGI.

A test sends bytes in pieces over streams in memory or pairs of sockets: the next piece is not sent before the
server has done all it can with the one before. Answers are compared without the date, trace ids and freshly
drawn tokens, which differ by nature.
"""

import re
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Final

import trio
import trio.testing
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from trio.testing import MockClock

from fuzz.shared.seeds import SeededEntropy
from ostiary_core.http import TokenEndpoint
from ostiary_core.model.decision import Insert
from ostiary_core.model.records import RECORD_TABLES
from ostiary_net.front_door.connection import patch_hypercorn
from ostiary_net.front_door.guard import Guard
from ostiary_net.front_door.limits import Application, DoorLimits, Receive, Scope, Send
from ostiary_net.lane import start_door
from ostiary_net.runtime.system import RunSync, run_inline
from ostiary_net.turns.service import Service
from ostiary_net.turns.turns import open_turns
from ostiary_web.app.asgi_app import make_door_limits
from ostiary_web.app.factory import create_app
from ostiary_web.server.settings import Settings
from tests.support.connections import Kind, Stream, connect_stream
from tests.support.stores import HandClock, PlainStore
from tests.support.story import World, given

SETTINGS: Final = Settings.from_environment({})
LIMITS: Final = make_door_limits(SETTINGS)
_QUART: Final = create_app(SETTINGS)


class House:
    """The records behind both doors, and the tokens that clients hold at the start."""

    def __init__(self) -> None:
        self.world: World = given()
        tokens = self.world.tokens()
        assert tokens.refresh_token is not None
        self.access = tokens.access_token.reveal()
        self.refresh = tokens.refresh_token.reveal()
        self.machine = self.world.machine_token().reveal()
        self.code = self.world.code().reveal()
        self.secret = self.world.secrets["app"].reveal()
        self.basic = "Basic " + b64encode(f"app:{self.secret}".encode()).decode()

    def copied_store(self) -> PlainStore:
        store = PlainStore()
        records = [record for table in RECORD_TABLES for record in self.world.store.records(table)]
        store.write([Insert(record) for record in records])
        return store


HOUSE: Final = House()


def request(path: str, body: str = "", *fields: str, method: str = "POST", authorized: bool = True) -> bytes:
    """Return a request as a backend sends it."""
    head = [f"{method} {path} HTTP/1.1", "Host: id.example"]
    if authorized:
        head.append(f"Authorization: {HOUSE.basic}")
    if method == "POST":
        head += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}"]
    return ("\r\n".join([*head, *fields]) + "\r\n\r\n" + body).encode("latin-1")


@dataclass(frozen=True)
class Heard:
    """The bytes that a client received, and whether the server then closed."""

    data: bytes
    closed: bool


_MASKS: Final = (
    (re.compile(rb"date: [^\r]+\r\n"), b"date: D\r\n"),
    (re.compile(rb'"traceId":"[0-9a-f]{32}"'), b'"traceId":"T"'),
    (re.compile(rb'_token":"[A-Za-z0-9_-]{43}"'), b'_token":"X"'),
)


def mask_answer(data: bytes) -> bytes:
    """Replace what differs from one answer to the next."""
    for pattern, mask in _MASKS:
        data = pattern.sub(mask, data)
    return data


@dataclass
class Line:
    """A client's end of a connection."""

    stream: Stream

    async def say(self, *pieces: bytes) -> None:
        """Send piece by piece, and no more once the server has closed."""
        for piece in pieces:
            try:
                await self.stream.send_all(piece)
            except trio.BrokenResourceError:
                return
            await trio.testing.wait_all_tasks_blocked()

    async def hear(self, seconds: float = 5) -> Heard:
        """Return all that comes in `seconds`, which is more than both doors wait for a body."""
        heard = b""
        with trio.move_on_after(seconds):
            # A socket ends with an error if the server closed it with something unread in it.
            with suppress(trio.BrokenResourceError):
                while data := await self.stream.receive_some():
                    heard += data
            return Heard(heard, closed=True)
        return Heard(heard, closed=False)


@dataclass
class Opened:
    """One running door."""

    guarded: Guard
    service: Service
    clock: HandClock
    nursery: trio.Nursery
    context: WorkerContext
    kind: Kind
    config: Config = field(default_factory=Config)
    lines: list[Line] = field(default_factory=list)

    def connect(self, *, never_sends: bool = False) -> Line:
        stream = connect_stream(
            self.guarded, self.nursery, self.config, self.context, never_sends=never_sends, kind=self.kind
        )
        self.lines.append(Line(stream))
        return self.lines[-1]

    async def call(self, *pieces: bytes) -> Line:
        """Open a connection and send these pieces over it."""
        line = self.connect()
        await line.say(*pieces)
        return line


@asynccontextmanager
async def open_twin(
    *,
    lane: bool,
    has_shortcut: bool = False,
    app: Application | None = None,
    limits: DoorLimits = LIMITS,
    kind: Kind = Kind.MEMORY,
    run_sync: RunSync = run_inline,
    endpoint: Callable[[], TokenEndpoint] = TokenEndpoint,
    **changed: Any,
) -> AsyncIterator[Opened]:
    """Open a door over its own copy of the house; `app` stands in for the web application."""
    patch_hypercorn()
    clock = HandClock(HOUSE.world.now)
    async with open_turns(HOUSE.copied_store(), clock, run_sync) as turns, trio.open_nursery() as nursery:
        service = Service(turns=turns, clock=clock, entropy_source=SeededEntropy(), endpoint=endpoint())

        async def web(scope: Scope, receive: Receive, send: Send) -> None:
            if not scope["path"].startswith("/api/"):
                # A page is rendered in a thread, which a virtual clock does not wait for.
                fields = [(b"x-content-type-options", b"nosniff")]
                await send({"type": "http.response.start", "status": 404, "headers": fields})
                await send({"type": "http.response.body", "body": b"no page", "more_body": False})
                return
            _QUART.extensions["ostiary"] = SimpleNamespace(service=service, settings=SETTINGS)
            quart: Any = _QUART
            await quart(scope, receive, send)

        guarded = Guard(app or web, replace(limits, **changed))
        if lane or has_shortcut:
            started = start_door(service, guarded.limits, has_lane=lane)
            assert (started.open_connection is not None) == lane
            guarded.started = started if has_shortcut else replace(started, shortcut=None)
        door = Opened(guarded, service, clock, nursery, WorkerContext(None), kind)
        yield door
        nursery.cancel_scope.cancel()
    for line in door.lines:
        await trio.aclose_forcefully(line.stream)


def at_both(pieces: Sequence[bytes], **changed: Any) -> tuple[Heard, Heard]:
    """Return the answers of the lane and of plain ASGI, masked.

    The lane is asked over a connection that rests and over one whose task reads, plain ASGI with and without
    the shortcut to the four operations; each pair answers alike.
    """

    async def ask(**how: Any) -> Heard:
        async with open_twin(**how, **changed) as door:
            line = door.connect()
            await line.say(*pieces)
            heard = await line.hear()
        return Heard(mask_answer(heard.data), heard.closed)

    async def ask_all() -> tuple[Heard, Heard]:
        resting, reading = await ask(lane=True, kind=Kind.SOCKETS), await ask(lane=True)
        assert resting == reading
        short, plain = await ask(lane=False, has_shortcut=True), await ask(lane=False)
        assert short == plain
        return resting, plain

    return trio.run(ask_all, clock=MockClock(autojump_threshold=0))
