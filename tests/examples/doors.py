"""Doors to the examples as they are, on real sockets if they have any."""

import json
import os
import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import batch
import trio
import uvicorn
import with_asyncio
import with_flask
import with_trio
from first_records import REDIRECT_URI, VERIFIER, Records, make_first_records
from token_service import TokenService

from ostiary_core import MemoryStore, Store
from tests.support.stores import HandClock

Fields = list[tuple[str, str]]

AGENT: Final = "app-backend/1.0"


@dataclass(frozen=True)
class Told:
    """An answer; names of header fields are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.body)
        return content

    @property
    def error(self) -> tuple[int, str]:
        return self.status, self.content["error"]


@dataclass(frozen=True)
class Door:
    """A front door, and what stands behind it."""

    ask: Callable[[str, str, Fields, bytes], Told]
    records: Records
    code: Callable[[], str]
    """A fresh code of Anna's for `app`."""
    wait: Callable[[float], None]
    port: int = 0
    """The port on 127.0.0.1; 0 without a socket."""

    def basic(self, client_id: str = "app") -> tuple[str, str]:
        pair = f"{client_id}:{self.records.secrets[client_id]}"
        return "Authorization", "Basic " + b64encode(pair.encode()).decode()

    def post(
        self, operation: str, form: Mapping[str, str], *, by: str | None = "app", agent: str = AGENT
    ) -> Told:
        fields = [("Content-Type", "application/x-www-form-urlencoded"), ("User-Agent", agent)]
        if by is not None:
            fields.append(self.basic(by))
        return self.ask("POST", f"/api/oauth2/{operation}", fields, urlencode(form).encode())

    def redeem(self, code: str) -> Told:
        form = {"grant_type": "authorization_code", "code": code}
        return self.post("token", {**form, "redirect_uri": REDIRECT_URI, "code_verifier": VERIFIER})

    def pair(self) -> dict[str, Any]:
        return self.redeem(self.code()).content

    def refresh(self, token: str, *, agent: str = AGENT) -> Told:
        return self.post("token", {"grant_type": "refresh_token", "refresh_token": token}, agent=agent)

    def machine_token(self) -> str:
        token: str = self.post("token", {"grant_type": "client_credentials"}).content["access_token"]
        return token

    def is_active(self, token: str) -> bool:
        told = self.post("introspect", {"token": token}).content
        assert told["active"] or told == {"active": False}
        return bool(told["active"])

    def userinfo(self, token: str | None) -> Told:
        fields = [] if token is None else [("Authorization", f"Bearer {token}")]
        return self.ask("GET", "/api/oauth2/userinfo", fields, b"")


Ask = Callable[[str, str, Fields, bytes], Told]

EXAMPLES: Final = ("asyncio", "flask", "django", "trio", "batch")


@contextmanager
def open_door(example: str, folder: Path) -> Iterator[Door]:
    """Open the front door of one example over a store with its first records."""
    clock = HandClock()
    with ExitStack() as stack:
        store: Store = MemoryStore()
        match example:
            case "asyncio":
                port = stack.enter_context(_on_uvicorn(with_asyncio.make_application(_service(store, clock))))
            case "flask":
                port = stack.enter_context(_on_wsgi(with_flask.make_application(_service(store, clock))))
            case "django":
                store, application = stack.enter_context(_django(folder, clock))
                port = stack.enter_context(_on_wsgi(application))
            case "trio":
                port = stack.enter_context(_on_trio(store, clock))
            case "batch":
                port = 0
            case _:
                raise ValueError(f"there is no example called {example}")
        if port:
            ask = stack.enter_context(_over(HTTPConnection("127.0.0.1", port, timeout=10)))
        else:
            ask = _in_batches(batch.Batch(store, "a seed"), clock)
        yield _door_over(store, clock, ask, port)


def _service(store: Store, clock: HandClock) -> TokenService:
    return TokenService(store, clock.now, clock.monotonic)


@contextmanager
def open_unix_door(path: Path) -> Iterator[Door]:
    """Open the asyncio example on a Unix socket, on which callers have no address."""
    clock, store = HandClock(), MemoryStore()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        with _run_uvicorn(with_asyncio.make_application(_service(store, clock)), listening):
            connection = HTTPConnection("localhost", timeout=10)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(path))
            with _over(connection) as ask:
                yield _door_over(store, clock, ask)


def _door_over(store: Store, clock: HandClock, ask: Ask, port: int = 0) -> Door:
    """Make a door whose records and codes are made by events, beside it."""
    records = make_first_records(store, clock.now())
    return Door(
        ask=ask, records=records, code=lambda: records.code(store, clock.now()), wait=clock.wait, port=port
    )


@contextmanager
def _over(connection: HTTPConnection) -> Iterator[Ask]:
    def ask(method: str, path: str, fields: Fields, body: bytes) -> Told:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in [*fields, ("Content-Length", str(len(body)))]:
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        told = Told(
            response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        )
        if told.status == 413:
            connection.close()  # a server that refuses a body need not have read it
        return told

    yield ask
    connection.close()


@contextmanager
def _on_uvicorn(application: Any) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        # asyncio sets it on sockets that it made; head and body are sent apart.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with _run_uvicorn(application, listening):
            yield listening.getsockname()[1]


@contextmanager
def _in_thread(run: Callable[[], object], stop: Callable[[], object]) -> Iterator[None]:
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop()
        thread.join(10)


@contextmanager
def _run_uvicorn(application: Any, listening: socket.socket) -> Iterator[None]:
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_config=None, ws="none"))
    with _in_thread(partial(server.run, sockets=[listening]), partial(setattr, server, "should_exit", True)):
        yield


class _Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    protocol_version = "HTTP/1.0"

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def _on_wsgi(application: Any) -> Iterator[int]:
    with (
        make_server("127.0.0.1", 0, application, WSGIServer, _Quiet) as server,
        _in_thread(partial(server.serve_forever, poll_interval=0.02), server.shutdown),
    ):
        yield server.server_port


@contextmanager
def _on_trio(store: Store, clock: HandClock) -> Iterator[int]:
    ports: list[int] = []
    ready, over = threading.Event(), trio.Event()
    tokens: list[trio.lowlevel.TrioToken] = []

    async def serve() -> None:
        tokens.append(trio.lowlevel.current_trio_token())
        async with trio.open_nursery() as nursery:
            [listener] = await nursery.start(with_trio.serve, _service(store, clock))
            ports.append(listener.socket.getsockname()[1])
            ready.set()
            await over.wait()
            nursery.cancel_scope.cancel()

    with _in_thread(partial(trio.run, serve), lambda: tokens[0].run_sync_soon(over.set)):
        assert ready.wait(10)
        yield ports[0]


def _in_batches(job: batch.Batch, clock: HandClock) -> Ask:
    def ask(method: str, path: str, fields: Fields, body: bytes) -> Told:
        line = {
            "at": clock.now(),
            "method": method,
            "path": path,
            "headers": fields,
            "body": body.decode("latin-1"),
        }
        [answered] = job.run([json.dumps(line)])
        content = json.loads(answered)
        return Told(content["status"], dict(content["headers"]), content["body"].encode())

    return ask


def django_store(folder: Path) -> Store:
    """Return the empty store of the Django example.

    Django is configured once a process, so its file is emptied and not replaced.
    """
    import with_django
    from django.conf import settings

    # The browser of other tests leaves the loop of its driver behind in this thread.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    if not settings.configured:
        with_django.configure(str(folder / "example.sqlite3"))
        with_django.make_tables()
    from django_store import DjangoStore, StoredEntry, StoredRecord

    StoredRecord.objects.all().delete()
    StoredEntry.objects.all().delete()
    return DjangoStore()


@contextmanager
def _django(folder: Path, clock: HandClock) -> Iterator[tuple[Store, Any]]:
    import with_django
    from django.db import connection

    store = django_store(folder)
    yield store, with_django.make_application(_service(store, clock))
    connection.close()
