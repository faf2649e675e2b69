"""The write-ahead log of a file: how long it has become, and its checkpoints beside the turns.

SQLite on its own makes a checkpoint within the commit that made it long, and everybody waits: twenty
milliseconds for 16 MB. Here another connection does it while turns go on, and only what these wrote meanwhile
is moved between two of them. So the log may be long, and the longer it is the fewer pages go into the file:
one that many turns wrote goes there once (docs/decisions/0024-the-log-is-folded-beside-the-turns.md).
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Final

import apsw
import structlog

from ostiary_net.sqlite.connections import connect_writer
from ostiary_net.sqlite.file import DatabaseFile, measure_log

_log = structlog.get_logger("ostiary")

_LONG: Final = 15_000
"""Pages, 60 MB: when it is time for a checkpoint."""
_LONGEST: Final = 20_000
"""When a commit makes the checkpoint, as nobody does it beside the turns."""
_LOOK_AFTER: Final = 1_000
"""So many written pages, it is asked how long it is: other processes write to it too."""
_KEPT: Final = 40_000
"""160 MB: when the log is told of that stays because somebody reads; then whenever it has doubled."""
_FEW: Final = 200
"""Pages that may be left for when no turn goes on."""
_MOST_PASSES: Final = 6
"""Beside turns; each moves what was written during the one before."""


class WriteAheadLog:
    """The log of one file, as the writer of one process knows it."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self._one_at_a_time = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._closed = False
        self._written = 0
        self._pages = 0
        self._due_at = _LONG
        self._told_at = _KEPT

    @property
    def is_long(self) -> bool:
        """Whether the log is long enough for a `checkpoint`."""
        return self._pages >= self._due_at

    def measure(self, writer: apsw.Connection) -> None:
        """Measure the log after a commit, unless this process wrote little since it last did."""
        written, _ = writer.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)
        if 0 <= written - self._written < _LOOK_AFTER:
            return
        self._written = written
        self._pages = _length(writer)
        if self._pages < _LONG:
            self._due_at, self._told_at = _LONG, _KEPT
        if self._pages >= _LONGEST:
            with suppress(apsw.BusyError):  # somebody else makes one
                _checkpoint(writer)

    def checkpoint(self, alone: Callable[[], AbstractContextManager[None]]) -> None:
        """Move the log into the file beside all turns, and its end while `alone` keeps them away.

        In any thread. Nothing is done where somebody else does it. Raises `apsw.Error` and `FileMoved`; then
        the log stays as long as it is.
        """
        if not self._one_at_a_time.acquire(blocking=False):
            return
        try:
            if self._closed:
                return
            self._file.require_in_place()
            connection = self._open_connection()
            with suppress(apsw.BusyError):  # another process makes one
                for _ in range(_MOST_PASSES):
                    moved = _checkpoint(connection)
                    if _length(connection) - moved <= _FEW:
                        break
                with alone():
                    moved = _checkpoint(connection)
                self._tell_if_kept(_length(connection), moved)
        finally:
            # The next commit begins it anew, unless somebody still reads what was in it.
            self._due_at = self._pages + _LOOK_AFTER
            self._one_at_a_time.release()

    def _tell_if_kept(self, pages: int, moved: int) -> None:
        """Log that somebody's open read keeps the log, which fills the disk in the end."""
        if pages >= self._told_at and pages - moved > _FEW:
            self._told_at = 2 * pages
            _log.warning(
                "somebody reads the database for long, and its log grows", bytes=measure_log(self._file.path)
            )

    def close(self) -> None:
        """Close the connection for checkpoints, once none is running."""
        with self._one_at_a_time:
            self._closed = True
            if self._connection is not None:
                self._connection.close(force=True)
                self._connection = None

    def _open_connection(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = connect_writer(self._file.path)
        return self._connection


def _length(connection: apsw.Connection) -> int:
    """The number of pages in the log."""
    pages, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    return pages


def _checkpoint(connection: apsw.Connection) -> int:
    """Move into the file what no reader needs from the log any more; return how many pages are moved."""
    _, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    return moved
