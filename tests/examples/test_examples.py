"""The examples of docs/examples pass, file by file as they are, the suite that the server passes too."""

import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

import pytest
import trio
from first_records import REDIRECT_URI, VERIFIER, make_first_records

from ostiary_core import Instant, Refused, Store, Table, UserKnown
from ostiary_core.conformance import check_store
from ostiary_net.front_door import Guard
from ostiary_net.front_door.serving import serve_until
from ostiary_net.lane import start_door
from ostiary_web.app.asgi_app import make_door_limits
from tests.examples.doors import EXAMPLES, django_store, open_door, open_unix_door, over_sockets
from tests.examples.suite import Case, Door, every_case
from tests.support import asks
from tests.support.served import Served, serving

SocketDoor = Literal["application", "plain", "lane"]


@asynccontextmanager
async def listening(served: Served, door: SocketDoor) -> AsyncIterator[int]:
    """Serve the application on `127.0.0.1` for as long as the block runs; yield its port."""
    application: Any = served.application.quart
    guarded = Guard(application, make_door_limits(served.application.settings))
    if door != "application":
        guarded.started = start_door(served.service, guarded.limits, has_lane=door == "lane")
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


FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.fixture(scope="module", params=EXAMPLES)
def door(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with open_door(request.param, tmp_path_factory.mktemp("example")) as one:
        yield one


@every_case
def test_an_example_answers_as_the_specification_says(door: Door, case: Case) -> None:
    door.wait(60)
    case(door)


_ON_SOCKETS = pytest.mark.parametrize("example", [name for name in EXAMPLES if name != "batch"])


@_ON_SOCKETS
def test_an_answer_to_head_has_no_body(example: str, tmp_path: Path) -> None:
    request = b"HEAD /api/oauth2/userinfo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with open_door(example, tmp_path) as door, _connection(door) as connection:
        connection.sendall(request)
        head, _, body = _rest(connection).partition(b"\r\n\r\n")
    assert b" 401 " in head.partition(b"\r\n")[0]
    assert body == b""


@_ON_SOCKETS
def test_a_request_that_is_torn_off_is_not_decided(example: str, tmp_path: Path) -> None:
    with open_door(example, tmp_path) as door:
        code = door.code()
        form = {"grant_type": "authorization_code", "client_id": "app", "code": code}
        body = urlencode(form | {"client_secret": door.records.secrets["app"]}).encode()
        head = (
            b"POST /api/oauth2/token HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n"
        )
        with _connection(door) as torn:
            # The redirect_uri and code_verifier were to come after it.
            torn.sendall(head % (len(body) + 100) + body)
            torn.shutdown(socket.SHUT_WR)
            _rest(torn)
        assert door.redeem(code).status == 200


def _connection(door: Door) -> socket.socket:
    return socket.create_connection(("127.0.0.1", door.port), timeout=10)


def _rest(connection: socket.socket) -> bytes:
    """Read until the other side closes."""
    return b"".join(iter(lambda: connection.recv(4096), b""))


def test_a_caller_through_a_unix_socket_is_answered(tmp_path: Path) -> None:
    with open_unix_door(tmp_path / "socket") as door:
        assert len(door.machine_token()) == 43


@every_case
@pytest.mark.parametrize("door", ["application", "plain", "lane"])
async def test_the_server_on_its_socket_answers_as_the_examples_do(
    tmp_path: Path, case: Case, door: SocketDoor
) -> None:
    async with serving(tmp_path) as served, listening(served, door) as port:
        records = make_first_records(served.store, served.clock.now())

        def code() -> str:
            return trio.from_thread.run_sync(records.code, served.store, served.clock.now())

        with over_sockets(port) as ask:
            await trio.to_thread.run_sync(case, Door(ask, records, code, served.clock.wait))


def test_the_batch_program_gives_the_same_answers_to_the_same_file_in_every_run(tmp_path: Path) -> None:
    def run(lines: list[dict[str, object]]) -> tuple[str, str]:
        (tmp_path / "requests.jsonl").write_text("\n".join(map(json.dumps, lines)))
        command = [sys.executable, str(FOLDER / "batch.py"), str(tmp_path / "requests.jsonl")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout, done.stderr

    _, told = run([])
    first = json.loads(told)
    credentials = {"client_id": "app", "client_secret": first["secrets"]["app"]}
    forms = [
        {"grant_type": "client_credentials"},
        {
            "grant_type": "authorization_code",
            "code": first["code"],
            "redirect_uri": REDIRECT_URI,
            "code_verifier": VERIFIER,
        },
    ]
    lines: list[dict[str, object]] = [
        {
            "at": 1000,
            "method": "POST",
            "path": "/api/oauth2/token",
            "headers": [["Content-Type", "application/x-www-form-urlencoded"]],
            "body": urlencode(form | credentials),
        }
        for form in forms
    ]
    answers, _ = run(lines)
    assert [json.loads(line)["status"] for line in answers.splitlines()] == [200, 200]
    assert run(lines) == (answers, told)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short_enough_to_be_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 120


def test_the_django_store_passes_the_kit_of_the_core(tmp_path: Path) -> None:
    """Pass all checks but one: the example has one file, so two stores of it are one."""
    report = check_store(lambda: django_store(tmp_path), reopen=_reopen)
    assert [flaw.check for flaw in report.flaws] == ["two stores share nothing"], str(report)


@pytest.mark.parametrize("letter", ["a", "名", "😀", "\ufdfa"])
def test_the_longest_names_fit_into_the_columns_of_the_django_store(tmp_path: Path, letter: str) -> None:
    """Judge the columns by Django, as SQLite keeps what is too long and other databases do not."""
    store = django_store(tmp_path)
    from django_store import StoredRecord

    registered = asks.user(letter * 64)
    for expected in (UserKnown, Refused):
        [decision] = store.turn([registered], Instant(0))
        assert isinstance(decision.reply, expected)
    for row in StoredRecord.objects.all():
        row.clean_fields(exclude=["access_token"])
    assert {Table.USER.value, Table.IDENTIFIER.value} == {row.table for row in StoredRecord.objects.all()}


def _reopen(store: Store) -> Store:
    """Close the file, which the next statement opens anew."""
    from django.db import connection

    connection.close()
    return store
