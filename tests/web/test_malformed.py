"""Whatever is sent, the answer is a documented one, never a 500, and a refusal changes nothing."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote_from_bytes

import httpx
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from ostiary_core.model.records import Record, Table, User
from tests.web.doors import DOORS
from tests.web.served import Api, Browser, Served, authorization, form_token_in, sso

at_every_door = pytest.mark.parametrize("door", DOORS)

DOCUMENTED: Final = frozenset({400, 401, 403, 404, 405, 409, 413, 415, 422, 429})

JSON_ENDPOINTS: Final[list[tuple[str, str, dict[str, object]]]] = [
    ("POST", "/api/auth/login", {"username": "nobody", "password": "x"}),
    ("POST", "/api/auth/refresh", {"refreshToken": "x"}),
    ("PUT", "/api/auth/password", {"oldPassword": "x" * 8, "newPassword": "y" * 8}),
    ("POST", "/api/oauth2/authorize", {**authorization(), "approve": True}),
    ("POST", "/api/oauth/clients", {"clientId": "another", "name": "A", "grantTypes": ["refresh_token"]}),
]
AS_JSON: Final = {"Content-Type": "application/json"}
PAGE_FORMS: Final = ["/login", "/logout", "/password", sso()]

NOT_JSON_OBJECTS: Final = {
    "empty": b"",
    "half": b"{",
    "array": b"[]",
    "array of objects": b'[{"username": "admin"}]',
    "null": b"null",
    "text": b'"admin"',
    "number": b"1",
    "two objects": b"{}{}",
    "trailing comma": b'{"username": "admin",}',
    "single quotes": b"{'username': 'admin'}",
    "comment": b"{} // nothing",
    "NUL": b'{"username": "a\x00b"}',
    "NUL after": b"{}\x00",
    "bad UTF-8": b'{"username": "\xff\xfe"}',
    "overlong UTF-8": b'{"username": "\xc0\xaf"}',
    "surrogate in UTF-8": b'{"username": "\xed\xa0\x80"}',
    "UTF-16": '{"username": "admin"}'.encode("utf-16"),
    "BOM": b"\xef\xbb\xbf{}",
    "lone surrogate": b'{"username": "\\ud800"}',
    "lone low surrogate": b'{"username": "\\udc00x"}',
    "not a number": b'{"username": NaN}',
    "infinite": b'{"username": 1e999}',
    "many digits": b'{"username": ' + b"9" * 5_000 + b"}",
    "deep arrays": b'{"username": ' + b"[" * 60_000,
    "deep objects": b'{"a": ' * 10_000,
    "deep and closed": b'{"username": ' + b"[" * 2_000 + b"]" * 2_000 + b"}",
    "bad escape": b'{"username": "\\x"}',
    "control character": b'{"username": "a\nb"}',
    "form": b"username=admin&password=x",
}

HOSTILE_VALUES: Final = {
    "number": 1,
    "huge number": 10**400,
    "negative": -(2**63) - 1,
    "fraction": 0.1,
    "large fraction": 1e308,
    "true": True,
    "null": None,
    "array": [],
    "nested": [[[["x"]]]],
    "object": {"$ne": ""},
    "NUL": "a\x00b",
    "controls": "a\r\nSet-Cookie: b=c",
    "long": "x" * 300_000,
    "wide": "\U0001f600" * 70_000,
    "quotes": "'; DROP TABLE users; --",
    "right to left": "\u202eadmin",
    "array of junk": [None, 1, "x", [], {}],
    "many": ["x"] * 20_000,
    "nine hundred deep": json.loads("[" * 900 + "]" * 900),
}


async def signed_in(served: Served) -> Api:
    await served.client()
    return await served.administrator()


def documented(response: httpx.Response) -> None:
    """A refusal in one of the two documented forms."""
    assert response.status_code in DOCUMENTED, (response.status_code, response.text[:300])
    content = response.json()
    if "error" in content:
        assert set(content) <= {"error", "error_description"}
    else:
        assert set(content) == {"code", "msg", "data", "errors", "traceId"}


def standing(served: Served) -> dict[Table, frozenset[Record]]:
    """Everything that is stored, but for the counts of wrong passwords: those are a refusal's to change."""
    records = served.records()
    users = (record for record in records[Table.USER] if isinstance(record, User))
    uncounted = frozenset(
        replace(user, failed_sign_ins=0, last_failed_sign_in_at=None, wrong_passwords_at=(), revision=0)
        for user in users
    )
    return {**records, Table.USER: uncounted}


@at_every_door
async def test_more_than_its_path_takes_is_413(served: Served, api: Api) -> None:
    before = served.records()
    for method, path, _ in JSON_ENDPOINTS:
        limit = 1024 * 1024 if path.startswith("/api/oauth/") else 64 * 1024
        for length, status in ((limit, 400), (limit + 1, 413), (4 * 1024 * 1024, 413)):
            body = b'{"approve": "' + b"x" * (length - 15) + b'"}'
            response = await api.call(method, path, content=body, headers=AS_JSON)
            documented(response)
            assert response.status_code == status, (path, length)
    assert served.records() == before


# --- anything at all

Asking = Callable[[dict[str, Any]], Awaitable[httpx.Response]]
Preparing = Callable[[], Awaitable[None]]

any_text = st.text(st.characters(exclude_categories=()), max_size=60)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=8,
)
any_bytes = st.binary(max_size=200)
any_header = (
    st.binary(max_size=80).filter(lambda value: not {0, *range(10, 14)} & set(value)).map(bytes.strip)
)
pieces = st.sampled_from(
    [b"grant_type", b"refresh_token", b"token", b"code", b"client_id", b"client_secret", b"scope", b"=", b"&",
     b"%", b"%00", b"%ff", b"%C3%A9", b"[]", b"+", b";", b"app", b"\xff", b"\x00", b"authorization_code"]
)  # fmt: skip
any_form = st.lists(pieces | st.binary(max_size=5), max_size=20).map(b"".join)


async def unharmed(
    served: Served,
    requests: st.SearchStrategy[dict[str, Any]],
    asking: Asking,
    first: Preparing | None = None,
) -> None:
    """Send whatever Hypothesis thinks of, all of it to the one application; `first` goes before each."""

    async def one(request: dict[str, Any]) -> None:
        if first is not None:
            await first()
        before = standing(served)
        with capture_logs() as log:
            response = await asking(request)
        assert response.status_code < 500, response.text
        assert not [entry for entry in log if entry["log_level"] == "error"]
        if response.status_code >= 400:
            assert standing(served) == before
            if "text/html" not in response.headers["content-type"]:
                documented(response)

    # The same at every door, so that what they say can be compared.
    @settings(max_examples=25, database=None, derandomize=True)
    @given(request=requests)
    def all_of_them(request: dict[str, Any]) -> None:
        trio.from_thread.run(one, request)

    await trio.to_thread.run_sync(all_of_them)


@pytest.mark.parametrize("method, path, right", JSON_ENDPOINTS, ids=[path for _, path, _ in JSON_ENDPOINTS])
async def test_any_json(served: Served, method: str, path: str, right: dict[str, object]) -> None:
    api = await signed_in(served)
    fields = st.dictionaries(st.sampled_from([*right]), any_text | any_json, min_size=1)
    contents = st.one_of(
        fields.map(lambda wrong: json.dumps({**right, **wrong}).encode()),
        any_json.map(lambda content: json.dumps(content).encode()),
        any_bytes,
    )

    async def asking(request: dict[str, Any]) -> httpx.Response:
        return await api.call(method, path, content=request["content"], headers=AS_JSON)

    async def sign_in() -> None:
        """Wrong passwords of long ago are forgotten, and what a right one ended is begun again."""
        served.clock.wait(300)
        await api.sign_in()

    await unharmed(served, st.fixed_dictionaries({"content": contents}), asking, sign_in)


@at_every_door
@pytest.mark.parametrize("path", ["/api/oauth2/authorize", "/sso", "/login", "/password", "/", "/static/x"])
async def test_any_query_and_any_cookie(served: Served, browser: Browser, path: str) -> None:
    await served.client()
    kept = dict(browser.cookies)
    parameter = st.tuples(
        st.sampled_from([*authorization(), "scope", "next", "switch"]).map(str.encode) | any_bytes, any_bytes
    )
    query = st.lists(parameter, max_size=6).map(
        lambda pairs: "&".join(f"{quote_from_bytes(name)}={quote_from_bytes(value)}" for name, value in pairs)
    )
    requests = st.fixed_dictionaries(
        {"query": query},
        optional={"cookie": any_header, "language": any_header, "bearer": any_header, "origin": any_header},
    )

    async def asking(request: dict[str, Any]) -> httpx.Response:
        browser.cookies.clear()
        browser.cookies.update(kept)
        headers = [
            (name, request[key])
            for name, key in (
                (b"Cookie", "cookie"),
                (b"Accept-Language", "language"),
                (b"Authorization", "bearer"),
                (b"Origin", "origin"),
            )
            if key in request
        ]
        return await browser.get(f"{path}?{request['query']}", headers=headers)

    await unharmed(served, requests, asking)


@pytest.mark.parametrize("path", PAGE_FORMS, ids=["login", "logout", "password", "sso"])
@pytest.mark.parametrize("known", [True, False], ids=["signed in", "stranger"])
async def test_any_form_of_a_page(served: Served, path: str, known: bool) -> None:
    await served.client()
    browser: Browser = served.browser()
    if known:
        await browser.sign_in()
    page = await browser.get("/password" if known else "/login")
    form_token = form_token_in(page)
    assert form_token
    kept = dict(browser.cookies)
    names = ["username", "password", "next", "old_password", "new_password", "new_password_again", "decision"]
    fields = st.dictionaries(st.sampled_from(names), any_bytes, max_size=4).map(
        lambda values: b"&".join(
            [b"form_token=" + form_token.encode()]
            + [f"{name}={quote_from_bytes(value)}".encode() for name, value in values.items()]
        )
    )
    multipart = any_bytes.map(lambda body: b'--x\r\nContent-Disposition: form-data; name="' + body)
    requests = st.one_of(
        st.fixed_dictionaries(
            {"content": fields | any_form, "type": st.just(b"application/x-www-form-urlencoded")}
        ),
        st.fixed_dictionaries(
            {"content": multipart, "type": st.just(b"multipart/form-data; boundary=x")},
        ),
        st.fixed_dictionaries({"content": any_bytes, "type": any_header}),
    )

    async def asking(request: dict[str, Any]) -> httpx.Response:
        browser.cookies.clear()
        browser.cookies.update(kept)
        headers = [(b"Content-Type", request["type"]), (b"Origin", b"null")]
        return await browser.post(path, content=request["content"], headers=headers)

    await unharmed(served, requests, asking)
