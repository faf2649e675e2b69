"""Outages of a server while a block runs: its disk, its file, memory, descriptors."""

import fcntl
import os
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final

import apsw

from fuzz.processes.fallible import Fails
from fuzz.processes.scene import Scene

_ROOM_BYTES: Final = 4_096
_WAL_LOCKS: Final = (120, 8)
"""Position of SQLite's write-ahead locks in the `-shm` file: the first byte and their number."""
_SPARE_BYTES: Final = 2**24
"""Spare memory in bytes.

It is less than the 19 MiB of a password's hash and enough for all else, above all for new threads: if a
thread dies as it begins, its starter waits for ever (python/cpython#140746), and with it the whole server.
"""
_SPARE_DESCRIPTORS: Final = 2
_CROWD: Final = 40


Outage = Callable[[Scene], AbstractContextManager[None]]


def fail_disk(fails: Fails) -> Outage:
    """Return an outage in which writes or flushes of the disk fail."""

    @contextmanager
    def fail(scene: Scene) -> Iterator[None]:
        scene.machine.set(fails=fails)
        yield
        scene.machine.set()

    return fail


@contextmanager
def fill_disk(scene: Scene) -> Iterator[None]:
    """Fill the disk with foreign data."""
    assert scene.disk is not None
    scene.disk.fill()
    yield
    scene.disk.clear()


@contextmanager
def break_disk(scene: Scene) -> Iterator[None]:
    """Break the file system as a kernel does that finds an error in it; then repair it."""
    assert scene.disk is not None
    scene.disk.break_down()
    yield
    scene.server.kill()
    scene.restarts = True
    scene.disk.repair()


@contextmanager
def limit_files(scene: Scene) -> Iterator[None]:
    """Forbid every file to grow."""
    longest = max(path.stat().st_size for path in scene.server.folder.glob("ostiary.db*"))
    with _limit(scene.server.pid, resource.RLIMIT_FSIZE, longest + _ROOM_BYTES):
        yield


@contextmanager
def limit_memory(scene: Scene) -> Iterator[None]:
    """Leave less memory than the hash of a password takes, which a sign-in needs."""
    status = Path(f"/proc/{scene.server.pid}/status").read_text(encoding="utf-8")
    [kib] = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData:")]
    for tenant in scene.tenants.all:
        tenant.login = None
    with _limit(scene.server.pid, resource.RLIMIT_DATA, kib * 1024 + _SPARE_BYTES):
        yield


@contextmanager
def limit_descriptors(scene: Scene) -> Iterator[None]:
    """Open foreign connections until no descriptor is left."""
    held = len(os.listdir(f"/proc/{scene.server.pid}/fd"))
    with ExitStack() as crowd, _limit(scene.server.pid, resource.RLIMIT_NOFILE, held + _SPARE_DESCRIPTORS):
        for _ in range(_CROWD):
            crowd.enter_context(socket.create_connection(("127.0.0.1", scene.server.port)))
        yield


@contextmanager
def _limit(pid: int, what: int, most: int) -> Iterator[None]:
    """Limit a resource of a process; `what` is a constant of the module `resource`."""
    before = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (most, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, what, before)


@contextmanager
def lock_out_writers(scene: Scene) -> Iterator[None]:
    """Hold a transaction of another program open."""
    connection = apsw.Connection(str(scene.server.database))
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


@contextmanager
def lock_out_all(scene: Scene) -> Iterator[None]:
    """Hold every lock of the write-ahead log in another process, so that reads fail, too."""
    shared = os.open(f"{scene.server.database}-shm", os.O_RDWR)
    start, length = _WAL_LOCKS
    try:
        fcntl.lockf(shared, fcntl.LOCK_EX, length, start)
        yield
    finally:
        os.close(shared)


@contextmanager
def move_away(scene: Scene) -> Iterator[None]:
    """Rename the file: open connections keep it, new ones do not find it."""
    elsewhere = scene.server.folder / "elsewhere"
    scene.server.database.rename(elsewhere)
    try:
        yield
    finally:
        elsewhere.rename(scene.server.database)
