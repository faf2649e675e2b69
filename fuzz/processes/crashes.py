"""`python -m fuzz crash`: load, SIGKILL at a random moment, a new start: what was acknowledged stands.

A **world** is one folder with one database file and its own tenants; it is killed some fifty times, so
that old state meets new crashes, and is then looked through for secrets and dropped. Its number decides how
many workers it has. A kill falls into the load, into the checking after the last kill, or into a start. In a
world with several workers a single one is killed now and then, while the others go on.
"""

import itertools
import math
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

import apsw
import trio

from fuzz.processes import api
from fuzz.processes.api import InvariantBroken
from fuzz.processes.connection import Connection, Lost
from fuzz.processes.faults import FAULTS_OF_CRASHES
from fuzz.processes.leaks import count_leaks
from fuzz.processes.server import NotServing, Server, Warmth
from fuzz.processes.tenant import Tenant
from fuzz.processes.tenants import Tenants, what_stands
from fuzz.shared.campaign import Report, command, conduct
from fuzz.shared.invariants import NO_SECRETS, PROGRESS
from fuzz.shared.selftest import SEED, run_selftest

_KILLS_A_WORLD: Final = 50
_TENANTS: Final = 12
_LONGEST_LOAD_SECONDS: Final = 0.5
_STARTING_SECONDS: Final = 60.0
_MOST_WORLDS: Final = 4
"""A planted fault that so many worlds do not show is one that survives."""


class World:
    """One database file and those who live on it."""

    def __init__(self, seed: int, number: int, folder: Path, warmth: Warmth | None) -> None:
        self.report = Report(counts=Counter(worlds=1))
        self._random = Random(f"crash {seed}/{number}")
        workers = 2 if number % 8 == 3 else 1
        self.server = Server(folder, workers=workers, warmth=warmth)
        self._warm = warmth is not None
        randoms = (Random(f"{seed}/{number}/{each}") for each in range(_TENANTS))
        self._tenants = Tenants(randoms, range(_TENANTS), Connection)
        self._tally = tally = self._tenants.tally
        self.report.tables |= {"acknowledged": tally.acknowledged, "unknown": tally.unknown}
        self._serving = trio.Event()

    async def live(self, kills: int, until: float) -> None:
        """Be killed so often, or until the time has come. Raises `InvariantBroken`."""
        with self.server:
            try:
                await self._start()
                await self._tenants.move_in()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._tenants.keep_acting, self._wait_until_serving)
                    for _ in range(kills):
                        await self._kill_once()
                        if time.monotonic() > until:
                            break
                    nursery.cancel_scope.cancel()
            except Lost as lost:
                raise InvariantBroken("a connection was lost though nobody was killed", PROGRESS) from lost
            finally:
                self._tenants.close()
            self.server.kill()
            self._look_through_files()
        self.report.counts["checks"] += self._tally.checks

    async def _kill_once(self) -> None:
        """Let them work, kill everything, start again, and have everything checked."""
        random, server = self._random, self.server
        await trio.sleep(random.uniform(0, _LONGEST_LOAD_SECONDS))
        if server.workers > 1 and random.random() < 0.3:
            await self._kill_one_worker()
        self._serving = trio.Event()
        server.kill()
        self.report.counts["kills"] += 1
        while random.random() < 0.1:
            server.start()
            await trio.sleep(random.uniform(0, 0.4))
            server.kill()
            self.report.counts["kills"] += 1
        await self._start()
        self._must_be_sound()
        if random.random() < 0.1:
            return  # the next kill may fall into the checking
        await self._tenants.wait_until_checked()

    async def _kill_one_worker(self) -> None:
        pids = self.server.worker_pids()
        if len(pids) == self.server.workers:
            os.kill(self._random.choice(pids), 9)
            self.report.counts["worker kills"] += 1
            await trio.sleep(self._random.uniform(0, _LONGEST_LOAD_SECONDS))

    async def _start(self) -> None:
        began = trio.current_time()
        self.server.start()
        while not self.server.ready():
            if trio.current_time() - began > _STARTING_SECONDS:
                raise NotServing("no answer in time")
            await trio.sleep(0.005)
        how = "warm" if self._warm else "cold"
        kind = how if self.server.workers == 1 else f"{how}, {self.server.workers} workers"
        self.report.samples.setdefault(kind, []).append(trio.current_time() - began)
        for connection in self._tenants.connections:
            connection.port = self.server.port
        self._tenants.note_mishap()
        self._serving.set()

    async def _wait_until_serving(self, _: Tenant) -> None:
        await self._serving.wait()

    def _must_be_sound(self) -> None:
        """SQLite itself finds nothing wrong with the file, which the server has opened before."""
        connection = apsw.Connection(str(self.server.database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(10_000)
            found = connection.pragma("integrity_check")
        finally:
            connection.close()
        if found != "ok":
            raise InvariantBroken(f"integrity_check: {found}")

    def _look_through_files(self) -> None:
        folder = self.server.folder
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            leaks = count_leaks(path.read_bytes(), self._tally.secrets)
            if leaks:
                raise InvariantBroken(f"{path.name} holds the text of {leaks} secrets", NO_SECRETS)


def run(seed: int, kills: int, *, most_seconds: float, warm: bool, only_world: int | None = None) -> int:
    """Kill so often, for at most so long; 0 where nothing was lost."""
    print(f"seed {seed}, {kills:,} kills, starts {'warm' if warm else 'cold'}", flush=True)

    def progress(total: Report, seconds: float) -> str:
        acknowledged = total.tables["acknowledged"].total()
        return (
            f"{total.counts['kills']:>6,} of {kills:,} kills, {acknowledged:,} acknowledged, {seconds:,.0f} s"
        )

    with Warmth() if warm else nullcontext() as warmth:
        worlds = run_worlds(seed, kills, most_seconds, warmth, only_world)
        return conduct(worlds, _figures, progress, most_seconds=most_seconds)


def run_worlds(
    seed: int, kills: int, most_seconds: float, warmth: Warmth | None, only_world: int | None
) -> Iterator[Report]:
    """Worlds one after another, or one again and again, until so many kills; files stay where one failed."""
    until = time.monotonic() + most_seconds
    folder = Path(tempfile.mkdtemp(prefix="ostiary-crash-"))
    for number in itertools.count() if only_world is None else itertools.repeat(only_world):
        home = folder / str(number)
        home.mkdir()
        world = World(seed, number, home, warmth)
        again = command("crash", "--seed", seed, "--world", number)
        yield _live(world, min(_KILLS_A_WORLD, kills), until, f"its files:  {home}", f"once more:  {again}")
        shutil.rmtree(home)
        kills -= world.report.counts["kills"]
        if kills <= 0:
            break
    shutil.rmtree(folder)


def _live(world: World, kills: int, until: float, *where: str) -> Report:
    try:
        trio.run(world.live, kills, until)
    except* (InvariantBroken, NotServing) as group:
        api.fail(world.report, group, *where)
    return world.report


def _figures(total: Report, seconds: float) -> str:
    counts = total.counts
    killed = f"{counts['kills']:,} kills, {counts['worker kills']:,} more of a single worker"
    lines = [
        f"{killed}; {counts['worlds']:,} worlds",
        *what_stands(total),
    ]
    for kind, starts in sorted(total.samples.items()):
        figures = f"median {median(starts):.2f} s, longest {max(starts):.2f} s"
        lines.append(f"starts, {kind}: {len(starts):,}, {figures}")
    return "\n".join([*lines, f"{seconds:.0f} s" + ("" if total.stories else "; nothing was lost")])


def selftest(only: str) -> int:
    """Plant the known mistakes in servers that are killed; 0 where none survives."""
    with Warmth() as warmth:
        return run_selftest(only, FAULTS_OF_CRASHES, partial(run_planted, warmth), _MOST_WORLDS)


def run_planted(warmth: Warmth, number: int) -> Report:
    """A short world of the selftest's own seed."""
    with tempfile.TemporaryDirectory(prefix="ostiary-crash-") as folder:
        return _live(World(SEED, number, Path(folder), warmth), 12, math.inf)
