"""Time before the next step: mostly none, often up to the edge of a limit."""

from collections.abc import Sequence
from random import Random
from typing import Final

EDGE_MS: Final = (-1, 0, 1)
"""Milliseconds from a limit: just inside, at, and just outside it."""

STEPS_MS: Final = (1, 999, 1_000, 5_000, 29_999, 30_000, 30_001, 299_999, 300_000, 300_001)


def advance(random: Random, at: int, limits: Sequence[int]) -> int:
    """Return the time of the next step; `limits` are the instants that matter to its subject."""
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
    # Mostly the nearest limit: the farthest is a maximum and ends the session.
    limit = min(coming) if chance < 0.97 else random.choice(coming)
    return max(at, limit + random.choice(EDGE_MS))
