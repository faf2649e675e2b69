"""Generate grants of power over others, around the limit of how long a proof of identity counts."""

from random import Random
from typing import Final

from msgspec.structs import replace

from fuzz.shared.calls import Verb
from fuzz.shared.steps import Kind, Ref, Step, Twist
from fuzz.workload.picks import Picks

_WINDOW_MS: Final = 900_000
_WAITS_MS: Final = (_WINDOW_MS - 1, _WINDOW_MS, _WINDOW_MS, _WINDOW_MS + 1)


class Proofs:
    """The users in one world who give power to others."""

    def __init__(self, random: Random, picks: Picks) -> None:
        self.random = random
        self.picks = picks

    def steps_after_sign_in(self, step: Step) -> list[tuple[int, Step]]:
        """Return steps after a sign-in that give power at the proof's age limit, the last one first.

        In between come a new proof, wrong ones, a refresh as a thief would do it, or a token.
        """
        random, user = self.random, self.picks.history.names.get(step.user or "")
        if user is None:
            return []
        before = self._appointment(user.username)
        number = step.number
        if user.factor is not None:
            number += 1
            ticket = Ref(Kind.TICKET, step.number)
            entered = Step(number=0, at=0, verb=Verb.ENTER_FACTOR, user=step.user, token=ticket, change="now")
            before = [(0, entered), *before]
        by = Ref(Kind.ACCESS, number)
        act, other = (self._act(by, user.username) for _ in range(2))
        proof = Step(number=0, at=0, verb=Verb.PROVE, by=by, user=step.user, change="now")
        own = Ref(Kind.REFRESH, number)
        refreshed = Step(number=0, at=0, verb=Verb.REFRESH_LOGIN, token=own, agent=step.agent)
        wrong = replace(proof, twist=random.choice((Twist.WRONG_CODE, Twist.WRONG_PASSWORD)))
        wait = random.choice(_WAITS_MS)
        ways: list[list[tuple[int, Step]]] = [
            [(wait, act), (0, other)],
            [(_WINDOW_MS, proof), (0, act), (wait, other)],
            [(_WINDOW_MS, replace(proof, change="recovery")), (0, act)],
            [(_WINDOW_MS - 30_000, refreshed), (30_000, act), (0, other)],
            [(_WINDOW_MS, wrong), (0, act)],
            [(0, wrong)] * 4 + [(0, replace(wrong, twist=Twist.WRONG_CODE)), (_WINDOW_MS, act)],
        ]
        made = Step(number=0, at=0, verb=Verb.CREATE_TOKEN, by=by, change=random.choice(("people", "roles")))
        token = Ref(Kind.ACCESS, step.number + len(before) + 1)
        by_token = [(0, self._act(token, user.username)) for _ in range(3)]
        ways += [[(0, made), *by_token]] * 3
        return [*before, *random.choice(ways), (0, self._dismissal(user.username))][::-1]

    def _appointment(self, name: str) -> list[tuple[int, Step]]:
        self.role = self.picks.role()
        role = Step(number=0, at=0, verb=Verb.REGISTER_ROLE, role=self.role, change="helpdesk")
        promoted = Step(number=0, at=0, verb=Verb.CHANGE_USER, user=name, change="promoted")
        return [(0, role), (0, replace(role, verb=Verb.CHANGE_ROLE)), (0, promoted)]

    def _dismissal(self, name: str) -> Step:
        return Step(number=0, at=0, verb=Verb.CHANGE_USER, user=name, change="no-role")

    def _act(self, by: Ref, name: str) -> Step:
        """Return an action that gives its caller power over another user."""
        random = self.random
        others = [one for one in self.picks.history.names if one != name] or [name]
        step = Step(number=0, at=0, verb=Verb.CHANGE_USER, by=by, user=random.choice(others))
        acts = [
            replace(step, change="new-phone"),
            replace(step, change="another-role", role=self.role),
            replace(step, verb=Verb.RESET_PASSWORD),
            replace(step, verb=Verb.REGISTER_USER, user=f"helper-{by.number}", role=self.role),
            replace(step, verb=Verb.CHANGE_ROLE, user=None, role=self.role, change="nothing"),
            replace(step, verb=Verb.CREATE_TOKEN, user=name, change="people"),
        ]
        with_factor = [one for one in others if self.picks.history.names[one].factor is not None]
        if with_factor:
            acts += [replace(step, verb=Verb.RESET_FACTOR, user=random.choice(with_factor))] * 2
        return random.choice(acts)
