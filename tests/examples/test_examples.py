"""The examples of docs/examples, file by file as they are, answer as the specification says.

A case knows a `Door` and nothing else: requests go in, answers come out, and time is set on by hand. Rules
are proved in tests/core; these cases show that forms, credentials, User-Agents and time reach them.
"""

import json
import socket
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from first_records import REDIRECT_URI, VERIFIER

from ostiary_core import Instant, Refused, Store, Table, UserKnown
from ostiary_core.conformance import check_store
from tests.examples.doors import EXAMPLES, Door, Told, django_store, open_door, open_unix_door
from tests.support import asks

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.fixture(scope="module", params=EXAMPLES)
def door(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with open_door(request.param, tmp_path_factory.mktemp("example")) as one:
        yield one


def test_client_credentials_give_a_token_that_represents_no_user(door: Door) -> None:
    told = door.post("token", {"grant_type": "client_credentials"})
    assert (told.status, set(told.content)) == (200, {"access_token", "token_type", "expires_in", "scope"})
    assert (told.headers["cache-control"], told.headers["pragma"]) == ("no-store", "no-cache")
    introspected = door.post("introspect", {"token": told.content["access_token"]}).content
    assert introspected["active"]
    assert "sub" not in introspected


def test_a_code_is_redeemed_once(door: Door) -> None:
    code = door.code()
    told = door.redeem(code)
    assert told.status == 200
    assert len(told.content["access_token"]) == len(told.content["refresh_token"]) == 43
    assert (told.content["expires_in"], told.content["scope"]) == (1800, "user.read")
    assert door.redeem(code).error == (400, "invalid_grant")
    assert door.is_active(told.content["access_token"])


def test_a_safe_retry_repeats_the_pair_and_another_user_agent_ends_the_session(door: Door) -> None:
    first = door.pair()
    second = door.refresh(first["refresh_token"]).content
    assert not door.is_active(first["access_token"])
    assert door.is_active(second["access_token"])
    door.wait(30)
    again = door.refresh(first["refresh_token"]).content
    assert all(again[name] == second[name] for name in ("access_token", "refresh_token"))
    assert again["expires_in"] == second["expires_in"] - 30
    assert door.refresh(first["refresh_token"], agent="a thief's").error == (400, "invalid_grant")
    assert not door.is_active(second["access_token"])


def test_introspection_shows_what_the_specification_lists(door: Door) -> None:
    pair = door.pair()
    access = door.post("introspect", {"token": pair["access_token"]}).content
    assert access.keys() == {"active", "client_id", "scope", "token_type", "exp", "sub", "username"}
    assert access["username"] == "anna"
    refresh = door.post("introspect", {"token": pair["refresh_token"]}).content
    assert "token_type" not in refresh
    assert refresh["exp"] > access["exp"]
    assert door.post("introspect", {}).error == (400, "invalid_request")


def test_a_revocation_ends_the_session_with_an_empty_answer(door: Door) -> None:
    pair = door.pair()
    told = door.post("revoke", {"token": pair["refresh_token"]})
    assert (told.status, told.body, told.headers["content-length"]) == (200, b"", "0")
    assert told.headers["content-type"].lower() == "application/json"
    assert not door.is_active(pair["access_token"])
    assert door.post("revoke", {"token": "unknown"}).status == 200


def test_user_info_shows_the_profile_and_why_there_is_none(door: Door) -> None:
    told = door.userinfo(door.pair()["access_token"])
    assert (told.status, told.content["code"]) == (200, 0)
    assert told.content["data"].keys() == {"sub", "username", "name", "avatarUrl", "locale"}
    assert told.content["data"]["name"] == "Anna"
    for token in (None, "unknown"):
        refused = door.userinfo(token)
        assert (refused.status, refused.content["code"]) == (401, "A1001")
        assert refused.headers["www-authenticate"].startswith("Bearer")
    machine = door.userinfo(door.machine_token())
    assert (machine.status, machine.content["code"]) == (403, "B4003")


def test_a_client_that_does_not_prove_itself_is_refused_as_its_method_asks(door: Door) -> None:
    wrong = {"client_id": "app", "client_secret": "wrong", "token": "t", "grant_type": "client_credentials"}
    assert door.post("token", wrong, by=None).error == (400, "invalid_client")
    assert door.post("introspect", wrong, by=None).error == (401, "invalid_client")
    fields = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Authorization", "Basic " + b64encode(b"app:wrong").decode()),
    ]
    told = door.ask("POST", "/api/oauth2/token", fields, b"grant_type=client_credentials")
    assert told.error == (401, "invalid_client")
    assert told.headers["www-authenticate"].startswith("Basic")
    both = {"client_secret": door.records.secrets["app"], "grant_type": "client_credentials"}
    assert door.post("token", both).error == (400, "invalid_request")
    assert door.post("token", {**wrong, "client_secret": door.records.secrets["app"]}, by=None).status == 200


def test_a_request_that_is_no_form_is_refused(door: Door) -> None:
    path, basic = "/api/oauth2/token", door.basic()
    as_json = door.ask("POST", path, [basic, ("Content-Type", "application/json")], b"{}")
    assert as_json.error == (400, "invalid_request")
    form = ("Content-Type", "application/x-www-form-urlencoded")
    for body in (
        b"grant_type=client_credentials&grant_type=client_credentials",
        b"grant_type=authorization_code&code[]=x",
        b"grant_type=%zz",
        b"",
    ):
        assert door.ask("POST", path, [basic, form], body).error == (400, "invalid_request")
    assert door.ask("POST", path, [basic, form], b"grant_type=password").error == (
        400,
        "unsupported_grant_type",
    )


def test_a_body_past_the_limit_is_refused(door: Door) -> None:
    fields = [door.basic(), ("Content-Type", "application/x-www-form-urlencoded")]
    told = door.ask("POST", "/api/oauth2/token", fields, b"a=" + b"b" * 70_000)
    assert told.error == (413, "invalid_request")


def test_an_unknown_path_and_a_wrong_method_are_refused_in_their_form(door: Door) -> None:
    missing = door.ask("POST", "/api/oauth2/nothing", [], b"")
    assert (missing.status, missing.content["code"]) == (404, "A0404")
    refused = door.ask("GET", "/api/oauth2/token", [], b"")
    assert (refused.status, refused.content["error"]) == (405, "invalid_request")
    assert "POST" in refused.headers["allow"]


def test_past_its_rate_a_source_waits_until_the_minute_is_over(door: Door) -> None:
    told = Told(0, {}, b"")
    for _ in range(601):
        told = door.post("token", {}, by=None)
    assert (told.status, told.content["code"]) == (429, "A0429")
    assert 0 < int(told.headers["retry-after"]) <= 60
    door.wait(60)
    assert door.post("token", {"grant_type": "client_credentials"}).status == 200


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
