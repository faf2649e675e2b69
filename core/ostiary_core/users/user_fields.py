"""The fields of an account that an administrator sends, and the rule for each of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ostiary_core.model.decision import FieldFault, FieldRule
from ostiary_core.model.fields import FieldReader
from ostiary_core.model.identifiers import is_phone, is_username
from ostiary_core.model.records import User

__all__ = ["LOCALES", "UserFields", "is_timezone_name", "read_user_fields"]

LOCALES: Final = ("zh-CN", "en-US")

_LONGEST_NAME: Final = 100
_MOST_ROLES: Final = 100
_TIMEZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,2}", re.ASCII)
_SHOWN_ONLY: Final = frozenset({"id", "avatarUrl", "createdAt", "updatedAt"})
"""Fields of an account that say what is; an account may be sent back with them, to no effect."""
_KNOWN: Final = _SHOWN_ONLY | frozenset(
    {"username", "name", "phone", "enabled", "mustChangePassword", "roleIds", "locale", "timezone"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFields:
    """The fields of an account that an administrator sets."""

    username: str
    name: str
    phone: str | None
    enabled: bool
    must_change_password: bool
    role_ids: tuple[str, ...]
    locale: str | None
    timezone: str | None


def is_timezone_name(text: str) -> bool:
    """Whether `text` has the form of an IANA zone name; which zones there are, a runtime knows.

    >>> is_timezone_name("Asia/Shanghai"), is_timezone_name("../etc/passwd")
    (True, False)
    """
    return _TIMEZONE.fullmatch(text) is not None


def read_user_fields(
    fields: Mapping[str, object], stored: User | None, outside: tuple[FieldFault, ...]
) -> UserFields | tuple[FieldFault, ...]:
    """Read the fields of a new account, or of `stored` with some replaced; else return every fault.

    `outside` are the faults that the runtime found in what the core does not see.
    """
    reader = FieldReader(fields, _KNOWN)
    username = reader.text("username", None if stored is None else stored.username, 64)
    if username and not is_username(username):
        reader.fault("username", FieldRule.USERNAME)
    name = reader.text("name", None if stored is None else stored.name, _LONGEST_NAME)
    phone = reader.optional_text("phone", None if stored is None else stored.phone)
    if phone is not None and not is_phone(phone):
        reader.fault("phone", FieldRule.PHONE)
    enabled = reader.boolean("enabled", stored is None or stored.enabled)
    if stored is not None:
        reader.require_unchanged("enabled", stored.enabled)
    must_change = reader.boolean("mustChangePassword", stored is None or stored.must_change_password)
    role_ids = reader.texts("roleIds", () if stored is None else stored.role_ids)
    if len(role_ids) > _MOST_ROLES:
        reader.fault("roleIds", FieldRule.TOO_LONG)
    locale = reader.optional_text("locale", None if stored is None else stored.locale)
    if locale is not None and locale not in LOCALES:
        reader.fault("locale", FieldRule.LOCALE)
    timezone = reader.optional_text("timezone", None if stored is None else stored.timezone)
    if timezone is not None and not is_timezone_name(timezone):
        reader.fault("timezone", FieldRule.TIMEZONE)
    for fault in outside:
        reader.fault(fault.path, fault.rule)
    if reader.faults:
        return reader.faults
    return UserFields(
        username=username,
        name=name,
        phone=phone,
        enabled=enabled,
        must_change_password=must_change,
        role_ids=role_ids,
        locale=locale,
        timezone=timezone,
    )
