"""`python -m fuzz crash`: load, SIGKILL at a random moment, a new start: what was acknowledged stands.

A **world** is one folder with one database file and its own tenants; it is killed some fifty times, so
that old state meets new crashes, and is then looked through for secrets and dropped. Its number decides how
many workers it has. A kill falls into the load, into the checking after the last kill, or into a start. In a
world with several workers a single one is killed now and then, while the others go on.
"""

import itertools
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
from fuzz.processes.api import Violation
from fuzz.processes.connection import Connection, Lost
from fuzz.processes.leaks import count_leaks
from fuzz.processes.server import ADMIN_PASSWORD, NotServing, Server, Warmth
from fuzz.processes.tenant import Tally, Tenant
from fuzz.processes.tenant_actions import act, resolve
from fuzz.shared.campaign import Report, command, conduct, counted

_KILLS_A_WORLD: Final = 50
_TENANTS: Final = 12
_LONGEST_LOAD_SECONDS: Final = 0.5
_CHECKING_SECONDS: Final = 60.0


class World:
    """One database file and those who live on it."""

    def __init__(self, seed: int, number: int, folder: Path, warmth: Warmth | None) -> None:
        self.report = Report(counts=Counter(worlds=1))
        self._random = Random(f"crash {seed}/{number}")
        workers = 2 if number % 8 == 3 else 1
        self.server = Server(folder, workers=workers, warmth=warmth)
        self._warm = warmth is not None
        self._tally = Tally()
        self.report.tables |= {"acknowledged": self._tally.acknowledged, "unknown": self._tally.unknown}
        self._tally.secrets |= {ADMIN_PASSWORD}
        self._admin_token = ""
        self._connection = Connection()
        self._tenants = [
            Tenant(each, Random(f"{seed}/{number}/{each}"), self._tally, lambda: self._admin_token)
            for each in range(_TENANTS)
        ]
        self._checked = [0] * _TENANTS
        self._starts = 0
        self._serving = trio.Event()
        self._all_checked = trio.Event()

    @property
    def _connections(self) -> list[Connection]:
        return [self._connection, *(tenant.connection for tenant in self._tenants)]

    async def live(self, kills: int, until: float) -> None:
        """Be killed so often, or until the time has come. Raises `Violation`."""
        with self.server:
            try:
                await self._start()
                await self._settle()
                async with trio.open_nursery() as nursery:
                    for number in range(_TENANTS):
                        nursery.start_soon(self._keep_acting, number)
                    for _ in range(kills):
                        await self._kill_once()
                        if time.monotonic() > until:
                            break
                    nursery.cancel_scope.cancel()
            except Lost as lost:
                raise Violation("a connection was lost though nobody was killed") from lost
            finally:
                for connection in self._connections:
                    connection.close()
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
        with trio.move_on_after(_CHECKING_SECONDS) as patience:
            await self._all_checked.wait()
        if patience.cancelled_caught:
            raise Violation("what was acknowledged could not be checked in time")

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
            if trio.current_time() - began > _CHECKING_SECONDS:
                raise NotServing("no answer in time")
            await trio.sleep(0.005)
        how = "warm" if self._warm else "cold"
        kind = how if self.server.workers == 1 else f"{how}, {self.server.workers} workers"
        self.report.samples.setdefault(kind, []).append(trio.current_time() - began)
        for connection in self._connections:
            connection.port = self.server.port
        self._starts += 1
        self._all_checked = trio.Event()
        self._serving.set()

    async def _settle(self) -> None:
        """The first administrator signs in, and the tenants move in."""
        response = await api.sign_in(self._connection, "admin", ADMIN_PASSWORD)
        self._admin_token = str(response.data["accessToken"])
        self._tally.secrets |= {self._admin_token, str(response.data["refreshToken"])}
        for tenant in self._tenants:
            await tenant.move_in()
        self._checked = [self._starts] * _TENANTS

    async def _keep_acting(self, number: int) -> None:
        """Do one thing after the other; after each start, check everything first."""
        tenant = self._tenants[number]
        while True:
            await self._serving.wait()
            start = self._starts
            try:
                await resolve(tenant)
                if self._checked[number] < start:
                    await tenant.check()
                    self._checked[number] = start
                    if min(self._checked) == self._starts:
                        self._all_checked.set()
                await act(tenant)
            except Lost:
                await trio.sleep(0.005)

    def _must_be_sound(self) -> None:
        """SQLite itself finds nothing wrong with the file, which the server has opened before."""
        connection = apsw.Connection(str(self.server.database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(10_000)
            found = connection.pragma("integrity_check")
        finally:
            connection.close()
        if found != "ok":
            raise Violation(f"integrity_check: {found}")

    def _look_through_files(self) -> None:
        folder = self.server.folder
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            leaks = count_leaks(path.read_bytes(), self._tally.secrets)
            if leaks:
                raise Violation(f"{path.name} holds the text of {leaks} secrets")


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
        try:
            trio.run(world.live, min(_KILLS_A_WORLD, kills), until)
        except* (Violation, NotServing) as group:
            failures = "; ".join(api.violations_in(group))
            again = command("crash", "--seed", seed, "--world", number)
            told = f"FAILED in world {number}: {failures}\nits files:  {home}\nonce more:  {again}"
            world.report.stories.append(partial(str, told))
        yield world.report
        shutil.rmtree(home)
        kills -= world.report.counts["kills"]
        if kills <= 0:
            break
    shutil.rmtree(folder)


def _figures(total: Report, seconds: float) -> str:
    counts, acknowledged, unknown = total.counts, total.tables["acknowledged"], total.tables["unknown"]
    killed = f"{counts['kills']:,} kills, {counts['worker kills']:,} more of a single worker"
    lines = [
        f"{killed}; {counts['worlds']:,} worlds",
        f"{acknowledged.total():,} acknowledged changes, all of which stand: {counted(acknowledged)}",
        f"{unknown.total():,} requests without an answer, each come to what is allowed: {counted(unknown)}",
        f"{counts['checks']:,} questions about what had been acknowledged",
    ]
    for kind, starts in sorted(total.samples.items()):
        figures = f"median {median(starts):.2f} s, longest {max(starts):.2f} s"
        lines.append(f"starts, {kind}: {len(starts):,}, {figures}")
    return "\n".join([*lines, f"{seconds:.0f} s" + ("" if total.stories else "; nothing was lost")])
