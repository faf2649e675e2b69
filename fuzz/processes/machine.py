"""`python -m fuzz machine`: a real server that is killed, or whose disk, clock or memory fails.

Each round has a server of its own with tenants on it. They work before the fault, during it and after it, and
each checks everything that was acknowledged: nothing is lost, and nothing that ended is back. During the
fault, requests that cannot be served get 500 or 503 in the envelope, or no answer. Afterwards the same
process serves everything, and so does a new process.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import urlsplit

import psycopg
import trio
from psycopg import sql

from fuzz.processes.breakdowns import MUST_SHOW, OF_SEVERAL_WORKERS, ON_A_SMALL_DISK, breakdowns_of
from fuzz.processes.failures import fail
from fuzz.processes.faults import faults_of
from fuzz.processes.keeper import Keeper
from fuzz.processes.scene import Scene
from fuzz.processes.server import VARIABLE
from fuzz.processes.tenants import describe_outcomes
from fuzz.shared.campaign import Report, choose_names, command, conduct, draw_names
from fuzz.shared.selftest import SEED, run_selftest

_MOST_ROUNDS: Final = 3
"""Number of rounds after which an unnoticed planted fault counts as a survivor."""
_SHOWING: Final = {
    "error-swallowed": ("writes fail", r"client-\d"),
    "clock-set-back": (
        "clock a year ahead",
        "a retry within the grace|a refresh is refused|active with the clock put right",
    ),
    "pause-unnoticed": ("paused for 40 s", "a retry that lay in a socket"),
    "stopped-worker-kept": ("stopped", "is not killed"),
    **dict.fromkeys((fault.name for fault in faults_of("kills")), ("killed", "")),
}
"""Fault that must show each of the selftest's mistakes, and the expected text of the violation."""


def run(seed: int, rounds: int, seconds: float, faults: Sequence[str], postgres: str) -> int:
    """Let so many faults happen, for at most so many seconds; return 0 if nothing was lost."""
    names = choose_names("fault", faults, breakdowns_of(postgres))
    if os.geteuid() and (left_out := set(names) & ON_A_SMALL_DISK.keys()):
        print(f"not as root, so without: {', '.join(sorted(left_out))}", flush=True)
        names = [name for name in names if name not in left_out]
        if not names:
            return 2
    print(f"seed {seed}, {rounds:,} faults of {'PostgreSQL' if postgres else 'SQLite'} servers", flush=True)
    drawn = zip(range(rounds), draw_names(names, Random(f"machine {seed}")), strict=False)
    runs = (run_one(seed, number, name, postgres) for number, name in drawn)
    return conduct(runs, _figures, most_seconds=seconds)


def run_one(seed: int, number: int, name: str, postgres: str = "") -> Report:
    """Run one round; its files stay if it failed."""
    folder = Path(tempfile.mkdtemp(prefix="ostiary-machine-"))
    workers, has_disk = 2 if name in OF_SEVERAL_WORKERS else 1, name in ON_A_SMALL_DISK
    with open_database(postgres) as address, Keeper(Path(tempfile.mkdtemp())) as keeper:
        scene = Scene(f"{seed}/{number}", folder, keeper, address, workers=workers, has_disk=has_disk)
        live = partial(scene.live, name, breakdowns_of(address)[name], shows=name in MUST_SHOW)
        try:
            trio.run(live)
        except* Exception as group:
            head = f"in fault {number + 1} of seed {seed}: {name}"
            database = ("--postgres", "URL") if postgres else ()
            again = command("machine", *database, "--seed", seed, "--fault", name)
            fail(scene.report, group, head, f"its files:  {folder}", f"once more:  {again}")
    if not scene.report.stories:  # its disk is unmounted by now
        shutil.rmtree(folder)
    return scene.report


@contextmanager
def open_database(server: str) -> Iterator[str]:
    """Create an empty PostgreSQL database and drop it afterwards; yield an empty address for SQLite."""
    if not server:
        yield ""
        return
    name = f"ostiary_machine_{os.urandom(4).hex()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _figures(total: Report, seconds: float) -> str:
    lines = describe_outcomes(total)
    for name, seconds_each in sorted(total.samples.items()):
        lines.append(f"  {name:<22}{len(seconds_each)} times, all checked {max(seconds_each):.1f} s after it")
    return "\n".join([*lines, f"{total.counts['rounds']:,} faults"])


def selftest(only: str) -> int:
    """Plant the known mistakes in servers with a failing machine; return 0 if each is noticed as expected."""
    return run_selftest(only, (*faults_of("machines"), *faults_of("kills")), run_planted, _MOST_ROUNDS)


def run_planted(number: int) -> Report:
    """Run the round that must show the planted fault; a failure for another reason is the run's own."""
    name, reason = _SHOWING[os.environ[VARIABLE]]
    report = run_one(SEED + number, number, name)
    if not any(re.search(reason, violation.detail) for violation in report.violations):
        report.violations = ()
    return report
