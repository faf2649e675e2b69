"""`python -m fuzz prove`: formulas are the core's, every step keeps the invariant, and each mistake shows.

The proof has no bound: it is about any generation, any instants, any number of steps. What a mistake leads to
is searched for in few steps from the beginning, so that it can be read as a story.
"""

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import z3

from fuzz.proof.inductive import properties, unproved
from fuzz.proof.refresh_rule import Outcome, Presented, differences, outcome
from fuzz.proof.system import CHOSEN, Design, World, beginnings, constants, steps

_MOST_STEPS: Final = 10


class Mistake(NamedTuple):
    """A server that goes about it wrongly in one way."""

    name: str
    sentence: str
    design: Design


def _end_in_doubt(seen: Presented) -> Any:
    right = outcome(seen)
    return z3.If(right == Outcome.DOUBTED, z3.IntVal(Outcome.REPLAYED), right)


def _without_grace(seen: Presented) -> Any:
    return outcome(seen._replace(grace=-1))


MISTAKES: Final = (
    Mistake("unguarded", "a turn writes whatever was written since it read", Design(guards_revision=False)),
    Mistake("asynchronous", "an answer does not wait for the standby", Design(waits_for_standby=False)),
    Mistake("retry-unconfirmed", "a safe retry waits for no standby", Design(confirms_retries=False)),
    Mistake("retry-drawn-anew", "a safe retry draws another pair", Design(derives_retries=False)),
    Mistake("turn-outlives", "a turn goes on at the next primary", Design(drops_turns=False)),
    Mistake("judged-by-its-turn", "what a retry waits for costs its grace", Design(judges_by_arrival=False)),
    Mistake("doubt-ends", "a retry that may have come in time ends its session", Design(rule=_end_in_doubt)),
    Mistake("no-grace", "a retry is a replay", Design(rule=_without_grace)),
)


def run() -> int:
    """Compare the formulas with the core and prove the invariant; 0 where nothing is open."""
    began = time.monotonic()
    wrong = [*differences()]
    print(f"the formula of a refresh beside the core: {len(wrong)} differences")
    for has_thief, who in ((True, "with a thief"), (False, "with its client alone")):
        open_parts = [*unproved(Design(), has_thief=has_thief)]
        print(f"two instances and a failover, {who}: {len(open_parts)} parts not proved")
        wrong += open_parts
    print("\n".join([*wrong[:20], f"{time.monotonic() - began:.1f} s"]))
    return 1 if wrong else 0


def selftest(only: str) -> int:
    """Make each mistake; 0 where each breaks a property in a few steps."""
    chosen = [mistake for mistake in MISTAKES if only in mistake.name]
    survivors = 0
    for mistake in chosen:
        story = search(mistake.design)
        survivors += not story
        verdict = "caught  " if story else "SURVIVED"
        print(f"{verdict}  {mistake.name}: {mistake.sentence}", *story, sep="\n    ", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mistakes caught")
    return 1 if survivors or not chosen else 0


def search(design: Design) -> list[str]:
    """The shortest story in which a property does not hold; empty where so many steps show none."""
    for length in range(1, _MOST_STEPS + 1):
        for has_thief in (False, True):
            story = _search_at(design, length, has_thief=has_thief)
            if story:
                return story
    return []


def _search_at(design: Design, length: int, *, has_thief: bool) -> list[str]:
    worlds = [World.named(f"w{number}") for number in range(length + 1)]
    solver = z3.Solver()
    solver.add(constants(), beginnings(worlds[0]))
    taken = [z3.Int(f"step {number}") for number in range(length)]
    possible = [*steps(design, has_thief=has_thief).items()]
    for number, (world, following) in enumerate(pairwise(worlds)):
        moves = []
        for choice, (_, step) in enumerate(possible):
            may_be, after = step(world)
            moves.append(z3.And(taken[number] == choice, may_be, *_equal(after, following)))
        solver.add(_at(number, z3.Or(*moves)))
    held = properties(worlds[-1], has_thief=has_thief)
    solver.add(z3.Not(z3.And(*held.values())))
    if solver.check() != z3.sat:
        return []
    model = solver.model()
    broken = [name for name, formula in held.items() if z3.is_false(model.eval(formula, True))]
    return [*(possible[model[each].as_long()][0] for each in taken), f"broken: {', '.join(broken)}"]


def _equal(one: World, other: World) -> Iterator[Any]:
    return (mine == yours for (_, mine), (_, yours) in zip(one.flat(), other.flat(), strict=True))


def _at(number: int, formula: Any) -> Any:
    """The formula with what is chosen at this step under names of its own."""
    return z3.substitute(formula, *((each, z3.Const(f"{each} {number}", each.sort())) for each in CHOSEN))
