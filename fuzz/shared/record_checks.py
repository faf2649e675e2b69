"""Check the change of one record, written by one decision or by a whole turn."""

from collections.abc import Iterator

from fuzz.shared.invariants import (
    CLIENTS_APART,
    ENDED_STAYS_ENDED,
    NOTHING_OUTLIVES,
    ONE_LIVE_PAIR,
    REDEEMED_ONCE,
    SCOPE_NEVER_WIDENS,
    WIDE_ENDINGS,
    Violation,
)
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.records import AuthorizationCode, Client, Consent, Record, Session, User


def split_change(change: Change) -> tuple[Record | None, Record | None]:
    """Return the record before a change, and the record after it."""
    match change:
        case Insert(after):
            return None, after
        case Update(before, after):
            return before, after
        case Delete(before):
            return before, None


def faults_of_update(before: Record, after: Record) -> Iterator[Violation]:
    """Yield every violation in the change from one record to its successor."""
    if isinstance(before, Session) and isinstance(after, Session):
        if before.ended_at is not None and after.ended_at != before.ended_at:
            yield Violation(ENDED_STAYS_ENDED, "an ended session is written as another")
        if after.generation < before.generation:
            yield Violation(ENDED_STAYS_ENDED, "a session goes back to a pair it had spent")
        if after.generation > before.generation + 1:
            yield Violation(ONE_LIVE_PAIR, "a session skips a generation")
        if (after.started_at, after.expires_at) != (before.started_at, before.expires_at):
            yield Violation(NOTHING_OUTLIVES, "the session's maximum moves")
        if after.access_expires_at > after.expires_at:
            yield Violation(NOTHING_OUTLIVES, "an access token would outlive its session")
        if after.scopes != before.scopes or not set(after.access_scopes) <= set(after.scopes):
            yield Violation(SCOPE_NEVER_WIDENS, "the session's scope moves, or its access token exceeds it")
        if (after.client_id, after.user_id, after.kind) != (before.client_id, before.user_id, before.kind):
            yield Violation(CLIENTS_APART, "a session changes hands")
    elif isinstance(before, AuthorizationCode) and isinstance(after, AuthorizationCode):
        if before.session_id is not None and after.session_id != before.session_id:
            yield Violation(REDEEMED_ONCE, "a used code is used again")
        if before.voided_why is not None and after.voided_why != before.voided_why:
            yield Violation(ENDED_STAYS_ENDED, "a void code is written as another")
        if (after.scopes, after.issued_at) != (before.scopes, before.issued_at):
            yield Violation(SCOPE_NEVER_WIDENS, "what a code is bound to moves")
    elif isinstance(before, User | Client) and isinstance(after, User | Client):
        if after.epoch < before.epoch or (before.deleted_at is not None and after.deleted_at is None):
            yield Violation(ENDED_STAYS_ENDED, f"a {type(before).__name__} goes back before an ending")
        if isinstance(after, User) and after.deleted_at is not None:
            of_the_person = (after.password_hash, after.phone, after.avatar_url, after.locale, after.timezone)
            if any(value is not None for value in of_the_person):
                yield Violation(WIDE_ENDINGS, "more is kept of a deleted account than its names")
    elif isinstance(before, Consent) and isinstance(after, Consent) and after.epoch < before.epoch:
        yield Violation(ENDED_STAYS_ENDED, "a consent goes back before its withdrawal")
