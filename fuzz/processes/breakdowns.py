"""What fails of a server or its machine: processes, races, disk, clock, memory, descriptors, time to run.

Each is over where its function ends; the tenants are at rest when it begins.
"""

import os
import resource
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import apsw
import trio

from fuzz.processes import outages
from fuzz.processes.api import InvariantBroken
from fuzz.processes.connection import Connection
from fuzz.processes.disks import Disk
from fuzz.processes.fallible import Fails, Machine
from fuzz.processes.races import Races
from fuzz.processes.server import Server
from fuzz.processes.tenant import Session, Tenant
from fuzz.processes.tenants import Tenants
from fuzz.shared.campaign import Report
from fuzz.shared.http_client import basic
from fuzz.shared.invariants import ENDED_STAYS_ENDED, PROGRESS

LOAD_SECONDS: Final = 1.0
_KILLS: Final = 6
_LONGEST_LOAD_SECONDS: Final = 0.5
_RACED_SESSIONS: Final = 10
_FAULT_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 40.0
"""Longer than the grace."""
_RETRY_AFTER_SECONDS: Final = 5.0
_YEAR_SECONDS: Final = 365 * 86_400
_SPARE_BYTES: Final = 2**24
"""Of memory: less than the hash of a password takes, 19 MiB, and enough for all else; above all for new
threads. Where one dies as it begins, its starter waits for ever (python/cpython#140746): the whole server."""
_SPARE_DESCRIPTORS: Final = 2
_CROWD: Final = 40


@dataclass(slots=True)
class Scene:
    """Where it happens."""

    server: Server
    machine: Machine
    disk: Disk | None
    """The server's own, where it has one."""
    report: Report
    tenants: Tenants
    random: Random
    work: Callable[[float], Awaitable[None]]
    """Has the tenants work, whatever fails, and is back after so many seconds; they go on."""
    check: Callable[[], Awaitable[None]]
    """Has the tenants check everything, and rest, while nothing fails."""
    rest: Callable[[], Awaitable[None]]
    """Has the tenants end what they do, and is back when nobody asks anything any more."""
    restarts: bool = False
    """Whether the server is killed by the fault, and is to be started when it is over."""


Fault = Callable[[Scene], Awaitable[None]]
"""What fails and for how long; it is over when this ends. The tenants are at rest when it begins."""


# --- its processes


async def _kill(scene: Scene) -> None:
    """Kill everything in the load, the checking or a start, again and again; now and then one worker."""
    server, random = scene.server, scene.random
    for _ in range(_KILLS):
        await scene.work(random.uniform(0, _LONGEST_LOAD_SECONDS))
        pids = server.worker_pids()
        if len(pids) == server.workers and random.random() < 0.3:
            os.kill(random.choice(pids), signal.SIGKILL)
            await trio.sleep(random.uniform(0, _LONGEST_LOAD_SECONDS))
        server.kill()
        while random.random() < 0.1:
            server.start()
            await trio.sleep(random.uniform(0, LOAD_SECONDS))
            server.kill()
        await start(server)
        with closing(apsw.Connection(str(server.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(10_000)
            if (found := connection.pragma("integrity_check")) != "ok":
                raise InvariantBroken(f"integrity_check: {found}")
        if random.random() < 0.9:  # else the next kill may fall into the checking
            await scene.check()


async def _race(scene: Scene) -> None:
    """Twenty at once for one code or token."""
    races = Races(scene.server.port, scene.random)
    scene.report.tables["races"] = races.counts
    await races.run(_RACED_SESSIONS)


# --- the disk


def _disk(fails: Fails) -> Fault:
    async def fail(scene: Scene) -> None:
        scene.machine.set(fails=fails)
        await scene.work(_FAULT_SECONDS)
        scene.machine.set()

    return fail


def _outage(outage: outages.Outage) -> Fault:
    async def fail(scene: Scene) -> None:
        with outage(scene.server):
            await scene.work(_FAULT_SECONDS)

    return fail


async def _fill_disk(scene: Scene) -> None:
    """By what is none of the server's."""
    assert scene.disk is not None
    scene.disk.fill()
    await scene.work(_FAULT_SECONDS)
    scene.disk.clear()


async def _break_disk(scene: Scene) -> None:
    """What a kernel does that finds an error in a file system; then it is repaired."""
    assert scene.disk is not None
    scene.disk.break_down()
    await scene.work(_FAULT_SECONDS)
    scene.server.kill()
    scene.restarts = True
    scene.disk.repair()


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
    await scene.work(LOAD_SECONDS)
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
        await scene.work(LOAD_SECONDS)
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
    with outages.limit(scene.server.pid, resource.RLIMIT_DATA, _held_bytes(scene.server.pid) + _SPARE_BYTES):
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
    limit = outages.limit(scene.server.pid, resource.RLIMIT_NOFILE, held + _SPARE_DESCRIPTORS)
    with ExitStack() as crowd, limit:
        for _ in range(_CROWD):
            crowd.enter_context(socket.create_connection(("127.0.0.1", scene.server.port)))
        await scene.work(_FAULT_SECONDS)


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
    await scene.work(LOAD_SECONDS)


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


OF_SEVERAL_WORKERS: Final = ("killed", "raced")
_OF_THE_DISK: Final[dict[str, Fault]] = {
    "writes fail": _disk(Fails.WRITES),
    "flushes fail": _disk(Fails.FLUSHES),
    "no file may grow": _outage(outages.fill_up),
}
ON_A_SMALL_DISK: Final[dict[str, Fault]] = {"disk full": _fill_disk, "disk read-only": _break_disk}
"""These need to be root."""
_OF_EVERY_STORE: Final[dict[str, Fault]] = {
    "raced": _race,
    "clock a year ahead": _jump_unnoticed(_YEAR_SECONDS),
    "clock a year back": _jump_unnoticed(-_YEAR_SECONDS),
    "no memory left": _limit_memory,
    "no descriptor left": _limit_descriptors,
    "paused for 40 s": _pause,
}
_OF_SQLITE: Final[dict[str, Fault]] = {
    **_OF_THE_DISK,
    **ON_A_SMALL_DISK,
    **_OF_EVERY_STORE,
    "clock a year ahead": _jump_ahead,
    "started a year back": _start_a_year_back,
    "killed": _kill,
    "locked for writers": _outage(outages.lock_out_writers),
    "locked for all": _outage(outages.lock_out_all),
    "file moved away": _outage(outages.move_away),
}
"""PostgreSQL has a disk and a clock of its own."""
MUST_SHOW: Final = {*_OF_THE_DISK, *ON_A_SMALL_DISK, "no memory left", "killed"}
"""A round in which these make nothing fail proves nothing."""


def faults_of(address: str) -> dict[str, Fault]:
    """By name, those that a server meets whose database is PostgreSQL at this address, or SQLite for none."""
    return _OF_EVERY_STORE if address else _OF_SQLITE


async def start(server: Server) -> None:
    """Start the server, which serves when this is over. Raises `NotServing`."""
    await trio.to_thread.run_sync(server.start_and_wait)
