"""The shortest history that still fails: deletes steps from a trace, then the time between them."""

from collections.abc import Callable, Sequence
from typing import Final

from fuzz.rules.trace import Replay, replay
from fuzz.shared.steps import Step

__all__ = ["shrink"]

MOST_REPLAYS: Final = 600
"""A bound, so that a failure is reported in seconds even where it shrinks badly."""


def shrink(world: str, steps: Sequence[Step], numbers: frozenset[int]) -> Replay:
    """The trace cut down as far as it goes while it still violates one of the invariants `numbers`."""
    left = MOST_REPLAYS
    best = replay(world, steps)

    def attempt(candidate: Sequence[Step]) -> bool:
        nonlocal left, best
        if left <= 0 or not candidate:
            return False
        left -= 1
        tried = replay(world, candidate)
        if numbers.isdisjoint(violation.invariant.number for violation in tried.violations):
            return False
        best = tried
        return True

    if numbers.isdisjoint(violation.invariant.number for violation in best.violations):
        return best
    while _delete(lambda: best.steps, attempt) or _simplify(lambda: best.steps, attempt):
        pass
    return best


Current = Callable[[], Sequence[Step]]
Attempt = Callable[[Sequence[Step]], bool]


def _delete(current: Current, attempt: Attempt) -> bool:
    """Delete runs of steps, long ones first, from the end to the beginning."""
    shorter = False
    length = max(1, len(current()) // 2)
    while length:
        end = len(current())
        while end > 0:
            start = max(0, end - length)
            if attempt([*current()[:start], *current()[end:]]):
                shorter = True
            end = min(start, len(current()))
        length //= 2
    return shorter


def _simplify(current: Current, attempt: Attempt) -> bool:
    """Take out crashes, restarts, company and waiting."""
    simpler = False
    for place in range(len(current())):
        if place >= len(current()):
            break
        steps = list(current())
        step = steps[place]
        for plainer in ({"crash": False, "restart": False, "joined": False}, {"waited": 0, "unseen": 0}):
            plain = step._replace(**plainer)
            if plain != step and attempt([*steps[:place], plain, *steps[place + 1 :]]):
                simpler = True
                steps = list(current())
                step = plain
        if place >= len(steps):
            break
        waited = steps[place].at - (steps[place - 1].at if place else 0)
        for less in (waited, waited // 1_000 * 1_000):
            if less and attempt([*steps[:place], *(one._replace(at=one.at - less) for one in steps[place:])]):
                simpler = True
                break
    return simpler
