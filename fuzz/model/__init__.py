"""The specification said again, from its text, as simply as it can be said; it shares nothing with the core.

It judges every answer: given a call and the time it says what must be answered, under the sentence of the
specification that makes it so, and changes its own small world accordingly. It is written the other way
round wherever it could be: tokens are plain text, an ending walks over everything and marks it, nothing
has an epoch, a digest or a revision. The only thing it takes from an answer is the text of a token it has
never seen before.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Final

from fuzz.model import (
    accounts,
    administration,
    clients,
    consent_page,
    invitations,
    roles,
    second_factors,
    telephones,
    token_service,
)
from fuzz.model.permissions import find_administrator
from fuzz.model.realm import Realm
from fuzz.model.records import Refusal, User, Verdict, is_told, refuse
from fuzz.shared.calls import ADMINISTRATION, Answer, AnswerKind, Call, Verb
from fuzz.shared.initial_states import Settings

__all__ = ["Model", "Realm", "User", "Verdict"]

Rule = Callable[[Realm, Call, int, Answer], Verdict]


_ROOMS = (
    *(accounts, administration, clients, consent_page, invitations, roles),
    *(second_factors, telephones, token_service),
)
RULES: Final[Mapping[Verb, Rule]] = {
    verb: getattr(room, verb.name.lower())
    for verb in Verb
    for room in _ROOMS
    if hasattr(room, verb.name.lower())
}
"""The rule of each verb is the function that bears its name."""

TOLD_WHEN_REFUSED: Final = ADMINISTRATION | {Verb.SHOW_ACCOUNT}
"""What the trail is told of where an administrator is refused it."""


def _apply(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    try:
        return RULES[call.verb](realm, call, now, given)
    except Refusal as refusal:
        return refusal.verdict


class Model:
    """A world that behaves as the specification says."""

    def __init__(self, settings: Settings) -> None:
        self.realm = Realm(settings)

    def judge(self, call: Call, now: int, given: Answer) -> Verdict:
        """What must be answered to `call` at `now`; `given` shows the texts of what is new in it."""
        self.realm.expire(now)
        by = find_administrator(self.realm, call, now) if call.verb in TOLD_WHEN_REFUSED else None
        if call.verb is Verb.BATCH:
            verdict, told = self._judge_batch(call, now, given)
        else:
            verdict = _apply(self.realm, call, now, given)
            told = is_told(verdict)
        return verdict if by is None or not told else verdict._replace(told_of=by.user_id)

    def _judge_batch(self, call: Call, now: int, given: Answer) -> tuple[Verdict, bool]:
        """Done whole or not at all: each part sees what those before it changed, and a part that is refused
        changes nothing. What refuses it is found out in a realm that is then forgotten. Who may do what is
        judged by how it began, and that somebody may do everything by how it ends (READINGS 51). Also says
        whether the trail is told of a refusal."""
        began = deepcopy(self.realm)
        rehearsed = deepcopy(self.realm)
        rehearsed.before_batch = began
        faults, takers, told = [], [], False
        imported: set[str | None] = set()
        for place, part in enumerate(call.parts):
            able = len(administration.able_administrators(rehearsed))
            said = _apply(rehearsed, part, now, Answer(kind=AnswerKind.DONE, sub=f"new {place}"))
            told |= is_told(said)
            if part.verb is Verb.IMPORT_USER and part.replaces:
                if part.username in imported and said.answer.kind is not AnswerKind.REFUSED:
                    said = refuse("A0401", "an import names nobody twice", "username")
                imported.add(part.username)
            if said.answer.kind is AnswerKind.REFUSED:
                faults.append(f"{place}:{said.answer.error}")
            if len(administration.able_administrators(rehearsed)) < able:
                takers.append(f"{place}:B1001")
        if not administration.able_administrators(rehearsed):
            faults, told = faults or takers, told or not faults
        if faults:
            return refuse(",".join(faults), "a batch that is refused in part is refused as a whole"), told
        shown = (
            given.parts
            if given.kind is AnswerKind.BATCH
            else (Answer(kind=AnswerKind.DONE),) * len(call.parts)
        )
        parts = zip(call.parts, shown, strict=True)
        self.realm.before_batch = began
        answers = tuple(_apply(self.realm, part, now, one).answer for part, one in parts)
        self.realm.before_batch = None
        return Verdict(Answer(kind=AnswerKind.BATCH, parts=answers), "a batch is done whole"), False
