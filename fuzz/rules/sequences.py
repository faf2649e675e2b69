"""Runs worlds one after another, or on several cores, and adds up what they say."""

import gc
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Final

from fuzz.rules.trace import initial_state_of
from fuzz.rules.world import InvalidStart, World
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.invariants import Violation
from fuzz.shared.seeds import choices
from fuzz.shared.steps import Step
from fuzz.workload.generator import Workload

__all__ = ["WORLD_STEPS", "Campaign", "Failure", "Life", "live", "run"]

WORLD_STEPS: Final = 250
"""How long a world lives. Memory is flat because it is then forgotten."""

REHEARSED_EVERY: Final = 8
"""In a campaign every so manieth turn is decided twice; everywhere else every one is."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A world in which something happened that must never happen."""

    world: str
    steps: tuple[Step, ...]
    """All that was done, up to the turn that showed it."""
    violations: tuple[Violation, ...]


@dataclass(slots=True)
class Life:
    """One world from beginning to end."""

    steps: int
    virtual_ms: int
    digest: str
    clauses: Counter[str]
    transitions: Counter[str]
    failure: Failure | None


@dataclass(slots=True)
class Campaign:
    """Many worlds together."""

    worlds: int = 0
    steps: int = 0
    virtual_ms: int = 0
    clauses: Counter[str] = field(default_factory=Counter)
    transitions: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    digest: str = ""


def live(seed: int, number: int, steps: int = WORLD_STEPS, *, rehearse_every: int = REHEARSED_EVERY) -> Life:
    """Run world `number` of `seed` for so many steps, or until something is wrong."""
    name = f"{seed}/{number}"
    try:
        world = World(name, initial_state_of(name), rehearse_every=rehearse_every)
    except InvalidStart as invalid:
        return Life(0, 0, "", Counter(), Counter(), Failure(name, (), tuple(invalid.violations)))
    workload = Workload(choices(seed, number), world.history)
    taken: list[Step] = []
    violations: list[Violation] = []
    while world.steps < steps and not violations:
        turn = workload.turn()[: steps - world.steps]
        taken += turn
        violations, _ = world.run(turn)
    violations = violations or world.whole(workload.at)
    failure = Failure(name, tuple(taken), tuple(violations)) if violations else None
    return Life(world.steps, workload.at, world.digest, world.clauses, world.transitions, failure)


def run(
    seed: int,
    steps: int,
    *,
    jobs: int = 1,
    most_failures: int = 1,
    progress: Callable[[Campaign], None] = lambda campaign: None,
) -> Campaign:
    """Run as many worlds as `steps` need. The digest is the same whatever the number of jobs."""
    campaign = Campaign()
    digest = sha256()
    with with_more_scopes(), _collecting_seldom():
        for life in _lives(seed, steps, jobs):
            campaign.worlds += 1
            campaign.steps += life.steps
            campaign.virtual_ms += life.virtual_ms
            campaign.clauses += life.clauses
            campaign.transitions += life.transitions
            digest.update(life.digest.encode())
            progress(campaign)
            if life.failure is not None:
                campaign.failures.append(life.failure)
                if len(campaign.failures) >= most_failures:
                    break
    campaign.digest = digest.hexdigest()
    return campaign


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Most of a world vanishes when it is dropped; looking for cycles all the time would cost a tenth."""
    thresholds = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _lives(seed: int, steps: int, jobs: int) -> Iterator[Life]:
    lengths: Iterable[tuple[int, int]] = (
        (number, min(WORLD_STEPS, steps - start)) for number, start in enumerate(range(0, steps, WORLD_STEPS))
    )
    if jobs == 1:
        for number, length in lengths:
            yield live(seed, number, length)
        return
    with multiprocessing.get_context("fork").Pool(jobs, initializer=gc.freeze) as pool:
        yield from pool.imap(partial(_live, seed), lengths, chunksize=4)


def _live(seed: int, world: tuple[int, int]) -> Life:
    return live(seed, *world)
