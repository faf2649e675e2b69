"""The judge of limits: requests that may have counted excuse refusals, others forbid answers."""

from fuzz.shared.calls import Answer, AnswerKind, Call, Face, Verb, refusal
from fuzz.simulation.limits import find_overruns
from fuzz.simulation.operations import Operation, Outcome

SIGNED_IN = Answer(kind=AnswerKind.LOGIN)
REFUSED = refusal("A0429")
SCALE = 2 / 120
"""Two sign-ins a minute."""


def sign_in(place: int, answer: Answer, *, at: float = 60.0, source: str = "here") -> Operation:
    outcome = Outcome.NEVER if answer is REFUSED else Outcome.ANSWERED
    call = Call(verb=Verb.SIGN_IN)
    one = Operation(place, place, call, 0, 1, source, invoked=2 * place, invoked_now=0, invoked_at=at)
    one.returned, one.returned_at, one.outcome, one.answer = 2 * place + 1, at, outcome, answer
    return one


def test_a_limit_is_what_one_address_may_ask_in_one_minute_of_the_clock() -> None:
    first, second = sign_in(1, SIGNED_IN), sign_in(2, SIGNED_IN)
    assert not find_overruns([first, second, sign_in(3, REFUSED)], SCALE)
    assert find_overruns([first, second, sign_in(3, SIGNED_IN)], SCALE)
    assert find_overruns([first, sign_in(3, REFUSED)], SCALE)
    for other in (sign_in(3, SIGNED_IN, at=120.0), sign_in(3, SIGNED_IN, source="there")):
        assert not find_overruns([first, second, other], SCALE)
    for other in (sign_in(3, REFUSED, at=120.0), sign_in(3, REFUSED, source="there")):
        assert find_overruns([first, second, other], SCALE)


def test_overlapping_requests_excuse_a_refusal_and_forbid_no_answer() -> None:
    first, second, third = sign_in(1, SIGNED_IN), sign_in(2, SIGNED_IN), sign_in(3, SIGNED_IN)
    second.returned = 9
    assert not find_overruns([first, second, third], SCALE)
    third.answer, third.outcome = REFUSED, Outcome.NEVER
    assert not find_overruns([first, second, third], SCALE)


def test_the_consent_page_has_no_limit() -> None:
    decisions = [sign_in(place, SIGNED_IN) for place in range(3)]
    for one in decisions:
        one.call = Call(verb=Verb.APPROVE, face=Face.PAGE)
    assert not find_overruns(decisions, 1 / 120)
    for one in decisions:
        one.call = Call(verb=Verb.APPROVE)
    assert find_overruns(decisions, 1 / 120)
