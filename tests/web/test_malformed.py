"""Bodies and values that nobody means to send, how they may be answered, and how long a body may be."""

import json
from dataclasses import replace
from typing import Final

import httpx
import pytest

from ostiary_core.model.records import Record, Table, User
from tests.web.doors import DOORS
from tests.web.served import Api, Served

DOCUMENTED: Final = frozenset({400, 401, 403, 404, 405, 409, 413, 415, 422, 429})

JSON_ENDPOINTS: Final = {
    "/api/auth/login": "POST",
    "/api/auth/refresh": "POST",
    "/api/auth/password": "PUT",
    "/api/oauth2/authorize": "POST",
    "/api/oauth/clients": "POST",
}
AS_JSON: Final = {"Content-Type": "application/json"}
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


@pytest.mark.parametrize("door", DOORS)
async def test_more_than_its_path_takes_is_413(served: Served, api: Api) -> None:
    before = served.records()
    for path, method in JSON_ENDPOINTS.items():
        limit = 1024 * 1024 if path.startswith("/api/oauth/") else 64 * 1024
        for length, status in ((limit, 400), (limit + 1, 413), (4 * 1024 * 1024, 413)):
            body = b'{"approve": "' + b"x" * (length - 15) + b'"}'
            response = await api.call(method, path, content=body, headers=AS_JSON)
            documented(response)
            assert response.status_code == status, (path, length)
    assert served.records() == before
