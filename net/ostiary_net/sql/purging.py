"""Finds what has expired in any SQL store, and takes the lease of the instance that sweeps."""

# ruff: noqa: S608 (what goes into a statement's text are the names of tables)

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.policy import Policy
from ostiary_core.retention import Expirable, ExpiredBatch, text_code_seconds, used_code_seconds
from ostiary_net.sql.paging import Execute

__all__ = ["forget_entries", "read_expired", "take_lease"]


class _Sought(NamedTuple):
    """A statement that follows an index to what is older than so many seconds."""

    statement: str
    seconds: Callable[[Policy], int]


_SOUGHT: Final = {
    Expirable.CODES: _Sought(
        "SELECT digest FROM codes WHERE session_id IS NULL AND issued_at <= ? ORDER BY issued_at",
        lambda policy: policy.code_seconds,
    ),
    Expirable.USED_CODES: _Sought(
        "SELECT digest FROM codes WHERE session_id IS NOT NULL AND issued_at <= ? ORDER BY issued_at",
        used_code_seconds,
    ),
    Expirable.ENDED_SESSIONS: _Sought(
        "SELECT session_id FROM sessions WHERE ended_at <= ? ORDER BY ended_at",
        lambda policy: policy.retention_seconds,
    ),
    Expirable.SESSIONS: _Sought(
        "SELECT session_id FROM sessions WHERE ended_at IS NULL AND expires_at <= ? ORDER BY expires_at",
        lambda policy: policy.retention_seconds,
    ),
    Expirable.TEXT_CODES: _Sought(
        "SELECT purpose, phone FROM text_codes WHERE counted_from <= ? ORDER BY counted_from",
        text_code_seconds,
    ),
}

_TOKENS: Final = (
    "SELECT t.digest, s.session_id"
    " FROM (SELECT digest, session_id FROM refresh_tokens WHERE digest > ? ORDER BY digest LIMIT ?) t"
    " LEFT JOIN sessions s ON s.session_id = t.session_id ORDER BY t.digest"
)


def read_expired(
    execute: Execute, kind: Expirable, after: bytes, now: Instant, policy: Policy, limit: int
) -> ExpiredBatch:
    """Up to `limit` identifiers of one kind that the rules may let go of at `now`, the oldest first.

    Refresh tokens have no index by session, as it would cost every rotation a write: they are gone through by
    their key, from `after` on.
    """
    if kind is Expirable.TOKENS:
        rows = execute(_TOKENS, (after, limit))
        orphans = tuple(digest for digest, session_id in rows if session_id is None)
        return ExpiredBatch(orphans, rows[-1][0] if len(rows) == limit else None)
    sought = _SOUGHT[kind]
    before = now - sought.seconds(policy) * SECOND_MS
    found = execute(f"{sought.statement} LIMIT ?", (before, limit))
    return ExpiredBatch(tuple(tuple(row) if len(row) > 1 else row[0] for row in found))


def forget_entries(execute: Execute, before: Instant, limit: int, tables: Sequence[str] = ("audit",)) -> int:
    """Erase up to `limit` of the oldest entries of the audit trail; return how many were erased.

    `tables` has it, the older entries in the first.
    """
    number = 0
    for table in tables:
        oldest = f"SELECT number FROM {table} WHERE at < ? ORDER BY at LIMIT ?"
        gone = execute(
            f"DELETE FROM {table} WHERE number IN ({oldest}) RETURNING number", (before, limit - number)
        )
        number += len(gone)
    return number


def take_lease(execute: Execute, name: str, holder: str, seconds: float, now: Instant) -> bool:
    """Take or keep the lease `name` for so many seconds; False where another holder has it."""
    until = now + round(seconds * SECOND_MS)
    rows = execute(
        "INSERT INTO leases (name, holder, until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE"
        " SET holder = excluded.holder, until = excluded.until"
        " WHERE leases.holder = excluded.holder OR leases.until <= ? RETURNING name",
        (name, holder, until, now),
    )
    return bool(rows)
