"""The judge: whether some order of the operations explains every answer that anybody heard.

The witness names a likely order. It is checked against time (an operation takes effect between its
beginning and its answer, on its instance's clock) and against the model, which restates the specification.
Where it does not explain the answers, every other order that time allows is tried, operations without an
answer counting as having happened or not: only where none explains them is it a violation.
"""

import math
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, NamedTuple

from fuzz.calls import Answer, Call, Said, Verb, several
from fuzz.invariants import EXPLAINED, GUARDED, SOURCED, TIMELY, Violation
from fuzz.model import Model, Verdict
from fuzz.model.records import User
from fuzz.simulation.operations import Operation, Outcome
from fuzz.simulation.witness import Seen, Witness

__all__ = ["RightSource", "sources", "verdicts"]

AHEAD: Final = frozenset({"AccountRequested", "PasswordHashRequested"})
"""What is asked ahead of the event that decides; seen last, it means that the event never came."""

MOST_TRIES: Final = 6_000

LEAST: Final = {
    Verb.REDEEM: Said.TOKENS,
    Verb.REFRESH: Said.TOKENS,
    Verb.CLIENT_CREDENTIALS: Said.TOKENS,
    Verb.SIGN_IN: Said.LOGIN,
    Verb.REFRESH_LOGIN: Said.LOGIN,
    Verb.APPROVE: Said.CODE,
    Verb.RECALL: Said.CODE,
    Verb.REGISTER_CLIENT: Said.SECRET,
    Verb.RESET_SECRET: Said.SECRET,
}


class RightSource(NamedTuple):
    """Where a session's request came from, and where the store says that it did."""

    session_id: str
    expected: str
    stored: str


def sources(found: Sequence[RightSource]) -> list[Violation]:
    """Sessions whose source somebody else could choose."""
    return [
        Violation(SOURCED, f"a request from {one.expected} counts as one from {one.stored}")
        for one in found
        if one.expected != one.stored
    ][:1]


@dataclass(frozen=True, slots=True)
class _Event:
    """An operation with the place in the order that the witness gives it."""

    operation: Operation
    at: float
    now: int
    happened: bool
    may_be_slowed: bool = False
    """Whether so much was guessed from its address that the process may make it wait."""

    @property
    def is_certain(self) -> bool:
        return self.operation.outcome is Outcome.ANSWERED


def verdicts(
    model: Model,
    operations: Sequence[Operation],
    witness: Witness,
    clauses: Counter[str],
    *,
    free_guesses: int,
) -> list[Violation]:
    """What no order explains."""
    violations = list(_untimely(operations, witness))
    events = _in_order(operations, witness, _from_guessing_addresses(operations, free_guesses))
    start = deepcopy(model)
    place, found = _straight(model, events, 0, clauses)
    if found is None:
        return violations
    tries = _Tries()
    if not _searched(start, events, place, tries):
        operation = events[place].operation
        orders = "no order" if tries.left > 0 else f"none of the first {MOST_TRIES:,} orders"
        violations.append(
            Violation(
                EXPLAINED,
                f"{orders} of what was asked explains step {operation.step}: {operation.call.verb} at "
                f"{operation.returned_at:.3f} s must be answered '{found.answer}' ({found.clause}) and was "
                f"answered '{operation.answer}'" + _differing(found.answer, operation.answer),
            )
        )
    return violations


def _differing(expected: Answer, given: Answer | None) -> str:
    if given is None or str(expected) != str(given):
        return ""
    names = [name for name in Answer._fields if getattr(expected, name) != getattr(given, name)]
    return f" (they differ in {', '.join(names)})"


def _from_guessing_addresses(operations: Sequence[Operation], free_guesses: int) -> set[int]:
    """The sign-ins that were made to wait, and whose process may have had a reason that lies in the address
    alone: so many others from there, none of which was known to be right by then."""
    sign_ins = [
        one
        for one in operations
        if one.call.verb is Verb.SIGN_IN and one.outcome is not Outcome.NEVER and one.returned is not None
    ]

    def counts_against(other: Operation, one: Operation) -> bool:
        where = (one.instance, one.incarnation, one.source)
        if other is one or (other.instance, other.incarnation, other.source) != where:
            return False
        was_right = other.answer is not None and other.answer.said is Said.LOGIN
        return other.invoked < _ended(one) and not (was_right and _ended(other) < one.invoked)

    return {
        one.number
        for one in sign_ins
        if one.answer is not None
        and one.answer.error == "A1003"
        and sum(counts_against(other, one) for other in sign_ins) >= free_guesses
    }


def _ended(operation: Operation) -> int:
    assert operation.returned is not None, "it is over by now"
    return operation.returned


def _in_order(operations: Sequence[Operation], witness: Witness, slowed: set[int]) -> list[_Event]:
    events = []
    for operation in operations:
        if operation.outcome is Outcome.NEVER:
            continue
        seen = _deciding(operation, witness)
        if operation.outcome is Outcome.ANSWERED:
            assert operation.returned is not None
            at = operation.returned if seen is None else seen.moment
            now = operation.returned_now if seen is None else seen.now
            events.append(_Event(operation, at, now, happened=True, may_be_slowed=operation.number in slowed))
        elif seen is not None:
            events.append(_Event(operation, seen.moment, seen.now, happened=True))
        else:
            events.append(_Event(operation, operation.invoked, operation.invoked_now, happened=False))
    return sorted(events, key=lambda event: event.at)


def _deciding(operation: Operation, witness: Witness) -> Seen | None:
    """Where the operation's own event was taken, if it was."""
    seen = witness.seen.get(operation.number)
    if not seen:
        return None
    if operation.outcome is not Outcome.ANSWERED and (seen[-1].kind in AHEAD or seen[-1].turned_away):
        return None
    return seen[-1]


def _untimely(operations: Sequence[Operation], witness: Witness) -> Iterator[Violation]:
    for operation in operations:
        seen = _deciding(operation, witness)
        what = f"step {operation.step}: {operation.call.verb}"
        kept = Counter(one.kind for one in witness.seen.get(operation.number, ()) if one.changed)
        if any(times > 1 for times in kept.values()):
            yield Violation(GUARDED, f"{what} took effect twice")
        if operation.outcome is Outcome.NEVER:
            took = [one for one in witness.seen.get(operation.number, ()) if one.kind not in AHEAD]
            if operation.answer is None and took:
                yield Violation(TIMELY, f"{what} took effect though it never arrived whole")
            continue
        if seen is None or operation.outcome is not Outcome.ANSWERED or operation.returned is None:
            continue
        if not operation.invoked < seen.moment < operation.returned:
            yield Violation(TIMELY, f"{what} was answered before it took effect")
        on_time = operation.invoked_now <= seen.now <= operation.returned_now
        if not on_time and not operation.clock_was_set:
            yield Violation(TIMELY, f"{what} was decided by a clock that is not its instance's")


# --- one order


def _straight(
    model: Model, events: Sequence[_Event], start: int, clauses: Counter[str]
) -> tuple[int, Verdict | None]:
    """Go along the events in the witness's order; where it stops explaining them, and what it says there."""
    for place in range(start, len(events)):
        event = events[place]
        if not event.happened:
            continue
        verdict = _apply(model, event)
        clauses[verdict.clause] += 1
        if event.is_certain and not _explains(event.operation, verdict.answer):
            return place, verdict
    return len(events), None


def _apply(model: Model, event: _Event) -> Verdict:
    operation = event.operation
    call = _own_last(model, operation.call, event.now)
    if event.is_certain:
        assert operation.answer is not None
        if event.may_be_slowed:
            return Verdict(operation.answer, "an address that guesses is made to wait")
        counted = _failures(model, call)
        verdict = model.judge(call, event.now, operation.answer)
        if _is_slowed_down(call, operation.answer, verdict.answer):
            _uncount(counted)
        return verdict
    given = Answer(said=LEAST.get(call.verb, Said.DONE))
    verdict = model.judge(call, event.now, given)
    _forget_texts(model)
    return verdict


def _own_last(model: Model, call: Call, now: int) -> Call:
    """As the interface takes it: of accounts that are deleted together the caller's own is the last."""
    user = model.realm.signed_in(call.login, now)
    if call.verb is not Verb.BATCH or user is None:
        return call
    return call._replace(parts=tuple(sorted(call.parts, key=lambda part: part.user_id == user.user_id)))


def _forget_texts(model: Model) -> None:
    """What an unheard answer showed, nobody has seen: a later one may show it for the first time."""
    for session in model.realm.sessions:
        pair = session.pairs[-1]
        if pair.access is not None and pair.access.startswith("("):
            model.realm.tokens.pop(pair.access, None)
            pair.access = None
        if pair.refresh is not None and pair.refresh.startswith("("):
            model.realm.tokens.pop(pair.refresh, None)
            pair.refresh = None


def _explains(operation: Operation, expected: Answer) -> bool:
    """Whether the answer that was heard is the one expected, as far as it could be heard."""
    given, call = operation.answer, operation.call
    assert given is not None
    if call.verb is Verb.RECALL:
        if given.error == "page":
            return expected.said is Said.REFUSED
        if given.said is Said.OFFERED:
            return expected.said is Said.OFFERED and expected.ask
    if call.verb is Verb.BATCH and given.said is expected.said is Said.REFUSED:
        # HTTP names the refusal that wins over the others, and the model names them all.
        return given.error in {refused.error for _, refused in several(call, expected)}
    return given == expected or _is_slowed_down(call, given, expected)


def _is_slowed_down(call: Call, given: Answer, expected: Answer) -> bool:
    """A guess that the process itself slows down, by its address or as no account has the name."""
    return call.verb is Verb.SIGN_IN and (given.error, expected.error) == ("A1003", "A1002")


def _failures(model: Model, call: Call) -> list[tuple[User, int, int]]:
    """The failed sign-ins counted against the accounts of that name."""
    if call.verb is not Verb.SIGN_IN:
        return []
    named = (user for user in model.realm.users.values() if user.username == call.username)
    return [(user, user.failures, user.failed_at) for user in named]


def _uncount(counted: list[tuple[User, int, int]]) -> None:
    """The account never heard of that guess: it counts nothing against it."""
    for user, failures, failed_at in counted:
        user.failures, user.failed_at = failures, failed_at


# --- every other order


@dataclass
class _Tries:
    left: int = MOST_TRIES
    in_vain: set[tuple[frozenset[int], float, bytes]] = field(default_factory=set)
    """What was still to come, how far from the witness's order it might go, and how things stood, where no
    order was found (G. Lowe, Testing for linearizability, 2017, §3): others that lead there are left out."""


def _searched(start: Model, events: Sequence[_Event], failed: int, tries: _Tries) -> bool:
    """Whether some other order explains the event that failed and all the others.

    The order that went wrong may lie further back than the answer that shows it, so each time nothing is
    found the search begins one crowd of overlapping operations earlier.
    """
    begin = failed + 1
    while begin > 0 and tries.left > 0:
        begin = _crowd_before(events, begin)
        model = deepcopy(start)
        _, found = _straight(model, events[:begin], 0, Counter())
        if found is not None:
            return False
        for swerves in (1, 2, math.inf):
            if _explored(model, list(events[begin:]), failed - begin + 1, swerves, tries):
                return True
    return False


def _crowd_before(events: Sequence[_Event], place: int) -> int:
    """Where the latest crowd before `place` begins: all before it was answered when all of it was asked."""
    while place > 0:
        begin = place - 1
        while overlapping := _overlapping(events, begin, place):
            begin = overlapping[0]
        if place - begin > 1 or not events[begin].is_certain:
            return begin
        place = begin
    return 0


def _overlapping(events: Sequence[_Event], begin: int, end: int) -> list[int]:
    asked = min(event.operation.invoked for event in events[begin:end])
    return [place for place in range(begin) if asked < _ends(events[place]) < math.inf]


def _ends(event: _Event) -> float:
    """The moment after which an operation can no longer take effect."""
    if event.is_certain and event.operation.returned is not None:
        return event.operation.returned
    return math.inf


def _explored(model: Model, events: list[_Event], reach: int, swerves: float, tries: _Tries) -> bool:
    """Depth first: any event may come next that began before every event still to come was answered; so many
    times another than the witness has next. It is seldom far from right, and a crowd has too many orders.

    Behind `reach` the witness's order is tried again: what follows is mostly explained by it.
    """
    if reach <= 0:
        onward = deepcopy(model)
        place, found = _straight(onward, events, 0, Counter())
        if found is None:
            return True
        reach = place + 1
    to_come = frozenset(event.operation.number for event in events)
    here = to_come, swerves, sha256(pickle.dumps(model)).digest()
    if here in tries.in_vain:
        return False
    limit = min(map(_ends, events), default=math.inf)
    ready = [event for event in events if event.operation.invoked < limit]
    for place, event in enumerate(sorted(ready, key=lambda one: not one.happened)):
        swerves_left = swerves - min(place, 1)
        if swerves_left < 0:
            break
        tries.left -= 1
        if tries.left <= 0:
            return False
        branch = deepcopy(model)
        verdict = _apply(branch, event)
        if event.is_certain and not _explains(event.operation, verdict.answer):
            continue
        others = [one for one in events if one is not event]
        if _explored(branch, others, reach - 1, swerves_left, tries):
            return True
    if all(not event.is_certain for event in events):
        return True
    tries.in_vain.add(here)
    return False
