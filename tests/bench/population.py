"""A store full of sessions whose tokens the driver knows: the same for every server of this project.

Token texts follow from numbers, so that nothing has to be remembered of five million sessions.
"""

import time
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

from ostiary_core.decision import Insert
from ostiary_core.instant import Instant
from ostiary_core.records import (
    AuthorizationCode,
    Client,
    Consent,
    Epochs,
    GrantType,
    Record,
    Session,
    SessionKind,
    Token,
    TokenKind,
    User,
)
from ostiary_core.secret import digest_of
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.sqlite.access import write

__all__ = ["CLIENTS", "REDIRECT_URI", "VERIFIER", "client_id", "fill", "lay_out_codes", "secret_of", "token"]

CLIENTS: Final = 10
REDIRECT_URI: Final = "https://client.example/callback"
VERIFIER: Final = "v" * 64
_CHALLENGE: Final = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
_USERS: Final = 10_000
"""A multiple of the clients, so that each user has sessions of one client."""
_AT_A_TIME: Final = 50_000
_LIFETIME_SECONDS: Final = 2_592_000


def token(kind: str, number: int) -> str:
    """The text of a token or code."""
    return urlsafe_b64encode(sha256(f"{kind} {number}".encode()).digest()).rstrip(b"=").decode()


def client_id(number: int) -> str:
    """The client that session `number` belongs to."""
    return f"client-{number % CLIENTS}"


def secret_of(client: str) -> str:
    """Its secret."""
    return f"secretof{client}".replace("-", "").ljust(43, "x")


def fill(path: Path, sessions: int) -> None:
    """Make a store with so many running sessions, each with a pair of live tokens."""
    with SQLiteStore(path) as store:
        connection = store._connected()
        # Nobody waits for these commits: they are the measurement's, not the server's.
        connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000").fetchall()
        now = Instant(time.time_ns() // 1_000_000)
        records = _records(sessions, now)
        while batch := [Insert(record) for record in islice(records, _AT_A_TIME)]:
            connection.execute("BEGIN IMMEDIATE")
            write(connection, batch)
            connection.execute("COMMIT")


def lay_out_codes(path: Path, first: int, count: int) -> None:
    """Codes that a user has just agreed to, in a store that a server may be using."""
    now = Instant(time.time_ns() // 1_000_000)
    with SQLiteStore(path) as store:
        store.write([Insert(_code(number, now)) for number in range(first, first + count)])


def _code(number: int, now: Instant) -> AuthorizationCode:
    return AuthorizationCode(
        digest=digest_of(token("code", number)),
        client_id=client_id(number),
        user_id=_user_id(number),
        redirect_uri=REDIRECT_URI,
        code_challenge=_CHALLENGE,
        scopes=("user.read",),
        issued_at=now,
        epochs=Epochs(0, 0, 0),
    )


def _user_id(number: int) -> str:
    return digest_of(f"user {number % _USERS}")[:16].hex()


def _records(sessions: int, now: Instant) -> Iterator[Record]:
    for number in range(CLIENTS):
        yield _client(client_id(number), now)
    for number in range(_USERS):
        yield from _user(number, now)
    for number in range(sessions):
        yield from _session(number, now)


def _client(identifier: str, now: Instant) -> Client:
    return Client(
        client_id=identifier,
        name=identifier,
        secret_digest=digest_of(secret_of(identifier)),
        redirect_uris=(REDIRECT_URI,),
        grant_types=tuple(GrantType),
        scopes=("user.read",),
        auto_approve_scopes=(),
        access_token_seconds=86_400,
        refresh_token_seconds=_LIFETIME_SECONDS,
        enabled=True,
        built_in=False,
        created_at=now,
        updated_at=now,
    )


def _user(number: int, now: Instant) -> Iterable[Record]:
    yield User(
        user_id=_user_id(number),
        username=f"user{number}",
        name=f"User {number}",
        password_hash=None,
        must_change_password=False,
        created_at=now,
        updated_at=now,
    )
    yield Consent(
        user_id=_user_id(number), client_id=client_id(number), scopes=("user.read",), granted_at=now
    )


def _session(number: int, now: Instant) -> Iterable[Record]:
    access, refresh = digest_of(token("access", number)), digest_of(token("refresh", number))
    session_id = digest_of(f"session {number}")[:16].hex()
    yield Session(
        session_id=session_id,
        kind=SessionKind.AUTHORIZATION_CODE,
        client_id=client_id(number),
        user_id=_user_id(number),
        scopes=("user.read",),
        epochs=Epochs(0, 0, 0),
        started_at=now,
        expires_at=Instant(now + _LIFETIME_SECONDS * 1000),
        access_digest=access,
        access_scopes=("user.read",),
        access_expires_at=Instant(now + 86_400 * 1000),
        user_agent="bench",
        source="127.0.0.1",
    )
    for digest, kind in ((access, TokenKind.ACCESS), (refresh, TokenKind.REFRESH)):
        yield Token(digest=digest, session_id=session_id, kind=kind, generation=0)
