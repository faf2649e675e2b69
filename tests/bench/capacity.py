"""How much room sessions and audit entries take, measured, and worked out for a number nobody can fill here.

    python -m tests.bench.capacity --sessions 1000000 [--postgres postgresql://...] [--target 100000000]

Fills an empty store three times over, a quarter, a half and all of `--sessions`, each with the tokens and
audit entries that a session of two rotations leaves, in the order of real identifiers. After each it
measures every table and index. Bytes a session that stay the same from one filling to the next are what the
model in docs/scale.md rests on: the target is worked out from the last, an index's depth from its fan-out.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import apsw
import psycopg

from ostiary_core.model.instant import Instant
from ostiary_net.postgres.schema import bring_up_to_date as bring_postgres_up_to_date
from ostiary_net.sqlite.schema import bring_up_to_date as bring_sqlite_up_to_date

ROTATIONS: Final = 2
_REFRESH_TOKENS: Final = 1 + ROTATIONS
"""Every one there ever was; the access token is the session's own."""
ENTRIES: Final = 2 + ROTATIONS
"""Audit entries of one session: the code, the start, and each rotation."""

_AGENT: Final = "python-httpx/0.28.1"
_AT: Final = 1_800_000_000_000
_USERS: Final = 100_000
_CLIENTS: Final = 100

Sizes = Mapping[str, int]


class SQLiteFile:
    """A file of its own."""

    page_bytes = 4_096

    def __init__(self, path: Path) -> None:
        self.name = "SQLite"
        self._connection = apsw.Connection(str(path))
        bring_sqlite_up_to_date(self._connection, Instant(_AT))
        self._connection.execute(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000"
        )

    def fill(self, first: int, end: int) -> None:
        """Sessions of these numbers, with what hangs on them."""
        values = {
            "text": f"printf('%012x', {_AT} + i) || lower(hex(randomblob(10)))",
            "digest": "randomblob(32)",
            "none": "NULL",
            "trail": "audit_filed",
        }
        numbers = f"WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {end})"
        with self._connection:
            for statement in _statements(values, numbers):
                self._connection.execute(statement)

    def sizes(self) -> Sizes:
        rows = self._connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
        return {str(name): int(size) for name, size in rows}


class _PostgreSQL:
    """A schema of its own, dropped afterwards."""

    page_bytes = 8_192

    def __init__(self, address: str) -> None:
        self.name = "PostgreSQL"
        self._connection = psycopg.connect(address, autocommit=True)
        self._connection.execute("CREATE SCHEMA ostiary_capacity")
        self._connection.execute("SET search_path = ostiary_capacity")
        self._connection.execute("SET synchronous_commit = off")
        bring_postgres_up_to_date(self._connection, Instant(_AT))

    def fill(self, first: int, end: int) -> None:
        """Sessions of these numbers, with what hangs on them."""
        values = {
            "text": f"lpad(to_hex({_AT} + i), 12, '0') || left(md5(random()::text || i), 20)",
            "digest": "sha256((random()::text || i)::bytea)",
            "none": "NULL::bytea",
            "trail": "audit",
        }
        numbers = f"WITH n AS (SELECT i FROM generate_series({first}, {end - 1}) i)"
        for statement in _statements(values, numbers):
            self._connection.execute(statement.encode())
        way = f"SELECT {values['digest']}, {values['text']} FROM n"
        self._connection.execute(f"INSERT INTO access_tokens (digest, session_id) {numbers} {way}".encode())
        self._connection.execute("VACUUM ANALYZE")

    def sizes(self) -> Sizes:
        rows: list[Any] = self._connection.execute(
            "SELECT relname, pg_relation_size(c.oid) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = 'ostiary_capacity' AND relkind IN ('r', 'i')"
        ).fetchall()
        return {str(name): int(size) for name, size in rows}

    def close(self) -> None:
        self._connection.execute("DROP SCHEMA ostiary_capacity CASCADE")
        self._connection.close()


def _statements(values: Mapping[str, str], numbers: str) -> Iterator[str]:
    """A session, its tokens and its audit entries for each number; one in a thousand still has its salt."""
    text, digest, none = values["text"], values["digest"], values["none"]
    user, client = f"'user-' || (i % {_USERS})", f"'client-' || (i % {_CLIENTS})"
    yield (
        "INSERT INTO sessions (session_id, kind, client_id, user_id, scopes, user_epoch, client_epoch, "
        "consent_epoch, started_at, expires_at, generation, access_digest, access_scopes, access_expires_at, "
        "salt, rotated_at, rotated_user_agent, user_agent, source, revision) "
        f"{numbers} SELECT {text}, 'authorization_code', {client}, {user}, '[\"user.read\"]', 0, 0, 0, "
        f"{_AT} + i, {_AT} + i + 604800000, {ROTATIONS}, {digest}, '[\"user.read\"]', {_AT} + i + 1800000, "
        f"CASE WHEN i % 1000 = 0 THEN {digest} ELSE {none} END, {_AT} + i + 1000, '{_AGENT}', '{_AGENT}', "
        f"'203.0.113.7', {ROTATIONS + 1} FROM n"
    )
    for generation in range(_REFRESH_TOKENS):
        yield (
            "INSERT INTO refresh_tokens (digest, session_id, generation, revision) "
            f"{numbers} SELECT {digest}, {text}, {generation}, 1 FROM n"
        )
    for number, fact in enumerate(("code-used", "session-started", *(["pair-rotated"] * ROTATIONS))):
        yield (
            f"INSERT INTO {values['trail']} (at, kind, user_id, client_id, session_id, scopes, trace_id, "
            f"source, user_agent) {numbers} SELECT {_AT} + i + {number}, '{fact}', {user}, {client}, {text}, "
            f"'[\"user.read\"]', {text}, '203.0.113.7', '{_AGENT}' FROM n"
        )


def depth(entries: float, bytes_an_entry: float, page_bytes: int) -> int:
    """How many pages a look-up goes through in an index of so many entries of so many bytes.

    Inner pages hold a key and a pointer, which is no more than an entry, so this is never too few.

    >>> depth(1e6, 80, 8192), depth(1e8, 80, 8192)
    (3, 4)
    """
    fan_out = max(2.0, page_bytes / bytes_an_entry)
    return max(1, math.ceil(math.log(max(entries, 2)) / math.log(fan_out)))


_ENTRIES_A_SESSION: Final = {"refresh_tokens": _REFRESH_TOKENS, "refresh_tokens_pkey": _REFRESH_TOKENS}


_HEAPS: Final = ("audit", "sessions")
"""Their rows are not looked up by a key of their own, but from an index."""
_LEAST_SHOWN: Final = 5.0


def _report(store: SQLiteFile | _PostgreSQL, sessions: int, target: int) -> None:
    print(f"\n{store.name}: {_REFRESH_TOKENS} refresh tokens and {ENTRIES} audit entries a session")
    done, measured = 0, []
    for part in (sessions // 4, sessions // 2, sessions):
        began = time.monotonic()
        store.fill(done, part)
        done = part
        measured.append((part, store.sizes()))
        total = sum(measured[-1][1].values())
        print(f"  {part:>12,} sessions  {total / part:8.1f} bytes each  ({time.monotonic() - began:.0f} s)")
    _, latest = measured[-1]
    print(f"  {'':34}{'bytes a session at a quarter, half, all':>40}{f'GB at {target:,}':>22}{'depth':>7}")
    for name in sorted(latest, key=latest.__getitem__, reverse=True):
        each = [sizes.get(name, 0) / part for part, sizes in measured]
        if each[-1] < _LEAST_SHOWN:
            continue
        an_entry = each[-1] / (_ENTRIES_A_SESSION.get(name) or (ENTRIES if name.startswith("audit") else 1))
        levels = "" if name in _HEAPS else depth(target * each[-1] / an_entry, an_entry, store.page_bytes)
        print(
            f"  {name:<34}{each[0]:>20.1f}{each[1]:>10.1f}{each[2]:>10.1f}"
            f"{each[-1] * target / 1e9:>22.1f}{levels:>7}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=1_000_000)
    parser.add_argument("--target", type=int, default=100_000_000)
    parser.add_argument("--postgres", help="a server to make a schema on, which is dropped afterwards")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _report(SQLiteFile(Path(folder) / "capacity.db"), asked.sessions, asked.target)
    if asked.postgres:
        store = _PostgreSQL(asked.postgres)
        try:
            _report(store, asked.sessions, asked.target)
        finally:
            store.close()


if __name__ == "__main__":
    main()
