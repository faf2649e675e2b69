"""Restate the specification from its text, as simply as possible, and share nothing with the core.

The model judges every answer: for a call and its time it returns the required answer, with the sentence of
the specification that requires it, and changes its own small world accordingly. It is deliberately built
differently from the core: tokens are plain text, an ending visits every session and marks it, and there are
no epochs, digests or revisions. It takes only one thing from an answer: the text of a token it has not seen
before.
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
from fuzz.model.records import Refusal, User, Verdict, is_recorded, refuse
from fuzz.shared.calls import ADMINISTRATION, Answer, AnswerKind, Call, Verb, moves_roles
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
"""Rule of each verb: the function with the verb's name."""

RECORDED_WHEN_REFUSED: Final = ADMINISTRATION | {Verb.SHOW_ACCOUNT}
"""Verbs whose refusal is recorded in the audit trail if the caller is an administrator."""


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
        """Return the required answer to `call` at `now`; `given` supplies the texts of new tokens."""
        self.realm.expire(now)
        by = find_administrator(self.realm, call, now) if call.verb in RECORDED_WHEN_REFUSED else None
        if call.verb is Verb.BATCH:
            verdict, recorded = self._judge_batch(call, now, given)
        else:
            verdict = _apply(self.realm, call, now, given)
            recorded = is_recorded(verdict)
        return verdict if by is None or not recorded else verdict._replace(recorded_for=by.user_id)

    def _judge_batch(self, call: Call, now: int, given: Answer) -> tuple[Verdict, bool]:
        """Judge a batch, which is done whole or not at all.

        Each part sees the changes of the parts before it. The parts are tried in a copy of the realm first,
        and a batch with a refused part changes nothing. Permissions are judged by the state before the batch;
        that a super administrator remains, by the state after it (READINGS 51). The second value is whether
        the audit trail records the refusal.
        """
        began = deepcopy(self.realm)
        rehearsed = deepcopy(self.realm)
        rehearsed.before_batch = began
        faults, takers, recorded = [], [], False
        imported: set[str | None] = set()
        for place, part in enumerate(call.parts):
            able = len(administration.find_able_administrators(rehearsed))
            verdict_of_part = _apply(rehearsed, part, now, Answer(AnswerKind.DONE, sub=f"new {place}"))
            recorded |= is_recorded(verdict_of_part)
            if part.verb is Verb.IMPORT_USER and part.replaces:
                if part.username in imported and verdict_of_part.answer.kind is not AnswerKind.REFUSED:
                    verdict_of_part = refuse("A0401", "an import names each user once", "username")
                imported.add(part.username)
            if verdict_of_part.answer.kind is AnswerKind.REFUSED:
                faults.append(f"{place}:{verdict_of_part.answer.error}")
            if len(administration.find_able_administrators(rehearsed)) < able:
                takers.append(f"{place}:B1001")
        if not administration.find_able_administrators(rehearsed):
            faults, recorded = faults or takers, recorded or not faults
        if faults:
            return refuse(",".join(faults), "a batch that is refused in part is refused as a whole"), recorded
        unknown = (Answer(AnswerKind.DONE),) * len(call.parts)
        parts = zip(call.parts, given.parts if given.kind is AnswerKind.BATCH else unknown, strict=True)
        users = self.realm.users.values()
        held = [user.roles for user in users]
        self.realm.before_batch = began
        answers = tuple(_apply(self.realm, part, now, one).answer for part, one in parts)
        self.realm.before_batch = None
        done = Answer(AnswerKind.BATCH, parts=answers)
        if moves_roles(call):
            moved = sum(user.roles != before for user, before in zip(users, held, strict=True))
            done = done._replace(noted=(moved,))
        return Verdict(done, "a batch is done whole"), False
