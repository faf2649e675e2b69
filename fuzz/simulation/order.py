"""Follow one order of operations along the model, as far as it explains the received answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fuzz.model import Model, Verdict
from fuzz.shared.calls import Answer, AnswerKind, Call, Face, Verb, moves_roles, split_batch
from fuzz.simulation.operations import Operation, Outcome

LEAST: Final = {
    **dict.fromkeys((Verb.REDEEM, Verb.REFRESH, Verb.CLIENT_CREDENTIALS), AnswerKind.TOKENS),
    **dict.fromkeys((Verb.SIGN_IN, Verb.ENTER_FACTOR, Verb.REFRESH_LOGIN), AnswerKind.LOGIN),
    **dict.fromkeys((Verb.APPROVE, Verb.RECALL), AnswerKind.CODE),
    **dict.fromkeys((Verb.REGISTER_CLIENT, Verb.RESET_SECRET), AnswerKind.SECRET),
}


_CHANGED_MEANWHILE: Final = "A0409"
BEFORE_THE_BATCH: Final = ("A0401", "A0404")
"""Refusals of a batch that moves roles before any part is judged: a role or a user is unknown."""

_AFTER_THE_ANSWER: Final = ("A0429", "A1001")
"""Refusals of a text code that come after its answer.

Of several requests at once all are answered, and a caller may be signed out before the code is made; then
none is made.
"""


@dataclass(frozen=True, slots=True)
class Event:
    """An operation with its place in the witness's order."""

    operation: Operation
    at: float
    now: int
    happened: bool
    waited_ms: int = 0
    """Milliseconds that it had waited inside the server when it was decided."""
    unseen_ms: int = 0
    """Milliseconds before that in which the process stood still."""
    code: str | None = None
    """Code in the text message that it caused."""
    may_be_slowed: bool = False
    """Whether its address or name had so many wrong guesses that the process may make it wait."""

    @property
    def is_certain(self) -> bool:
        return self.operation.outcome is Outcome.ANSWERED


Judged = list[tuple[Operation, Verdict]]
"""Operations of an order with their verdicts, as far as it was followed."""


def follow(model: Model, events: Sequence[Event], start: int, judged: Judged) -> tuple[int, Verdict | None]:
    """Follow the events in their order; return the first unexplained event's index and its verdict."""
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
    """Apply an event to the model and return the required answer."""
    operation = event.operation
    call = operation.call._replace(waited_ms=event.waited_ms, unseen_ms=event.unseen_ms)
    if event.is_certain:
        assert operation.answer is not None
        if event.may_be_slowed:
            return Verdict(operation.answer, "a caller who guesses must wait")
        if moves_roles(call) and operation.answer.error == _CHANGED_MEANWHILE:
            return Verdict(operation.answer, "another administrator changed the roles meanwhile: they stay")
        return model.judge(call, event.now, operation.answer)
    verdict = model.judge(call, event.now, Answer(LEAST.get(call.verb, AnswerKind.DONE), code=event.code))
    _forget_texts(model)
    return verdict


def _forget_texts(model: Model) -> None:
    """Forget the texts of an answer that no caller received: a later answer may show them first."""
    for session in model.realm.sessions:
        pair = session.pairs[-1]
        if pair.access is not None and pair.access.startswith("("):
            model.realm.tokens.pop(pair.access, None)
            pair.access = None
        if pair.refresh is not None and pair.refresh.startswith("("):
            model.realm.tokens.pop(pair.refresh, None)
            pair.refresh = None


def explains(operation: Operation, expected: Answer) -> bool:
    """Whether the received answer is the expected one, as far as it shows."""
    given, call = operation.answer, operation.call
    assert given is not None
    if call.verb is Verb.RECALL and given.kind is AnswerKind.OFFERED:
        return expected.kind is AnswerKind.OFFERED and expected.ask
    if call.verb is Verb.BATCH and given.kind is expected.kind is AnswerKind.REFUSED:
        # HTTP names only the first refusal; the model names all.
        named = {refused.error for _, refused in split_batch(call, expected)}
        return given.error in named or (moves_roles(call) and given.error in BEFORE_THE_BATCH)
    if call.verb is Verb.REQUEST_TEXT_CODE and expected.error in _AFTER_THE_ANSWER and given.code is None:
        return True
    if call.face is Face.PAGE and given.kind is not AnswerKind.REFUSED:
        return given == _as_on_a_page(call, expected)
    return given == expected


def _as_on_a_page(call: Call, expected: Answer) -> Answer:
    """Return as much of an answer as a page shows.

    A page shows no owner of a record. A user who was signed out and a session that is over get the same page,
    whatever ended them.
    """
    if call.verb in (Verb.SIGN_OUT, Verb.END_SESSION) and expected.error in ("A1001", "A0404"):
        return Answer(AnswerKind.DONE)
    if call.verb is Verb.END_OWN_SESSION and expected.error == "A0404":
        return Answer(AnswerKind.DONE)
    if call.verb in (Verb.CHANGE_USER, Verb.ENABLE_USER, Verb.DISABLE_USER):
        return expected._replace(username=None)
    return expected
