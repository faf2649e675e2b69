"""How far time goes before the next step: mostly nowhere, often to the edge of something."""

from collections.abc import Sequence
from random import Random
from typing import Final

EDGE_MS: Final = (-1, 0, 1)
"""Just inside, at, and just outside a limit."""

STEPS_MS: Final = (1, 999, 1_000, 5_000, 29_999, 30_000, 30_001, 299_999, 300_000, 300_001)


def advance(random: Random, at: int, limits: Sequence[int]) -> int:
    """The time of the next step; `limits` are the instants that matter to what it is about."""
    chance = random.random()
    if chance < 0.52:
        return at
    if chance < 0.64:
        return at + 1
    if chance < 0.78:
        return at + random.randrange(15_000)
    if chance < 0.83:
        return at + random.choice(STEPS_MS)
    coming = [limit for limit in limits if limit + 1 >= at]
    if not coming:
        return at
    # The nearest limit most of the time: the farthest is a maximum, and ends the story.
    limit = min(coming) if chance < 0.97 else random.choice(coming)
    return max(at, limit + random.choice(EDGE_MS))
