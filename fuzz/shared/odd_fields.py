"""Records with odd fields that administrators send, and the fields that must be refused.

Each row has the values to send in place of the valid ones, and the faulty fields by the specification
("Client", "General envelope"). The model takes the faulty fields from here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from fuzz.shared.calls import Call, Verb

ABSENT: Final = object()
"""Value of a field that is not sent."""


class OddFields(NamedTuple):
    """Odd values of a record."""

    fields: Mapping[str, object]
    faults: tuple[str, ...]
    """Fields that the refusal must name; none if the values are valid."""
    is_for_new: bool = False
    """Whether the values are wrong in a new record only."""
    is_for_change: bool = False
    """Whether the values are wrong in a change only: an import ignores read-only fields."""
    found_outside: tuple[str, ...] = ()
    """Fields in which the runtime finds a fault that the rules cannot see."""


def _odd(field: str, *values: object) -> dict[str, OddFields]:
    """Return a row for each invalid value of a field, named after the field."""
    rows = enumerate(values, start=1)
    return {f"{field}-{number}": OddFields({field: value}, (field,)) for number, value in rows}


def _one(name: str, fields: Mapping[str, object], fault: str) -> dict[str, OddFields]:
    return {name: OddFields(fields, (fault,))}


def _missing(field: str) -> dict[str, OddFields]:
    return {f"{field}-missing": OddFields({field: ABSENT}, (field,), is_for_new=True)}


_UNKNOWN: Final = {"unknown": OddFields({"colour": "red"}, ("colour",))}
_UNSEEN: Final = ("\u3164", "a\u115f", "\u2800", "a\ufe0f")
"""Texts with characters that have no visible form."""
_NAME: Final = {**_missing("name"), **_odd("name", None, 7, "", " \t ", "n" * 101, "two\nlines", *_UNSEEN)}
_SENT_BACK: Final = {"id": "anything", "createdAt": "2026-01-01T00:00:00Z", "updatedAt": None}
_ONLY_SHOWN: Final = tuple(_SENT_BACK)
_WRONG_URIS: Final = (
    *("", "app", "https://", "https:///callback", "https://[::1", "https://app.example:0/"),
    *("https://app.example:99999/", "https://me@app.example/", "https://app.example/#fragment"),
    *("https://*.example/", "https://app.example/a b", "https://app.example/\\", "https://äpp.example/"),
    *("http://app.example/", "http://localhost.evil.example/", "http://LOCALHOST/"),
    *("https://a[::1]/", "custom:/callback", "https://app.example/" + "a" * 2_000),
)

OF_CLIENTS: Final = {
    **_UNKNOWN,
    **_NAME,
    **_missing("clientId"),
    **_odd("clientId", None, 7, "", "-first", "a b", "ünlaut", "c" * 65, "import"),
    **_odd(
        "redirectUris",
        *(None, "https://app.example/", [7], ["https://app.example/"] * 2),
        [f"https://app.example/{each}" for each in range(51)],
    ),
    **{
        f"uri-{number}": OddFields({"redirectUris": ["https://app.example/", uri]}, ("redirectUris.1",))
        for number, uri in enumerate(_WRONG_URIS, start=1)
    },
    **_one("no-uri", {"redirectUris": [], "grantTypes": ["authorization_code"]}, "redirectUris"),
    **_odd("grantTypes", [], "refresh_token", None, ["refresh_token"] * 2),
    **_one("another-grant", {"grantTypes": ["refresh_token", "password"]}, "grantTypes.1"),
    **_one("scope-alone", {"scopes": "user.read", "autoApproveScopes": []}, "scopes"),
    **_one("another-scope", {"scopes": ["user.read", "user.root"], "autoApproveScopes": []}, "scopes.1"),
    **_one("automatic-beyond", {"scopes": [], "autoApproveScopes": ["user.read"]}, "autoApproveScopes.0"),
    **_odd("accessTokenTtl", 299, 86_401, -1, "1800", 1_800.0, None, True),
    **_odd("refreshTokenTtl", 3_599, 2_592_001, "3600", False),
    **_odd("enabled", "yes", 1, None),
    "several": OddFields(
        {"name": 7, "accessTokenTtl": 1, "colour": "red"}, ("name", "accessTokenTtl", "colour")
    ),
    "sent-back": OddFields(
        {**_SENT_BACK, "builtIn": True, "lastUsedAt": None}, (*_ONLY_SHOWN, "builtIn"), is_for_change=True
    ),
}
OF_USERS: Final = {
    **_UNKNOWN,
    **_NAME,
    **_missing("username"),
    **_odd("username", None, 7, "", "a b", "a/b", "a\u200bb", "u" * 65, "new\nline", *_UNSEEN),
    **_odd("phone", 7, "1234", "1" * 21, "+49 30 x1234", "+"),
    **_odd("enabled", "yes", 1, None),
    **_odd("mustChangePassword", "no", 0, None),
    **_odd("roleIds", "clerk", None, [7], ["clerk"] * 2, [f"role{each}" for each in range(101)]),
    **_odd("locale", "tlh", 7),
    **_odd("timezone", "../etc/passwd", "a" * 40, 7),
    "several": OddFields({"name": 7, "enabled": 1, "colour": "red"}, ("name", "enabled", "colour")),
    "zone-of-nowhere": OddFields({"timezone": "Nowhere/Land"}, ("timezone",), found_outside=("timezone",)),
    "sent-back": OddFields(_SENT_BACK, _ONLY_SHOWN, is_for_change=True),
}
_CHOSEN: Final = {
    "chosen": OddFields({"locale": "en-US", "timezone": "Asia/Shanghai"}, ()),
    "unchosen": OddFields({"locale": None, "timezone": ""}, ()),
}
OF_ROLES: Final = {
    **_UNKNOWN,
    **_NAME,
    **_missing("code"),
    **_odd("code", None, 7, "", "Clerk", "1st", "c" * 65, "options"),
    **_odd("permissions", "iam.user.update", None, [7], ["iam.user.update"] * 2),
    **_one("another-permission", {"permissions": ["iam.everything"]}, "permissions.0"),
    "sent-back": OddFields({"id": "anything", "builtIn": True}, ("id", "builtIn"), is_for_change=True),
}
OF_RESETS: Final = {**_UNKNOWN, **_odd("keepOldForSeconds", 1, 59, -1, 2_592_001, "60", 60.0, None, True)}

ODD_FIELDS: Final[Mapping[Verb, Mapping[str, OddFields]]] = {
    **dict.fromkeys((Verb.REGISTER_CLIENT, Verb.CHANGE_CLIENT, Verb.IMPORT_CLIENT), OF_CLIENTS),
    **dict.fromkeys((Verb.REGISTER_USER, Verb.CHANGE_USER), OF_USERS | _CHOSEN),
    Verb.IMPORT_USER: OF_USERS,
    **dict.fromkeys((Verb.REGISTER_ROLE, Verb.CHANGE_ROLE, Verb.IMPORT_ROLE), OF_ROLES),
    Verb.RESET_SECRET: OF_RESETS,
}
"""Odd values by operation and name."""


def odd_fields_of(call: Call) -> OddFields | None:
    """Return the odd values of the record that a call sends, or None."""
    return None if call.odd is None else ODD_FIELDS[call.verb][call.odd]


def is_odd(call: Call, field: str) -> bool:
    """Whether the call sends an odd value in this field."""
    odd = odd_fields_of(call)
    return odd is not None and field in odd.fields


def read_sent(call: Call, field: str, otherwise: str | None) -> str | None:
    """Return the odd text that a call sends in a field, or `otherwise`."""
    odd = odd_fields_of(call)
    return otherwise if odd is None or field not in odd.fields else str(odd.fields[field] or "") or None


def faults_of(call: Call) -> tuple[str, ...]:
    """Return the fields for which a call must be refused."""
    odd = odd_fields_of(call)
    is_new = call.verb in (Verb.REGISTER_CLIENT, Verb.REGISTER_USER, Verb.REGISTER_ROLE)
    if odd is None or (odd.is_for_new and not is_new) or (odd.is_for_change and (is_new or call.replaces)):
        return ()
    return odd.faults


def with_odd_fields(call: Call, fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a call with its odd values."""
    odd = odd_fields_of(call)
    changed = {**fields, **(odd.fields if odd is not None else {})}
    return {name: value for name, value in changed.items() if value is not ABSENT}
