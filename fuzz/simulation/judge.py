"""The judge: check that some order of the operations explains every answer that a caller received.

The witness names a likely order. It is checked against time (an operation takes effect between its beginning
and its answer, on its instance's clock) and against the model, which restates the specification. If it does
not explain the answers, every other order that time allows is tried, with operations without an answer both
as done and as not done. Only if no order explains the answers is that a violation.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Final, NamedTuple

from fuzz.model import Model
from fuzz.shared.calls import Answer, AnswerKind, Call, Verb, moves_roles
from fuzz.shared.invariants import EXPLAINED, GUARDED, RECORDED, SOURCED, TIMELY, Violation
from fuzz.simulation.operations import Operation, Outcome
from fuzz.simulation.order import BEFORE_THE_BATCH, Event, Judged, follow
from fuzz.simulation.order_search import MOST_TRIES, Tries, search_orders
from fuzz.simulation.witness import AHEAD, Seen, Witness
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.fact import FactKind
from ostiary_core.model.secret import digest_of

_UNLOCK_SECONDS: Final = 400.0
"""Seconds after an unlock within which every process has read it, despite clock errors."""
_LOOK_AGAIN_SECONDS: Final = 1.0


class RightSource(NamedTuple):
    """The source address of a session's request, and the one in the store."""

    session_id: str
    expected: str
    stored: str


def find_wrong_sources(sources: Sequence[RightSource]) -> list[Violation]:
    """Return a violation for each session whose stored source differs from the request's."""
    return [
        Violation(SOURCED, f"a request from {one.expected} counts as one from {one.stored}")
        for one in sources
        if one.expected != one.stored
    ][:1]


def judge_operations(
    model: Model,
    operations: Sequence[Operation],
    witness: Witness,
    judged: Judged,
    *,
    free_guesses: int,
    trail: Sequence[AuditEntry] | None,
) -> list[Violation]:
    """Return answers that no order explains, and refusals that the trail lacks; fill `judged`."""
    violations = list(_find_untimely(operations, witness))
    events = [
        *_in_order(operations, witness, _find_slowed_sign_ins(operations, free_guesses)),
        *_secrets_used(model, operations, witness),
    ]
    events.sort(key=lambda event: event.at)
    start = deepcopy(model)
    place, contradiction = follow(model, events, 0, judged)
    if contradiction is None:
        return violations if trail is None else violations + list(_find_unrecorded(judged, trail))
    tries = Tries()
    if not search_orders(start, events, place, tries):
        operation = events[place].operation
        given = operation.answer
        names = [] if given is None else contradiction.answer.find_differences(given)
        orders = "no order" if tries.left > 0 else f"none of the first {MOST_TRIES:,} orders"
        what = f"step {operation.step}: {operation.call.verb} at {operation.returned_at:.3f} s"
        right = f"must be answered '{contradiction.answer}' ({contradiction.clause})"
        differ = f" (they differ in {', '.join(names)})" if names else ""
        detail = f"{orders} of what was asked explains {what} {right} and was answered '{given}'{differ}"
        violations.append(Violation(EXPLAINED, detail, operation.step))
    return violations


def _find_unrecorded(judged: Judged, trail: Sequence[AuditEntry]) -> Iterator[Violation]:
    """Yield the first refusal of an administrator that is missing in the trail."""
    recorded = {None, *(entry.actor_id for entry in trail if entry.kind is FactKind.ADMINISTRATOR_REFUSED)}
    for operation, verdict in judged:
        answer = operation.answer
        if moves_roles(operation.call) and answer is not None and answer.error in BEFORE_THE_BATCH:
            continue
        if operation.outcome is Outcome.ANSWERED and verdict.recorded_for not in recorded:
            detail = f"the trail does not record an administrator's refusal of {operation.call.verb}"
            yield Violation(RECORDED, detail, operation.step)
            return


def _find_slowed_sign_ins(operations: Sequence[Operation], free_guesses: int) -> set[int]:
    """Return the sign-ins that had to wait and whose process may have had a reason.

    A reason is: so many other attempts from that address, or under that name since it was unlocked, none of
    which was known to be right by then.
    """
    free_of_name = max(1, free_guesses // 4)
    asked = [one for one in operations if one.call.verb in (Verb.SIGN_IN, Verb.ENTER_FACTOR)]
    sign_ins = [one for one in asked if one.outcome is not Outcome.NEVER and one.returned is not None]
    renamed = {one.call.user_id for one in operations if one.call.new_username is not None}
    done = [one for one in operations if one.answer is not None and one.answer.kind is AnswerKind.DONE]
    unlocks = [one for one in done if one.call.verb is Verb.UNLOCK_USER and one.call.user_id not in renamed]

    def may_wait(one: Operation, unlocks: Sequence[Operation]) -> bool:
        others = [other for other in sign_ins if _counts_against(other, one)]
        of_source = [other for other in others if other.source == one.source]
        of_name = [other for other in others if other.call.username == one.call.username]
        forgiven = [by.invoked for by in unlocks if _is_unlocked_by(by, one)]
        forgiven += [by.invoked for by in sign_ins if _forgives(by, one)]
        left = [other for other in of_name if not any(_end_of(other) < at for at in forgiven)]
        is_free = len(left) < free_of_name and len(of_name) < 5 * free_guesses
        return len(of_source) >= free_guesses or not is_free

    def has_just_looked(one: Operation) -> bool:
        """Whether its process may have read the unlocks within the second before, which is enough."""
        return any(
            other is not one
            and _is_same_process(other, one)
            and one.invoked_at - _LOOK_AGAIN_SECONDS <= other.returned_at
            and other.invoked_at <= one.returned_at
            and may_wait(other, ())
            for other in sign_ins
        )

    slowed = [one for one in sign_ins if one.answer is not None and one.answer.error == "A1003"]
    return {
        one.number for one in slowed if may_wait(one, unlocks) or (may_wait(one, ()) and has_just_looked(one))
    }


def _counts_against(other: Operation, one: Operation) -> bool:
    if other is one or not _is_same_process(other, one):
        return False
    was_right = other.answer is not None and other.answer.kind in (AnswerKind.LOGIN, AnswerKind.ASKED)
    return other.invoked < _end_of(one) and not (was_right and _end_of(other) < one.invoked)


def _forgives(by: Operation, one: Operation) -> bool:
    """Whether an earlier sign-in with this name and address succeeded, so that failures are forgotten."""
    is_same = (by.call.username, by.source) == (one.call.username, one.source) and _is_same_process(by, one)
    is_right = by.answer is not None and by.answer.kind is AnswerKind.LOGIN
    return is_same and is_right and _end_of(by) < one.invoked


def _is_unlocked_by(unlock: Operation, one: Operation) -> bool:
    """Whether the process must know of the unlock when the sign-in is made."""
    is_before = _end_of(unlock) < one.invoked
    is_recent = one.invoked_at - unlock.returned_at < _UNLOCK_SECONDS
    return is_before and is_recent and unlock.call.username == one.call.username


def _is_same_process(other: Operation, one: Operation) -> bool:
    return (other.instance, other.incarnation) == (one.instance, one.incarnation)


def _end_of(operation: Operation) -> int:
    assert operation.returned is not None, "it is over by now"
    return operation.returned


def _in_order(operations: Sequence[Operation], witness: Witness, slowed: set[int]) -> list[Event]:
    events = []
    for operation in operations:
        if operation.outcome is Outcome.NEVER:
            continue
        seen = _find_deciding_event(operation, witness)
        slow = operation.number in slowed
        if seen is not None:
            unseen_ms, waited_ms = seen.unseen_ms or 0, seen.waited_ms
            event = Event(operation, seen.moment, seen.now, True, waited_ms, unseen_ms, seen.code, slow)
        elif operation.outcome is Outcome.ANSWERED:
            at, now = _end_of(operation), operation.returned_now
            event = Event(operation, at, now, happened=True, may_be_slowed=slow)
        else:
            event = Event(operation, operation.invoked, operation.invoked_now, happened=False)
        events.append(event)
    return events


def _secrets_used(model: Model, operations: Sequence[Operation], witness: Witness) -> Iterator[Event]:
    """Yield the uses of secrets that servers recorded, for secrets that a caller received."""
    received = [one.answer.secret for one in operations if one.answer is not None and one.answer.secret]
    current = [client.secret for client in model.realm.clients.values()]
    known = {digest_of(text): text for text in (*received, *current)}
    for number, (moment, now, event) in enumerate(witness.secrets_used):
        secret = known.get(event.digest)
        call = Call(Verb.NOTE_SECRET_USE, event.client_id, secret, waited_ms=now - event.used_at)
        noted = Operation(-1 - number, 0, call, 0, 0, "", moment, now, 0.0)
        noted.returned, noted.outcome = moment + 1, Outcome.ANSWERED
        noted.answer = Answer(AnswerKind.DONE)
        yield Event(noted, moment, now, happened=True, waited_ms=call.waited_ms)


def _find_deciding_event(operation: Operation, witness: Witness) -> Seen | None:
    """Return the turn that took the operation's own event, if any."""
    seen = witness.seen.get(operation.number, [])
    decisive = [one for one in seen if one.kind not in AHEAD]
    if operation.outcome is Outcome.ANSWERED:
        # A page with a renewed login reads the account once more.
        return next(reversed(decisive or seen), None)
    # Without an answer, an event that changed nothing may have come ahead of one that never came.
    return decisive[-1] if decisive and decisive[-1].changed else None


def _find_untimely(operations: Sequence[Operation], witness: Witness) -> Iterator[Violation]:
    for operation in operations:
        seen = _find_deciding_event(operation, witness)
        what = f"step {operation.step}: {operation.call.verb}"
        kept = Counter(one.kind for one in witness.seen.get(operation.number, ()) if one.changed)
        if any(times > 1 for times in kept.values()):
            yield Violation(GUARDED, f"{what} took effect twice", operation.step)
        if operation.outcome is Outcome.NEVER:
            took = [one for one in witness.seen.get(operation.number, ()) if one.kind not in AHEAD]
            if operation.answer is None and took:
                yield Violation(TIMELY, f"{what} took effect though it never arrived whole", operation.step)
            continue
        if seen is None or operation.outcome is not Outcome.ANSWERED or operation.returned is None:
            continue
        is_unseen = seen.unseen_ms is not None and not seen.is_restored
        if is_unseen and (seen.unseen_ms or 0) < operation.paused_ms:
            yield Violation(TIMELY, f"{what} lay in a socket and counts as having just come", operation.step)
        if not operation.invoked < seen.moment < operation.returned:
            yield Violation(TIMELY, f"{what} was answered before it took effect", operation.step)
        on_time = operation.invoked_now <= seen.now <= operation.returned_now
        if not on_time and not operation.clock_was_set:
            detail = f"{what} was decided by a clock that is not its instance's"
            yield Violation(TIMELY, detail, operation.step)
