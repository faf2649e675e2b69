"""Measure the write-ahead log of a file, and make its checkpoints beside the turns.

SQLite by itself makes a checkpoint within the commit that made the log long, and all callers wait: 20 ms for
16 MB. Here another connection makes it while turns go on, and only what they wrote meanwhile is moved between
two turns. So the log may be long, and a page that many turns wrote goes into the file once
(docs/decisions/0024-the-log-is-folded-beside-the-turns.md).
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
"""Length in pages at which a checkpoint is due: 60 MB."""
_LONGEST: Final = 20_000
"""Length in pages at which a commit makes the checkpoint, as none is made beside the turns."""
_MEASURE_AFTER: Final = 1_000
"""Written pages after which the log is measured again: other processes write to it too."""
_WARN_AT: Final = 40_000
"""Length in pages at which a log that a reader keeps is warned of, 160 MB; then whenever it has doubled."""
_FEW: Final = 200
"""Pages left for the last pass, made while no turn runs."""
_MOST_PASSES: Final = 6
"""Most passes beside turns; each moves what was written during the one before."""


class WriteAheadLog:
    """The write-ahead log of one file, as one process measures it."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self._one_at_a_time = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._closed = False
        self._written = 0
        self._pages = 0
        self._due_at = _LONG
        self._warn_at = _WARN_AT

    @property
    def is_long(self) -> bool:
        """Whether the log is long enough for a `checkpoint`."""
        return self._pages >= self._due_at

    def measure(self, writer: apsw.Connection) -> None:
        """Measure the log after a commit, unless this process wrote little since it last did."""
        written, _ = writer.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)
        if 0 <= written - self._written < _MEASURE_AFTER:
            return
        self._written = written
        self._pages = _length(writer)
        if self._pages < _LONG:
            self._due_at, self._warn_at = _LONG, _WARN_AT
        if self._pages >= _LONGEST:
            with suppress(apsw.BusyError):  # another process makes one
                _checkpoint(writer)

    def checkpoint(self, alone: Callable[[], AbstractContextManager[None]]) -> None:
        """Move the log into the file beside all turns, and its end while `alone` keeps them away.

        Any thread may call it; it does nothing while another call runs. Raises `apsw.Error` and `FileMoved`.
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
                self._warn_if_kept(_length(connection), moved)
        finally:
            # The next commit begins the log anew, unless a reader still needs it.
            self._due_at = self._pages + _MEASURE_AFTER
            self._one_at_a_time.release()

    def _warn_if_kept(self, pages: int, moved: int) -> None:
        """Warn of a reader that keeps the log, which fills the disk in the end."""
        if pages >= self._warn_at and pages - moved > _FEW:
            self._warn_at = 2 * pages
            _log.warning(
                "somebody reads the database for long, and its log grows", bytes=measure_log(self._file.path)
            )

    def close(self) -> None:
        """Close the connection for checkpoints, once none runs."""
        with self._one_at_a_time:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open_connection(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = connect_writer(self._file.path)
        return self._connection


def _length(connection: apsw.Connection) -> int:
    """Return the number of pages in the log."""
    pages, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    return pages


def _checkpoint(connection: apsw.Connection) -> int:
    """Move into the file what no reader needs in the log; return the number of moved pages."""
    _, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    return moved
