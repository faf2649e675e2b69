"""What the peers on SQLite have stored before they are measured: the sessions of `names`, in their tables.

Written past them in plain SQL, as they would take minutes; that they answer rightly about every token shows
that they find it as if they had written it.
"""

import json
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from docs.bench.names import (
    CHAINS,
    CHALLENGE,
    CLIENTS,
    REDIRECT_URI,
    USERS,
    client_id,
    machine_id,
    secret_of,
    token,
)

_ACCESS_SECONDS = 86_400
_APPLICATIONS = [
    *((client_id(number), "authorization-code") for number in range(CLIENTS)),
    *((machine_id(number), "client-credentials") for number in range(CLIENTS)),
]


def fill_authlib(path: Path, sessions: int) -> int:
    """Clients, users and sessions as Authlib's mixins have them; the bytes that the sessions take."""
    metadata = {
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
        "redirect_uris": [REDIRECT_URI],
        "response_types": ["code"],
        "scope": "user.read",
        "token_endpoint_auth_method": "client_secret_basic",
    }
    now = int(time.time())
    _insert(
        path,
        "client",
        (
            {
                "client_id": name,
                "client_secret": secret_of(name),
                "client_id_issued_at": now,
                "client_secret_expires_at": 0,
                "client_metadata": json.dumps(metadata),
            }
            for name, _ in _APPLICATIONS
        ),
    )
    _insert(path, "user", ({"id": 1 + number, "username": f"user{number}"} for number in range(USERS)))
    before = path.stat().st_size
    _insert(
        path,
        "token",
        (
            {
                "user_id": 1 + number % USERS,
                "client_id": client_id(number),
                "token_type": "Bearer",
                "access_token": token("access", number),
                "refresh_token": token("refresh", number),
                "scope": "user.read",
                "issued_at": now,
                "access_token_revoked_at": 0,
                "refresh_token_revoked_at": 0,
                "expires_in": _ACCESS_SECONDS,
            }
            for number in range(sessions)
        ),
    )
    return path.stat().st_size - before


def lay_out_authlib_codes(path: Path, first: int, count: int) -> None:
    """Codes that a user has just agreed to."""
    _insert(
        path,
        "code",
        (
            {
                "user_id": 1 + number % USERS,
                "code": token("code", number),
                "client_id": client_id(number),
                "redirect_uri": REDIRECT_URI,
                "response_type": "code",
                "scope": "user.read",
                "auth_time": int(time.time()),
                "code_challenge": CHALLENGE,
                "code_challenge_method": "S256",
            }
            for number in range(first, first + count)
        ),
    )


def fill_django(path: Path, sessions: int) -> int:
    """Applications, users and sessions as django-oauth-toolkit has them; the bytes that the sessions take.

    Secrets are kept as they are, which the toolkit allows: hashed as passwords are, its default, each
    request would cost it a quarter of a second.
    """
    at = datetime.now(UTC)
    _insert(
        path,
        "oauth2_provider_application",
        (
            {
                "id": number,
                "client_id": name,
                "client_secret": secret_of(name),
                "hash_client_secret": False,
                "client_type": "confidential",
                "authorization_grant_type": grant_type,
                "redirect_uris": REDIRECT_URI,
                "post_logout_redirect_uris": "",
                "allowed_origins": "",
                "name": name,
                "skip_authorization": False,
                "algorithm": "",
                "registration_source": "manual",
                **_stamped(at),
            }
            for number, (name, grant_type) in enumerate(_APPLICATIONS, start=1)
        ),
    )
    _insert(
        path,
        "auth_user",
        (
            {
                "id": 1 + number,
                "username": f"user{number}",
                "password": "",
                "is_superuser": False,
                "is_staff": False,
                "is_active": True,
                "first_name": "",
                "last_name": "",
                "email": "",
                "date_joined": _moment(at),
            }
            for number in range(USERS)
        ),
    )
    before = path.stat().st_size
    _insert(path, "oauth2_provider_accesstoken", (_django_access(number, at) for number in range(sessions)))
    _insert(path, "oauth2_provider_refreshtoken", (_django_refresh(number, at) for number in range(sessions)))
    return path.stat().st_size - before


def lay_out_django_codes(path: Path, first: int, count: int) -> None:
    """Codes that a user has just agreed to."""
    at = datetime.now(UTC)
    _insert(
        path,
        "oauth2_provider_grant",
        (
            {
                "code": token("code", number),
                "expires": _moment(at + timedelta(seconds=300)),
                "redirect_uri": REDIRECT_URI,
                "scope": "user.read",
                **_django_owner(number),
                **_stamped(at),
                "code_challenge": CHALLENGE,
                "code_challenge_method": "S256",
                "nonce": "",
                "claims": "",
                "resource": "[]",
            }
            for number in range(first, first + count)
        ),
    )


def _django_access(number: int, at: datetime) -> dict[str, Any]:
    text = token("access", number)
    return {
        "id": 1 + number,
        "token": text,
        "token_checksum": sha256(text.encode()).hexdigest(),
        "expires": _moment(at + timedelta(seconds=_ACCESS_SECONDS)),
        # The user-info endpoint asks for openid; a chain without it is not given ID tokens.
        "scope": "user.read" if number < CHAINS else "openid user.read",
        **_django_owner(number),
        **_stamped(at),
        "resource": "[]",
    }


def _django_refresh(number: int, at: datetime) -> dict[str, Any]:
    text = token("refresh", number)
    return {
        "token": text,
        "token_checksum": sha256(text.encode()).hexdigest(),
        "access_token_id": 1 + number,
        "token_family": sha256(b"family %d" % number).hexdigest()[:32],
        **_django_owner(number),
        **_stamped(at),
        "resource": "[]",
    }


def _django_owner(number: int) -> dict[str, int]:
    return {"application_id": 1 + number % CLIENTS, "user_id": 1 + number % USERS}


def _stamped(at: datetime) -> dict[str, str]:
    return {"created": _moment(at), "updated": _moment(at)}


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")


def _insert(path: Path, table: str, rows: Iterable[dict[str, Any]]) -> None:
    """All rows in one commit; the log is folded into the file, so that its size says what they take."""
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        rows = iter(rows)
        first = next(rows)
        columns = ", ".join(f'"{name}"' for name in first)
        statement = f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(first))})"
        connection.execute(statement, tuple(first.values()))
        connection.executemany(statement, (tuple(row.values()) for row in rows))
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
