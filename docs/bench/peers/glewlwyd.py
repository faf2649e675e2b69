"""Glewlwyd with SQLite: Debian's package, its OpenID Connect plugin, and a store that SQL fills.

Access tokens are signed with HS256, the cheapest that it has, and kept by their digests; refresh tokens are
good for one use. Client secrets are stored as they are: its other way, a password, costs 150,000 rounds of
PBKDF2 a request. The log names errors alone.
"""

import hmac
import json
import shutil
import sqlite3
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256, sha512
from pathlib import Path
from typing import Final

from docs.bench.names import CHALLENGE, CLIENTS, REDIRECT_URI, USERS, client_id, machine_id, secret_of, token
from docs.bench.peers.installing import Unavailable

CONFIGURATION: Final = "glewlwyd.conf"
"""The file in a cell's folder that the server reads."""

_TABLES: Final = Path("/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3")
_MODULES: Final = Path("/usr/lib/glewlwyd")
_KEY: Final = "k" * 64
_ISSUER: Final = "http://127.0.0.1"
_SCOPE: Final = "user.read"
_ACCESS_SECONDS: Final = 86_400
_REFRESH_SECONDS: Final = 2_592_000
_BY_CODE: Final = 0
_CODE_FLAG: Final = 1
"""Its numbers for the authorization code grant, of a token and of a code."""
_LENGTHS: Final = {"refresh": 128, "code": 32}
_NEVER: Final = 4_102_444_800

_PLUGIN: Final = {
    "iss": _ISSUER,
    "jwt-type": "sha",
    "jwt-key-size": "256",
    "key": _KEY,
    "access-token-duration": _ACCESS_SECONDS,
    "refresh-token-duration": _REFRESH_SECONDS,
    "code-duration": 600,
    "refresh-token-rolling": True,
    "refresh-token-one-use": "always",
    "allow-non-oidc": True,
    "auth-type-code-enabled": True,
    "auth-type-client-enabled": True,
    "auth-type-refresh-enabled": True,
    "pkce-allowed": True,
    "introspection-revocation-allowed": True,
    "introspection-revocation-allow-target-client": True,
    "allowed-scope": ["openid", _SCOPE],
}


def find_program() -> Path:
    """Return the server; raise `Unavailable` where Debian's package is not installed."""
    found = shutil.which("glewlwyd")
    if found is None or not _TABLES.exists():
        raise Unavailable("Debian's package glewlwyd is not installed")
    return Path(found)


def token_of(kind: str, number: int) -> str:
    """The text of a token or code of session `number`, of the length that the server asks for."""
    return _access_token(number) if kind == "access" else (3 * token(kind, number))[: _LENGTHS[kind]]


def _access_token(number: int) -> str:
    """Sign an access token as the server does."""
    claims = {
        "iss": _ISSUER,
        "sub": _subject(number),
        "aud": _SCOPE,
        "client_id": client_id(number),
        "jti": f"access{number}",
        "type": "access_token",
        "iat": 0,
        "nbf": 0,
        "exp": _NEVER,
        "scope": _SCOPE,
    }
    text = b".".join(
        _encode(json.dumps(part).encode()) for part in ({"typ": "at+jwt", "alg": "HS256"}, claims)
    )
    return (text + b"." + _encode(hmac.digest(_KEY.encode(), text, "sha256"))).decode()


def fill(store: Path, sessions: int) -> int:
    """Make the configuration and a store with so many sessions; return the bytes that these take."""
    now = int(time.time())
    (store.parent / CONFIGURATION).write_text(_configuration(store))
    connection = sqlite3.connect(store)
    connection.executescript("PRAGMA journal_mode = WAL;" + _TABLES.read_text())
    with connection:
        _fill_clients_and_users(connection)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = store.stat().st_size
    with connection:
        connection.executemany(
            "INSERT INTO gpo_refresh_token (gpor_id, gpor_plugin_name, gpor_authorization_type,"
            " gpor_username, gpor_client_id, gpor_issued_at, gpor_expires_at, gpor_last_seen, gpor_duration,"
            " gpor_rolling_expiration, gpor_issued_for, gpor_user_agent, gpor_token_hash, gpor_jti)"
            " VALUES (?, 'oidc', ?, ?, ?, ?, ?, ?, ?, 1, '127.0.0.1', 'bench', ?, ?)",
            (
                (
                    *(
                        number + 1,
                        _BY_CODE,
                        _user(number),
                        client_id(number),
                        now,
                        now + _REFRESH_SECONDS,
                        now,
                    ),
                    *(_REFRESH_SECONDS, _digest(token_of("refresh", number)), f"refresh{number}"),
                )
                for number in range(sessions)
            ),
        )
        connection.executemany(
            "INSERT INTO gpo_access_token (gpoa_id, gpoa_plugin_name, gpoa_authorization_type, gpor_id,"
            " gpoa_username, gpoa_client_id, gpoa_issued_at, gpoa_issued_for, gpoa_user_agent,"
            " gpoa_token_hash, gpoa_jti) VALUES (?, 'oidc', ?, ?, ?, ?, ?, '127.0.0.1', 'bench', ?, ?)",
            (
                (
                    *(number + 1, _BY_CODE, number + 1, _user(number), client_id(number), now),
                    *(_digest(_access_token(number)), f"access{number}"),
                )
                for number in range(sessions)
            ),
        )
        scopes = [(number + 1, _SCOPE) for number in range(sessions)]
        for prefix, table in (("gpor", "refresh"), ("gpoa", "access")):
            connection.executemany(
                f"INSERT INTO gpo_{table}_token_scope ({prefix}_id, {prefix}s_scope) VALUES (?, ?)",
                scopes,
            )
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return store.stat().st_size - before


def lay_out_codes(store: Path, first: int, count: int) -> None:
    """Codes that a user has just agreed to, in a store that a server may be using."""
    numbers = range(first, first + count)
    now = int(time.time())
    connection = sqlite3.connect(store, timeout=30.0)
    with connection:
        [[last]] = connection.execute("SELECT coalesce(max(gpoc_id), 0) FROM gpo_code").fetchall()
        connection.executemany(
            "INSERT INTO gpo_code (gpoc_id, gpoc_plugin_name, gpoc_authorization_type, gpoc_username,"
            " gpoc_client_id, gpoc_redirect_uri, gpoc_code_hash, gpoc_expires_at, gpoc_issued_for,"
            " gpoc_user_agent, gpoc_code_challenge, gpoc_resource, gpoc_s_hash)"
            " VALUES (?, 'oidc', ?, ?, ?, ?, ?, ?, '127.0.0.1', 'bench', ?, '', '')",
            (
                (
                    *(last + 1 + place, _CODE_FLAG, _user(number), client_id(number), REDIRECT_URI),
                    *(_digest(token_of("code", number)), now + 600, f"{{SHA256}}{CHALLENGE}"),
                )
                for place, number in enumerate(numbers)
            ),
        )
        connection.executemany(
            "INSERT INTO gpo_code_scope (gpoc_id, gpocs_scope) VALUES (?, ?)",
            ((last + 1 + place, _SCOPE) for place in range(count)),
        )
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _fill_clients_and_users(connection: sqlite3.Connection) -> None:
    connection.execute(
        "INSERT INTO g_plugin_module_instance (gpmi_module, gpmi_name, gpmi_display_name, gpmi_parameters)"
        " VALUES ('oidc', 'oidc', 'OIDC', ?)",
        (json.dumps(_PLUGIN),),
    )
    connection.execute(
        "INSERT INTO g_scope (gs_name, gs_display_name, gs_password_required) VALUES (?, ?, 0)",
        (_SCOPE, _SCOPE),
    )
    connection.execute("INSERT INTO g_client_scope (gcs_id, gcs_name) VALUES (1, ?)", (_SCOPE,))
    [[scope_id]] = connection.execute("SELECT coalesce(max(gus_id), 0) + 1 FROM g_user_scope").fetchall()
    connection.execute("INSERT INTO g_user_scope (gus_id, gus_name) VALUES (?, ?)", (scope_id, _SCOPE))
    for row, identifier in enumerate([*map(client_id, range(CLIENTS)), *map(machine_id, range(CLIENTS))], 1):
        connection.execute(
            "INSERT INTO g_client (gc_id, gc_client_id, gc_name, gc_confidential) VALUES (?, ?, ?, 1)",
            (row, identifier, identifier),
        )
        connection.execute("INSERT INTO g_client_scope_client (gc_id, gcs_id) VALUES (?, 1)", (row,))
        connection.executemany(
            "INSERT INTO g_client_property (gc_id, gcp_name, gcp_value) VALUES (?, ?, ?)",
            [(row, name, value) for name, value in _properties(identifier)],
        )
    first = 1_000
    for number in range(USERS):
        connection.execute(
            "INSERT INTO g_user (gu_id, gu_username, gu_name) VALUES (?, ?, '')",
            (first + number, _user(number)),
        )
        connection.execute(
            "INSERT INTO g_user_scope_user (gu_id, gus_id) VALUES (?, ?)", (first + number, scope_id)
        )
        connection.execute(
            "INSERT INTO gpo_subject_identifier (gposi_plugin_name, gposi_username, gposi_sub)"
            " VALUES ('oidc', ?, ?)",
            (_user(number), _subject(number)),
        )


def _properties(identifier: str) -> Iterator[tuple[str, str]]:
    yield "client_secret", secret_of(identifier)
    yield "redirect_uri", REDIRECT_URI
    yield "token_endpoint_auth_method", "client_secret_basic"
    for grant in ("code", "refresh_token", "client_credentials"):
        yield "authorization_type", grant


def _configuration(store: Path) -> str:
    modules = {
        "user_module_path": "user",
        "user_middleware_module_path": "user_middleware",
        "client_module_path": "client",
        "user_auth_scheme_module_path": "scheme",
        "plugin_module_path": "plugin",
    }
    lines = [f'{name} = "{_MODULES / folder}"' for name, folder in modules.items()]
    return "\n".join(
        (
            *('bind_address = "127.0.0.1"', f'external_url = "{_ISSUER}/"', 'login_url = "login.html"'),
            *('api_prefix = "api"', 'log_mode = "console"', 'log_level = "ERROR"', *lines),
            *('admin_scope = "g_admin"', 'profile_scope = "g_profile"', 'hash_algorithm = "SHA512"'),
            f'database = {{ type = "sqlite3" path = "{store}" }};\n',
        )
    )


def _user(number: int) -> str:
    return f"user{number % USERS}"


def _subject(number: int) -> str:
    return sha256(_user(number).encode()).hexdigest()[:32]


def _digest(text: str) -> str:
    return "{SHA512}" + b64encode(sha512(text.encode()).digest()).decode()


def _encode(part: bytes) -> bytes:
    return urlsafe_b64encode(part).rstrip(b"=")
