"""`python -m fuzz machine`: a real server that is killed, or whose disk, clock or memory fails.

Each round has a server of its own with tenants on it. They work before the fault, during it and after it, and
each checks everything that was acknowledged: nothing is lost, and nothing that ended is back. While the fault
lasts, what cannot be done is answered 500 or 503 in the envelope, or not at all; once it is over, the same
process answers everything, and so does one that is started afterwards.
"""

import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import urlsplit

import psycopg
import trio
from psycopg import sql

from fuzz.processes.breakdowns import (
    LOAD_SECONDS,
    MUST_SHOW,
    OF_SEVERAL_WORKERS,
    ON_A_SMALL_DISK,
    faults_of,
    start,
)
from fuzz.processes.connection import Lost
from fuzz.processes.disks import Disk
from fuzz.processes.failures import InvariantBroken, fail
from fuzz.processes.fallible import FILE, MODULE, Machine
from fuzz.processes.faults import FAULTS_OF_CRASHES, FAULTS_OF_MACHINES, FAULTS_OF_RACES
from fuzz.processes.keeper import Keeper
from fuzz.processes.leaks import look_for_secrets
from fuzz.processes.outages import Scene
from fuzz.processes.server import VARIABLE, Server
from fuzz.processes.tenant import Tenant
from fuzz.processes.tenants import Tenants, what_was_done
from fuzz.shared.campaign import Report, choose_names, command, conduct, draw_names
from fuzz.shared.invariants import PROGRESS
from fuzz.shared.selftest import SEED, run_selftest

_TENANTS: Final = 6
_MEMORY_GIVEN_BACK: Final = {"MALLOC_MMAP_THRESHOLD_": str(2**20)}
"""Else a process keeps what its first hash of a password took, and the next needs nothing (mallopt(3))."""
_DISK_BYTES: Final = 192 * 2**20
"""Room for a log as long as it may get, 67 MB, and for the file it is put into: only the fault fills it."""
_LOOK_SECONDS: Final = 0.01
_MOST_ROUNDS: Final = 3
"""A planted fault that so many rounds do not show is one that survives."""
_SHOWING: Final = {
    "error-swallowed": ("writes fail", r"client-\d"),
    "clock-set-back": (
        "clock a year ahead",
        "a retry within the grace|a refresh is refused|active with the clock put right",
    ),
    "pause-unnoticed": ("paused for 40 s", "a retry that lay in a socket"),
    **dict.fromkeys((fault.name for fault in (*FAULTS_OF_CRASHES, *FAULTS_OF_RACES)), ("killed", "")),
}
"""In which fault each of the selftest's mistakes must be noticed, and what must then be said of it."""


class Round:
    """One server, those who live on it, and one fault."""

    def __init__(self, seed: int, number: int, name: str, folder: Path, address: str, keeper: Keeper) -> None:
        self.report = report = Report(counts=Counter(rounds=1))
        self._name, self._fault = name, faults_of(address)[name]
        random = Random(f"machine {seed}/{number}")
        home, state = folder / "data", folder / "machine"
        home.mkdir()
        disk = Disk(keeper, home, _DISK_BYTES) if name in ON_A_SMALL_DISK else None
        settings = {FILE: str(state), **_MEMORY_GIVEN_BACK, **({"DATABASE_URL": address} if address else {})}
        self._server = server = Server(
            home,
            workers=2 if name in OF_SEVERAL_WORKERS else 1,
            settings=settings,
            program=(MODULE, "serve"),
            end_too=keeper.end_too,
        )
        server.log = folder / "log"
        self._tenants = tenants = Tenants(f"{seed}/{number}", range(_TENANTS), [server], report)
        self._scene = Scene(
            server, Machine(state), disk, report, tenants, random, self._work, self._check, self._rest
        )
        report.tables |= {"acknowledged": tenants.tally.acknowledged, "unknown": tenants.tally.unknown}
        self._may_work = self._is_over = False
        self._at_rest: set[Tenant] = set()

    async def live(self) -> None:
        """Work, meet the fault, and check everything. Raises `InvariantBroken`, `NotServing`."""
        with self._server:
            try:
                await start(self._server)
                await self._tenants.move_in()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._tenants.keep_acting, self._may_ask)
                    await self._meet()
                    nursery.cancel_scope.cancel()
            except Lost as lost:
                raise InvariantBroken("a request fails before the fault", PROGRESS) from lost
            finally:
                self._tenants.close()
            files = (each for each in self._server.folder.iterdir() if each.is_file())
            look_for_secrets((self._server.log, *files), self._tenants.tally.secrets)
        self._tell()

    async def _meet(self) -> None:
        await self._work(LOAD_SECONDS)
        await self._check_all()
        if before := self._failures():
            raise InvariantBroken(f"{before} requests fail before the fault", PROGRESS)
        self._tenants.tell(f"({self._name})")
        await self._fault(self._scene)
        self._tenants.tell(f"({self._name}: over)")
        self._is_over = True
        failed = self._failures()
        if not failed and self._name in MUST_SHOW:
            raise InvariantBroken("the fault made nothing fail", PROGRESS)
        if self._scene.restarts:
            await start(self._server)
        began = trio.current_time()
        await self._check_all()
        self.report.samples[self._name] = [trio.current_time() - began]
        failed = self._failures()
        await self._work(LOAD_SECONDS)
        await self._rest()
        if self._failures() > failed:
            raise InvariantBroken("requests fail though the fault is over", PROGRESS)
        self._server.kill()
        await start(self._server)
        await self._check_all()

    async def _work(self, seconds: float) -> None:
        self._may_work = True
        await trio.sleep(seconds)

    async def _rest(self) -> None:
        self._may_work = False
        while len(self._at_rest) < _TENANTS:  # noqa: ASYNC110 (some come and go)
            await trio.sleep(_LOOK_SECONDS)

    async def _check(self) -> None:
        """Check everything in the middle of a fault, at a moment at which nothing fails."""
        self._is_over = True
        await self._check_all()
        self._is_over = False

    async def _check_all(self) -> None:
        """Every tenant finds out what became of its last request, and checks everything."""
        self._tenants.note_mishap()
        self._may_work = True
        await self._tenants.wait_until_checked()
        await self._rest()

    async def _may_ask(self, tenant: Tenant) -> None:
        """What became of a request that failed cannot be told by reading before the fault is over."""
        while not self._may_work or (not self._is_over and tenant.pending is not None):
            self._at_rest.add(tenant)
            await trio.sleep(_LOOK_SECONDS)
        self._at_rest.discard(tenant)

    def _failures(self) -> int:
        return sum(self.report.counts[each] for each in ("500", "503", "lost"))

    def _tell(self) -> None:
        counts, kept = self.report.counts, self.report.tables["acknowledged"].total()
        counts["checks"] = self._tenants.tally.checks
        failures = f"500: {counts['500']}, 503: {counts['503']}, no answer: {counts['lost']}"
        self.report.line = f"{self._name:<22}{failures}; {kept} changes kept, {counts['checks']} questions"


def run(seed: int, rounds: int, seconds: float, faults: Sequence[str], postgres: str) -> int:
    """Let so many faults happen, for at most so long; 0 where nothing was lost."""
    names = choose_names("fault", faults, faults_of(postgres))
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
    """One round; its files stay where it failed."""
    folder = Path(tempfile.mkdtemp(prefix="ostiary-machine-"))
    with open_database(postgres) as address, Keeper(Path(tempfile.mkdtemp())) as keeper:
        meeting = Round(seed, number, name, folder, address, keeper)
        try:
            trio.run(meeting.live)
        except* Exception as group:
            again = command("machine", "--seed", seed, "--fault", name)
            head = f"in fault {number + 1} of seed {seed}: {name}"
            fail(meeting.report, group, head, f"its files:  {folder}", f"once more:  {again}")
    if not meeting.report.stories:  # whose disk is unmounted by now
        shutil.rmtree(folder)
    return meeting.report


@contextmanager
def open_database(server: str) -> Iterator[str]:
    """An empty PostgreSQL database, gone afterwards; nothing where none is asked for."""
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
    lines = what_was_done(total)
    for name, seconds_each in sorted(total.samples.items()):
        lines.append(f"  {name:<22}{len(seconds_each)} times, all checked {max(seconds_each):.1f} s after it")
    return "\n".join([*lines, f"{total.counts['rounds']:,} faults"])


def selftest(only: str) -> int:
    """Plant the known mistakes in servers whose machine fails; 0 where each is noticed for its own reason."""
    faults = (*FAULTS_OF_MACHINES, *FAULTS_OF_CRASHES, *FAULTS_OF_RACES)
    return run_selftest(only, faults, run_planted, _MOST_ROUNDS)


def run_planted(number: int) -> Report:
    """The round that must show what is planted; what breaks for another reason is a failure of its own."""
    name, reason = _SHOWING[os.environ[VARIABLE]]
    report = run_one(SEED + number, number, name)
    if not any(re.search(reason, violation.detail) for violation in report.violations):
        report.violations = ()
    return report
