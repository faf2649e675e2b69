"""The fields of an account that an administrator sends, and a new password: the rule for each of them.

A runtime applies the rules of a password before it hashes; the core never stores one.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ostiary_core.model.changes import RecordField, mask_phone
from ostiary_core.model.fields import FieldFault, FieldReader, FieldRule
from ostiary_core.model.identifiers import is_phone, is_username
from ostiary_core.model.instant import NOT_YET
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import User

LONGEST_PASSWORD: Final = 256
"""Characters; longer ones are refused before anything is hashed."""

_LONGEST_NAME: Final = 100
_MOST_ROLES: Final = 100
_TIMEZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,2}", re.ASCII)
_SHOWN_ONLY: Final = frozenset({"id", "createdAt", "updatedAt"})
"""Fields of an account that say what is; an account may be sent back with them, to no effect. So may its
`avatarUrl`, which is chosen by its owner alone."""
USER_FIELDS: Final[tuple[RecordField[User], ...]] = (
    RecordField("username", lambda user: user.username),
    RecordField("name", lambda user: user.name),
    RecordField("phone", lambda user: user.phone, mask=mask_phone),
    RecordField("enabled", lambda user: user.enabled),
    RecordField("mustChangePassword", lambda user: user.must_change_password),
    RecordField("roleIds", lambda user: user.role_ids),
    RecordField("locale", lambda user: user.locale),
    RecordField("timezone", lambda user: user.timezone),
    RecordField("avatarUrl", lambda user: user.avatar_url),
)
"""What is told of the changes of an account: all that somebody chooses, but for its password."""
_KNOWN: Final = _SHOWN_ONLY | {field.name for field in USER_FIELDS}

NEW_USER: Final = User(
    user_id="",
    username="",
    name="",
    password_hash=None,
    must_change_password=True,
    created_at=NOT_YET,
    updated_at=NOT_YET,
)
"""What stands in the fields of a new account that are not sent; empty ones among them are required."""


def is_timezone_name(text: str) -> bool:
    """Whether `text` has the form of an IANA zone name; which zones there are, a runtime knows.

    >>> is_timezone_name("Asia/Shanghai"), is_timezone_name("../etc/passwd")
    (True, False)
    """
    return _TIMEZONE.fullmatch(text) is not None


def read_user_fields(
    fields: Mapping[str, object], stored: User, policy: Policy, outside: tuple[FieldFault, ...] = ()
) -> User | tuple[FieldFault, ...]:
    """Read the fields of a new account, or of `stored` with some replaced; else return every fault.

    The account is of the revision of `stored`, with nothing changed but these fields. `outside` are the
    faults that the runtime found in what the core does not see.
    """
    reader = FieldReader(fields, _KNOWN)
    username = reader.text("username", stored.username, 64)
    if username != stored.username and not is_username(username):
        reader.fault("username", FieldRule.USERNAME)
    name = reader.text("name", stored.name, _LONGEST_NAME)
    phone = reader.optional_text("phone", stored.phone)
    if phone is not None and phone != stored.phone and not is_phone(phone):
        reader.fault("phone", FieldRule.PHONE)
    enabled = reader.boolean("enabled", stored.enabled)
    if stored is not NEW_USER:
        reader.require_unchanged("enabled", stored.enabled)
    must_change = reader.boolean("mustChangePassword", stored.must_change_password)
    role_ids = reader.texts("roleIds", stored.role_ids)
    if len(role_ids) > _MOST_ROLES:
        reader.fault("roleIds", FieldRule.TOO_LONG)
    locale = reader.optional_text("locale", stored.locale)
    if locale is not None and locale != stored.locale and locale not in policy.locales:
        reader.fault("locale", FieldRule.LOCALE, policy.locales)
    timezone = reader.optional_text("timezone", stored.timezone)
    if timezone is not None and not is_timezone_name(timezone):
        reader.fault("timezone", FieldRule.TIMEZONE)
    for fault in outside:
        reader.fault(fault.path, fault.rule, fault.choices)
    return reader.faults or replace(
        stored,
        username=username,
        name=name,
        phone=phone,
        enabled=enabled,
        must_change_password=must_change,
        role_ids=role_ids,
        locale=locale,
        timezone=timezone,
    )


def new_password_faults(
    path: str, new: str, current: str | None = None, policy: Policy = SPECIFICATION
) -> tuple[FieldFault, ...]:
    """Find the faults of a new password in the field `path`; `current` is the one it replaces.

    >>> [(fault.path, fault.rule.value) for fault in new_password_faults("newPassword", "short")]
    [('newPassword', 'password')]
    """
    if not policy.minimum_password_length <= len(new) <= LONGEST_PASSWORD:
        return (FieldFault(path, FieldRule.PASSWORD),)
    if new == current:
        return (FieldFault(path, FieldRule.PASSWORD_UNCHANGED),)
    return ()
