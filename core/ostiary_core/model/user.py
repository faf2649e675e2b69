"""A user: the record of an account, the rules of its fields, and their declaration.

How administrators handle accounts is in `users/user_administration.py`, how users handle their own in
`users/own_account.py`. The password is no field: only its hash is stored, and no face shows that.
A runtime applies the rules of a new one before it hashes.
"""

import re
from dataclasses import field
from typing import ClassVar, Final

from ostiary_core.model.changes import mask_phone
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import NOT_YET, Instant
from ostiary_core.model.key import Key, RawKey, Table, make_key
from ostiary_core.model.record_type import NAME, Kind, RecordField, RecordType, Setting
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.model.visible_text import is_visible
from ostiary_core.model.why import Why

SHORTEST_PASSWORD: Final = 8
LONGEST_PASSWORD: Final = 256
"""Characters; longer passwords are refused before they are hashed."""
_USERNAME: Final = re.compile(r"[^\s\x00-\x1f\x7f<>\"'\\/:]{1,64}")
_PHONE: Final = re.compile(r"\+?[0-9]{5,20}", re.ASCII)
_TIMEZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,31}(/[A-Za-z0-9_+-]{1,32}){0,2}", re.ASCII)


@immutable(kw_only=True)
class User:
    """An account of the backend. `user_id` is `sub` and never changes."""

    table: ClassVar[Table] = Table.USER

    user_id: str
    username: str
    name: str
    phone: str | None = None
    avatar_url: str | None = None
    locale: str | None = None
    timezone: str | None = None
    password_hash: str | None = field(repr=False)
    """Encoded Argon2id hash, made and verified outside the core; None for an account without a password."""
    must_change_password: bool
    has_second_factor: bool = False
    role_ids: tuple[str, ...] = ()
    enabled: bool = True
    deleted_at: Instant | None = None
    epoch: int = 0
    epoch_why: Why | UnknownWord | None = None
    epoch_at: Instant | None = None
    wrong_passwords_at: tuple[Instant, ...] = ()
    """Instants of wrong current passwords inside the window (READINGS 24)."""
    text_codes_asked_at: tuple[Instant, ...] = ()
    """Instants of requests for codes to new telephone numbers, of the last day (READINGS 43)."""
    token_expiries: tuple[Instant, ...] = ()
    """When each personal access token expires that lives under `tokens_epoch`; bounds how many there are."""
    tokens_epoch: int = 0
    """Sum of the epochs of user and console client under which they were made: either ends them all."""
    last_sign_in_at: Instant = NOT_YET
    """Instant of the last sign-in; `NOT_YET` if there was none."""
    created_at: Instant
    updated_at: Instant
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, self.user_id))

    @property
    def references(self) -> tuple[RawKey, ...]:
        return tuple([(Table.ROLE, role_id) for role_id in self.role_ids]) if self.role_ids else ()


def is_username(text: str) -> bool:
    """Whether `text` may be a user name: 1 to 64 visible characters, no space, quote, slash or colon."""
    return _USERNAME.fullmatch(text) is not None and is_visible(text)


def is_phone(text: str) -> bool:
    """Whether `text` may be a telephone number: 5 to 20 digits, with or without a leading plus."""
    return _PHONE.fullmatch(text) is not None


def is_timezone_name(text: str) -> bool:
    """Whether `text` has the form of an IANA zone name; which zones there are, a runtime knows.

    >>> is_timezone_name("Asia/Shanghai"), is_timezone_name("../etc/passwd")
    (True, False)
    """
    return _TIMEZONE.fullmatch(text) is not None


def new_password_faults(path: str, new: str, current: str | None = None) -> tuple[FieldFault, ...]:
    """Find the faults of a new password in the field `path`; `current` is the one it replaces.

    >>> [(fault.path, fault.rule.value) for fault in new_password_faults("newPassword", "short")]
    [('newPassword', 'password')]
    """
    if not SHORTEST_PASSWORD <= len(new) <= LONGEST_PASSWORD:
        return (FieldFault(path, FieldRule.PASSWORD),)
    if new == current:
        return (FieldFault(path, FieldRule.PASSWORD_UNCHANGED),)
    return ()


USER: Final[RecordType[User]] = RecordType(
    name="users",
    identifier="user_id",
    default_sort="username",
    blank=User(
        user_id="",
        username="",
        name="",
        password_hash=None,
        must_change_password=True,
        created_at=NOT_YET,
        updated_at=NOT_YET,
    ),
    fields=(
        RecordField("id", Kind.TEXT, "user_id", is_filtered=True, is_searched=True),
        RecordField(
            name="username",
            kind=Kind.TEXT,
            attribute="username",
            setting=Setting.EDITED,
            is_required=True,
            most=64,
            is_valid=lambda text: is_username(text.strip()),
            convert=str.strip,
            rule=FieldRule.USERNAME,
            is_sorted=True,
            is_filtered=True,
            is_searched=True,
        ),
        NAME,
        RecordField(
            name="phone",
            kind=Kind.TEXT,
            attribute="phone",
            setting=Setting.EDITED,
            is_valid=is_phone,
            rule=FieldRule.PHONE,
            mask=mask_phone,
            is_filtered=True,
            is_searched=True,
        ),
        RecordField("password", Kind.TEXT, "password", Setting.IMPORTED),
        RecordField("passwordHash", Kind.TEXT, "password_hash", Setting.IMPORTED, in_forms=False),
        RecordField("enabled", Kind.BOOLEAN, "enabled", Setting.SWITCHED, is_filtered=True),
        RecordField(
            name="mustChangePassword",
            kind=Kind.BOOLEAN,
            attribute="must_change_password",
            setting=Setting.EDITED,
            is_filtered=True,
            in_forms=False,
        ),
        # Users set it up themselves; administrators only reset it.
        RecordField(
            name="secondFactor",
            kind=Kind.BOOLEAN,
            attribute="has_second_factor",
            is_filtered=True,
            in_sheets=False,
        ),
        RecordField("roleIds", Kind.CODES, "role_ids", Setting.EDITED, most=100, is_filtered=True),
        RecordField(
            name="locale",
            kind=Kind.TEXT,
            attribute="locale",
            setting=Setting.EDITED,
            choices=lambda policy: policy.locales,
            rule=FieldRule.LOCALE,
        ),
        RecordField(
            name="timezone",
            kind=Kind.TEXT,
            attribute="timezone",
            setting=Setting.EDITED,
            is_valid=is_timezone_name,
            rule=FieldRule.TIMEZONE,
        ),
        # Users choose their pictures themselves.
        RecordField("avatarUrl", Kind.TEXT, "avatar_url", is_audited=True),
        RecordField(
            name="lastSignInAt",
            kind=Kind.TIME,
            attribute="last_sign_in_at",
            read_value=lambda user: user.last_sign_in_at or None,
            is_sorted=True,
        ),
        RecordField("createdAt", Kind.TIME, "created_at", is_sorted=True),
        RecordField("updatedAt", Kind.TIME, "updated_at", is_sorted=True),
    ),
)
