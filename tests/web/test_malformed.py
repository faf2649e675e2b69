"""Every route of the application is sent malformed requests.

The answer is a documented refusal in the envelope, or a page: never a 500, never a traceback in the log. A
refused request changes nothing.
"""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from structlog.testing import capture_logs

from ostiary_core.http.token_service import PATHS
from ostiary_core.model.records import Record, Table, User
from tests.rows import row
from tests.support.callers import ADMIN_PASSWORD, Browser, authorization
from tests.support.connections import DOORS, Door
from tests.support.served import VARIABLE, Served, rules, serving

Ask = Callable[..., Awaitable[httpx.Response]]

DOCUMENTED: Final = frozenset({400, 401, 403, 404, 405, 409, 413, 415, 422, 429})

AS_JSON: Final = {"Content-Type": "application/json"}
NOT_JSON_OBJECTS: Final = (
    *(b"", b"{", b"[]", b'[{"username": "admin"}]', b"null", b'"admin"', b"1", b"{}{}", b"{} // nothing"),
    *(b'{"username": "admin",}', b"{'username': 'admin'}", b"username=admin&password=x"),
    *(b'{"username": "a\x00b"}', b"{}\x00", b'{"username": "a\nb"}', b'{"username": "\\x"}'),
    # Wrong UTF-8, by its bytes, its length or a surrogate; another encoding; a mark of the byte order.
    *(b'{"username": "\xff\xfe"}', b'{"username": "\xc0\xaf"}', b'{"username": "\xed\xa0\x80"}'),
    *('{"username": "admin"}'.encode("utf-16"), b"\xef\xbb\xbf{}"),
    *(b'{"username": "\\ud800"}', b'{"username": "\\udc00x"}'),
    *(b'{"username": NaN}', b'{"username": 1e999}', b'{"username": ' + b"9" * 5_000 + b"}"),
    *(b'{"username": ' + b"[" * 60_000, b'{"a": ' * 10_000),
    b'{"username": ' + b"[" * 2_000 + b"]" * 2_000 + b"}",
)

HOSTILE_VALUES: Final[tuple[Any, ...]] = (
    *(1, 10**400, -(2**63) - 1, 0.1, 1e308, True, None, [], [[[["x"]]]], {"$ne": ""}),
    *("a\x00b", "a\r\nSet-Cookie: b=c", "x" * 300_000, "\U0001f600" * 70_000, "'; DROP TABLE users; --"),
    *("\u202eadmin", [None, 1, "x", [], {}], ["x"] * 20_000, json.loads("[" * 900 + "]" * 900)),
)


def expect_documented(response: httpx.Response) -> None:
    """Assert that an answer is a refusal in one of the two documented forms."""
    assert response.status_code in DOCUMENTED, (response.status_code, response.text[:300])
    content = response.json()
    if "error" in content:
        assert set(content) <= {"error", "error_description"}
    else:
        assert set(content) == {"code", "msg", "data", "errors", "traceId"}


def standing(served: Served) -> dict[Table, frozenset[Record]]:
    """Return all records without the counts of wrong passwords, which a refused request may change."""
    records = served.records()
    users = (record for record in records[Table.USER] if isinstance(record, User))
    uncounted = frozenset(replace(user, wrong_passwords_at=(), revision=0) for user in users)
    return {**records, Table.USER: uncounted}


ENDS_THE_SESSION: Final = {"/api/auth/logout", "/logout"}


ALL: Final = sorted(set(rules(API_DOCS_ENABLED="true")) - {("POST", path) for path in ENDS_THE_SESSION})


@dataclass
class Besieged:
    """A running application, and the statuses of its answers to malformed requests."""

    served: Served
    known: dict[str, str]
    """The identifier of a record by the beginning of its path."""
    met: list[int] = field(default_factory=list)

    def path(self, rule: str) -> str:
        """Return a path of a rule; if it names a record, the record exists."""
        for beginning, identifier in self.known.items():
            if rule.startswith(beginning):
                return VARIABLE.sub(identifier, rule)
        return VARIABLE.sub("1", rule)

    def judge(self, response: httpx.Response, asked: object) -> None:
        """Assert that an answer is documented: a page for a browser, and the envelope for a program."""
        self.met.append(response.status_code)
        assert response.status_code < 500, (asked, response.text[:300])
        if response.status_code < 400:
            return
        assert response.status_code in DOCUMENTED, (asked, response.status_code)
        if response.headers.get("content-type", "").startswith("text/html"):
            assert "</html>" in response.text, asked
        else:
            expect_documented(response)


@asynccontextmanager
async def open_besieged(folder: Path, door: Door) -> AsyncIterator[Besieged]:
    """Open an application with a record of each resource and without limits."""
    async with serving(
        folder, door=door, RATE_LIMIT_SCALE="1000000", GUESS_LIMIT_SCALE="1000000", API_DOCS_ENABLED="true"
    ) as served:
        await served.client()
        anna = await served.user()
        api = await served.administrator()
        role = await api.call("POST", "/api/iam/roles", {"code": "clerk", "name": "C", "permissions": []})
        assert role.status_code == 201, role.text
        known = {
            **dict.fromkeys(("/api/oauth/clients", "/admin/clients"), "app"),
            **dict.fromkeys(("/api/iam/users", "/admin/people", "/admin/users"), anna),
            **dict.fromkeys(("/api/iam/roles", "/admin/roles"), role.json()["data"]["id"]),
        }
        with capture_logs() as log:
            yield Besieged(served, known)
        assert not [entry for entry in log if entry["log_level"] == "error"]


def nothing_changed(before: Any, found: Besieged, statuses: list[int], asked: object) -> None:
    """Assert that no record changed if every request was refused."""
    if all(status >= 400 for status in statuses):
        assert standing(found.served) == before, asked


async def sign_in(served: Served) -> Browser:
    browser = served.browser(Origin="null")
    assert (await browser.sign_in()).status_code == 303
    return browser


@pytest.fixture
async def siege(tmp_path: Path, door: Door) -> AsyncIterator[Besieged]:
    async with open_besieged(tmp_path, door) as found:
        yield found


async def each_route(siege: Besieged, *methods: str, under: str = "/") -> AsyncIterator[tuple[str, str, Ask]]:
    """Yield routes with a signed-in caller; assert that requests changed nothing if all were refused."""
    for method, rule in ALL:
        if method in methods and rule.startswith(under):
            ask: Ask = (await siege.served.administrator()).call
            if not rule.startswith("/api/"):
                ask = (await sign_in(siege.served)).request
            before, first = standing(siege.served), len(siege.met)
            yield method, siege.path(rule), ask
            nothing_changed(before, siege, siege.met[first:], rule)


async def test_a_body_that_is_no_json_object(siege: Besieged) -> None:
    async for method, path, ask in each_route(siege, "POST", "PUT", under="/api/"):
        for body in NOT_JSON_OBJECTS:
            siege.judge(await ask(method, path, content=body, headers=AS_JSON), (method, path, body[:40]))
    assert siege.met.count(400) > 20 * len(NOT_JSON_OBJECTS)


OTHER_KINDS: Final = (
    *("text/json", "text/plain", "application/xml", "application/x-www-form-urlencoded", "/"),
    *("a/b; c=\xff", "multipart/form-data; boundary=x"),
)
UNNAMED: Final = ("", ";")
MEDIA_TYPES: Final = (
    *(*OTHER_KINDS, "application/json; charset=utf-16", "multipart/form-data"),
    *("multipart/form-data; boundary=", *UNNAMED),
)
TAKES_FILES: Final = ("/import", "/avatar")
BODIES: Final = (
    *(b"a=b", b"", b"--x\r\n\r\n--x--", b'--x\r\nContent-Disposition: form-data; name="', b"\xff\x00"),
)


async def test_a_body_of_another_kind(siege: Besieged) -> None:
    async for method, path, ask in each_route(siege, "POST", "PUT"):
        takes_json = path.startswith("/api/") and path not in PATHS and not path.endswith(TAKES_FILES)
        for media_type, body in zip(MEDIA_TYPES, cycle(BODIES), strict=False):
            headers = {b"Content-Type": media_type.encode("latin-1")}
            response = await ask(method, path, content=body, headers=headers)
            siege.judge(response, (method, path, media_type, body))
            if body and takes_json:
                # A form of another site can have some of these media types, but never that of JSON.
                assert media_type not in OTHER_KINDS or response.status_code == 415, (path, media_type)
                assert media_type not in UNNAMED or response.status_code != 400, "read as JSON"
                assert "set-cookie" not in response.headers


async def test_a_body_with_a_content_coding(siege: Besieged) -> None:
    """Every route that reads a body refuses one with a content coding, and decodes none (READINGS 61)."""
    async for method, path, ask in each_route(siege, "POST", "PUT", "DELETE"):
        response = await ask(method, path, content=b"{}", headers={**AS_JSON, "Content-Encoding": "gzip"})
        siege.judge(response, (method, path))
        assert response.status_code == 415, (method, path)
        is_call = path.startswith("/api/")
        assert not is_call or response.headers["accept-encoding"] == "identity", (method, path)


KIB: Final = 1024
LIMITS: Final = {
    r"/(?:admin|api/iam|api/oauth)/.*/import": 8 * KIB * KIB + 64 * KIB,
    "/account/picture": 16 * KIB * KIB + 64 * KIB,
    "/api/auth/avatar": 2 * KIB * KIB + 64 * KIB,
    r"/(?:admin|api/iam|api/oauth)/.*": KIB * KIB,
    ".*": 64 * KIB,
}
"""The largest body in bytes (READINGS 37), by the first pattern that matches the path."""


@pytest.mark.parametrize("door", DOORS)
@row("General envelope and status codes", "413")
async def test_more_than_its_path_takes_is_413(siege: Besieged) -> None:
    api, before = await siege.served.administrator(), standing(siege.served)
    for excess in (1, 0):
        for method, rule in (*ALL, ("POST", "/api/oauth2/token/import")):
            if method in ("POST", "PUT"):
                path = siege.path(rule)
                limit = next(most for pattern, most in LIMITS.items() if re.fullmatch(pattern, path))
                response = await api.call(method, path, content=bytes(limit + excess), headers=AS_JSON)
                siege.judge(response, (method, path, excess))
                assert (response.status_code == 413) is bool(excess), (method, path)
        assert not excess or standing(siege.served) == before


CODE: Final = {"phone": "+8613800138001", "code": "123456"}
RIGHT: Final[dict[tuple[str, str], dict[str, object]]] = {
    ("POST", "/api/auth/login"): {"username": "nobody", "password": "x"},
    ("POST", "/api/auth/refresh"): {"refreshToken": "x"},
    ("POST", "/api/oauth/clients"): {
        **dict.fromkeys(("clientId", "name"), "another"),
        "redirectUris": ["https://app.example/cb"],
        "grantTypes": ["authorization_code"],
        "scopes": ["user.read"],
        "autoApproveScopes": [],
        "accessTokenTtl": 300,
        "refreshTokenTtl": 3600,
        "enabled": True,
    },
    ("POST", "/api/iam/users"): {
        **dict.fromkeys(("username", "name"), "bert"),
        **dict.fromkeys(("locale", "timezone")),
        "phone": "+8613800138000",
        "password": "a long password",
        "enabled": True,
        "mustChangePassword": False,
        "roleIds": [],
    },
    ("POST", "/api/iam/roles"): {"code": "guest", "name": "Guest", "permissions": []},
    ("POST", "/api/iam/users/batch-roles"): {"ids": ["nobody"], "remove": ["clerk"]},
    ("POST", "/api/iam/users/batch-invitation"): {"ids": ["nobody"], "send": True},
    ("POST", "/api/iam/users/batch-delete"): {"ids": ["nobody"]},
    ("POST", "/api/iam/roles/batch-delete"): {"ids": ["none"]},
    ("POST", "/api/oauth/clients/batch-delete"): {"ids": ["none"]},
    ("PUT", "/api/oauth/clients/none/enabled"): {"enabled": False},
    ("PUT", "/api/iam/users/nobody/enabled"): {"enabled": False},
    ("PUT", "/api/iam/users/nobody/password"): {"password": "a long password"},
    ("POST", "/api/auth/sms-code"): {"phone": "+8613800138001", "purpose": "reset-password"},
    ("POST", "/api/auth/reset-password"): {**CODE, "newPassword": "a long password"},
    ("PUT", "/api/auth/phone"): {**CODE, "password": ADMIN_PASSWORD},
    ("PUT", "/api/auth/locale"): {"locale": "en-US"},
    ("PUT", "/api/auth/timezone"): {"timezone": "Europe/Berlin"},
    ("POST", "/api/oauth2/authorize"): {**authorization(), "approve": True},
}


COUNTED: Final = ("/api/auth/phone", "password")
"""A field that is left out: five wrong passwords in it end the session (READINGS 24, 41)."""


async def test_no_value_of_any_field_is_more_than_a_bad_field(siege: Besieged) -> None:
    api = await siege.served.administrator()
    for (method, path), right in RIGHT.items():
        for name in right:
            before, first = standing(siege.served), len(siege.met)
            for value in HOSTILE_VALUES:
                if (path, name) == COUNTED and isinstance(value, str):
                    continue
                response = await api.call(method, path, {**right, name: value})
                siege.judge(response, (path, name, str(value)[:40]))
                if siege.met[-1] < 400:
                    before = standing(siege.served)
            nothing_changed(before, siege, siege.met[first:], (path, name))


_SEGMENTS: Final = """
    %00 a%00b %2e%2e %2e%2e%2f%2e%2e%2fetc%2fpasswd ..%5c.. %ff%fe %c0%af %ed%a0%80 % %25 %zz + ~ %20 null
    %0d%0aSet-Cookie:%20a=b %F0%9F%98%80 %E2%80%AE %27%20OR%201 %22%3E%3Cscript%3E -1 %7B%7B7*7%7D%7D ;a=b
    %C3%A9
"""
ODD_SEGMENTS: Final = (*_SEGMENTS.split(), "9" * 400, "x" * 4_000)


@pytest.mark.parametrize("door", ["plain"])  # what a path is, real HTTP parsing decides
async def test_an_odd_word_in_a_path(siege: Besieged) -> None:
    api, browser = await siege.served.administrator(), await sign_in(siege.served)
    before = standing(siege.served)
    for method, rule in ALL:
        if VARIABLE.search(rule):
            for word in ODD_SEGMENTS:
                path = VARIABLE.sub(lambda _: word, rule)  # noqa: B023 (called at once)
                asking = api.call if rule.startswith("/api/") else browser.request
                options: dict[str, Any] = {"json": {}} if method in ("POST", "PUT") else {}
                response = await asking(method, path, **options)
                siege.judge(response, (method, path))
                assert "set-cookie" not in response.headers or "a=b" not in response.headers["set-cookie"]
                assert "<script>" not in response.text
    assert standing(siege.served) == before


_QUERIES: Final = """
    page=1&page=2 page=NaN page=-1 page=1e3 page=%D9%A1 page=99999999999999999 pageSize=201 pageSize=0&page=
    pageSize[]=1 sort=%00 sort=--id sort=id;drop createdAtFrom=x createdAtFrom=%ff &&==& %ff=%fe
    createdAtFrom=9999-99-99T99:99:99Z createdAtTo=0001-01-01T00:00:00%2B23:59 atFrom=-1&atTo=
    createdAtFrom=9999-12-31T23:59:59-23:59 username=a%00b&name=%ed%a0%80 next=%0d%0aX:y error=<script>
    language=%00&to=//x done=<script>
"""
ODD_QUERIES: Final = (*_QUERIES.split(), "page=" + "9" * 300, "sort=" + "id," * 900, "a=" + "b" * 8_000)


async def test_an_odd_query(siege: Besieged) -> None:
    api, browser = await siege.served.administrator(), await sign_in(siege.served)
    before = standing(siege.served)
    for method, rule in ALL:
        if method == "GET" and not VARIABLE.search(rule):
            path = siege.path(rule)
            for query in ODD_QUERIES:
                asking = api.call if rule.startswith("/api/") else browser.request
                response = await asking(method, f"{path}?{query}")
                siege.judge(response, (method, path, query))
                assert "<script>" not in response.text or "docs" in path
    assert standing(siege.served) == before
