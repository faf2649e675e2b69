"""What must hold of the system, and an invariant that shows why: Z3 proves that every step keeps it.

The properties are those of `fuzz.shared.invariants` that one session over two instances can show. The rest of
the invariant says what ties the databases, the turns and the answers together; without it the properties hold
and yet no single step shows it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import z3

from fuzz.proof.system import (
    DECIDED,
    END,
    IDLE,
    NONE,
    REPEAT,
    ROTATE,
    WATCHED,
    WRITTEN,
    Design,
    Stored,
    Turn,
    World,
    beginnings,
    constants,
    steps,
)
from fuzz.shared.invariants import ACKNOWLEDGED_STAYS, ENDED_STAYS_ENDED, SAME_PAIR, SPENT_IS_DEAD


def properties(world: World, *, has_thief: bool) -> Mapping[str, Any]:
    """What must hold, by name. Whose client alone asks has a session that no retry ends (READINGS 46)."""
    if not has_thief:
        return {SAME_PAIR.name: z3.Not(z3.Or(world.primary.has_ended, world.standby.has_ended))}
    answered = world.answered != NONE
    return {
        SAME_PAIR.name: z3.Not(world.has_clash),
        SPENT_IS_DEAD.name: z3.Implies(answered, world.primary.generation > WATCHED),
        ACKNOWLEDGED_STAYS.name: z3.Implies(answered, world.primary.drawn == world.answered),
        ENDED_STAYS_ENDED.name: z3.Implies(world.ending_answered, world.primary.has_ended),
    }


def invariant(world: World, *, has_thief: bool) -> Mapping[str, Any]:
    """What every step keeps, by name, the properties among it."""
    primary, standby = world.primary, world.standby
    turns = {"first": world.first, "second": world.second}
    return {
        **properties(world, has_thief=has_thief),
        "each database is sound": z3.And(_is_sound(primary, world), _is_sound(standby, world)),
        "the primary goes on from the standby": _goes_on(standby, primary),
        "what was answered is on the standby": z3.And(
            z3.Implies(world.answered != NONE, standby.drawn == world.answered),
            z3.Implies(world.ending_answered, standby.has_ended),
        ),
        **{f"the {name} turn is right": _is_right(turn, world, has_thief) for name, turn in turns.items()},
        **({} if has_thief else {"the client is one generation behind at most": _is_near(world)}),
    }


def _is_sound(stored: Stored, world: World) -> Any:
    return z3.And(
        stored.generation >= 0,
        (stored.generation > WATCHED) == (stored.drawn != NONE),
        z3.Implies(stored.generation == WATCHED + 1, stored.salt == stored.drawn),
        stored.drawn >= NONE,
        stored.drawn < world.next_draw,
    )


def _goes_on(earlier: Stored, later: Stored) -> Any:
    return z3.And(
        earlier.writes <= later.writes,
        earlier.revision <= later.revision,
        earlier.generation <= later.generation,
        z3.Implies(earlier.has_ended, later.has_ended),
        z3.Implies(earlier.drawn != NONE, earlier.drawn == later.drawn),
        z3.Implies(
            earlier.writes == later.writes,
            z3.And(earlier.generation == later.generation, earlier.has_ended == later.has_ended),
        ),
        z3.Implies(
            earlier.revision == later.revision,
            z3.And(earlier.generation == later.generation, earlier.has_ended == later.has_ended),
        ),
    )


def _is_right(turn: Turn, world: World, has_thief: bool) -> Any:
    """A turn that decided knows its session, unless that moved on; one that has written is in the log."""
    primary, standby = world.primary, world.standby
    is_current = turn.revision == primary.revision
    of_watched = turn.spent == WATCHED
    decided = z3.And(
        turn.revision <= primary.revision,
        z3.Implies(z3.And(turn.kind == ROTATE, is_current), turn.spent == primary.generation),
        z3.Implies(turn.kind == ROTATE, z3.And(turn.salt >= 0, turn.salt < world.next_draw, turn.spent >= 0)),
        z3.Implies(turn.kind == REPEAT, primary.generation > turn.spent),
        z3.Implies(z3.And(turn.kind == REPEAT, of_watched), primary.drawn == turn.salt),
        z3.BoolVal(True) if has_thief else z3.And(turn.kind != END, turn.spent <= world.held),
    )

    def has_it(stored: Stored) -> Any:
        return z3.And(
            z3.Implies(turn.kind == END, stored.has_ended),
            z3.Implies(turn.kind != END, stored.generation > turn.spent),
            z3.Implies(z3.And(turn.kind != END, of_watched), stored.drawn == turn.salt),
        )

    written = z3.And(
        turn.writes <= primary.writes,
        has_it(primary),
        z3.Implies(standby.writes >= turn.writes, has_it(standby)),
        z3.BoolVal(True) if has_thief else turn.kind != END,
    )
    return z3.And(
        turn.phase >= IDLE,
        turn.phase <= WRITTEN,
        z3.Or(*(turn.kind == kind for kind in (ROTATE, REPEAT, END))),
        z3.Implies(turn.phase == DECIDED, decided),
        z3.Implies(turn.phase == WRITTEN, written),
    )


def _is_near(world: World) -> Any:
    return z3.And(
        world.held >= 0,
        world.held <= world.standby.generation,
        world.primary.generation <= world.held + 1,
    )


def unproved(design: Design, *, has_thief: bool) -> Iterator[str]:
    """The parts of the invariant that Z3 cannot show to hold at the beginning or after a step."""
    world = World.named("w")
    assumed = invariant(world, has_thief=has_thief)
    for name, part in assumed.items():
        if not _is_valid(z3.Implies(z3.And(constants(), beginnings(world)), part)):
            yield f"at the beginning: {name}"
    for step_name, step in steps(design, has_thief=has_thief).items():
        may_be, after = step(world)
        before = z3.And(constants(), *assumed.values(), may_be)
        for name, part in invariant(after, has_thief=has_thief).items():
            if not _is_valid(z3.Implies(before, part)):
                yield f"after {step_name}: {name}"


def _is_valid(formula: Any) -> bool:
    solver = z3.Solver()
    solver.add(z3.Not(formula))
    return bool(solver.check() == z3.unsat)
