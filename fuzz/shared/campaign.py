"""Frame of every campaign: run units on one or several cores, sum up their reports, print failures."""

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
"""Function that describes a failure after the campaign: a shortened history, the commands to repeat it."""

_EVERY_SECONDS: Final = 10.0
LINE_LENGTH: Final = 119
"""Longest line of a printed failure, in characters."""
_MOST_REMARK_LINES, _MOST_LINES = 3, 8
"""Most lines about invariants and about the history; a failure has at most fifteen lines."""


@dataclass(slots=True)
class Report:
    """The results of one run or of several runs together."""

    counts: Counter[str] = field(default_factory=Counter)
    """Number of runs, steps, requests, kills and so on."""
    tables: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Counts by subject: faults, transitions, clauses of the model."""
    samples: dict[str, list[float]] = field(default_factory=dict)
    """Measurements by name."""
    line: str = ""
    """Line to print for this run alone; empty for none."""
    digest: str = ""
    """Digest of all questions and answers."""
    violations: tuple[Violation, ...] = ()
    stories: list[Story] = field(default_factory=list)
    """One for each failure."""

    def add(self, other: "Report") -> None:
        """Add the results of another report to this one."""
        self.counts += other.counts
        for subject, counts in other.tables.items():
            self.tables[subject] += counts
        for what, values in other.samples.items():
            self.samples.setdefault(what, []).extend(values)
        self.digest = sha256((self.digest + other.digest).encode()).hexdigest()
        self.violations += other.violations
        self.stories += other.stories


def run_all(run: Callable[[U], Report], units: Iterable[U], jobs: int = 1) -> Iterator[Report]:
    """Run every unit on `jobs` processes (0: one a core); yield the reports in the order of the units."""
    collecting = partial(_run_and_collect, run)
    gc.collect()
    gc.freeze()  # exclude everything imported so far from later collections
    if jobs == 1:
        yield from map(collecting, units)
        return
    with multiprocessing.get_context("fork").Pool(jobs or os.cpu_count(), maxtasksperchild=500) as pool:
        yield from pool.imap(collecting, units)


def _run_and_collect(run: Callable[[U], Report], unit: U) -> Report:
    """Run a unit with the garbage collector off, and collect once at its end.

    Almost all objects of a run are freed without it; searching for cycles all the time would take a tenth of
    the run.
    """
    gc.disable()
    try:
        return run(unit)
    finally:
        gc.enable()
        gc.collect()


def add_up(runs: Iterable[Report], total: Report | None = None, *, most_failures: int = 1) -> Report:
    """Add up the reports of runs until `most_failures` of them failed."""
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
    """Print the reports of runs until they end, so many failed or the time is over; return 0 if none failed.

    `progress` and `figures` format what was done in so many seconds; without `progress`, each run prints its
    own line. `find_missed` names goals that the passed runs missed together, which is a failure as well.
    Failures come before the figures. The last line, the same in every campaign, has the number of failures
    and the duration.
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
    outcome = f"{len(total.stories):,} failed" if total.stories else "all held"
    print(outcome, f"in {seconds:,.1f} s", flush=True)
    return 1 if total.stories else 0


def format_failure(head: str, violations: Iterable[object], lines: Sequence[str], *commands: str) -> str:
    """Format a failure in few lines: the violation, the first and the last step, commands to repeat it."""
    left_out = len(lines) - _MOST_LINES + 1
    if left_out > 1:
        lines = [*lines[: _MOST_LINES - 2], f"({left_out} more in the file)", lines[-1]]
    remarks = wrap("; ".join(map(str, violations)), LINE_LENGTH, max_lines=_MOST_REMARK_LINES)
    return "\n".join([head, *remarks, *(line[:LINE_LENGTH] for line in lines), *commands])


def choose_names(what: str, asked: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the requested names, or all known ones if none are. Raises `UsageError` for an unknown name."""
    there_are = list(known)
    for name in asked:
        if name not in there_are:
            raise click.UsageError(f"--{what}: no {what} {name!r}; there are {', '.join(there_are)}")
    return list(asked) or there_are


def draw_names(names: Sequence[str], random: Random) -> Iterator[str]:
    """Yield names for ever, each equally often, shuffled."""
    while True:
        yield from random.sample(names, len(names))


def choose_seed(seed: int | None) -> int:
    """Return the requested seed, or a new one."""
    return int.from_bytes(os.urandom(4)) if seed is None else seed


def command(*words: object) -> str:
    """Return a command line to copy; it names this Python, as another may lack the dependencies."""
    python, here = Path(sys.executable), Path.cwd()
    if python.is_relative_to(here):
        python = python.relative_to(here)
    return shlex.join([str(python), "-m", "fuzz", *map(str, words)])


def make_failure_path(name: str) -> Path:
    """Return the path of the file for a failure."""
    folder = Path(tempfile.gettempdir()) / "ostiary-fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def format_counts(counter: Counter[str]) -> str:
    """Return names with their counts, the most frequent first."""
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common())


def list_rows_not_taken(report: Report) -> list[str]:
    """Return the rows of the state tables that no run took."""
    return [row for row in DECIDED_ROWS if not report.tables["transitions"][row]]


def coverage(report: Report) -> str:
    """Return a line about the reached share of the model's sentences and of the state tables."""
    missed = list_rows_not_taken(report)
    taken = f"{len(DECIDED_ROWS) - len(missed)} of {len(DECIDED_ROWS)} transitions taken"
    left = f"; not taken: {', '.join(missed)}" if missed else ""
    return f"{len(report.tables['clauses'])} sentences of the model decided, {taken}{left}"
