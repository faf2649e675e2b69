"""Checks of a decision's writes by the invariants: which records they may touch, and how."""

from collections.abc import Callable, Iterator, Set
from dataclasses import fields
from operator import attrgetter
from typing import Any, get_args

from fuzz.rules.driver import Outcome
from fuzz.shared.audit_checks import faults_of_facts
from fuzz.shared.calls import AT_THE_TOKEN_SERVICE, BY_LOGIN, Answer, AnswerKind, Call, Verb, split_batch
from fuzz.shared.history import History
from fuzz.shared.invariants import CLIENTS_APART, NO_SECRETS, RECORDED, REFUSALS, STRANGERS, Violation
from fuzz.shared.record_checks import faults_of_update, split_change
from ostiary_core.model.audit import NOT_KEPT
from ostiary_core.model.decision import Decision
from ostiary_core.model.records import (
    AuthorizationCode,
    Client,
    Consent,
    Identifier,
    Record,
    RefreshToken,
    Role,
    SecondFactor,
    Session,
    TextCode,
    User,
)

SHORTEST_SECRET = 43
"""Length of the shortest token, code, client secret or code verifier, in characters."""

QUESTIONS = frozenset(
    {Verb.INTROSPECT, Verb.USER_INFO, Verb.CHECK, Verb.DENY, Verb.SHOW_ACCOUNT, Verb.SHOW_CLIENT}
)


def _may_hold_text(annotation: str) -> bool:
    return any(word in annotation for word in ("str", "bytes", "Digest", "Any"))


VALUES: dict[type[Record], Callable[[Any], tuple[object, ...]]] = {
    kind: attrgetter("revision", *(each.name for each in fields(kind) if _may_hold_text(str(each.type))))
    for kind in get_args(Record)
}


def faults_of_writes(outcome: Outcome, now: int, history: History) -> Iterator[Violation]:
    """Yield every violation in a decision's writes; `history` does not contain its answer yet."""
    if outcome.decision is None:
        return
    yield from faults_of_facts(outcome.decision)
    yield from _faults_of_acting(outcome.call, outcome.decision, history)
    if not outcome.decision.changes:
        return
    call, answer = outcome.call, outcome.answer
    if is_stranger(call, now, history):
        yield Violation(STRANGERS, f"{call.verb} by a stranger writes {name_written_kinds(outcome)}")
    if call.verb in QUESTIONS:
        yield Violation(REFUSALS, f"{call.verb} writes {name_written_kinds(outcome)}")
    elif answer.kind is AnswerKind.REFUSED:
        yield from _faults_of_refusal(outcome)
    for change in outcome.decision.changes:
        before, after = split_change(change)
        if before is not None and after is not None:
            yield from faults_of_update(before, after)
        if call.verb in AT_THE_TOKEN_SERVICE:
            yield from _faults_between_clients(call, before, after)


def _faults_of_acting(call: Call, decision: Decision, history: History) -> Iterator[Violation]:
    """Yield facts of a call with a login that do not name the acting session (READINGS 59)."""
    place = history.tokens.get(call.login or "")
    if place is None:
        return
    recorded = [fact for fact in decision.facts if fact.kind not in NOT_KEPT]
    if any(fact.acting.session_id != place.session.session_id for fact in recorded):
        yield Violation(RECORDED, f"the trail does not say which session did {call.verb}")


def name_written_kinds(outcome: Outcome) -> str:
    """Return the names of the record types that a decision writes."""
    ends = (split_change(change) for change in outcome.decision.changes) if outcome.decision else ()
    return ", ".join(sorted({type(after or before).__name__ for before, after in ends}))


def is_stranger(call: Call, now: int, history: History) -> bool:
    """Whether the caller proved no identity, by everything known from answers."""
    if call.verb in AT_THE_TOKEN_SERVICE:
        return not history.is_authentic(call, now)
    if call.verb in BY_LOGIN or call.login is not None:
        place = history.tokens.get(call.login or "")
        return place is None or not place.session.is_login or not place.is_access
    if call.verb is Verb.REFRESH_LOGIN:
        place = history.tokens.get(call.token or "")
        return place is None or not place.session.is_login or place.is_access
    return False


# --- refusals

ROTATION = {Session, RefreshToken}
MAY_WRITE: dict[Verb, Set[type[Record]]] = {
    Verb.REDEEM: {AuthorizationCode, Session},
    **dict.fromkeys((Verb.REFRESH, Verb.REFRESH_LOGIN), frozenset({Session})),
    Verb.CHANGE_PASSWORD: {User},
    Verb.CHANGE_PHONE: {TextCode, User},
    Verb.RECOVER_PASSWORD: {TextCode},
    Verb.BEGIN_FACTOR: {User},
    **dict.fromkeys((Verb.CONFIRM_FACTOR, Verb.ENTER_FACTOR), frozenset({SecondFactor})),
    **dict.fromkeys((Verb.REMOVE_FACTOR, Verb.RENEW_CODES, Verb.PROVE), frozenset({SecondFactor, User})),
}
COUNTERS = {"wrong_passwords_at", "epoch", "epoch_why", "epoch_at", "updated_at", "revision"}


def _faults_of_refusal(outcome: Outcome) -> Iterator[Violation]:
    """Yield writes of a refusal beyond the allowed three.

    A replay ends the session, a scope too wide still rotates, a failed exchange voids the code.
    """
    call, answer = outcome.call, outcome.answer
    changes = outcome.decision.changes if outcome.decision else ()
    too_wide = call.verb is Verb.REFRESH and answer.error == "invalid_scope"
    allowed = ROTATION if too_wide else MAY_WRITE.get(call.verb, set())
    for change in changes:
        before, after = split_change(change)
        kind = type(after or before)
        if kind not in allowed:
            yield Violation(REFUSALS, f"{call.verb}, refused with {answer.error}, writes a {kind.__name__}")
            continue
        if kind is User and isinstance(before, User) and isinstance(after, User):
            names = [each.name for each in fields(User)]
            moved = {name for name in names if getattr(before, name) != getattr(after, name)}
            if moved - COUNTERS:
                yield Violation(REFUSALS, f"{call.verb}, refused, moves {sorted(moved - COUNTERS)}")
        if kind is Session and not too_wide and isinstance(after, Session) and after.ended_at is None:
            yield Violation(REFUSALS, f"{call.verb}, refused with {answer.error}, changes a session")
        if isinstance(after, AuthorizationCode) and after.voided_why is None:
            yield Violation(REFUSALS, f"{call.verb}, refused with {answer.error}, changes a code")


def _faults_between_clients(call: Call, before: Record | None, after: Record | None) -> Iterator[Violation]:
    record = after or before
    if isinstance(record, Session) and record.client_id != call.client_id:
        yield Violation(CLIENTS_APART, f"{call.verb} by one client writes a session of another")
    # Another client's code may only be voided, by any client that presents it (READINGS 18).
    voids = isinstance(after, AuthorizationCode) and after.session_id is None
    if isinstance(record, AuthorizationCode) and record.client_id != call.client_id and not voids:
        yield Violation(CLIENTS_APART, f"{call.verb} by one client uses a code of another")
    if isinstance(record, User | Client | Consent | Identifier | Role):
        yield Violation(CLIENTS_APART, f"{call.verb} writes a {type(record).__name__}")


# --- secrets


def secrets_of(call: Call, answer: Answer) -> list[str]:
    """Return every bearer value of a call and its answer; shorter texts are not bearer values."""
    if call.verb is Verb.BATCH:
        return [text for part, own in split_batch(call, answer) for text in secrets_of(part, own)]
    sent = (call.secret, call.token, call.login, call.verifier)
    texts = (*sent, answer.access, answer.refresh, answer.code, answer.secret)
    return [text for text in texts if text is not None and len(text) >= SHORTEST_SECRET]


def find_secrets(outcome: Outcome, *, printed: bool) -> Iterator[Violation]:
    """Yield bearer values in writes and facts and, if `printed`, in the text of every object."""
    if outcome.decision is None:
        return
    secrets = secrets_of(outcome.call, outcome.answer)
    for change in outcome.decision.changes:
        _, after = split_change(change)
        if after is not None and any(holds(value, secrets) for value in VALUES[type(after)](after)):
            yield Violation(NO_SECRETS, f"{outcome.call.verb} writes one into a {type(after).__name__}")
    for fact in outcome.decision.facts:
        if any(holds(change, secrets) for change in fact.changes):
            yield Violation(NO_SECRETS, f"{outcome.call.verb} tells one in a {fact.kind}")
    if printed:
        for name, shown in (
            ("facts", outcome.decision.facts),
            ("changes", outcome.decision.changes),
            ("reply", outcome.decision.reply),
            ("event", outcome.event),
        ):
            text = repr(shown)
            if any(secret in text for secret in secrets):
                yield Violation(NO_SECRETS, f"the {name} of {outcome.call.verb} print one")


def holds(value: object, secrets: list[str]) -> bool:
    """Whether a field of a record contains one of the texts."""
    if isinstance(value, str):
        return len(value) >= SHORTEST_SECRET and any(secret in value for secret in secrets)
    if isinstance(value, bytes):
        return len(value) >= SHORTEST_SECRET and any(secret.encode() in value for secret in secrets)
    if isinstance(value, tuple):
        return any(holds(each, secrets) for each in value)
    return False
