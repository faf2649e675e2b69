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
from contextlib import nullcontext
from dataclasses import dataclass, field
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
from fuzz.shared.options import command

__all__ = ["Campaign", "World", "run"]

_KILLS_A_WORLD: Final = 50
_TENANTS: Final = 12
_LONGEST_LOAD_SECONDS: Final = 0.5
_EVERY_SECONDS: Final = 10.0
_CHECKING_SECONDS: Final = 60.0


@dataclass
class Campaign:
    """What was done so far, over all worlds."""

    seed: int
    kills: int = 0
    worker_kills: int = 0
    worlds: int = 0
    tally: Tally = field(default_factory=Tally)
    restart_seconds: dict[str, list[float]] = field(default_factory=dict)
    """From the start of the process until it serves: cold, warm, and with several workers."""

    @property
    def acknowledged(self) -> int:
        return self.tally.acknowledged.total()

    def told(self) -> str:
        """The figures."""
        tally = self.tally
        lines = [
            f"{self.kills:,} kills, {self.worker_kills:,} more of a single worker; {self.worlds:,} worlds",
            f"{self.acknowledged:,} acknowledged changes, all of which stand: {_counted(tally.acknowledged)}",
            f"{tally.unknown.total():,} requests without an answer, all with an outcome that is allowed: "
            + _counted(tally.unknown),
            f"{tally.checks:,} questions about what had been acknowledged",
        ]
        for kind, seconds in sorted(self.restart_seconds.items()):
            figures = f"median {median(seconds):.2f} s, longest {max(seconds):.2f} s"
            lines.append(f"starts, {kind}: {len(seconds):,}, {figures}")
        return "\n".join(lines)


class World:
    """One database file and those who live on it."""

    def __init__(self, campaign: Campaign, number: int, folder: Path, warmth: Warmth | None) -> None:
        self._campaign = campaign
        self._chance = Random(f"crash {campaign.seed}/{number}")
        workers = 2 if number % 8 == 3 else 1
        self.server = Server(folder, workers=workers, warmth=warmth)
        self._warm = warmth is not None
        self._tally = Tally()
        self._tally.acknowledged = campaign.tally.acknowledged
        self._tally.unknown = campaign.tally.unknown
        self._tally.secrets |= {ADMIN_PASSWORD}
        self._admin_token = ""
        self._connection = Connection()
        self._tenants = [
            Tenant(each, Random(f"{campaign.seed}/{number}/{each}"), self._tally, lambda: self._admin_token)
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
        self._campaign.tally.checks += self._tally.checks

    async def _kill_once(self) -> None:
        """Let them work, kill everything, start again, and have everything checked."""
        chance, server = self._chance, self.server
        await trio.sleep(chance.uniform(0, _LONGEST_LOAD_SECONDS))
        if server.workers > 1 and chance.random() < 0.3:
            await self._kill_one_worker()
        self._serving = trio.Event()
        server.kill()
        self._campaign.kills += 1
        while chance.random() < 0.1:
            server.start()
            await trio.sleep(chance.uniform(0, 0.4))
            server.kill()
            self._campaign.kills += 1
        await self._start()
        self._must_be_sound()
        if chance.random() < 0.1:
            return  # the next kill may fall into the checking
        with trio.move_on_after(_CHECKING_SECONDS) as patience:
            await self._all_checked.wait()
        if patience.cancelled_caught:
            raise Violation("what was acknowledged could not be checked in time")

    async def _kill_one_worker(self) -> None:
        pids = self.server.worker_pids()
        if len(pids) == self.server.workers:
            os.kill(self._chance.choice(pids), 9)
            self._campaign.worker_kills += 1
            await trio.sleep(self._chance.uniform(0, _LONGEST_LOAD_SECONDS))

    async def _start(self) -> None:
        began = trio.current_time()
        self.server.start()
        while not self.server.ready():
            if trio.current_time() - began > _CHECKING_SECONDS:
                raise NotServing("no answer in time")
            await trio.sleep(0.005)
        how = "warm" if self._warm else "cold"
        kind = how if self.server.workers == 1 else f"{how}, {self.server.workers} workers"
        self._campaign.restart_seconds.setdefault(kind, []).append(trio.current_time() - began)
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


def run(
    seed: int,
    kills: int,
    *,
    seconds: float | None = None,
    warm: bool = False,
    only_world: int | None = None,
) -> int:
    """Kill so often, for at most so long; 0 where nothing was lost."""
    campaign = Campaign(seed)
    began = last = time.monotonic()
    until = began + (math.inf if seconds is None else seconds)
    _tell(f"seed {seed}, {kills:,} kills, starts {'warm' if warm else 'cold'}")
    numbers = itertools.count() if only_world is None else itertools.repeat(only_world)
    folder = Path(tempfile.mkdtemp(prefix="ostiary-crash-"))
    with Warmth() if warm else nullcontext() as warmth:
        while campaign.kills < kills and time.monotonic() < until:
            number = next(numbers)
            home = folder / str(number)
            home.mkdir()
            world = World(campaign, number, home, warmth)
            failures = _failures(world, min(_KILLS_A_WORLD, kills - campaign.kills), until)
            if failures:
                _tell(f"FAILED in world {number} after {campaign.kills:,} kills: {'; '.join(failures)}")
                _tell(f"its files:  {home}")
                _tell(f"once more:  {command('crash', '--seed', seed, '--world', number)}")
                return 1
            campaign.worlds += 1
            shutil.rmtree(home)
            if time.monotonic() - last >= _EVERY_SECONDS:
                last = time.monotonic()
                done = f"{campaign.kills:>6,} of {kills:,} kills, {campaign.acknowledged:,} acknowledged"
                _tell(f"  {done}, {last - began:,.0f} s")
    shutil.rmtree(folder)
    _tell(campaign.told())
    _tell(f"{time.monotonic() - began:.0f} s; nothing was lost")
    return 0


def _tell(text: str) -> None:
    print(text, flush=True)


def _failures(world: World, kills: int, until: float) -> list[str]:
    """What failed in a world's life."""
    try:
        trio.run(world.live, kills, until)
    except* (Violation, NotServing) as group:
        failures = [str(failure) for failure in _leaves(group)]
    else:
        failures = []
    return failures


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    return found


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common())
