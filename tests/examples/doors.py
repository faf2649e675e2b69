"""How a case gets to each front door: the examples as they are, on real sockets where they have any."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import batch
import trio
import uvicorn
import with_asyncio
import with_flask
import with_trio
from first_records import make_first_records

from ostiary_core import MemoryStore, Store
from tests.examples.suite import Door, Fields, Told
from tests.net.rooms import HandClock

__all__ = ["EXAMPLES", "django_store", "opened", "over_sockets"]

Ask = Callable[[str, str, Fields, bytes], Told]

EXAMPLES: Final = ("asyncio", "flask", "django", "trio", "batch")


@contextmanager
def opened(example: str, folder: Path) -> Iterator[Door]:
    """The front door of one example over a store with its first records."""
    clock = HandClock()
    with ExitStack() as stack:
        store: Store = MemoryStore()
        match example:
            case "asyncio":
                application = with_asyncio.make_application(store, clock.now)
                ask = stack.enter_context(_on_uvicorn(application))
            case "flask":
                ask = stack.enter_context(_on_wsgi(with_flask.make_application(store, clock.now)))
            case "django":
                store, application = stack.enter_context(_django(folder, clock))
                ask = stack.enter_context(_on_wsgi(application))
            case "trio":
                ask = stack.enter_context(_on_trio(store, clock))
            case "batch":
                ask = _in_batches(batch.Batch(store, "a seed"), clock)
            case _:
                raise ValueError(f"there is no example called {example}")
        yield _door_over(store, clock, ask)


def _door_over(store: Store, clock: HandClock, ask: Ask) -> Door:
    """A door whose records and codes are made by events, beside it."""
    records = make_first_records(store, clock.now())
    return Door(ask=ask, records=records, code=lambda: records.code(store, clock.now()), wait=clock.wait)


@contextmanager
def over_sockets(port: int) -> Iterator[Ask]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)

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
            connection.close()  # whoever refused it need not have read it
        return told

    yield ask
    connection.close()


@contextmanager
def _on_uvicorn(application: Any) -> Iterator[Ask]:
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_config=None, ws="none"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        # asyncio sets it on sockets that it made; head and body are sent apart.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            with over_sockets(listening.getsockname()[1]) as ask:
                yield ask
        finally:
            server.should_exit = True
            thread.join(10)


class _Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    protocol_version = "HTTP/1.0"

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def _on_wsgi(application: Any) -> Iterator[Ask]:
    with make_server("127.0.0.1", 0, application, WSGIServer, _Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            with over_sockets(server.server_port) as ask:
                yield ask
        finally:
            server.shutdown()
            thread.join(10)


@contextmanager
def _on_trio(store: Store, clock: HandClock) -> Iterator[Ask]:
    ports: list[int] = []
    ready, over = threading.Event(), trio.Event()
    tokens: list[trio.lowlevel.TrioToken] = []

    async def serve() -> None:
        tokens.append(trio.lowlevel.current_trio_token())
        async with trio.open_nursery() as nursery:
            [listener] = await nursery.start(with_trio.serve, store, clock.now)
            ports.append(listener.socket.getsockname()[1])
            ready.set()
            await over.wait()
            nursery.cancel_scope.cancel()

    thread = threading.Thread(target=trio.run, args=[serve])
    thread.start()
    try:
        assert ready.wait(10)
        with over_sockets(ports[0]) as ask:
            yield ask
    finally:
        tokens[0].run_sync_soon(over.set)
        thread.join(10)


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
    """The store of the Django example with nothing in it. Django is configured once a process, so its file
    is emptied and not replaced."""
    import with_django
    from django.conf import settings

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

    yield django_store(folder), with_django.make_application(clock.now)
    connection.close()
