"""A client: its record, the rules of its fields, and their declaration ("Client").

How administrators handle clients is in `clients/client.py`, how a client authenticates in
`oauth/client_authentication.py`.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from ostiary_core.model.fields import FieldReader, FieldRule
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import NOT_YET, Instant, end_of_day
from ostiary_core.model.key import Key, RawKey, Table, make_key
from ostiary_core.model.record_type import NAME, Bounds, Kind, RecordField, RecordType, Setting
from ostiary_core.model.secret import Digest
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.model.why import Why

USER_READ: Final = "user.read"

SCOPES: Final = (USER_READ,)
"""Scopes that a client can register ("Client", `scopes`)."""

ACCESS_TOKEN_SECONDS: Final = Bounds(300, 86_400, 1_800)
REFRESH_TOKEN_SECONDS: Final = Bounds(3_600, 2_592_000, 604_800)
CLIENT_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
"""Characters that need no encoding in Basic, a form or a path."""
LONGEST_REDIRECT_URI: Final = 2_000
"""Characters."""
_FORBIDDEN_IN_URI: Final = re.compile(r"[#*\\\s\x00-\x1f\x7f]")
_LITERAL: Final = re.compile(r"\[[^\[\]]+\](?::[0-9]*)?", re.ASCII)
_LOCAL_HOSTS: Final = ("localhost", "127.0.0.1")
_LONGEST_HOST: Final = 253
_LABEL: Final = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*", re.ASCII)
_ANSWER_PARAMETERS: Final = frozenset({"code", "state", "error", "error_description", "error_uri", "iss"})
"""Parameters that an authorization server adds (RFC 6749 §4.1.2, RFC 9207 §2); none may be there twice."""


class GrantType(StrEnum):
    """The grant types a client may register (RFC 6749 §4.1, §6, §4.4)."""

    AUTHORIZATION_CODE = "authorization_code"
    REFRESH_TOKEN = "refresh_token"
    CLIENT_CREDENTIALS = "client_credentials"


@immutable(kw_only=True)
class Client:
    """A registered client ("Resources", Client); `console` and `mobile` are the backend's own."""

    table: ClassVar[Table] = Table.CLIENT
    references: ClassVar[tuple[RawKey, ...]] = ()

    client_id: str
    name: str
    secret_digest: Digest | None = field(repr=False)
    """Digest of the secret; None for built-in clients, which cannot authenticate."""
    secret_used_at: Instant | None = None
    """Last authentication with the present secret, to about a minute (`client_secret.record_use`)."""
    secret_expires_on: str | None = None
    """Last day, in UTC, on which the present secret authenticates, as 2027-06-30; None for no end."""
    old_secret_digest: Digest | None = field(default=None, repr=False)
    """Digest of the previous secret, if a reset kept it."""
    old_secret_until: Instant | None = None
    """Instant from which the old secret no longer authenticates."""
    old_secret_expires_on: str | None = None
    """Last day that the old secret had when it was the present one."""
    old_secret_used_at: Instant | None = None
    wrong_secrets: int = 0
    """Number of wrong secrets since the present one was set (`client_secret.add_wrong`)."""
    wrong_secret_at: Instant | None = None
    """Instant of the last wrong secret."""
    redirect_uris: tuple[str, ...]
    grant_types: tuple[GrantType | UnknownWord, ...]
    scopes: tuple[str, ...]
    auto_approve_scopes: tuple[str, ...]
    access_token_seconds: int
    refresh_token_seconds: int
    enabled: bool
    built_in: bool
    deleted_at: Instant | None = None
    epoch: int = 0
    epoch_why: Why | UnknownWord | None = None
    epoch_at: Instant | None = None
    created_at: Instant
    updated_at: Instant
    revision: int = 1

    @property
    def key(self) -> Key:
        return make_key(Key, (self.table, self.client_id))


def is_date(text: str) -> bool:
    """Whether a text is a day of the calendar, as 2027-06-30.

    >>> is_date("2027-06-30"), is_date("2027-06-31"), is_date("20270630"), is_date("2027-6-30")
    (True, False, False, False)
    """
    try:
        end_of_day(text)
    except ValueError:
        return False
    return True


def is_secret_expired(client: Client, now: Instant) -> bool:
    """Whether the day is over on which the present secret was to authenticate last."""
    return client.secret_expires_on is not None and now >= end_of_day(client.secret_expires_on)


def is_redirect_uri(text: str) -> bool:
    """Whether a client may register this address ("Client", `redirectUris`).

    >>> is_redirect_uri("https://app.example/cb?x=1"), is_redirect_uri("http://localhost.evil.example/")
    (True, False)
    """
    if _FORBIDDEN_IN_URI.search(text) or len(text) > LONGEST_REDIRECT_URI or not text.isascii():
        return False
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc or port == 0:
        return False
    # Some versions of urlsplit overlook what stands around the brackets (RFC 3986 §3.2.2).
    if "[" in parts.netloc and _LITERAL.fullmatch(parts.netloc) is None:
        return False
    if not _can_be_found(host, is_literal="[" in parts.netloc):
        return False
    # However they are written: the client reads one of two (RFC 6749 §3.1).
    if not _ANSWER_PARAMETERS.isdisjoint(name for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        return False
    if text.startswith("https://"):
        return True
    # Compared as written: "http://LOCALHOST" or "http://localhost:" are other addresses.
    return text.startswith("http://") and any(
        parts.netloc in (local, f"{local}:{port}") for local in _LOCAL_HOSTS
    )


def _can_be_found(host: str, *, is_literal: bool) -> bool:
    """Whether a browser can look up a host: a name of labels (RFC 1035 §2.3.4), or a valid address.

    >>> [
    ...     _can_be_found(host, is_literal=False)
    ...     for host in ("a.example.", ".", "a..b", "-a", "1.2.3.4", "1.2")
    ... ]
    [True, False, False, False, True, False]
    """
    try:
        if is_literal:
            return ipaddress.IPv6Address(host).scope_id is None
        name = unquote(host).removesuffix(".")  # as browsers read it
        labels = name.split(".")
        if _NUMBER.fullmatch(labels[-1]):  # browsers take such a name for an address (WHATWG URL §3.5)
            ipaddress.IPv4Address(name)
    except ValueError:
        return False
    return len(name) <= _LONGEST_HOST and all(_LABEL.fullmatch(label) for label in labels)


def _check_together(reader: FieldReader, client: Mapping[str, Any]) -> None:
    if GrantType.AUTHORIZATION_CODE in client["grant_types"] and not client["redirect_uris"]:
        reader.fault("redirectUris", FieldRule.REDIRECT_URI_NEEDED)
    for place, scope in enumerate(client["auto_approve_scopes"]):
        if scope not in client["scopes"]:
            reader.fault(f"autoApproveScopes.{place}", FieldRule.AUTO_APPROVE_SCOPE)


CLIENT: Final[RecordType[Client]] = RecordType(
    name="clients",
    identifier="client_id",
    default_sort="client_id",
    blank=Client(
        client_id="",
        name="",
        secret_digest=None,
        redirect_uris=(),
        grant_types=(),
        scopes=(),
        auto_approve_scopes=(),
        access_token_seconds=ACCESS_TOKEN_SECONDS.default,
        refresh_token_seconds=REFRESH_TOKEN_SECONDS.default,
        enabled=True,
        built_in=False,
        created_at=NOT_YET,
        updated_at=NOT_YET,
    ),
    check=_check_together,
    fields=(
        RecordField("id", Kind.TEXT, "client_id", in_sheets=False),
        RecordField(
            name="clientId",
            kind=Kind.TEXT,
            attribute="client_id",
            setting=Setting.ONCE,
            is_required=True,
            most=64,
            is_valid=lambda text: CLIENT_ID.fullmatch(text) is not None,
            rule=FieldRule.CLIENT_ID,
            is_sorted=True,
            is_filtered=True,
            is_searched=True,
        ),
        NAME,
        RecordField(
            name="redirectUris",
            kind=Kind.TEXTS,
            attribute="redirect_uris",
            setting=Setting.EDITED,
            most=50,
            is_valid=is_redirect_uri,
            rule=FieldRule.REDIRECT_URI,
        ),
        RecordField(
            name="grantTypes",
            kind=Kind.CODES,
            attribute="grant_types",
            setting=Setting.EDITED,
            is_required=True,
            choices=lambda policy: tuple(GrantType),
            rule=FieldRule.GRANT_TYPE,
            convert=GrantType,
        ),
        RecordField(
            name="scopes",
            kind=Kind.CODES,
            attribute="scopes",
            setting=Setting.EDITED,
            choices=lambda policy: SCOPES,
            rule=FieldRule.SCOPE,
        ),
        RecordField(
            name="autoApproveScopes",
            kind=Kind.CODES,
            attribute="auto_approve_scopes",
            setting=Setting.EDITED,
            rule=FieldRule.AUTO_APPROVE_SCOPE,
        ),
        RecordField(
            name="accessTokenTtl",
            kind=Kind.INTEGER,
            attribute="access_token_seconds",
            setting=Setting.EDITED,
            bounds=ACCESS_TOKEN_SECONDS,
            rule=FieldRule.ACCESS_LIFETIME,
        ),
        RecordField(
            name="refreshTokenTtl",
            kind=Kind.INTEGER,
            attribute="refresh_token_seconds",
            setting=Setting.EDITED,
            bounds=REFRESH_TOKEN_SECONDS,
            rule=FieldRule.REFRESH_LIFETIME,
        ),
        RecordField(
            name="secretExpiresOn",
            kind=Kind.TEXT,
            attribute="secret_expires_on",
            setting=Setting.EDITED,
            most=10,
            is_valid=is_date,
            rule=FieldRule.DATE,
        ),
        RecordField("enabled", Kind.BOOLEAN, "enabled", Setting.SWITCHED, is_filtered=True),
        RecordField("builtIn", Kind.BOOLEAN, "built_in", is_filtered=True),
        RecordField("createdAt", Kind.TIME, "created_at", is_sorted=True),
        RecordField("updatedAt", Kind.TIME, "updated_at", is_sorted=True),
        RecordField("lastUsedAt", Kind.TIME, "last_used_at"),
        RecordField("secretLastUsedAt", Kind.TIME, "secret_used_at"),
        RecordField("oldSecretLastUsedAt", Kind.TIME, "old_secret_used_at"),
        RecordField("oldSecretUntil", Kind.TIME, "old_secret_until"),
        RecordField("wrongSecrets", Kind.INTEGER, "wrong_secrets"),
        RecordField("wrongSecretLastAt", Kind.TIME, "wrong_secret_at"),
    ),
)
