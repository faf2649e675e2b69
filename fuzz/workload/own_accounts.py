"""Throws what people do with their own account, and with the codes that are sent to their telephones."""

from random import Random
from typing import Final

from msgspec.structs import replace

from fuzz.shared.calls import Verb
from fuzz.shared.initial_states import CHOICES, NUMBERS, PERMISSIONS
from fuzz.shared.steps import Kind, Ref, Step, Twist
from fuzz.workload.picks import Picks

_PAUSES_MS: Final = (0, 0, 0, 59_999, 60_000, 599_999, 600_000)
"""How long somebody waits with the code that they were sent."""


class OwnAccounts:
    """Everybody's own account in one world."""

    def __init__(self, random: Random, picks: Picks) -> None:
        self.random = random
        self.picks = picks

    def step(self, step: Step) -> Step:
        """What there is to do with a verb of people who are signed in, or of those who cannot sign in."""
        random = self.random
        match step.verb:
            case Verb.CHOOSE:
                return replace(step, change=random.choice(tuple(CHOICES)))
            case Verb.SHOW_ACCOUNT:
                asked = random.choice((None, *PERMISSIONS))
                login = self.picks.session(self.picks.history.logins)
                own = None if login is None else Ref(Kind.ACCESS, login.number)
                return replace(step, change=asked, by=random.choice((own, self.picks.administrator())))
            case Verb.END_OWN_SESSION:
                history = self.picks.history
                session = self.picks.session(random.choice((history.logins, history.grants)))
                return replace(step, token=None if session is None else Ref(Kind.ACCESS, session.number))
            case Verb.CREATE_ADMINISTRATOR:
                return replace(step, user=random.choice((self.picks.person(), "another root", "root")))
            case _:
                numbers = [*NUMBERS, "theirs", "theirs"]
                if step.verb is Verb.REQUEST_TEXT_CODE and step.by is not None:
                    numbers.remove("malformed")  # found out before anybody asks who they are
                return replace(step, user=self._reachable(), change=random.choice(numbers))

    def _reachable(self) -> str:
        reachable = [name for name, user in self.picks.history.names.items() if user.phone is not None]
        return self.random.choice(reachable or [self.picks.person()])

    def entries(self, step: Step) -> list[tuple[int, Step]]:
        """What somebody does who asked for a code: enter it, sooner or later, or wrongly again and again; or
        ask for another one, and for far too many."""
        random = self.random
        is_own = step.by is not None
        entry = replace(step, verb=Verb.ENTER_PHONE_CODE if is_own else Verb.ENTER_RECOVERY_CODE)
        wrong, wait = replace(entry, twist=Twist.WRONG_CODE), random.choice(_PAUSES_MS)
        ways: list[list[tuple[int, Step]]] = [
            [(0, entry), (wait, entry)],
            [(0, entry), *[(0, wrong)] * random.choice((1, 4, 5))],
            [(wait, replace(entry, twist=Twist.WRONG_PASSWORD))],
            [(0, entry), (random.choice((59_999, 60_000)), step)],
            [(0, entry), (0, self._interference(step))],
        ]
        if random.random() < 0.05:
            return [(random.choice((86_399_999, 86_400_000)), step)]
        if random.random() < 0.15:
            return [(60_000, step)] * random.choice((9, 10, 11))
        return random.choice((*ways[:2], *ways))

    def _interference(self, step: Step) -> Step:
        """What an administrator does meanwhile: give the number to somebody else, or disable the account."""
        done = Step(number=0, at=0, verb=Verb.DISABLE_USER, user=step.user)
        if step.by is None:
            return done
        login = self.picks.history.sessions.get(step.by.number)
        own = None if login is None else login.user_id
        others = [name for name, user in self.picks.history.names.items() if user.user_id != own]
        return replace(
            done, verb=Verb.CHANGE_USER, user=self.random.choice(others or ["nobody"]), change="awaited-phone"
        )
