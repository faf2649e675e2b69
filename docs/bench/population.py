"""A store full of sessions whose tokens the driver knows, as this server keeps them.

Five million sessions are filled in past the rules and past the flush, straight into the tables and all their
indexes; the server then opens the file as any other.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import apsw

from docs.bench.names import CHALLENGE, CLIENTS, REDIRECT_URI, USERS, client_id, machine_id, secret_of, token
from ostiary_core.model.client import CLIENT
from ostiary_core.model.decision import Insert
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import (
    AuthorizationCode,
    Client,
    Consent,
    Epochs,
    GrantType,
    Record,
    RefreshToken,
    Session,
    SessionKind,
    Table,
)
from ostiary_core.model.secret import Entropy, digest_of, draw_session_id
from ostiary_core.model.user import USER
from ostiary_net.sql.columns import SQLValue
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.sqlite.record_sql import LAYOUTS

_AT_A_TIME: Final = 250_000
_LIFETIME_SECONDS: Final = 2_592_000
_WEEK_MS: Final = 7 * 86_400_000


def fill(path: Path, sessions: int) -> int:
    """Make a store with so many running sessions, each with a pair of live tokens; the bytes these take."""
    now = Instant(time.time_ns() // 1_000_000)
    with SQLiteStore(path) as store:
        store.write([Insert(record) for record in _clients_and_users(now)])
    before = path.stat().st_size
    connection = apsw.Connection(str(path))
    try:
        # Nobody waits for this and a fault means to begin anew, so it needs neither journal nor flush.
        connection.execute(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000"
        ).fetchall()
        starts = _Starts(sessions, now)
        for first in range(0, sessions, _AT_A_TIME):
            numbers = range(first, min(first + _AT_A_TIME, sessions))
            with connection:
                connection.executemany(LAYOUTS[Table.SESSION].inserts[1], _session_rows(numbers, starts, now))
                # In the order of their tree, which is quicker.
                rows = sorted(tuple(row) for row in _token_rows(numbers, starts))
                connection.executemany(LAYOUTS[Table.REFRESH_TOKEN].inserts[1], rows)
    finally:
        connection.close()
    return path.stat().st_size - before


def lay_out_codes(path: Path, first: int, count: int) -> None:
    """Codes that a user has just agreed to, in a store that a server may be using."""
    now = Instant(time.time_ns() // 1_000_000)
    with SQLiteStore(path) as store:
        store.write([Insert(_code(number, now)) for number in range(first, first + count)])
    # Folded into the file here and now, or the server would do it in the midst of what is measured.
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


def _code(number: int, now: Instant) -> AuthorizationCode:
    return AuthorizationCode(
        digest=digest_of(token("code", number)),
        client_id=client_id(number),
        user_id=_user_id(number),
        redirect_uri=REDIRECT_URI,
        code_challenge=CHALLENGE,
        scopes=("user.read",),
        issued_at=now,
        epochs=Epochs(0, 0, 0),
    )


def _user_id(number: int) -> str:
    return digest_of(f"user {number % USERS}")[:16].hex()


def _session_id(number: int, started_at: Instant) -> str:
    return draw_session_id(Entropy(sha256(b"session %d" % number).digest()), started_at)


class _Starts:
    """When each session began: one after the other, over a week until now."""

    def __init__(self, sessions: int, now: Instant) -> None:
        self._first, self._sessions = now - _WEEK_MS, sessions

    def __getitem__(self, number: int) -> Instant:
        return Instant(self._first + _WEEK_MS * number // self._sessions)


def _clients_and_users(now: Instant) -> Iterator[Record]:
    """Who sessions are of, and whose consent they have."""
    for number in range(CLIENTS):
        yield _client_called(client_id(number), now)
        yield _client_called(machine_id(number), now)
    for number in range(USERS):
        yield replace(
            USER.blank, user_id=_user_id(number), username=f"user{number}", created_at=now, updated_at=now
        )
        yield Consent(
            user_id=_user_id(number), client_id=client_id(number), scopes=("user.read",), granted_at=now
        )


def _client_called(identifier: str, now: Instant) -> Client:
    """A client that may do everything."""
    return replace(
        CLIENT.blank,
        client_id=identifier,
        name=identifier,
        secret_digest=digest_of(secret_of(identifier)),
        redirect_uris=(REDIRECT_URI,),
        grant_types=tuple(GrantType),
        scopes=("user.read",),
        access_token_seconds=86_400,
        refresh_token_seconds=_LIFETIME_SECONDS,
        created_at=now,
        updated_at=now,
    )


def _session_started(now: Instant) -> Session:
    """A session of nobody in particular."""
    return Session(
        session_id="",
        kind=SessionKind.AUTHORIZATION_CODE,
        client_id="",
        user_id="",
        scopes=("user.read",),
        epochs=Epochs(0, 0, 0),
        started_at=now,
        expires_at=Instant(now + _LIFETIME_SECONDS * 1000),
        access_digest=digest_of(""),
        access_scopes=("user.read",),
        access_expires_at=Instant(now + 86_400 * 1000),
        user_agent="bench",
        source="127.0.0.1",
    )


def _session_rows(numbers: range, starts: _Starts, now: Instant) -> Iterator[Sequence[SQLValue]]:
    """One record is translated; of the others only what differs is put in its place."""
    codec = LAYOUTS[Table.SESSION].codec
    row = codec.to_row(_session_started(now))
    at_session, at_client, at_user, at_start, at_access = map(
        codec.columns.index, ("session_id", "client_id", "user_id", "started_at", "access_digest")
    )
    users = [_user_id(number) for number in range(USERS)]
    for number in numbers:
        row[at_session] = _session_id(number, starts[number])
        row[at_client] = client_id(number)
        row[at_user] = users[number % USERS]
        row[at_start] = starts[number]
        row[at_access] = digest_of(token("access", number))
        yield row


def _token_rows(numbers: range, starts: _Starts) -> Iterator[Sequence[SQLValue]]:
    codec = LAYOUTS[Table.REFRESH_TOKEN].codec
    at_digest, at_session = map(codec.columns.index, ("digest", "session_id"))
    row = codec.to_row(RefreshToken(digest=digest_of(""), session_id="", generation=0))
    for number in numbers:
        row[at_digest] = digest_of(token("refresh", number))
        row[at_session] = _session_id(number, starts[number])
        yield row
