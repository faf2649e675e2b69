"""Generate the fates of an invitation: used, used again, too late, after a newer one, after an ending."""

from random import Random
from typing import Final

from msgspec.structs import replace

from fuzz.shared.calls import Verb
from fuzz.shared.steps import Step

_LIFE_MS: Final = 72 * 60 * 60 * 1_000


def steps_after_invitation(random: Random, step: Step) -> list[tuple[int, Step]]:
    """Return the steps after an invitation, the next one last, each with the wait before it."""
    used = Step(number=0, at=0, verb=Verb.ACCEPT_INVITATION, user=step.user)
    earlier = replace(used, change="earlier")
    ending = replace(step, verb=random.choice((Verb.RESET_PASSWORD, Verb.FORCE_OUT_USER, Verb.DISABLE_USER)))
    enabled = replace(step, verb=Verb.ENABLE_USER)
    ways = [[(0, used), (0, used)], [(_LIFE_MS - 1, used)], [(_LIFE_MS, used)]]
    ways += [[(0, step), (0, earlier), (0, used)], [(0, ending), (0, enabled), (0, used)]]
    return random.choice(ways)[::-1]
