"""The fields of a client that an administrator sends, and the rule for each of them.

Every bad field is named at once ("General envelope", 400). The rules are those of the specification's
Client table.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from ostiary_core.model.changes import RecordField
from ostiary_core.model.fields import FieldFault, FieldReader, FieldRule
from ostiary_core.model.identifiers import RESERVED
from ostiary_core.model.instant import NOT_YET
from ostiary_core.model.records import Client, GrantType
from ostiary_core.oauth.scopes import SCOPES


@dataclass(frozen=True, slots=True)
class Range:
    """The shortest, the longest and the default lifetime, in seconds."""

    least: int
    most: int
    default: int


ACCESS_TOKEN_SECONDS: Final = Range(300, 86_400, 1_800)
REFRESH_TOKEN_SECONDS: Final = Range(3_600, 2_592_000, 604_800)

_CLIENT_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
"""Characters that need no encoding in Basic, a form or a path."""
_LONGEST_NAME: Final = 100
_LONGEST_URI: Final = 2_000
_MOST_URIS: Final = 50
_FORBIDDEN_IN_URI: Final = re.compile(r"[#*\\\s\x00-\x1f\x7f]")
_LITERAL: Final = re.compile(r"\[[^\[\]]+\](?::[0-9]*)?", re.ASCII)
_LOCAL_HOSTS: Final = ("localhost", "127.0.0.1")
SECRET_USE_FIELDS: Final = (
    *("secretLastUsedAt", "oldSecretUntil", "oldSecretLastUsedAt"),
    *("wrongSecrets", "wrongSecretLastAt"),
)
"""What became of a client's secrets."""
_SHOWN_ONLY: Final = frozenset(
    {"id", "builtIn", "createdAt", "updatedAt", "lastUsedAt", *SECRET_USE_FIELDS},
)
"""Fields of a client's record that say what is; a record may be sent back with them, to no effect."""
CLIENT_FIELDS: Final[tuple[RecordField[Client], ...]] = (
    RecordField("name", lambda client: client.name),
    RecordField("redirectUris", lambda client: client.redirect_uris),
    RecordField("grantTypes", lambda client: tuple(grant.value for grant in client.grant_types)),
    RecordField("scopes", lambda client: client.scopes),
    RecordField("autoApproveScopes", lambda client: client.auto_approve_scopes),
    RecordField("accessTokenTtl", lambda client: client.access_token_seconds),
    RecordField("refreshTokenTtl", lambda client: client.refresh_token_seconds),
    RecordField("enabled", lambda client: client.enabled),
)
"""What an administrator says of a client beside its identifier and its secret, in the order in which people
read it; it is told when it changes."""
_KNOWN: Final = _SHOWN_ONLY | {"clientId"} | {field.name for field in CLIENT_FIELDS}

NEW_CLIENT: Final = Client(
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
)
"""What stands in the fields of a new client that are not sent; empty ones among them are required."""


def is_redirect_uri(text: str) -> bool:
    """Whether a client may register this address ("Client", `redirectUris`).

    >>> is_redirect_uri("https://app.example/cb?x=1"), is_redirect_uri("http://localhost.evil.example/")
    (True, False)
    """
    if _FORBIDDEN_IN_URI.search(text) or len(text) > _LONGEST_URI or not text.isascii():
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
    if text.startswith("https://"):
        return True
    # Compared as written: "http://LOCALHOST" or "http://localhost:" are other addresses.
    return text.startswith("http://") and any(
        parts.netloc in (local, f"{local}:{port}") for local in _LOCAL_HOSTS
    )


def read_client_fields(
    fields: Mapping[str, object], stored: Client = NEW_CLIENT
) -> Client | tuple[FieldFault, ...]:
    """Read the fields of a new client, or of `stored` with some replaced; else return every fault.

    The client is of the revision of `stored`, with nothing changed but these fields.
    """
    is_new = stored is NEW_CLIENT
    reader = FieldReader(fields, _KNOWN)
    client_id = reader.text("clientId", stored.client_id, 64)
    if not is_new and client_id != stored.client_id:
        reader.fault("clientId", FieldRule.IMMUTABLE)
    elif _CLIENT_ID.fullmatch(client_id) is None:
        reader.fault("clientId", FieldRule.CLIENT_ID)
    elif client_id in RESERVED:
        reader.fault("clientId", FieldRule.RESERVED)
    enabled = reader.boolean("enabled", stored.enabled)
    if not is_new:
        reader.require_unchanged("enabled", stored.enabled)
    name = reader.text("name", stored.name, _LONGEST_NAME)
    redirect_uris = reader.texts("redirectUris", stored.redirect_uris)
    for place, uri in enumerate(redirect_uris):
        if not is_redirect_uri(uri):
            reader.fault(f"redirectUris.{place}", FieldRule.REDIRECT_URI)
    if len(redirect_uris) > _MOST_URIS:
        reader.fault("redirectUris", FieldRule.TOO_LONG)
    grants = reader.texts("grantTypes", stored.grant_types)
    grant_types = _read_grant_types(reader, grants)
    if not grants:
        reader.fault("grantTypes", FieldRule.REQUIRED)
    if GrantType.AUTHORIZATION_CODE in grant_types and not redirect_uris:
        reader.fault("redirectUris", FieldRule.REDIRECT_URI_NEEDED)
    scopes = reader.texts("scopes", stored.scopes)
    _require_within(reader, "scopes", scopes, SCOPES, FieldRule.SCOPE)
    automatic = reader.texts("autoApproveScopes", stored.auto_approve_scopes)
    _require_within(reader, "autoApproveScopes", automatic, scopes, FieldRule.AUTO_APPROVE_SCOPE)
    access, refresh = ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS
    access_token_seconds = reader.number(
        "accessTokenTtl", stored.access_token_seconds, access.least, access.most, FieldRule.ACCESS_LIFETIME
    )
    refresh_token_seconds = reader.number(
        "refreshTokenTtl",
        stored.refresh_token_seconds,
        refresh.least,
        refresh.most,
        FieldRule.REFRESH_LIFETIME,
    )
    return reader.faults or replace(
        stored,
        client_id=client_id,
        name=name,
        redirect_uris=redirect_uris,
        grant_types=grant_types,
        scopes=scopes,
        auto_approve_scopes=automatic,
        access_token_seconds=access_token_seconds,
        refresh_token_seconds=refresh_token_seconds,
        enabled=enabled,
    )


def _read_grant_types(reader: FieldReader, values: tuple[str, ...]) -> tuple[GrantType, ...]:
    found = []
    for place, value in enumerate(values):
        try:
            found.append(GrantType(value))
        except ValueError:
            reader.fault(f"grantTypes.{place}", FieldRule.GRANT_TYPE)
    return tuple(found)


def _require_within(
    reader: FieldReader, path: str, values: tuple[str, ...], allowed: tuple[str, ...], rule: FieldRule
) -> None:
    for place, value in enumerate(values):
        if value not in allowed:
            reader.fault(f"{path}.{place}", rule)
