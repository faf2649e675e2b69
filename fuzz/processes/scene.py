"""The setting of `fuzz machine`: one server, its tenants, and the breakdown."""

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Final

import trio

from fuzz.processes.connection import Lost
from fuzz.processes.disks import Disk
from fuzz.processes.failures import InvariantBroken
from fuzz.processes.fallible import FILE, MODULE, Machine
from fuzz.processes.keeper import Keeper
from fuzz.processes.leaks import look_for_secrets
from fuzz.processes.server import Server
from fuzz.processes.tenant import Tenant
from fuzz.processes.tenants import Tenants
from fuzz.shared.campaign import Report
from fuzz.shared.invariants import PROGRESS

LOAD_SECONDS: Final = 1.0
_TENANTS: Final = 6
_MEMORY_GIVEN_BACK: Final = {"MALLOC_MMAP_THRESHOLD_": str(2**20)}
"""Environment for memory limits: without it, a process keeps a hash's memory for the next (mallopt(3))."""
_DISK_BYTES: Final = 192 * 2**20
"""Bytes for the longest log, 67 MB, and for the database file: only the fault fills the disk."""
_LOOK_SECONDS: Final = 0.01


class Scene:
    """Tenants work on a new server before its breakdown, meanwhile and afterwards, and check everything."""

    def __init__(
        self, name: str, folder: Path, keeper: Keeper, address: str, *, workers: int, has_disk: bool
    ) -> None:
        """Create a round named `name`; `address` is a PostgreSQL database, or empty for SQLite."""
        self.report = report = Report(counts=Counter(rounds=1))
        self.random = Random(f"machine {name}")
        home, state = folder / "data", folder / "machine"
        home.mkdir()
        self.machine = Machine(state)
        self.disk = Disk(keeper, home, _DISK_BYTES) if has_disk else None
        settings = {FILE: str(state), **_MEMORY_GIVEN_BACK, **({"DATABASE_URL": address} if address else {})}
        self.server = server = Server(
            home, workers=workers, settings=settings, program=(MODULE, "serve"), end_too=keeper.end_too
        )
        server.log = folder / "log"
        self.tenants = Tenants(name, range(_TENANTS), [server], report)
        self.restarts = False
        """Whether the breakdown kills the server, which must then be started again."""
        self._may_work = self._is_over = False
        self._at_rest: set[Tenant] = set()

    async def live(self, name: str, break_down: Callable[["Scene"], Awaitable[None]], *, shows: bool) -> None:
        """Work, meet the breakdown and check everything.

        If `shows`, some requests must fail. Raises `InvariantBroken`, `NotServing`.
        """
        with self.server:
            try:
                await self.start()
                await self.tenants.move_in()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self.tenants.keep_acting, self._may_ask)
                    await self.work(LOAD_SECONDS)
                    await self._check_all()
                    if before := self._failures():
                        raise InvariantBroken(f"{before} requests fail before the fault", PROGRESS)
                    self.tenants.log(f"({name})")
                    await break_down(self)
                    self.tenants.log(f"({name}: over)")
                    await self._recover(name, shows=shows)
                    nursery.cancel_scope.cancel()
            except Lost as lost:
                raise InvariantBroken("a request fails before the fault", PROGRESS) from lost
            finally:
                self.tenants.close()
            files = (each for each in self.server.folder.iterdir() if each.is_file())
            look_for_secrets((self.server.log, *files), self.tenants.ledger.secrets)
        counts, kept = self.report.counts, self.report.tables["acknowledged"].total()
        failures = f"500: {counts['500']}, 503: {counts['503']}, no answer: {counts['lost']}"
        self.report.line = f"{name:<22}{failures}; {kept} changes kept, {counts['checks']} questions"

    async def _recover(self, name: str, *, shows: bool) -> None:
        self._is_over = True
        if shows and not self._failures():
            raise InvariantBroken("the fault made nothing fail", PROGRESS)
        if self.restarts:
            await self.start()
        began = trio.current_time()
        await self._check_all()
        self.report.samples[name] = [trio.current_time() - began]
        failed = self._failures()
        await self.work(LOAD_SECONDS)
        await self.rest()
        if self._failures() > failed:
            raise InvariantBroken("requests fail though the fault is over", PROGRESS)
        self.server.kill()
        await self.start()
        await self._check_all()

    async def start(self) -> None:
        """Start the server and wait until it serves. Raises `NotServing`."""
        await trio.to_thread.run_sync(self.server.start_and_wait)

    async def work(self, seconds: float) -> None:
        """Let the tenants work for so many seconds, whatever fails; they continue afterwards."""
        self._may_work = True
        await trio.sleep(seconds)

    async def rest(self) -> None:
        """Let the tenants finish; return when no request is on its way."""
        self._may_work = False
        while len(self._at_rest) < _TENANTS:  # noqa: ASYNC110 (some come and go)
            await trio.sleep(_LOOK_SECONDS)

    async def check(self) -> None:
        """Let everything be checked during a breakdown, at a moment without a failure."""
        self._is_over = True
        await self._check_all()
        self._is_over = False

    async def _check_all(self) -> None:
        """Let every tenant resolve its last request and check everything."""
        self.tenants.note_mishap()
        self._may_work = True
        await self.tenants.wait_until_checked()
        await self.rest()

    async def _may_ask(self, tenant: Tenant) -> None:
        """Wait while a failed request cannot be resolved by reading, until the fault is over."""
        while not self._may_work or (not self._is_over and tenant.pending is not None):
            self._at_rest.add(tenant)
            await trio.sleep(_LOOK_SECONDS)
        self._at_rest.discard(tenant)

    def _failures(self) -> int:
        return sum(self.report.counts[each] for each in ("500", "503", "lost"))
