"""A store that is full, locked or away under a real server, for as long as a block runs."""

import fcntl
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import apsw

from fuzz.processes.server import Server

Outage = Callable[[Server], AbstractContextManager[None]]

_ROOM_BYTES: Final = 4_096
_WAL_LOCKS: Final = (120, 8)
"""Where in the `-shm` file SQLite holds the locks of the write-ahead log: the first byte and how many."""


@contextmanager
def fill_up(server: Server) -> Iterator[None]:
    """No file may grow any further."""
    longest = max(path.stat().st_size for path in server.folder.glob("ostiary.db*"))
    with limit(server.pid, resource.RLIMIT_FSIZE, longest + _ROOM_BYTES):
        yield


@contextmanager
def limit(pid: int, what: int, most: int) -> Iterator[None]:
    """A process may have no more of something, as `resource` names it."""
    before = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (most, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, what, before)


@contextmanager
def lock_out_writers(server: Server) -> Iterator[None]:
    """Another program is in the middle of a transaction of its own."""
    connection = apsw.Connection(str(server.database))
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


@contextmanager
def lock_out_all(server: Server) -> Iterator[None]:
    """Another process holds every lock of the write-ahead log, so that nobody can read either."""
    shared = os.open(f"{server.database}-shm", os.O_RDWR)
    start, length = _WAL_LOCKS
    try:
        fcntl.lockf(shared, fcntl.LOCK_EX, length, start)
        yield
    finally:
        os.close(shared)


@contextmanager
def move_away(server: Server) -> Iterator[None]:
    """The file has another name: open connections keep it, new ones find nothing."""
    elsewhere = server.folder / "elsewhere"
    server.database.rename(elsewhere)
    try:
        yield
    finally:
        elsewhere.rename(server.database)
