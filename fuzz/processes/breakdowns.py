"""Breakdowns of a server or its machine: processes, disk, clock, memory, descriptors, time to run.

Each has ended when its function returns; the tenants are at rest when it begins.
"""

import os
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw
import trio

from fuzz.processes import outages
from fuzz.processes.connection import Connection
from fuzz.processes.failures import InvariantBroken
from fuzz.processes.fallible import Fails
from fuzz.processes.outages import Outage
from fuzz.processes.scene import LOAD_SECONDS, Scene
from fuzz.processes.server import runs
from fuzz.processes.tenant import MOST_SECONDS, Session, Tenant
from fuzz.shared.calls import AnswerKind, Call, Verb
from fuzz.shared.invariants import ENDED_STAYS_ENDED, PROGRESS

_KILLS: Final = 6
_LONGEST_LOAD_SECONDS: Final = 0.5
_FAULT_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 40.0
"""Seconds that a process stands still, longer than the grace."""
_RETRY_AFTER_SECONDS: Final = 5.0
_HOLDER_FOUND_SECONDS: Final = 60.0
_KILLED_WITHIN_SECONDS: Final = 45.0
"""Seconds within which a supervisor has killed a worker that gave no sign of life for 30 s."""
_LOOK_SECONDS: Final = 0.02
_YEAR_SECONDS: Final = 365 * 86_400

Breakdown = Callable[[Scene], Awaitable[None]]
"""Function that lets something fail for a while and ends it; the tenants are at rest when it begins."""


# --- its processes


async def _kill(scene: Scene) -> None:
    """Kill all processes under load, during checks or during a start, several times; sometimes one worker."""
    server, random = scene.server, scene.random
    for _ in range(_KILLS):
        await scene.work(random.uniform(0, _LONGEST_LOAD_SECONDS))
        pids = server.list_worker_pids()
        if len(pids) == server.workers and random.random() < 0.3:
            os.kill(random.choice(pids), signal.SIGKILL)
            await trio.sleep(random.uniform(0, _LONGEST_LOAD_SECONDS))
        server.kill()
        while random.random() < 0.1:
            server.start()
            await trio.sleep(random.uniform(0, LOAD_SECONDS))
            server.kill()
        await scene.start()
        with closing(apsw.Connection(str(server.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(10_000)
            if (found := connection.pragma("integrity_check")) != "ok":
                raise InvariantBroken(f"integrity_check: {found}")
        if random.random() < 0.9:  # otherwise the next kill may fall into the checks
            await scene.check()


async def _stop_writer(scene: Scene) -> None:
    """Stop a worker that holds the write lock: it is killed, and the others write again."""
    ledger = scene.tenants.ledger
    ledger.patience_seconds = _KILLED_WITHIN_SECONDS
    stopped = await _stop_holder_of_lock(scene)
    scene.report.counts["workers stopped"] += 1
    with trio.move_on_after(_KILLED_WITHIN_SECONDS):
        while runs(stopped):  # noqa: ASYNC110 (it is no child of this process)
            await trio.sleep(_LOOK_SECONDS)
    if runs(stopped):
        raise InvariantBroken("a stopped worker holds the lock of writing and is not killed", PROGRESS)
    ledger.patience_seconds = MOST_SECONDS
    await scene.work(LOAD_SECONDS)


async def _stop_holder_of_lock(scene: Scene) -> int:
    """Stop one worker after another for a moment until one holds the lock; leave that one stopped."""
    server, random = scene.server, scene.random
    lock = server.database.with_name(f"{server.database.name}.lock").stat().st_ino
    await scene.work(0)
    with trio.fail_after(_HOLDER_FOUND_SECONDS):
        while True:
            await trio.sleep(random.uniform(0, _LOOK_SECONDS))
            pid = random.choice(server.list_worker_pids())
            os.kill(pid, signal.SIGSTOP)
            if pid in _holders_of_lock(lock):
                return pid
            os.kill(pid, signal.SIGCONT)


def _holders_of_lock(inode: int) -> set[int]:
    """Return the processes with a lock on a file by flock(2), as the kernel lists them (proc_locks(5))."""
    lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    held = (line.split() for line in lines if " FLOCK " in line and "->" not in line)
    return {int(fields[4]) for fields in held if fields[5].endswith(f":{inode}")}


def _work_during(outage: Outage) -> Breakdown:
    """Return a breakdown in which the tenants work while the outage lasts."""

    async def fail(scene: Scene) -> None:
        with outage(scene):
            await scene.work(_FAULT_SECONDS)

    return fail


# --- the clock


async def _jump_ahead(scene: Scene) -> None:
    """Set the clock a year ahead, so that everything expires, and back: expired sessions stay expired."""
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


def _set_clock_unnoticed(seconds: int) -> Breakdown:
    """Return a breakdown that sets the clock while the process runs, which must not notice it."""

    async def jump(scene: Scene) -> None:
        scene.machine.set(clock_seconds=seconds)
        await scene.work(_FAULT_SECONDS)
        scene.machine.set()
        await scene.work(LOAD_SECONDS)
        if failures := scene.report.counts["500"] + scene.report.counts["503"]:
            raise InvariantBroken(f"{failures} requests fail as the clock is set", PROGRESS)

    return jump


async def _start_a_year_back(scene: Scene) -> None:
    """Start a process with the clock set back: ended sessions stay ended, spent tokens stay spent."""
    scene.machine.set(clock_seconds=-_YEAR_SECONDS)
    scene.server.kill()
    await scene.start()
    for tenant in scene.tenants.all:
        await tenant.check()
        for session in tenant.of_user:
            if session.spent is not None:
                answer = await tenant.ask(Verb.REFRESH, token=session.spent[1])
                tenant.expect_refusal(answer, "a year back, a spent refresh token", session)
                tenant.end([session], "replay")
    scene.machine.set()
    _restart(scene)


def _restart(scene: Scene) -> None:
    """Restart, so that the next process uses another time and no grace goes on."""
    scene.server.kill()
    scene.restarts = True
    for tenant in scene.tenants.all:
        for session in tenant.live:
            session.rotated = 0.0


# --- time to run


async def _pause(scene: Scene) -> None:
    """Stop the process during a grace, so that an honest retry lies in a socket until the grace is over."""
    waiting: list[tuple[Tenant, Session, Call]] = []
    for tenant in scene.tenants.all:
        session = tenant.choose_session()
        if session is not None:
            began, call = time.monotonic(), tenant.call(Verb.REFRESH, token=session.refresh)
            tenant.rotate(session, [await tenant.send(call)], began)
            waiting.append((tenant, session, call))
    os.kill(scene.server.pid, signal.SIGSTOP)
    try:
        await trio.sleep(_RETRY_AFTER_SECONDS)
        async with trio.open_nursery() as nursery:
            for each in waiting:
                nursery.start_soon(_retry_into, scene.server.port, *each)
            await trio.sleep(_PAUSE_SECONDS - _RETRY_AFTER_SECONDS)
            os.kill(scene.server.pid, signal.SIGCONT)
    finally:
        os.kill(scene.server.pid, signal.SIGCONT)
    scene.report.counts["retries over a pause"] += len(waiting)
    await scene.work(LOAD_SECONDS)


async def _retry_into(port: int, tenant: Tenant, session: Session, call: Call) -> None:
    """Retry, and require the same pair or a 500, never the treatment of a replay."""
    with Connection(port) as connection:
        answer = await connection.ask(call)
    if answer.kind is not AnswerKind.FAILED:
        tenant.expect_same_pair(session, answer, "a retry that lay in a socket")


OF_SEVERAL_WORKERS: Final = ("killed", "stopped")
_OF_THE_DISK: Final[dict[str, Breakdown]] = {
    "writes fail": _work_during(outages.fail_disk(Fails.WRITES)),
    "flushes fail": _work_during(outages.fail_disk(Fails.FLUSHES)),
    "no file may grow": _work_during(outages.limit_files),
}
ON_A_SMALL_DISK: Final[dict[str, Breakdown]] = {
    "disk full": _work_during(outages.fill_disk),
    "disk read-only": _work_during(outages.break_disk),
}
"""Breakdowns that need root."""
_OF_EVERY_STORE: Final[dict[str, Breakdown]] = {
    "clock a year ahead": _set_clock_unnoticed(_YEAR_SECONDS),
    "clock a year back": _set_clock_unnoticed(-_YEAR_SECONDS),
    "no memory left": _work_during(outages.limit_memory),
    "no descriptor left": _work_during(outages.limit_descriptors),
    "paused for 40 s": _pause,
}
_OF_SQLITE: Final[dict[str, Breakdown]] = {
    **_OF_THE_DISK,
    **ON_A_SMALL_DISK,
    **_OF_EVERY_STORE,
    "clock a year ahead": _jump_ahead,
    "started a year back": _start_a_year_back,
    "killed": _kill,
    "stopped": _stop_writer,
    "locked for writers": _work_during(outages.lock_out_writers),
    "locked for all": _work_during(outages.lock_out_all),
    "file moved away": _work_during(outages.move_away),
}
"""Breakdowns of a server on SQLite; PostgreSQL has a disk and a clock of its own."""
MUST_SHOW: Final = {*_OF_THE_DISK, *ON_A_SMALL_DISK, "no memory left", "killed", "stopped"}
"""Breakdowns that prove nothing unless some request fails."""


def breakdowns_of(address: str) -> dict[str, Breakdown]:
    """Return the breakdowns by name for a server on the PostgreSQL at this address, or on SQLite if empty."""
    return _OF_EVERY_STORE if address else _OF_SQLITE
