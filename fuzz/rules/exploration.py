"""Explores every state that a few steps can lead to: a bounded model checker over the pure core.

Two clients alike, one user who is signed in, one session that runs; every event of `exploration_steps` at
every state, and every instant worth waiting for as a step of its own. Breadth first, so that the first
counterexample is also the shortest. States of one canonical form are one. Every step is judged by the model
and the invariants as in the campaigns, and every new state is looked at as a whole.
"""

import pickle
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from fuzz.model import Model
from fuzz.rules.canonical_form import canonical_form
from fuzz.rules.coverage import Coverage, states
from fuzz.rules.exploration_steps import events, instants
from fuzz.rules.trace import FIXED, FIXED_STRICT, initial_state_of, write
from fuzz.rules.world import InvalidStart, World
from fuzz.shared.calls import Verb
from fuzz.shared.campaign import Report, command, conduct, failure_file
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.initial_states import BEGINNING_OF_TIME_MS, PEOPLE
from fuzz.shared.invariants import OF_THE_RULES, Violation
from fuzz.shared.meaning import call_of
from fuzz.shared.state_tables import STATE_TABLES
from fuzz.shared.steps import Kind, Ref, Step

OPENING: Final = (
    Step(number=1, at=0, verb=Verb.SIGN_IN, user=PEOPLE[0], agent="phone"),
    Step(number=2, at=0, verb=Verb.APPROVE, client="app", by=Ref(Kind.ACCESS, 1)),
    Step(number=3, at=0, verb=Verb.REDEEM, client="app", token=Ref(Kind.CODE, 2), agent="phone"),
)
"""The user signs in and approves, and the first client redeems its code; exploration begins there."""

STRICT_DEPTH: Final = 2
"""The world in which a used code ends its session differs in nothing else, and is explored only so far."""


DEPTH_OF_ALL_ROWS: Final = 3
"""So far from the opening, every row of both state tables lies."""


@dataclass(slots=True)
class Exploration:
    """What was seen."""

    states: int = 0
    transitions: int = 0
    coverage: Coverage = field(default_factory=Coverage)
    world: str = ""
    path: tuple[Step, ...] = ()
    violations: tuple[Violation, ...] = ()
    """What went wrong, if anything did, and the shortest path there."""


class _State(NamedTuple):
    path: tuple[Step, ...]
    at: int


class _Wrong(Exception):
    """Something that must never happen."""

    def __init__(self, path: tuple[Step, ...], violations: list[Violation]) -> None:
        super().__init__(str(violations[0]))
        self.path = path
        self.violations = violations


def explore(depth: int) -> Exploration:
    """Everything that `depth` steps after the opening can lead to, or the first thing that is wrong."""
    seen = Exploration()
    for _ in explore_levels(depth, seen):
        pass
    return seen


def explore_levels(depth: int, seen: Exploration) -> Iterator[Report]:
    """A report for every level of both worlds, up to the first thing that is wrong; `seen` is filled."""
    with with_more_scopes():
        for name, reach in ((FIXED, depth), (FIXED_STRICT, min(depth, STRICT_DEPTH))):
            try:
                yield from _explore(name, reach, seen)
            except _Wrong as wrong:
                seen.world, seen.path, seen.violations = name, wrong.path, tuple(wrong.violations)
                yield Report(violations=seen.violations, stories=[partial(_story, seen)])
                return


def _explore(name: str, depth: int, seen: Exploration) -> Iterator[Report]:
    """Level by level: a level is the shortest paths to the states that lie so many steps away."""
    level = [_State(OPENING, 0)]
    known = {canonical_form(_walked(name, level[0].path), 0)}
    seen.states += 1
    for distance in range(1, depth + 1):
        following = []
        for state in level:
            for world, reached in _neighbours(name, state, seen):
                form = canonical_form(world, reached.at)
                if form in known:
                    continue
                known.add(form)
                seen.states += 1
                violations = world.whole(reached.at)
                if violations:
                    raise _Wrong(reached.path, violations)
                if distance < depth:
                    following.append(reached)
        figures = f"{seen.states:,} states, {seen.transitions:,} transitions"
        yield Report(line=f"{name:<12} depth {distance}: {figures}, {len(following):,} states to go on from")
        level = following


def _walked(name: str, path: tuple[Step, ...]) -> World:
    """A world that has gone this way."""
    try:
        world = World(name, initial_state_of(name))
    except InvalidStart as invalid:
        raise _Wrong((), invalid.violations) from None
    for step in path:
        violations, _ = world.run([step])
        if violations:
            raise _Wrong(path, violations)
    return world


def _neighbours(name: str, state: _State, seen: Exploration) -> Iterator[tuple[World, _State]]:
    """Every state one step away, each in a world that stands there until the next is asked for."""
    path, at = state
    here = _walked(name, path)
    fork = Fork(here)
    before = states(here, at)
    for later in instants(here.history, at):
        seen.transitions += 1
        seen.coverage.note_time(before, states(here, later))
        yield here, _State(path, later)
    for event in list(events(here.history)):
        step = replace(event, number=len(path) + 1, at=at)
        call = call_of(here.history, step)
        stays = not here.driver.would_change(call, step.number, BEGINNING_OF_TIME_MS + at)
        world = here if stays else fork.branch()
        violations, _ = world.run([step])
        seen.transitions += 1
        if violations:
            raise _Wrong((*path, step), violations)
        seen.coverage.note(world.decisions, before, partial(states, world, at))
        if stays and fork.is_untouched():
            continue
        yield world, _State((*path, step), at)
        if stays:
            # The model moved though no record did: that is a state of its own, and this one is gone.
            here = _walked(name, path)
            fork = Fork(here)


class Fork:
    """A world held still; `branch` gives the same world again and again, each independent of the others."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._model = _pickled(world.model.realm)
        known = {name: value for name, value in vars(world.history).items() if name != "initial_state"}
        self._history = _pickled(known)

    def branch(self) -> World:
        """A world of its own that stands where the fork was made. Counters are shared."""
        branch = copy(self.world)
        branch.model = Model()
        branch.model.realm = pickle.loads(self._model)
        branch.history = copy(self.world.history)
        vars(branch.history).update(pickle.loads(self._history))
        branch.driver = self.world.driver.twin()
        branch.checker = self.world.checker.twin(branch.history, branch.driver)
        return branch

    def is_untouched(self) -> bool:
        """Whether the model still stands where the fork was made."""
        return _pickled(self.world.model.realm) == self._model


def _pickled(value: object) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


# --- for the command line


def run(depth: int) -> int:
    """Explore and tell; 0 where everything held and, from depth 3 on, every row of both tables was taken."""
    seen = Exploration()
    rows = sum(len(table) for table in STATE_TABLES.values())

    def figures(total: Report, seconds: float) -> str:
        missing = seen.coverage.missing
        return (
            f"{seen.states:,} states, {seen.transitions:,} transitions, depth {depth}, {seconds:.1f} s, "
            f"{len(OF_THE_RULES)} invariants, {rows - len(missing)} of {rows} rows of the state tables taken"
            + (f"; not taken: {', '.join(missing)}" if missing else "")
        )

    failed = conduct(explore_levels(depth, seen), figures)
    return failed or int(bool(seen.coverage.missing) and depth >= DEPTH_OF_ALL_ROWS)


def _story(seen: Exploration) -> str:
    path = failure_file(f"exploration-{seen.world}.trace")
    remarks = [str(violation) for violation in seen.violations]
    path.write_text(write(seen.world, seen.path, remarks=remarks), encoding="utf-8")
    told = "\n".join([*remarks, *map(str, seen.path)])
    return f"FAILED; the shortest history there is:\n\n{told}\n\nreplay it: {command('replay', path)}"
