"""Random sequences: worlds of clients and users, each run for some hundred steps under both judges."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from msgspec.structs import replace

from fuzz.faults import FAULTS
from fuzz.rules.trace import Replay, initial_state_of, replay, write
from fuzz.rules.world import InvalidStart, World
from fuzz.shared import campaign
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.invariants import OF_THE_RULES, Violation
from fuzz.shared.seeds import choices
from fuzz.shared.selftest import SEED, run_selftest
from fuzz.shared.shrinking import Shrinker
from fuzz.shared.steps import Step
from fuzz.workload.generator import Workload

WORLD_STEPS: Final = 250
"""Steps of a world; its memory is freed afterwards, so that a campaign's memory stays flat."""
REHEARSED_EVERY: Final = 8
"""Number of turns for each one that is decided twice in a campaign; elsewhere every turn is."""
LOOKED_BACK_AT_EVERY: Final = 4
"""Number of worlds for each one that is judged in hindsight, which takes as long as running it."""
MOST_REPLAYS: Final = 600
"""Most replays while shrinking, so that a failure is printed within seconds."""
STEPS_OF_ALL_ROWS: Final = 100_000
"""Steps after which each row of the state tables must have been taken."""
MOST_WORLDS: Final = 250
"""Number of worlds after which an unnoticed planted fault counts as a survivor."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A world with a violation."""

    world: str
    steps: tuple[Step, ...]
    """All steps up to the turn that showed the violation."""
    violations: tuple[Violation, ...]


def run_world(
    seed: int, number: int, steps: int = WORLD_STEPS, *, rehearse_every: int = 1, looks_back: bool = True
) -> campaign.Report:
    """Run world `number` of `seed` until a violation or for so many steps; then judge it in hindsight."""
    name = f"{seed}/{number}"
    try:
        world = World(name, initial_state_of(name), rehearse_every=rehearse_every)
    except InvalidStart as start:
        return _report_failure(Failure(name, (), tuple(start.violations)), campaign.Report())
    workload = Workload(choices(seed, number), world.history, is_of_the_rules=True)
    taken: list[Step] = []
    violations: list[Violation] = []
    while world.steps < steps and not violations:
        turn = workload.turn()[: steps - world.steps]
        taken += turn
        violations, _ = world.run(turn)
    violations = violations or world.check_everything(workload.at)
    if looks_back:
        violations = violations or world.end(workload.at)
    report = campaign.Report(
        counts=Counter(worlds=1, steps=world.steps, virtual_ms=workload.at),
        tables={"clauses": world.clauses, "transitions": world.transitions},
        digest=world.digest,
    )
    return _report_failure(Failure(name, tuple(taken), tuple(violations)), report) if violations else report


def _report_failure(failure: Failure, report: campaign.Report) -> campaign.Report:
    report.violations = failure.violations
    report.stories = [partial(story, failure)]
    return report


def run_worlds(seed: int, steps: int, jobs: int = 1) -> Iterator[campaign.Report]:
    """Yield the reports of as many worlds as so many steps need."""
    with with_more_scopes():
        lengths = enumerate(min(WORLD_STEPS, steps - start) for start in range(0, steps, WORLD_STEPS))
        yield from campaign.run_all(partial(_run_unit, seed), lengths, jobs)


def _run_unit(seed: int, unit: tuple[int, int]) -> campaign.Report:
    looks_back = unit[0] % LOOKED_BACK_AT_EVERY == 0
    return run_world(seed, *unit, rehearse_every=REHEARSED_EVERY, looks_back=looks_back)


# --- a failure


def story(failure: Failure) -> str:
    """Shrink a failure, keep its trace in a file, and return its text with the commands that replay it."""
    with with_more_scopes():
        shortest = shrink(failure)
    path = campaign.make_failure_path(f"{failure.world.replace('/', '-')}.trace")
    remarks = [str(violation) for violation in shortest.violations]
    path.write_text(write(failure.world, shortest.steps, shortest.outcomes, remarks), encoding="utf-8")
    seed, _, number = failure.world.partition("/")
    return campaign.format_failure(
        f"FAILED in world {failure.world}: {len(shortest.steps)} of {len(failure.steps)} steps show it",
        shortest.violations,
        shortest.lines(),
        f"replay it:        {campaign.command('replay', path)}",
        f"the whole world:  {campaign.command('sequences', '--seed', seed, '--world', number)}",
    )


def shrink(failure: Failure) -> Replay:
    """Shrink a failure as far as possible: fewer steps, then less waiting between them."""
    failed = Replay(failure.steps, (), failure.violations)
    shrinker = Shrinker(failed, lambda found: found.steps, partial(replay, failure.world), MOST_REPLAYS)
    if shrinker.attempt(failure.steps):
        while shrinker.delete() or _simplify(shrinker):
            pass
    return shrinker.best


def _simplify(shrinker: Shrinker[Replay, Step]) -> bool:
    """Remove crashes, restarts, shared turns and waiting; return whether any could be removed."""
    simpler = False
    for place in range(len(shrinker.lines)):
        for change in (_without_crash, _without_wait, _decide_as_it_came, _at_once, _sooner):
            steps = shrinker.lines
            if place < len(steps) and (changed := change(steps, place)) != list(steps):
                simpler |= shrinker.attempt(changed)
    for place in range(len(shrinker.lines)):
        # The failure needs a pause; search its shortest length between none and the whole pause.
        low, high = 0, _pause(shrinker.lines, place) if place < len(shrinker.lines) else 0
        while simpler_by := (high - low) // 2:
            if shrinker.attempt(_advance(shrinker.lines, place, simpler_by)):
                high, simpler = high - simpler_by, True
            else:
                low = high - simpler_by
    return simpler


def _without_crash(steps: Sequence[Step], place: int) -> list[Step]:
    plain = replace(steps[place], crash=False, restart=False, joined=False)
    return [*steps[:place], plain, *steps[place + 1 :]]


def _without_wait(steps: Sequence[Step], place: int) -> list[Step]:
    return [*steps[:place], replace(steps[place], waited=0, unseen=0), *steps[place + 1 :]]


def _decide_as_it_came(steps: Sequence[Step], place: int) -> list[Step]:
    return _without_wait(_advance(steps, place, min(steps[place].waited, _pause(steps, place))), place)


def _at_once(steps: Sequence[Step], place: int) -> list[Step]:
    return _advance(steps, place, _pause(steps, place))


def _sooner(steps: Sequence[Step], place: int) -> list[Step]:
    """Return the steps with one pause shorter by whole seconds."""
    return _advance(steps, place, _pause(steps, place) // 1_000 * 1_000)


def _pause(steps: Sequence[Step], place: int) -> int:
    return steps[place].at - (steps[place - 1].at if place else 0)


def _advance(steps: Sequence[Step], place: int, by_ms: int) -> list[Step]:
    return [*steps[:place], *(replace(step, at=step.at - by_ms) for step in steps[place:])]


# --- commands


def run(seed: int, steps: int, *, jobs: int, most_failures: int) -> int:
    """Run as many worlds as `steps` need; return 0 if everything held."""
    print(f"seed {seed}, {steps:,} steps", flush=True)

    def progress(total: campaign.Report, seconds: float) -> str:
        done = total.counts["steps"]
        worlds = f"{total.counts['worlds']:,} worlds, {done / seconds:,.0f} steps/s"
        return f"{done:>10,} of {steps:,} steps, {worlds}"

    def find_missed(total: campaign.Report) -> str:
        missed = campaign.list_rows_not_taken(total) if steps >= STEPS_OF_ALL_ROWS else []
        return f"rows of the state tables not taken: {', '.join(missed)}" if missed else ""

    runs = run_worlds(seed, steps, jobs)
    return campaign.conduct(runs, _figures, progress, most_failures=most_failures, find_missed=find_missed)


def run_one(seed: int, number: int) -> int:
    """Run one world of a seed; return 0 if everything held."""
    with with_more_scopes():
        return campaign.conduct([run_world(seed, number)], _figures)


def _figures(total: campaign.Report, seconds: float) -> str:
    counts = total.counts
    return (
        f"{counts['steps']:,} steps in {counts['worlds']:,} worlds, "
        f"{counts['steps'] / seconds:,.0f} steps/s, {counts['virtual_ms'] / 3_600_000:,.0f} virtual hours\n"
        f"{campaign.coverage(total)}\ntrace digest {total.digest}"
    )


def selftest(only: str = "") -> int:
    """Plant the known mistakes in the rules; return 0 if none survives."""
    with with_more_scopes():
        return run_selftest(only, FAULTS, run_planted_world, MOST_WORLDS, OF_THE_RULES)


def run_planted_world(number: int) -> campaign.Report:
    """Run a world of the selftest's own seed, as a campaign runs it."""
    return _run_unit(SEED, (number, WORLD_STEPS))
