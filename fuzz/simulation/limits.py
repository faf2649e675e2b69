"""The judge of requests a minute: nothing within a limit is refused, and nothing beyond it accepted.

Written from the specification ("Limits") and READINGS 30 and 39: a fixed window of a minute for each
operation and address, counted by each process.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from fuzz.shared.calls import WITH_A_TICKET, Face, Verb
from fuzz.shared.invariants import DOCUMENTED, Violation
from fuzz.simulation.operations import Operation, Outcome

LIMITS: Final[Mapping[Verb, tuple[str, int]]] = {
    Verb.CHECK: ("check", 120),
    **dict.fromkeys((Verb.APPROVE, Verb.DENY), ("decide", 120)),
    **dict.fromkeys((Verb.REDEEM, Verb.REFRESH, Verb.CLIENT_CREDENTIALS), ("token", 600)),
    Verb.INTROSPECT: ("introspect", 1_200),
    Verb.REVOKE: ("revoke", 1_200),
    **dict.fromkeys((Verb.SIGN_IN, *WITH_A_TICKET), ("sign-in", 120)),
    Verb.REQUEST_TEXT_CODE: ("text-code", 20),
    Verb.RECOVER_PASSWORD: ("reset-password", 20),
    Verb.ACCEPT_INVITATION: ("invitation", 20),
}
"""Limit of each operation: its name, and requests a minute."""
WITHOUT_A_LIMIT_AS_PAGE: Final = (Verb.APPROVE, Verb.DENY)
MINUTE: Final = 60.0


def find_overruns(operations: Sequence[Operation], scale: float) -> list[Violation]:
    """Return requests refused too early, or accepted too late, for their number."""
    groups: dict[tuple[object, ...], list[Operation]] = {}
    for one in operations:
        if one.call.verb in LIMITS and not _is_free_as_page(one):
            key = (one.instance, one.incarnation, one.source, LIMITS[one.call.verb])
            groups.setdefault(key, []).append(one)
    faults: list[str] = []
    for group in groups.values():
        _, of_all = LIMITS[group[0].call.verb]
        limit = max(1, int(of_all * scale))
        for one in group:
            if one.answer is None:
                continue
            others = [other for other in group if other is not one]
            is_refused = one.answer.error == "A0429"
            if is_refused and one.call.verb is Verb.REQUEST_TEXT_CODE and one.call.login is not None:
                continue  # an account has a limit of its own, which the model knows
            if is_refused and sum(_may_count(other, one) for other in others) < limit:
                faults.append(f"{one.call.verb} is refused within its limit of {limit}")
            elif not is_refused and sum(_does_count(other, one) for other in others) >= limit:
                faults.append(f"{one.call.verb} is answered past its limit of {limit}")
    return [Violation(DOCUMENTED, fault) for fault in faults[:1]]


def _is_free_as_page(one: Operation) -> bool:
    """Whether a page counts the request against no limit: it has none, or redirects to sign-in first."""
    error = "" if one.call.login is None or one.answer is None else one.answer.error
    is_turned_away = error in ("A1001", "A1004", "A1009")
    return one.call.face is Face.PAGE and (one.call.verb in WITHOUT_A_LIMIT_AS_PAGE or is_turned_away)


def _may_count(other: Operation, one: Operation) -> bool:
    """Whether `other` may have been counted before `one` in the same minute."""
    began, ended = _minutes(one)
    other_began, other_ended = _minutes(other)
    return other.invoked < (one.returned or 0) and other_began <= ended and began <= other_ended


def _does_count(other: Operation, one: Operation) -> bool:
    """Whether `other` was surely counted before `one` in the same minute."""
    is_answered = other.outcome in (Outcome.ANSWERED, Outcome.NEVER) and other.answer is not None
    minutes = {*_minutes(one), *_minutes(other)}
    return is_answered and (other.returned or 0) < one.invoked and len(minutes) == 1


def _minutes(one: Operation) -> tuple[int, int]:
    ended = one.returned_at if one.answer is not None else one.returned_at + 10 * MINUTE
    return int(one.invoked_at // MINUTE), int(ended // MINUTE)
