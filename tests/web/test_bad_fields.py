"""An answer names every bad field of a body at once, and such a body changes nothing."""

from typing import Any, Final

import pytest

from tests.rows import row
from tests.support.callers import ADMIN_PASSWORD, Api, authorization, fields_of
from tests.support.served import Served

PHONE: Final = "+8613800000002"
NEW_USER: Final = {"username": "anna", "name": "Anna", "password": "a good password"}
TOKEN: Final[dict[str, Any]] = {"name": "deploys", "permissions": ["audit.read"], "expiresInDays": 30}
DECISION: Final = {**authorization(), "approve": True}
PASSWORDS: Final = (None, "", "7 chars", "x" * 257, 12345678, ["a good password"], "good\x00one")

_OF_A_USER: Final[list[tuple[dict[str, Any], list[str]]]] = [
    *(({"timezone": zone}, ["timezone"]) for zone in ("Mars/Base", "asia/shanghai", "../../etc/passwd", 8)),
    ({"locale": "fr"}, ["locale"]),
    ({"phone": "call me"}, ["phone"]),
    ({"roleIds": ["nothing", "super_admin", "none"]}, ["roleIds.0", "roleIds.2"]),
    ({"roleIds": "super_admin"}, ["roleIds"]),
    ({"username": "with space", "timezone": "x", "locale": "y"}, ["locale", "timezone", "username"]),
]
# Characters that a screen shows as nothing: fillers of Hangul, an empty Braille cell, a variation selector.
_UNSEEN: Final = ("\u3164", "\u115f", "\u2800", "\ufe0f", "\U000e0041")
# Characters that reverse, hide or break text: with them a name would lie on the consent page.
_UNREADABLE: Final = (
    *("\u202egnp.exe", "a\u2066b", "\u200bApp", "a\x00b", "a\r\nb", "\ufeffApp", "\x1b[2J", "x" * 101),
    *(f"Ann{unseen}a" for unseen in _UNSEEN),
)
_OF_NAME: Final = [({"name": name}, ["name"]) for name in (*_UNREADABLE, *_UNSEEN)]
_OF_USERNAMES: Final = [({"username": name}, ["username"]) for name in _UNREADABLE]
_OF_TOKENS: Final[list[tuple[dict[str, Any], list[str]]]] = [
    *(({"name": name}, ["name"]) for name in ("", "x" * 101, 7)),
    *(({"permissions": each}, ["permissions"]) for each in ([], "audit.read", ["audit.read"] * 2)),
    ({"permissions": ["audit.read", "everything"]}, ["permissions.1"]),
    *(({"expiresInDays": days}, ["expiresInDays"]) for days in (0, 366, "30", None)),
    ({"token": "of my own"}, ["token"]),
]
_OF_ENABLED: Final[list[tuple[Any, list[str]]]] = [
    ({}, ["enabled"]),
    *(({"enabled": value}, ["enabled"]) for value in (None, "true", 1)),
    ({"enabled": True, "name": "x"}, ["name"]),
]

BAD: Final[dict[str, list[tuple[Any, list[str]]]]] = {
    "POST /api/auth/login": [
        ({}, ["password", "username"]),
        ({"username": "anna"}, ["password"]),
        ({"username": "", "password": ""}, ["password", "username"]),
        ({"username": None, "password": None}, ["password", "username"]),
        ({"username": 1, "password": ["a"]}, ["password", "username"]),
        ({"username": {"a": 1}, "password": True}, ["password", "username"]),
        ({"username": "a\x00b", "password": "p\x00"}, ["password", "username"]),
        ({"username": "a" * 257, "password": "b" * 257}, ["password", "username"]),
    ],
    "PUT /api/auth/password": [
        ({}, ["newPassword", "oldPassword"]),
        ({"oldPassword": "wrong"}, ["newPassword"]),
        ({"oldPassword": "wrong", "newPassword": "7 chars"}, ["newPassword"]),
        ({"oldPassword": "wrong", "newPassword": "x" * 257}, ["newPassword"]),
        ({"oldPassword": ADMIN_PASSWORD, "newPassword": ADMIN_PASSWORD}, ["newPassword"]),
        ({"oldPassword": "x" * 257, "newPassword": 12345678}, ["newPassword", "oldPassword"]),
    ],
    "PUT /api/auth/phone": [
        ({}, ["code", "password", "phone"]),
        ({"phone": "no number", "code": None, "password": ADMIN_PASSWORD}, ["code", "phone"]),
        ({"phone": ["+861380000"], "code": "\x00", "password": {}}, ["code", "password", "phone"]),
        ({"phone": PHONE, "code": "000000"}, ["password"]),
        *(
            ({"phone": PHONE, "code": "000000", "password": password}, ["password"])
            for password in (None, "", 12345678, "x" * 257, "\x00")
        ),
    ],
    "POST /api/auth/sms-code": [
        ({}, ["phone", "purpose"]),
        ({"phone": "", "purpose": ""}, ["phone", "purpose"]),
        ({"phone": "a telephone", "purpose": "sign-in"}, ["phone", "purpose"]),
        ({"phone": 13800000000, "purpose": ["reset-password"]}, ["phone", "purpose"]),
        ({"phone": "+86 1", "purpose": "reset-password"}, ["phone"]),
        ({"phone": "1" * 21, "purpose": "reset-password"}, ["phone"]),
    ],
    "POST /api/auth/invitation": [
        ({}, ["newPassword", "token"]),
        ({"token": "x", "newPassword": "short"}, ["newPassword"]),
        ({"token": "x" * 129, "newPassword": "long enough"}, ["token"]),
        ({"token": 7, "newPassword": ["long enough"]}, ["newPassword", "token"]),
    ],
    "POST /api/monitor/overview/acknowledge": [
        ({"warning": warning}, ["warning"])
        for warning in (None, "", 7, "weather", "backup ", "secrets " + "a" * 200)
    ],
    "POST /api/auth/reset-password": [
        ({}, ["code", "newPassword", "phone"]),
        ({"phone": "x", "code": "", "newPassword": "short"}, ["code", "newPassword", "phone"]),
        ({"phone": 1, "code": 123456, "newPassword": None}, ["code", "newPassword", "phone"]),
        ({"phone": PHONE, "code": "0" * 65, "newPassword": "x" * 257}, ["code", "newPassword"]),
    ],
    "GET /api/oauth2/authorize?redirect_uri=&code_challenge_method=plain&response_type=code&client_id=app": [
        (None, ["code_challenge", "code_challenge_method", "redirect_uri"])
    ],
    "GET /api/audit/events?kind=refused&sort=kind&atFrom=yesterday&scope=x&page=0": [
        (None, ["atFrom", "kind", "page", "scope", "sort"])
    ],
    "POST /api/oauth2/authorize": [
        ({}, ["approve"]),
        *(({**DECISION, "approve": value}, ["approve"]) for value in (None, "true", 1)),
        ({**DECISION, "client_id": 1, "state": ["x"]}, ["client_id", "state"]),
    ],
    "POST /api/oauth/clients/app/secret": [
        *(({"keepOldForSeconds": seconds}, ["keepOldForSeconds"]) for seconds in (59, 2_592_001, "60")),
        ({"keepOldFor": 60}, ["keepOldFor"]),
        ([], []),
    ],
    "POST /api/auth/tokens": [({**TOKEN, **changed}, bad) for changed, bad in _OF_TOKENS],
    "POST /api/iam/roles": [({"code": "clerk", **fields}, bad) for fields, bad in _OF_NAME],
    "PUT /api/oauth/clients/app": [*_OF_NAME, ({"enabled": False, "clientId": "b"}, ["clientId", "enabled"])],
    # Each of these fields is changed by a route of its own.
    "PUT /api/oauth/clients/app/enabled": _OF_ENABLED,
    "PUT /api/iam/users/BEN/enabled": _OF_ENABLED,
    "PUT /api/iam/users/BEN/password": [({"password": password}, ["password"]) for password in PASSWORDS],
    "PUT /api/iam/users/BEN": [*_OF_A_USER, ({"password": "a good password"}, ["password"])],
    "POST /api/iam/users": [
        ({"username": "anna", "name": "Anna"}, ["password"]),
        *(({**NEW_USER, "password": password}, ["password"]) for password in PASSWORDS),
        *(({**NEW_USER, **fields}, bad) for fields, bad in (*_OF_A_USER, *_OF_NAME, *_OF_USERNAMES)),
    ],
}


@pytest.mark.parametrize("fields", [{"scopes": ["x"] * 100_000}, {f"x{each}": 0 for each in range(50_000)}])
async def test_at_most_a_hundred_bad_fields_are_named(api: Api, fields: dict[str, Any]) -> None:
    """Without the bound, a body of one mebibyte would be answered with thirty."""
    body = {"clientId": "app", "name": "App", "grantTypes": ["client_credentials"], **fields}
    assert len((await api.fail(400, "A0401", "POST", "/api/oauth/clients", body))["errors"]) == 100


@row("General envelope and status codes", "400")
@pytest.mark.parametrize("endpoint", BAD)
async def test_every_bad_field_is_named_and_nothing_counted(served: Served, api: Api, endpoint: str) -> None:
    await served.client()
    method, path = endpoint.replace("BEN", await served.user("ben")).split()
    before = served.records()
    for body, bad in BAD[endpoint]:
        assert sorted(fields_of(await api.fail(400, "A0401", method, path, body))) == bad, body
    assert served.records() == before
