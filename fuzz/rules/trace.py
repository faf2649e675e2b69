"""A trace: the steps of one world as lines of JSON, for replay; and the committed traces.

The first line names the world, which determines clients, users, policy and entropy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from fuzz.rules.world import InvalidStart, World
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.initial_states import InitialState, Settings, draw_initial_state, fixed_initial_state
from fuzz.shared.invariants import Violation
from fuzz.shared.json_lines import read_lines, write_lines
from fuzz.shared.seeds import choices
from fuzz.shared.steps import Step, check_step

FIXED_WORLDS: Final = {
    "fixed": Settings(),
    "fixed-strict": Settings(code_replay_ends_session=True),
    "fixed-factor": Settings(second_factor_of="everybody"),
}
CORPUS: Final = Path(__file__).with_name("corpus")
"""Folder of traces that failed once, or that show cases which are easy to get wrong."""


class Header(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The first line of a trace."""

    world: Annotated[str, Meta(pattern=r"^(-?[0-9]+/[0-9]+|fixed|fixed-strict|fixed-factor)$")]
    """`SEED/NUMBER`, or one of the three fixed worlds."""
    about: str = ""
    shows: tuple[str, ...] = ()
    """Planted faults that the trace must show."""


class TraceLine(Step, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A step, and its outcome when it was run."""

    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of a trace, up to the first violation or to its end."""

    steps: tuple[Step, ...]
    outcomes: tuple[str, ...]
    violations: tuple[Violation, ...]

    def lines(self) -> list[str]:
        """Return the steps as text, each with the rule by which it is answered."""
        return [
            f"{' '.join(str(step).split()):<48} # {outcome.rpartition('  (')[2].removesuffix(')')}"
            for step, outcome in zip_longest(self.steps, self.outcomes, fillvalue="")
        ]


def initial_state_of(world: str) -> InitialState:
    """Return the initial state of the world with this name: `SEED/NUMBER`, or one of the fixed worlds."""
    if world in FIXED_WORLDS:
        return fixed_initial_state(FIXED_WORLDS[world])
    seed, _, number = world.partition("/")
    return draw_initial_state(choices(int(seed), int(number)))


def _turns_of(steps: Iterable[Step]) -> list[list[Step]]:
    """Group steps by turn; a step whose predecessor was deleted takes a turn of its own."""
    turns: list[list[Step]] = []
    for step in steps:
        if step.joined and turns and turns[-1][0].at == step.at:
            turns[-1].append(step)
        else:
            turns.append([step])
    return turns


def replay(world: str, steps: Sequence[Step]) -> Replay:
    """Run the steps in a fresh world of that name, then check everything."""
    try:
        life = World(world, initial_state_of(world))
    except InvalidStart as start:
        return Replay((), (), tuple(start.violations))
    run: list[Step] = []
    outcomes: list[str] = []
    for turn in _turns_of(steps):
        violations, answers = life.run(turn)
        run += turn
        outcomes += answers
        if violations:
            return Replay(tuple(run), tuple(outcomes), tuple(violations))
    violations = life.check_everything(steps[-1].at) or life.end(steps[-1].at) if steps else []
    return Replay(tuple(run), tuple(outcomes), tuple(violations))


def write(
    world: str, steps: Sequence[Step], outcomes: Sequence[str] = (), remarks: Iterable[str] = ()
) -> str:
    """Return the trace as text, with the outcome of each step."""
    lines = (
        TraceLine(**asdict(step), outcome=outcomes[place] if place < len(outcomes) else "")
        for place, step in enumerate(steps)
    )
    return write_lines(Header(world=world, about=" ".join(remarks)), lines)


def read(text: str) -> tuple[str, list[Step]]:
    """Return the world and the steps of a trace. Raises `ValueError` with the number of a wrong line.

    A trace without steps is that of a world that could not begin.
    """
    header, lines = read_lines(text, Header, TraceLine, check_step)
    fields = Step.__struct_fields__
    return header.world, [Step(**{name: getattr(line, name) for name in fields}) for line in lines]


def read_faults_to_show(path: Path) -> tuple[str, ...]:
    """Return the planted faults that a committed trace must show."""
    return msgspec.json.decode(path.read_text(encoding="utf-8").splitlines()[0], type=Header).shows


def violations_of(path: Path) -> tuple[Violation, ...]:
    """Return the violations when the trace in this file is run."""
    world, steps = read(path.read_text(encoding="utf-8"))
    with with_more_scopes():
        return replay(world, steps).violations
