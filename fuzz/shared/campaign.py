"""The frame of every campaign: runs one after another or on several cores, added up, told, and failed."""

import gc
import math
import multiprocessing
import os
import shlex
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from textwrap import wrap
from typing import Final, TypeVar

import click

from fuzz.shared.invariants import Violation
from fuzz.shared.state_tables import DECIDED_ROWS

U = TypeVar("U")

Story = Callable[[], str]
"""Tells a failure once the campaign is over: what happened, made short, and how to see it again."""

_EVERY_SECONDS: Final = 10.0
LINE_LENGTH: Final = 119
"""Characters of the longest line that a failure tells."""
_MOST_REMARK_LINES, _MOST_LINES = 3, 8
"""Lines about invariants, and about what happened: fifteen lines in all."""


@dataclass(slots=True)
class Report:
    """What one run came to, or many together."""

    counts: Counter[str] = field(default_factory=Counter)
    """How much was done: runs, steps, requests, kills."""
    tables: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """How often what happened, by subject: faults, transitions, clauses of the model."""
    samples: dict[str, list[float]] = field(default_factory=dict)
    """Measurements, by what was measured."""
    line: str = ""
    """What is told of this run alone, if it is told at all."""
    digest: str = ""
    """Of everything that was asked and answered."""
    violations: tuple[Violation, ...] = ()
    stories: list[Story] = field(default_factory=list)
    """One for each failure."""

    def add(self, other: "Report") -> None:
        """Take in one run more."""
        self.counts += other.counts
        for subject, counts in other.tables.items():
            self.tables[subject] += counts
        for what, values in other.samples.items():
            self.samples.setdefault(what, []).extend(values)
        self.digest = sha256((self.digest + other.digest).encode()).hexdigest()
        self.violations += other.violations
        self.stories += other.stories


def run_all(run: Callable[[U], Report], units: Iterable[U], jobs: int = 1) -> Iterator[Report]:
    """Run every unit, on so many processes (0: one for each core); reports come in the order of the units."""
    collecting = partial(_run_and_collect, run)
    gc.collect()
    gc.freeze()  # what is imported by now is not looked through after every run
    if jobs == 1:
        yield from map(collecting, units)
        return
    with multiprocessing.get_context("fork").Pool(jobs or os.cpu_count(), maxtasksperchild=500) as pool:
        yield from pool.imap(collecting, units)


def _run_and_collect(run: Callable[[U], Report], unit: U) -> Report:
    """Most of a run vanishes when it is dropped: looking for cycles all the time would cost a tenth."""
    gc.disable()
    try:
        return run(unit)
    finally:
        gc.enable()
        gc.collect()


def add_up(runs: Iterable[Report], total: Report | None = None, *, most_failures: int = 1) -> Report:
    """All runs together, up to so many failures."""
    total = Report() if total is None else total
    for report in runs:
        total.add(report)
        if len(total.stories) >= most_failures:
            break
    return total


def conduct(
    runs: Iterable[Report],
    figures: Callable[[Report, float], str],
    progress: Callable[[Report, float], str] | None = None,
    *,
    most_failures: int = 1,
    most_seconds: float = math.inf,
    find_missed: Callable[[Report], str] = lambda total: "",
) -> int:
    """Tell of runs, as many as there are, or until so many failed or so long has passed; 0 where none failed.

    `progress` and `figures` say what was done in so many seconds; where there is no `progress`, every run
    tells its own line. `find_missed` says what runs that held were to reach together and did not, which is a
    failure as well. Failures come before the figures. The last line is every campaign's: what failed, and how
    long it took.
    """
    began = last = time.monotonic()
    total = Report()

    def watch() -> Iterator[Report]:
        nonlocal last
        for report in runs:
            yield report
            now = time.monotonic()
            if progress is None and report.line:
                print(f"  {report.line}", flush=True)
            elif progress is not None and now - last >= _EVERY_SECONDS:
                last = now
                print(f"  {progress(total, now - began)}, {len(total.stories)} failures", flush=True)
            if now - began >= most_seconds:
                break

    add_up(watch(), total, most_failures=most_failures)
    seconds = max(time.monotonic() - began, 1e-9)
    if not total.stories and (missed := find_missed(total)):
        total.stories.append(partial(str, f"FAILED: {missed}"))
    for story in total.stories:
        print(story(), file=sys.stderr, flush=True)
    print(figures(total, seconds), flush=True)
    print(
        f"{len(total.stories):,} failed" if total.stories else "all held", f"in {seconds:,.1f} s", flush=True
    )
    return 1 if total.stories else 0


def tell_failure(head: str, violations: Iterable[object], lines: Sequence[str], *commands: str) -> str:
    """Tell a failure in few lines: what did not hold, the first and the last step, how to see it again."""
    left_out = len(lines) - _MOST_LINES + 1
    if left_out > 1:
        lines = [*lines[: _MOST_LINES - 2], f"({left_out} more in the file)", lines[-1]]
    return "\n".join(
        [
            head,
            *wrap("; ".join(map(str, violations)), LINE_LENGTH, max_lines=_MOST_REMARK_LINES),
            *(line[:LINE_LENGTH] for line in lines),
            *commands,
        ]
    )


def choose_names(what: str, asked: Sequence[str], known: Iterable[str]) -> list[str]:
    """The names that were asked for, or all there are. Raises `UsageError` for one that there is not."""
    there_are = list(known)
    for name in asked:
        if name not in there_are:
            raise click.UsageError(f"--{what}: no {what} {name!r}; there are {', '.join(there_are)}")
    return list(asked) or there_are


def draw_names(names: Sequence[str], random: Random) -> Iterator[str]:
    """Names without an end, in an order by chance in which each comes as often."""
    while True:
        yield from random.sample(names, len(names))


def choose_seed(seed: int | None) -> int:
    """The seed that was asked for, or a new one."""
    return int.from_bytes(os.urandom(4)) if seed is None else seed


def command(*words: object) -> str:
    """The line that asks for this, to be copied: with this very Python, as another lacks what it needs."""
    python, here = Path(sys.executable), Path.cwd()
    if python.is_relative_to(here):
        python = python.relative_to(here)
    return shlex.join([str(python), "-m", "fuzz", *map(str, words)])


def failure_file(name: str) -> Path:
    """Where a failure is kept."""
    folder = Path(tempfile.gettempdir()) / "ostiary-fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def format_counts(counter: Counter[str]) -> str:
    """Names with their counts, the most frequent first."""
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common())


def rows_not_taken(report: Report) -> list[str]:
    """The rows of the state tables that no run took."""
    return [row for row in DECIDED_ROWS if not report.tables["transitions"][row]]


def coverage(report: Report) -> str:
    """How much of the model and of the state tables was reached."""
    missed = rows_not_taken(report)
    return (
        f"{len(report.tables['clauses'])} sentences of the model decided, "
        f"{len(DECIDED_ROWS) - len(missed)} of {len(DECIDED_ROWS)} transitions taken"
        + (f"; not taken: {', '.join(missed)}" if missed else "")
    )
