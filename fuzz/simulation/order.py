"""One order of what was asked, gone along with the model: how far it explains the answers that were heard."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fuzz.model import Model, Verdict
from fuzz.shared.calls import Answer, AnswerKind, Call, Face, Verb, several
from fuzz.simulation.operations import Operation, Outcome

LEAST: Final = {
    Verb.REDEEM: AnswerKind.TOKENS,
    Verb.REFRESH: AnswerKind.TOKENS,
    Verb.CLIENT_CREDENTIALS: AnswerKind.TOKENS,
    Verb.SIGN_IN: AnswerKind.LOGIN,
    Verb.ENTER_FACTOR: AnswerKind.LOGIN,
    Verb.REFRESH_LOGIN: AnswerKind.LOGIN,
    Verb.APPROVE: AnswerKind.CODE,
    Verb.RECALL: AnswerKind.CODE,
    Verb.REGISTER_CLIENT: AnswerKind.SECRET,
    Verb.RESET_SECRET: AnswerKind.SECRET,
}


_AFTER_THE_ANSWER: Final = ("A0429", "A1001")
"""Refusals of a text code that its answer does not wait for: several at once are all let in, and who asks may
be signed out before the rules draw it. They then draw none."""


@dataclass(frozen=True, slots=True)
class Event:
    """An operation with the place in the order that the witness gives it."""

    operation: Operation
    at: float
    now: int
    happened: bool
    waited_ms: int = 0
    """How long it had waited inside the server when it was decided."""
    unseen_ms: int = 0
    """For how long before that the process stood still."""
    code: str | None = None
    """The code in the text message that it caused."""
    may_be_slowed: bool = False
    """Whether so much was guessed from its address, or under its name, that the process may make it wait."""

    @property
    def is_certain(self) -> bool:
        return self.operation.outcome is Outcome.ANSWERED


Judged = list[tuple[Operation, Verdict]]
"""What an order came to, as far as it was gone along."""


def follow(model: Model, events: Sequence[Event], start: int, judged: Judged) -> tuple[int, Verdict | None]:
    """Go along the events in the witness's order; where it stops explaining them, and what it says there."""
    for place in range(start, len(events)):
        event = events[place]
        if not event.happened:
            continue
        verdict = apply(model, event)
        judged.append((event.operation, verdict))
        if event.is_certain and not explains(event.operation, verdict.answer):
            return place, verdict
    return len(events), None


def apply(model: Model, event: Event) -> Verdict:
    """What must be answered to an event, which happens to the model."""
    operation = event.operation
    call = operation.call._replace(waited_ms=event.waited_ms, unseen_ms=event.unseen_ms)
    if event.is_certain:
        assert operation.answer is not None
        if event.may_be_slowed:
            return Verdict(operation.answer, "whoever guesses is made to wait")
        return model.judge(call, event.now, operation.answer)
    given = Answer(kind=LEAST.get(call.verb, AnswerKind.DONE), code=event.code)
    verdict = model.judge(call, event.now, given)
    _forget_texts(model)
    return verdict


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


def explains(operation: Operation, expected: Answer) -> bool:
    """Whether the answer that was heard is the one expected, as far as it could be heard."""
    given, call = operation.answer, operation.call
    assert given is not None
    if call.verb is Verb.RECALL and given.kind is AnswerKind.OFFERED:
        return expected.kind is AnswerKind.OFFERED and expected.ask
    if call.verb is Verb.BATCH and given.kind is expected.kind is AnswerKind.REFUSED:
        # HTTP names the refusal that wins over the others, and the model names them all.
        return given.error in {refused.error for _, refused in several(call, expected)}
    if call.verb is Verb.REQUEST_TEXT_CODE and expected.error in _AFTER_THE_ANSWER and given.code is None:
        return True
    if call.face is Face.PAGE and given.kind is not AnswerKind.REFUSED:
        return given == _as_on_a_page(call, expected)
    return given == expected


def _as_on_a_page(call: Call, expected: Answer) -> Answer:
    """As much of an answer as a page says: none says whose record it was, and the page of somebody who was
    signed out, or of a session that is over, is the same whoever ended it."""
    if call.verb in (Verb.SIGN_OUT, Verb.END_SESSION) and expected.error in ("A1001", "A0404"):
        return Answer(kind=AnswerKind.DONE)
    if call.verb is Verb.END_OWN_SESSION and expected.error == "A0404":
        return Answer(kind=AnswerKind.DONE)
    if call.verb in (Verb.CHANGE_USER, Verb.ENABLE_USER, Verb.DISABLE_USER):
        return expected._replace(username=None)
    return expected
