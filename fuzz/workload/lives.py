"""Generate whole lives of sessions: a code, its tokens, retries and replays around every limit, an end."""

from random import Random
from typing import Final

from msgspec.structs import replace

from fuzz.shared.calls import Verb
from fuzz.shared.history import History
from fuzz.shared.initial_states import CODE, REFRESH
from fuzz.shared.steps import Kind, Ref, Step
from fuzz.workload.picks import Picks
from fuzz.workload.weights import AGENTS

Script = list[tuple[int, Step]]
"""Steps, the next one last, each with its wait in milliseconds."""

_RETRIES_MS: Final = ((0,), (1_000, 29_000), (29_000,), (30_000,), (20_000, 10_000), ())
"""Milliseconds between the repetitions of a spent token, inside the grace."""
_ACCESS_LIFETIMES_MS: Final = (0, 0, 1_000, 299_999, 1_800_000)


class Lives:
    """The lives of one world's sessions."""

    def __init__(self, random: Random, picks: Picks, history: History) -> None:
        self.random = random
        self.picks = picks
        self.history = history

    def begin(self, number: int) -> Script:
        """Return a life whose first step has this number; the steps have the numbers that follow."""
        random = self.random
        every = self.history.initial_state.clients.items()
        clients = [name for name, settings in every if {CODE, REFRESH} <= set(settings.grants)]
        if not clients:
            return []
        script: list[tuple[int, Step]] = []

        def add(wait_ms: int, step: Step) -> int:
            script.append((wait_ms, step))
            return number + len(script) - 1

        client, agent = random.choice(clients), random.choice(AGENTS)
        at_once = Step(number=0, at=0, verb=Verb.SIGN_IN, client=client, agent=agent)
        user = self.picks.person()
        signed_in = add(0, replace(at_once, client=None, user=user))
        approval = replace(at_once, verb=Verb.APPROVE, user=user, by=Ref(Kind.ACCESS, signed_in), agent=None)
        approved = add(0, approval)
        redemption = replace(at_once, verb=Verb.REDEEM, token=Ref(Kind.CODE, approved))
        redeemed = add(random.choice((0, 0, 0, 0, 0, 0, 299_999, 300_000)), redemption)
        refresh = replace(at_once, verb=Verb.REFRESH, token=Ref(Kind.REFRESH, redeemed))
        spent = replace(refresh, token=Ref(Kind.REFRESH, redeemed, 1))
        for _ in range(random.choice((1, 2, 2, 3))):
            add(random.choice(_ACCESS_LIFETIMES_MS), refresh)
            for wait_ms in random.choice(_RETRIES_MS):
                add(wait_ms, spent)
        ending = self._ending(redemption, refresh, spent)
        if ending is not None:
            add(*ending)
            add(0, replace(refresh, verb=random.choice((Verb.INTROSPECT, Verb.REFRESH)), agent=agent))
        return script[::-1]

    def _ending(self, redemption: Step, refresh: Step, spent: Step) -> tuple[int, Step] | None:
        """Return a step that may end the session, with its wait; None for a life that goes on."""
        older = replace(spent, token=Ref(Kind.REFRESH, spent.token.number if spent.token else 0, 2))
        ways = [(30_001, spent), (0, replace(spent, agent="another")), (1_000, older), (0, redemption)]
        ways += [(0, replace(refresh, verb=Verb.REVOKE)), (0, replace(spent, verb=Verb.REVOKE))]
        return self.random.choice([*ways, (0, replace(refresh, scope="user.root")), None, None])
