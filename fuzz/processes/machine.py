"""`python -m fuzz machine`: a real server whose machine fails: disk, clock, memory, descriptors, time to run.

Each round has a server of its own with tenants on it. They work before the fault, during it and after it, and
each checks everything that was acknowledged: nothing is lost, and nothing that ended is back. While the fault
lasts, what cannot be done is answered 500 or 503 in the envelope, or not at all; once it is over, the same
process answers everything, and so does one that is started afterwards.
"""

import itertools
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import trio

from fuzz.processes import api, outages
from fuzz.processes.api import InvariantBroken
from fuzz.processes.connection import Connection
from fuzz.processes.failovers import RoamingConnection
from fuzz.processes.fallible import FILE, MODULE, Disk, Machine
from fuzz.processes.faults import FAULTS_OF_MACHINES
from fuzz.processes.leaks import count_leaks
from fuzz.processes.races import open_database
from fuzz.processes.server import Server
from fuzz.processes.tenant import Kind, Session, Tenant
from fuzz.processes.tenants import Tenants
from fuzz.shared.campaign import Report, command, conduct, counted
from fuzz.shared.http_client import basic
from fuzz.shared.invariants import ENDED_STAYS_ENDED, NO_SECRETS, PROGRESS
from fuzz.shared.selftest import SEED, run_selftest

_TENANTS: Final = 6
_LOAD_SECONDS: Final = 1.0
_FAULT_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 40.0
"""Longer than the grace."""
_RETRY_AFTER_SECONDS: Final = 5.0
_YEAR_SECONDS: Final = 365 * 86_400
_SPARE_BYTES: Final = 2**20
"""Of memory."""
_MEMORY_GIVEN_BACK: Final = {"MALLOC_MMAP_THRESHOLD_": str(2**20)}
"""Else a process keeps what its first hash of a password took, and the next needs nothing (mallopt(3))."""
_SPARE_DESCRIPTORS: Final = 2
_CROWD: Final = 40
_DISK_BYTES: Final = 48 * 2**20
_LOOK_SECONDS: Final = 0.01
_SHOWING: Final = ("writes fail", "clock a year ahead", "paused for 40 s")
"""The faults in which the selftest's mistakes must be noticed."""


@dataclass(slots=True)
class Scene:
    """Where it happens."""

    server: Server
    machine: Machine
    report: Report
    tenants: Tenants
    work: Callable[[float], Awaitable[None]]
    """Has the tenants work, whatever fails, and is back after so many seconds; they go on."""
    rest: Callable[[], Awaitable[None]]
    """Has the tenants end what they do, and is back when nobody asks anything any more."""
    restarts: bool = False
    """Whether the server is killed by the fault, and is to be started when it is over."""


Fault = Callable[[Scene], Awaitable[None]]
"""What fails and for how long; it is over when this ends. The tenants are at rest when it begins."""


# --- the disk


def _disk(fails: Disk) -> Fault:
    async def fail(scene: Scene) -> None:
        scene.machine.set(disk=fails)
        await scene.work(_FAULT_SECONDS)
        scene.machine.set()

    return fail


async def _let_no_file_grow(scene: Scene) -> None:
    with outages.full(scene.server):
        await scene.work(_FAULT_SECONDS)


async def _fill_disk(scene: Scene) -> None:
    """To the last byte, by what is none of the server's."""
    filler = scene.server.folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (2**20, 2**12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
        await scene.work(_FAULT_SECONDS)
    filler.unlink()


async def _remount_read_only(scene: Scene) -> None:
    """What a kernel does that finds an error in a file system; then it is repaired and mounted again."""
    folder = scene.server.folder
    _find_an_error(folder)
    await scene.work(_FAULT_SECONDS)
    scene.server.kill()
    scene.restarts = True
    _repair(folder)


def _find_an_error(folder: Path) -> None:
    device = Path(_run("findmnt", "-no", "SOURCE", str(folder)))
    Path(f"/sys/fs/ext4/{device.name}/trigger_fs_error").write_text("1", encoding="utf-8")


def _repair(folder: Path) -> None:
    _run("umount", str(folder))
    # Its code says that it found something.
    subprocess.run(["e2fsck", "-fy", _image(folder)], check=False, capture_output=True)
    _mount(folder)


def _image(folder: Path) -> Path:
    return folder.with_suffix(".ext4")


def _mount(folder: Path) -> None:
    _run("mount", "-o", "loop,errors=remount-ro", str(_image(folder)), str(folder))


def _run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    """A file system of its own on `folder`, which a file holds."""
    image = _image(folder)
    with image.open("wb") as file:
        file.truncate(_DISK_BYTES)
    _run("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", str(image))
    _mount(folder)
    try:
        yield
    finally:
        _run("umount", "-l", str(folder))
        image.unlink()


# --- the clock


async def _jump_ahead(scene: Scene) -> None:
    """Everything has run out a year later, and stays so in this process where the clock is put right."""
    old = [(tenant, session) for tenant in scene.tenants.all for session in tenant.live]
    scene.machine.set(clock_seconds=_YEAR_SECONDS)
    await _must_be_over(old, "a year later")
    for tenant in scene.tenants.all:
        tenant.live.clear()
        tenant.login = None
    await scene.tenants.sign_in()
    await scene.work(_FAULT_SECONDS)
    scene.machine.set()
    await scene.work(_LOAD_SECONDS)
    await scene.rest()
    await _must_be_over(old, "with the clock put right")
    _restart(scene)


async def _must_be_over(sessions: Sequence[tuple[Tenant, Session]], when: str) -> None:
    for tenant, session in sessions:
        for token in session.tokens:
            if await tenant.is_active(token):
                raise InvariantBroken(f"a session that has run out is active {when}", ENDED_STAYS_ENDED)


def _jump_unnoticed(seconds: int) -> Fault:
    """Nobody notices, as long as the process runs."""

    async def jump(scene: Scene) -> None:
        scene.machine.set(clock_seconds=seconds)
        await scene.work(_FAULT_SECONDS)
        scene.machine.set()
        await scene.work(_LOAD_SECONDS)
        if failures := scene.report.counts["500"] + scene.report.counts["503"]:
            raise InvariantBroken(f"{failures} requests fail as the clock is set", PROGRESS)

    return jump


async def _start_a_year_back(scene: Scene) -> None:
    """A process that is started with the clock set back: what ended is over, no spent token is good again."""
    scene.machine.set(clock_seconds=-_YEAR_SECONDS)
    scene.server.kill()
    await start(scene.server)
    for tenant in scene.tenants.all:
        await tenant.check()
        for session in tenant.of_user:
            if session.spent_refresh is not None:
                response = await tenant.refresh(session.spent_refresh)
                tenant.expect_refusal(response, "a year back, a spent refresh token")
                tenant.end([session])
    scene.machine.set()
    _restart(scene)


def _restart(scene: Scene) -> None:
    """The next process goes by another time, in which no grace goes on."""
    scene.server.kill()
    scene.restarts = True
    for tenant in scene.tenants.all:
        for session in tenant.live:
            session.rotated = 0.0


# --- what a process may have


async def _limit_memory(scene: Scene) -> None:
    """Less is left than the hash of a password takes, which a sign-in needs."""
    with _limit(scene.server.pid, resource.RLIMIT_DATA, _held_bytes(scene.server.pid) + _SPARE_BYTES):
        for tenant in scene.tenants.all:
            tenant.login = None
        await scene.work(_FAULT_SECONDS)


def _held_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    [kib] = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData:")]
    return kib * 1024


async def _limit_descriptors(scene: Scene) -> None:
    """Others connect as well, until there is no descriptor left."""
    held = len(os.listdir(f"/proc/{scene.server.pid}/fd"))
    with ExitStack() as crowd, _limit(scene.server.pid, resource.RLIMIT_NOFILE, held + _SPARE_DESCRIPTORS):
        for _ in range(_CROWD):
            crowd.enter_context(socket.create_connection(("127.0.0.1", scene.server.port)))
        await scene.work(_FAULT_SECONDS)


@contextmanager
def _limit(pid: int, what: int, most: int) -> Iterator[None]:
    before = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (most, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, what, before)


async def _pause(scene: Scene) -> None:
    """Stopped in the middle of the grace: an honest retry lies in a socket until it is over."""
    waiting: list[tuple[Tenant, Session, str, Connection]] = []
    for tenant in scene.tenants.all:
        session = tenant.choose_session()
        if session is not None and session.refresh is not None:
            spent = session.refresh
            began = time.monotonic()
            response = tenant.expect(await tenant.refresh(spent), 200, "a refresh before the pause")
            tenant.rotate(session, response, began)
            waiting.append((tenant, session, spent, Connection(scene.server.port)))
    os.kill(scene.server.pid, signal.SIGSTOP)
    try:
        await trio.sleep(_RETRY_AFTER_SECONDS)
        async with trio.open_nursery() as nursery:
            for each in waiting:
                nursery.start_soon(_retry_into, *each)
            await trio.sleep(_PAUSE_SECONDS - _RETRY_AFTER_SECONDS)
            os.kill(scene.server.pid, signal.SIGCONT)
    finally:
        os.kill(scene.server.pid, signal.SIGCONT)
    scene.report.counts["retries over a pause"] += len(waiting)
    await scene.work(_LOAD_SECONDS)


async def _retry_into(tenant: Tenant, session: Session, spent: str, connection: Connection) -> None:
    """Answered with the same pair, or with 500; never as a replay."""
    form = {"grant_type": "refresh_token", "refresh_token": spent}
    fields = [basic(tenant.client_id, tenant.secret), ("User-Agent", "tenant")]
    with connection:
        response = await connection.post_form("/api/oauth2/token", fields, **form)
    if response.status in (500, 503):
        return
    content = tenant.expect(response, 200, "a retry that lay in a socket").json()
    if (content["access_token"], content["refresh_token"]) != (session.access, session.refresh):
        raise tenant.violation("a retry that lay in a socket brings another pair")


_OF_THE_DISK: Final[dict[str, Fault]] = {
    "writes fail": _disk(Disk.WRITES_FAIL),
    "flushes fail": _disk(Disk.FLUSHES_FAIL),
    "no file may grow": _let_no_file_grow,
}
_ON_A_SMALL_DISK: Final[dict[str, Fault]] = {"disk full": _fill_disk, "disk read-only": _remount_read_only}
"""These need to be root."""
_OF_EVERY_STORE: Final[dict[str, Fault]] = {
    "clock a year ahead": _jump_unnoticed(_YEAR_SECONDS),
    "clock a year back": _jump_unnoticed(-_YEAR_SECONDS),
    "no memory left": _limit_memory,
    "no descriptor left": _limit_descriptors,
    "paused for 40 s": _pause,
}
_OF_SQLITE: Final[dict[str, Fault]] = {
    **_OF_THE_DISK,
    **_ON_A_SMALL_DISK,
    **_OF_EVERY_STORE,
    "clock a year ahead": _jump_ahead,
    "started a year back": _start_a_year_back,
}
"""PostgreSQL has a disk and a clock of its own."""
_MUST_SHOW: Final = {*_OF_THE_DISK, *_ON_A_SMALL_DISK, "no memory left"}
"""A round in which these make nothing fail proves nothing."""


class Round:
    """One server, those who live on it, and one fault."""

    def __init__(self, seed: int, number: int, name: str, folder: Path, address: str) -> None:
        self.report = report = Report(counts=Counter(rounds=1))
        self._name, self._fault = name, _faults(address)[name]
        random = Random(f"machine {seed}/{number}")
        home, state = folder / "data", folder / "machine"
        home.mkdir()
        settings = {FILE: str(state), **_MEMORY_GIVEN_BACK, **({"DATABASE_URL": address} if address else {})}
        self._server = server = Server(home, settings=settings, program=(MODULE, "serve"))
        server.log = folder / "log"
        randoms = (Random(f"{seed}/{number}/{each}") for each in itertools.count())
        self._tenants = tenants = Tenants(
            randoms, range(_TENANTS), lambda: RoamingConnection([server], random, report)
        )
        self._scene = Scene(server, Machine(state), report, tenants, self._work, self._rest)
        report.tables |= {"acknowledged": tenants.tally.acknowledged, "unknown": tenants.tally.unknown}
        self._may_work = self._is_over = False
        self._at_rest: set[Tenant] = set()

    async def live(self) -> None:
        """Work, meet the fault, and check everything. Raises `InvariantBroken`, `NotServing`."""
        with ExitStack() as stack:
            if self._name in _ON_A_SMALL_DISK:
                stack.enter_context(_small_disk(self._server.folder))
            stack.enter_context(self._server)
            try:
                await start(self._server)
                await self._tenants.move_in()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._tenants.keep_acting, self._may_ask)
                    await self._meet()
                    nursery.cancel_scope.cancel()
            finally:
                self._tenants.close()
            if leaks := count_leaks(self._server.log.read_bytes(), self._tenants.tally.secrets):
                raise InvariantBroken(f"the log holds the text of {leaks} secrets", NO_SECRETS)
        self._tell()

    async def _meet(self) -> None:
        await self._work(_LOAD_SECONDS)
        await self._check_all()
        if before := self._failures():
            raise InvariantBroken(f"{before} requests fail before the fault", PROGRESS)
        await self._fault(self._scene)
        self._is_over = True
        failed = self._failures()
        if not failed and self._name in _MUST_SHOW:
            raise InvariantBroken("the fault made nothing fail", PROGRESS)
        if self._scene.restarts:
            await start(self._server)
        began = trio.current_time()
        await self._check_all()
        self.report.samples[self._name] = [trio.current_time() - began]
        failed = self._failures()
        await self._work(_LOAD_SECONDS)
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

    async def _check_all(self) -> None:
        """Every tenant finds out what became of its last request, and checks everything."""
        self._tenants.note_mishap()
        self._may_work = True
        await self._tenants.wait_until_checked()
        await self._rest()

    async def _may_ask(self, tenant: Tenant) -> None:
        """What became of a request that failed cannot be told by reading before the fault is over."""
        while not self._may_work or (
            not self._is_over and tenant.pending is not None and tenant.pending.kind is not Kind.NOTHING
        ):
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


async def start(server: Server) -> None:
    """Start the server, which serves when this is over. Raises `NotServing`."""
    await trio.to_thread.run_sync(server.start_and_wait)


def _faults(address: str) -> dict[str, Fault]:
    return _OF_EVERY_STORE if address else _OF_SQLITE


def run(seed: int, rounds: int, *, most_seconds: float, faults: Sequence[str], postgres: str) -> int:
    """Let so many faults happen, for at most so long; 0 where nothing was lost."""
    known = _faults(postgres)
    if unknown := set(faults) - known.keys():
        print(f"--fault: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    names = list(faults or known)
    if os.geteuid() and (left_out := set(names) & _ON_A_SMALL_DISK.keys()):
        print(f"not as root, so without: {', '.join(sorted(left_out))}", flush=True)
        names = [name for name in names if name not in left_out]
    print(f"seed {seed}, {rounds:,} faults of {'PostgreSQL' if postgres else 'SQLite'} servers", flush=True)
    order = Random(f"machine {seed}")
    drawn = itertools.chain.from_iterable(order.sample(names, len(names)) for _ in itertools.count())
    runs = (run_one(seed, each, name, postgres) for each, name in zip(range(rounds), drawn, strict=False))
    return conduct(runs, _figures, most_seconds=most_seconds)


def run_one(seed: int, number: int, name: str, postgres: str = "") -> Report:
    """One round; its files stay where it failed."""
    folder = Path(tempfile.mkdtemp(prefix="ostiary-machine-"))
    with open_database(postgres) as address:
        meeting = Round(seed, number, name, folder, address)
        try:
            trio.run(meeting.live)
        except* Exception as group:
            again = command("machine", "--seed", seed, "--fault", name)
            api.fail(meeting.report, group, f"in {name}", f"its files:  {folder}", f"once more:  {again}")
        else:
            shutil.rmtree(folder)
    return meeting.report


def _figures(total: Report, seconds: float) -> str:
    acknowledged, unknown = total.tables["acknowledged"], total.tables["unknown"]
    lines = [
        f"{acknowledged.total():,} acknowledged changes, all of which stand: {counted(acknowledged)}",
        f"{unknown.total():,} requests without an answer, each come to what is allowed: {counted(unknown)}",
        f"{total.counts['checks']:,} questions about what had been acknowledged",
    ]
    for name, seconds_each in sorted(total.samples.items()):
        lines.append(f"  {name:<22}{len(seconds_each)} times, all checked {max(seconds_each):.1f} s after it")
    lost = "" if total.stories else "; nothing was lost"
    return "\n".join([*lines, f"{total.counts['rounds']:,} faults, {seconds:.0f} s{lost}"])


def selftest(only: str) -> int:
    """Plant the known mistakes in servers whose machine fails; 0 where none survives."""
    return run_selftest(only, FAULTS_OF_MACHINES, run_planted, len(_SHOWING))


def run_planted(number: int) -> Report:
    """One round of the selftest's own seed."""
    return run_one(SEED, number, _SHOWING[number])
