"""Many seeds, one after another or on several cores; and a failing one cut down to a short story."""

import gc
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from fuzz.shared.options import command
from fuzz.shared.state_tables import DECIDED_ROWS
from fuzz.simulation.plan import Line, write
from fuzz.simulation.runs import Run, live

__all__ = ["Campaign", "figures", "progress", "run", "shrink", "story"]

MOST_REPLAYS: Final = 120
"""Bounds how long a failure is cut down before it is told."""
EVERY_SECONDS: Final = 10


@dataclass(slots=True)
class Campaign:
    """Many runs together."""

    seeds: int = 0
    operations: int = 0
    turns: int = 0
    bytes: int = 0
    virtual_ms: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    transitions: Counter[str] = field(default_factory=Counter)
    clauses: Counter[str] = field(default_factory=Counter)
    failures: list[Run] = field(default_factory=list)
    digest: str = ""


def run(
    first: int,
    seeds: int,
    *,
    jobs: int = 1,
    most_failures: int = 1,
    progress: Callable[[Campaign], None] = lambda campaign: None,
) -> Campaign:
    """Run `seeds` seeds from `first` on. The digest is the same whatever the number of jobs."""
    campaign = Campaign()
    digest = sha256()
    gc.collect()
    gc.freeze()  # what is imported by now is not looked through after every run
    for life in _lives(range(first, first + seeds), jobs):
        campaign.seeds += 1
        campaign.operations += life.operations
        campaign.turns += life.turns
        campaign.bytes += life.bytes
        campaign.virtual_ms += life.virtual_ms
        campaign.faults += life.faults
        campaign.transitions += life.transitions
        campaign.clauses += life.clauses
        digest.update(life.digest.encode())
        progress(campaign)
        if life.violations:
            campaign.failures.append(life)
            if len(campaign.failures) >= most_failures:
                break
    campaign.digest = digest.hexdigest()
    return campaign


def _lives(seeds: range, jobs: int) -> Iterator[Run]:
    if jobs == 1:
        for seed in seeds:
            yield live(str(seed))
            gc.collect()
        return
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=50) as pool:
        yield from pool.imap(live, map(str, seeds))


# --- a failure


def shrink(run: Run) -> Run:
    """The run cut down as far as it goes while it still violates one of the same invariants."""
    numbers = {violation.invariant.number for violation in run.violations}
    best, left = run, MOST_REPLAYS

    def attempt(lines: Sequence[Line]) -> bool:
        nonlocal best, left
        if left <= 0 or not lines:
            return False
        left -= 1
        tried = live(run.seed, lines)
        if numbers.isdisjoint(violation.invariant.number for violation in tried.violations):
            return False
        best = tried
        return True

    length = max(1, len(best.lines) // 2)
    while length:
        end = len(best.lines)
        while end > 0:
            start = max(0, end - length)
            attempt([*best.lines[:start], *best.lines[end:]])
            end = min(start, len(best.lines))
        length //= 2
    return best


def story(failure: Run, path: str) -> str:
    """A failure in the protocol's words, and how to see it again. `path` is where its plan is written."""
    shortest = shrink(failure)
    remarks = [*map(str, shortest.violations), "", "what happened:", *shortest.told]
    text = write(shortest.seed, shortest.lines, remarks)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return (
        f"FAILED with seed {failure.seed} after {len(failure.lines)} steps; "
        f"the shortest plan found has {len(shortest.lines)}:\n\n{text}\n"
        f"replay it:      {command('simulate', '--replay', path)}\n"
        f"the whole seed: {command('simulate', '--seed', failure.seed)}"
    )


# --- what is told


def progress(total: int) -> Callable[[Campaign], None]:
    """A line every few seconds."""
    began = last = time.monotonic()

    def tell(campaign: Campaign) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY_SECONDS:
            last = now
            taken, rows = _covered(campaign)
            print(
                f"  {campaign.seeds:,} of {total:,} seeds, {campaign.operations / (now - began):,.0f} "
                f"requests/s, {sum(campaign.faults.values()):,} faults, {taken} of {rows} transitions, "
                f"{len(campaign.failures)} failures",
                flush=True,
            )

    return tell


def figures(campaign: Campaign, seconds: float) -> str:
    """What a campaign did."""
    taken, rows = _covered(campaign)
    faults = ", ".join(f"{name} {count:,}" for name, count in sorted(campaign.faults.items()))
    hours, minutes = campaign.virtual_ms / 3_600_000, seconds / 60
    return (
        f"{campaign.seeds:,} seeds, {campaign.operations:,} requests, {campaign.turns:,} turns kept, "
        f"{campaign.bytes:,} bytes over the wire in {seconds:.1f} s\n"
        f"{campaign.operations / max(seconds, 1e-9):,.0f} requests/s; {hours:,.0f} virtual hours, "
        f"{hours / max(minutes, 1e-9):,.0f} a minute\n"
        f"faults injected: {sum(campaign.faults.values()):,} ({faults})\n"
        f"{len(campaign.clauses)} sentences of the model decided, {taken} of {rows} transitions taken"
        f"{_missed(campaign)}\ntrace digest {campaign.digest}"
    )


def _covered(campaign: Campaign) -> tuple[int, int]:
    return sum(campaign.transitions[row] > 0 for row in DECIDED_ROWS), len(DECIDED_ROWS)


def _missed(campaign: Campaign) -> str:
    missed = [row for row in DECIDED_ROWS if not campaign.transitions[row]]
    return f"; not taken: {', '.join(missed)}" if missed else ""
