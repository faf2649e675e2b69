"""Who is calling: a secret as it was given out, by one method, from the address the request came from."""

from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import trio

from tests.advisories.published import published
from tests.web.served import Served, serving

MACHINE = {"grant_type": "client_credentials"}


def basic(client_id: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()}


@published("RFC 6749 §2.3.1")
@pytest.mark.parametrize("client_id", ["app", "console", "mobile", "nobody", ""])
@pytest.mark.parametrize("secret", ["", " ", "null", "undefined", "\u0000"])
async def test_an_empty_secret_proves_nothing(served: Served, client_id: str, secret: str) -> None:
    """The built-in clients have no secret at all, so nothing may equal it."""
    await served.client()
    api = served.api()
    for form in (
        {**MACHINE, "client_id": client_id, "client_secret": secret},
        {**MACHINE, "client_id": client_id},
    ):
        answer = await api.post("/api/oauth2/token", data=form)
        assert answer.status_code == 400
        assert answer.json()["error"] in {"invalid_client", "invalid_request"}
    by_basic = await api.post("/api/oauth2/token", data=MACHINE, headers=basic(client_id, secret))
    assert (by_basic.status_code, by_basic.json()["error"]) == (401, "invalid_client")


@published("RFC 6749 §2.3.1", "panva/oauth4webapi#54")
async def test_basic_is_the_same_encoded_or_not(served: Served) -> None:
    """Clients differ on whether to encode it, so neither identifiers nor secrets hold what changes."""
    api = served.api()
    for place in range(8):
        one = await served.client(f"app-{place}.x_y")
        assert one.secret.isalnum()
        assert one.secret.isascii()
        assert (await api.service("token", one, **MACHINE)).status_code == 200
    client = await served.client()
    letter = next(character for character in client.secret if character.isalpha())
    for wrong in (
        client.secret.replace(letter, f"%{ord(letter):02X}", 1),
        client.secret + "+",
        client.secret + "%20",
        client.secret + " ",
    ):
        answer = await api.post("/api/oauth2/token", data=MACHINE, headers=basic(client.client_id, wrong))
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


@published("CVE-2026-9689")
@pytest.mark.parametrize(
    "extra",
    [
        "client_id=other",
        "client_id=app",
        "client_secret=x",
        "grant_type=refresh_token",
        "grant_type=",
        "scope=user.read&scope=user.read",
        "scope[]=user.read",
        "client%5Fid=app",
    ],
)
async def test_a_field_that_is_there_twice_is_refused(served: Served, extra: str) -> None:
    client = await served.client()
    body = f"grant_type=client_credentials&client_id=app&client_secret={client.secret}"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    api = served.api(**form)
    assert (await api.post("/api/oauth2/token", content=body)).status_code == 200
    for sent in (f"{body}&{extra}", f"{extra}&{body}"):
        answer = await api.post("/api/oauth2/token", content=sent)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


SPOOFED = {
    "X-Forwarded-For": "127.0.0.1",
    "X-Real-IP": "127.0.0.1",
    "Forwarded": "for=127.0.0.1;host=evil.example;proto=https",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Uri": "/api/oauth2/token",
    "X-Forwarded-Prefix": "//evil.example",
    "X-Original-URL": "/login",
    "X-Rewrite-URL": "/login",
    "X-HTTP-Method-Override": "GET",
}


@published("CVE-2026-40575")
async def test_no_header_of_a_stranger_opens_a_door(served: Served) -> None:
    await served.client()
    api, browser = served.api(**SPOOFED), served.browser(**SPOOFED)
    for method, path in (
        ("GET", "/api/auth/me"),
        ("GET", "/api/oauth/clients"),
        ("GET", "/api/oauth2/userinfo"),
    ):
        assert (await api.request(method, path)).status_code == 401, path
    for path in ("/account", "/admin/clients", "/sso?client_id=app"):
        page = await browser.get(path)
        assert "evil.example" not in page.text
        assert "evil.example" not in repr(page.headers)
    signed_in = await browser.sign_in()
    assert signed_in.status_code == 303
    assert "evil.example" not in repr(signed_in.headers)
    assert {entry.source for entry in served.audit() if entry.source} == {"203.0.113.7"}


@published("CVE-2026-40575")
async def test_no_header_of_a_stranger_escapes_a_limit(tmp_path: Path) -> None:
    async with serving(tmp_path, RATE_LIMIT_SCALE="0.01") as served:
        statuses = [
            (
                await served.api(**(SPOOFED | {"X-Forwarded-For": f"198.51.100.{number}"})).post(
                    "/api/oauth2/token", data=MACHINE
                )
            ).status_code
            for number in range(8)
        ]
    assert statuses == [400] * 6 + [429] * 2


SPELLINGS = [
    "/api/oauth/clients;x",
    "/api;x/oauth/clients",
    "/api/./oauth/clients",
    "/api/x/../oauth/clients",
    "/api//oauth/clients",
    "/api/oauth/clients/..;/clients",
    "/API/oauth/clients",
    "//api/oauth/clients",
    "/api/oauth%2Fclients",
    "/api/oauth/%63lients",
]


@published("CVE-2026-0976")
@pytest.mark.parametrize("path", SPELLINGS)
async def test_no_spelling_of_a_path_opens_a_door(served: Served, path: str) -> None:
    """The door is in the rules and not in the path; other spellings lead nowhere in the first place."""
    api = await served.administrator()
    assert await status_at(served, "/api/oauth/clients", api.token) == 200
    for token in ("x" * 43, api.token):
        assert await status_at(served, path, token) == 404


async def status_at(served: Served, path: str, token: str | None) -> int:
    """The status of a GET of exactly this path; a client would tidy it up first."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"id.example"), (b"authorization", f"Bearer {token}".encode())],
        "client": ("203.0.113.7", 4711),
        "server": ("id.example", 80),
    }
    statuses: list[int] = []
    over = trio.Event()
    body = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if body:
            return body.pop()
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
        elif not message.get("more_body"):
            over.set()

    with trio.fail_after(10):
        await served.app(scope, receive, send)
    return statuses[0]


@published("CVE-2026-22746")
async def test_a_sign_in_that_fails_tells_nothing_of_the_account(served: Served) -> None:
    admin = await served.administrator()
    user_id = await served.user()
    await served.user("berta")
    await admin.call("PUT", f"/api/iam/users/{user_id}/enabled", {"enabled": False})
    answers = []
    for number, (username, password) in enumerate(
        [
            ("anna", "anna's password"),
            ("anna", "wrong password"),
            ("berta", "wrong password"),
            ("nobody", "x" * 20),
        ]
    ):
        api = served.api(f"198.51.100.{number}")
        response = await api.post("/api/auth/login", json={"username": username, "password": password})
        content = response.json()
        content.pop("traceId")
        answers.append((response.status_code, content))
    assert answers == [answers[0]] * 4
    assert answers[0][0] == 401
