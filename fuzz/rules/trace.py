"""A trace: the steps of one world as lines that a person reads and a replay reads back.

The first line names the world, which decides clients, people, policy and entropy; `#` begins a remark.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fuzz.rules.world import InvalidStart, World
from fuzz.shared.initial_states import InitialState, draw_initial_state, fixed_initial_state
from fuzz.shared.invariants import Violation
from fuzz.shared.seeds import choices
from fuzz.shared.steps import Step, after, read_lines

__all__ = ["FIXED", "FIXED_STRICT", "Replay", "initial_state_of", "read", "replay", "turns_of", "write"]

FIXED, FIXED_STRICT = "fixed", "fixed-strict"
_WORLD = re.compile(r"-?[0-9]+/[0-9]+|fixed|fixed-strict")


@dataclass(frozen=True, slots=True)
class Replay:
    """What a trace came to: up to the first violation, or to its end."""

    steps: tuple[Step, ...]
    told: tuple[str, ...]
    violations: tuple[Violation, ...]


def initial_state_of(world: str) -> InitialState:
    """What the world of this name begins with: `SEED/NUMBER`, `fixed` or `fixed-strict`."""
    if world in (FIXED, FIXED_STRICT):
        return fixed_initial_state(code_replay_ends_session=world == FIXED_STRICT)
    seed, _, number = world.partition("/")
    return draw_initial_state(choices(int(seed), int(number)))


def turns_of(steps: Iterable[Step]) -> list[list[Step]]:
    """The steps by turns; one whose predecessor is gone takes a turn of its own."""
    turns: list[list[Step]] = []
    for step in steps:
        if step.joined and turns and turns[-1][0].at == step.at:
            turns[-1].append(step)
        else:
            turns.append([step])
    return turns


def replay(world: str, steps: Sequence[Step]) -> Replay:
    """Run the steps in a fresh world of that name, then look at everything."""
    try:
        life = World(world, initial_state_of(world))
    except InvalidStart as invalid:
        return Replay((), (), tuple(invalid.violations))
    run: list[Step] = []
    told: list[str] = []
    for turn in turns_of(steps):
        violations, answers = life.run(turn)
        run += turn
        told += answers
        if violations:
            return Replay(tuple(run), tuple(told), tuple(violations))
    violations = life.whole(steps[-1].at) if steps else []
    return Replay(tuple(run), tuple(told), tuple(violations))


def write(world: str, steps: Sequence[Step], told: Sequence[str] = (), remarks: Iterable[str] = ()) -> str:
    """The trace as text, with what each step came to as a remark."""
    lines = [*(f"# {remark}" for remark in remarks), f"world {world}"]
    for place, step in enumerate(steps):
        line = str(step)
        lines.append(f"{line:<96}  # {told[place]}" if place < len(told) else line)
    return "\n".join(lines) + "\n"


def read(text: str) -> tuple[str, list[Step]]:
    """The world and the steps of a trace; raises `ValueError`, which names the line."""
    steps: list[Step] = []
    world = read_lines(
        text, _world, lambda said: steps.append(after(steps[-1] if steps else None, Step.parse(said)))
    )
    if world is None:
        raise ValueError("expected a line 'world SEED/NUMBER' (or 'world fixed') and steps, got nothing")
    # Without any step it is the story of a world that could not begin.
    return world, steps


def _world(line: str) -> str:
    word, _, name = line.partition(" ")
    if word != "world" or _WORLD.fullmatch(name.strip()) is None:
        raise ValueError(f"expected 'world SEED/NUMBER', 'world {FIXED}' or '{FIXED_STRICT}', got {line!r}")
    return name.strip()
