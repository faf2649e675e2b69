"""Decide which salts and records may be deleted, and when.

Rules, all in this file (READINGS 1, 3 and 10):

- A code that was not redeemed goes when it has expired by every clock; a used one too, unless the setting
  wants its second use to end the session it made: then it stays for as long as such a session can last.
- A session goes when it has been dead for the retention time, by its end or by its maximum. Until then each
  of its tokens is recognised, and a replay is told from a guess.
- A refresh token goes after its session. An unknown token and a dead one are answered alike.
- A code in a text message goes when the day is over that it counts for.
- An invitation goes when it has expired by every clock.
- The salt of a rotation goes when no safe retry can ask for its pair again (`session.erase_salt`).

A session that ended with its user, client or consent has no date of its own and goes by its maximum.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ostiary_core.events import GraceExpired, RecordExpired
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.client import REFRESH_TOKEN_SECONDS
from ostiary_core.model.decision import Decision, Delete
from ostiary_core.model.instant import DAY_SECONDS, Instant, later
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import (
    AuthorizationCode,
    Invitation,
    Record,
    RefreshToken,
    Session,
    Table,
    TextCode,
)
from ostiary_core.model.reply import Done
from ostiary_core.oauth import session


class Expirable(StrEnum):
    """The kinds of records that expire; a store looks for each kind by itself."""

    CODES = "codes"
    USED_CODES = "used codes"
    ENDED_SESSIONS = "ended sessions"
    SESSIONS = "sessions"
    TEXT_CODES = "text codes"
    INVITATIONS = "invitations"
    TOKENS = "tokens"

    @property
    def table(self) -> Table:
        """Table of these records."""
        match self:
            case Expirable.CODES | Expirable.USED_CODES:
                return Table.CODE
            case Expirable.ENDED_SESSIONS | Expirable.SESSIONS:
                return Table.SESSION
            case Expirable.TEXT_CODES:
                return Table.TEXT_CODE
            case Expirable.INVITATIONS:
                return Table.INVITATION
            case Expirable.TOKENS:
                return Table.REFRESH_TOKEN


@dataclass(frozen=True, slots=True)
class ExpiredBatch:
    """Identifiers that a store found, and the store's mark of where it stopped; None at the end."""

    identifiers: tuple[Any, ...]
    next_after: bytes | None = None


def kept_seconds(kind: Expirable, policy: Policy) -> int:
    """Return for how many seconds after its issue, end or first message a record is kept."""
    code_seconds = policy.code_seconds + policy.clock_margin_seconds
    match kind:
        case Expirable.CODES:
            return code_seconds
        case Expirable.USED_CODES:
            return code_seconds + (REFRESH_TOKEN_SECONDS.most if policy.revoke_on_code_replay else 0)
        case Expirable.TEXT_CODES:
            # A day and the life of its last code.
            return DAY_SECONDS + policy.text_code_seconds + policy.clock_margin_seconds
        case Expirable.INVITATIONS:
            return policy.invitation_seconds + policy.clock_margin_seconds
        case _:
            return policy.retention_seconds


def delete_expired(event: RecordExpired, snapshot: Snapshot) -> Decision:
    """Delete one record that the sweeper names, if it has expired."""
    record, now, policy = snapshot.record(event.key), snapshot.now, snapshot.policy
    if (
        record is None
        or _expired_kind(record, lambda one: snapshot.session(one) is not None, now, policy) is None
    ):
        return Decision(Done())
    return Decision(Done(), (Delete(record),))


def erase_salt(event: GraceExpired, snapshot: Snapshot) -> Decision:
    """Erase the salt of a session that the sweeper names, if no safe retry can need it any more."""
    stored = snapshot.session(event.session_id)
    return Decision(Done()) if stored is None else session.erase_salt(stored, snapshot.now, snapshot.policy)


def find_expired(
    records: Iterable[Record],
    kind: Expirable,
    sessions: Collection[str],
    now: Instant,
    policy: Policy,
    limit: int,
) -> ExpiredBatch:
    """Find up to `limit` expired records of one kind, for a store that can only list its `records`.

    `sessions` are the identifiers of all stored sessions. Ask for a `RecordExpired` of each identifier found.
    """
    found = [
        record.key.id
        for record in records
        if _expired_kind(record, sessions.__contains__, now, policy) is kind
    ]
    return ExpiredBatch(tuple(found[:limit]))


def _expired_kind(
    record: Record, has_session: Callable[[str], bool], now: Instant, policy: Policy
) -> Expirable | None:
    """Return the kind of a record that has expired; None if it has not, or never does."""
    match record:
        case AuthorizationCode(session_id=None):
            kind, since = Expirable.CODES, record.issued_at
        case AuthorizationCode():
            kind, since = Expirable.USED_CODES, record.issued_at
        case Session(ended_at=None):
            kind, since = Expirable.SESSIONS, record.expires_at
        case Session(ended_at=int(ended_at)):
            # An ending after the maximum ended nothing: the session was dead already.
            kind, since = Expirable.ENDED_SESSIONS, Instant(min(ended_at, record.expires_at))
        case TextCode():
            kind, since = Expirable.TEXT_CODES, record.counting_since
        case Invitation():
            kind, since = Expirable.INVITATIONS, record.issued_at
        case RefreshToken():
            return None if has_session(record.session_id) else Expirable.TOKENS
        case _:
            return None
    return kind if now >= later(since, kept_seconds(kind, policy)) else None
