"""Open connections to one database file: a writer, and readers that its flushes never hold up."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from ostiary_net.runtime.system import raise_if_cancelled
from ostiary_net.sqlite.file import DatabaseFile, FileMoved

_BUSY_TIMEOUT_MS: Final = 8_000
"""Longest wait for a program that does not know the writer lock, as a shell.

Shorter than a caller waits (`turn_queue.py`), so that the log says why."""
_STATEMENTS_KEPT: Final = 256
_CACHE_KIB: Final = 4 * 1024
_READERS_KEPT: Final = 4
_STEPS_BETWEEN_CHECKS: Final = 100_000
"""Steps of SQLite's machine between two checks whether a query is still waited for: about a millisecond."""
_MOST_MAPPED_BYTES: Final = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
"""Part of the file that is mapped: half of the memory.

For a mapped page that is not in memory, the system reads its neighbours too, and a file larger than memory
has no room for these."""

# FULL: with NORMAL the last commits would be lost with the power, an acknowledged revocation among them.
# secure_delete: an erased salt is overwritten in its page and not merely unlinked (READINGS 1).
# wal_autocheckpoint: the log is checkpointed beside the turns (`write_ahead.py`).
# fullfsync: macOS flushes the disk's own cache only when asked for by this name.
# cache_size: a commit after which SQLite had to put sibling pages in order goes through all it keeps.
# Measured with 4 MB in place of 32: 4 % off client credentials, 8 % off a refresh.
_WRITER_SETTINGS: Final = f"""
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA secure_delete = FAST;
    PRAGMA cache_size = -{_CACHE_KIB};
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = 67108864;
"""
# mmap_size: pages are read where the system keeps them (docs/decisions/0023-readers-map-the-file.md).
# cache_size: for what is in the log, and all of it if a file cannot be mapped.
_READER_SETTINGS: Final = f"""
    PRAGMA query_only = ON;
    PRAGMA mmap_size = {_MOST_MAPPED_BYTES};
    PRAGMA cache_size = -{_CACHE_KIB};
"""


class StoreClosed(RuntimeError):
    """Raised when a store is called after it was closed."""

    def __init__(self) -> None:
        super().__init__("the store is closed; open another one on the same file")


def connect(path: Path) -> apsw.Connection:
    """Open a connection that may write, and change nothing yet: the file may be another program's."""
    return _connect(path, apsw.SQLITE_OPEN_READWRITE, "")


@contextmanager
def open_alone(path: Path) -> Iterator[apsw.Connection]:
    """Open a connection that may write, for maintenance, and close it when the block ends."""
    connection = connect(path)
    try:
        yield connection
    finally:
        connection.close(force=True)


def make_writer(connection: apsw.Connection) -> None:
    """Set a connection up for turns, in write-ahead mode; the caller holds the writer lock."""
    _execute_all(connection, _WRITER_SETTINGS)


def connect_writer(path: Path) -> apsw.Connection:
    """Open a connection for turns or checkpoints, on a file that was set up before."""
    return _connect(path, apsw.SQLITE_OPEN_READWRITE, _WRITER_SETTINGS)


def connect_reader(path: Path) -> apsw.Connection:
    """Open a connection that cannot write, while the writer's is open and keeps the log in place."""
    connection = _connect(path, apsw.SQLITE_OPEN_READONLY, _READER_SETTINGS)
    connection.set_progress_handler(_stop_if_cancelled, _STEPS_BETWEEN_CHECKS)
    return connection


def _stop_if_cancelled() -> bool:
    # Trio waits for the thread of a cancelled call. Without this, a slow list would be answered too late,
    # and keep the place of the next (READINGS 47).
    raise_if_cancelled()
    return False


def set_busy_timeout(connection: apsw.Connection, *, waits: bool) -> None:
    """Set whether a connection waits for programs that do not know the writer lock, or fails at once."""
    connection.set_busy_timeout(_BUSY_TIMEOUT_MS if waits else 0)


def _connect(path: Path, flags: int, settings: str) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=flags, statementcachesize=_STATEMENTS_KEPT)
    set_busy_timeout(connection, waits=True)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    # Plans depend on the statement alone. Without this, a join with a table that has partial indexes is
    # planned anew for every bound value: measured, 78 us for five tables in place of 7.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    try:
        _execute_all(connection, settings)
    except BaseException:
        connection.close()
        raise
    return connection


def _execute_all(connection: apsw.Connection, statements: str) -> None:
    """Execute several statements."""
    connection.execute(statements).fetchall()  # unfetched, apsw stops after the first that has a row


class ReaderPool:
    """A pool of read-only connections: one for each caller at a time, a few of them kept."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        # Needs no lock, as append and pop of a list are atomic.
        self._idle: list[apsw.Connection] = []
        self._closed = False

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Connection]:
        """Lend a connection in a read transaction. Raises `FileMoved`."""
        connection = self._take()
        try:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            # A fresh connection has nothing of what went wrong.
            connection.close(force=True)
            raise
        if self._closed or len(self._idle) >= _READERS_KEPT:
            connection.close()
        else:
            self._idle.append(connection)

    def _take(self) -> apsw.Connection:
        if self._closed:
            raise StoreClosed
        self._file.require_in_place()
        try:
            return self._idle.pop()
        except IndexError:
            connection = connect_reader(self._file.path)
        try:
            self._file.require_in_place()
        except FileMoved:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close idle connections now, and the others when they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
