"""The one connection that writes: one turn at a time has it, in this process and in others.

A turn may begin in one thread and be committed in another: the event loop decides and writes, a worker thread
waits for the disk.
"""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from ostiary_net.runtime.files import create_for_owner_of
from ostiary_net.sqlite.connections import StoreClosed, connect, connect_writer, set_busy_timeout
from ostiary_net.sqlite.file import DatabaseFile
from ostiary_net.sqlite.write_ahead import WriteAheadLog


class Writer:
    """A connection in write-ahead mode; from `begin` to `commit` or `release` nobody else has it."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self._one_turn_at_a_time = threading.Lock()
        self._lock = WriterLock(file.path)
        self.log = WriteAheadLog(file)
        self._connection: apsw.Connection | None = None
        self._closed = False
        self._version = -1

    def open(self, prepare: Callable[[apsw.Connection], None]) -> None:
        """Connect to the file and have it prepared, while nobody else writes to it."""
        with self._keep_others_away():
            self._connection = connect(self._file.path)
            self._file.require_in_place()
            prepare(self._connection)

    def begin(self) -> apsw.Connection:
        """Wait until nobody else writes, and begin a transaction. Raises `StoreClosed` and `FileMoved`."""
        self._one_turn_at_a_time.acquire()
        try:
            if self._closed:
                raise StoreClosed
            self._lock.acquire()
            try:
                self._file.require_in_place()
                connection = self._open_connection()
                connection.execute("BEGIN IMMEDIATE")
                self._file.require_log_in_place()
                self._version = _version(connection)
            except BaseException:
                self._roll_back()
                self._lock.release()
                raise
        except BaseException:
            self._one_turn_at_a_time.release()
            raise
        return connection

    def try_begin(self) -> apsw.Connection | None:
        """Begin a transaction if nobody has to be waited for; else return None.

        Raises `StoreClosed` and `FileMoved`.

        None also where another process wrote since this one did: one that never waits would always be quicker
        than those that do, and they would never have a turn.
        """
        if not self._one_turn_at_a_time.acquire(blocking=False):
            return None
        begun = None
        try:
            if self._closed:
                raise StoreClosed
            if self._connection is not None and self._lock.try_acquire():
                try:
                    begun = self._begin_if_unchanged(self._connection)
                finally:
                    if begun is None:
                        self._roll_back()
                        self._lock.release()
        finally:
            if begun is None:
                self._one_turn_at_a_time.release()
        return begun

    def _begin_if_unchanged(self, connection: apsw.Connection) -> apsw.Connection | None:
        self._file.require_in_place()
        set_busy_timeout(connection, waits=False)
        try:
            connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            return None
        finally:
            set_busy_timeout(connection, waits=True)
        self._file.require_log_in_place()
        return connection if _version(connection) == self._version else None

    def commit(self, finish: Callable[[apsw.Connection], None] | None = None) -> None:
        """Commit what was written since `begin`, and what `finish` writes; raising, keep nothing."""
        try:
            connection = self._open_connection()
            if finish is not None:
                finish(connection)
            connection.execute("COMMIT")
        finally:
            self.release()

    def release(self) -> None:
        """Roll back what was not committed, and let the next turn have the connection."""
        try:
            self._roll_back()
            if self._connection is not None:
                with suppress(apsw.Error):  # what was committed is kept, whatever becomes of the log
                    self.log.measure(self._connection)
        finally:
            self._lock.release()
            self._one_turn_at_a_time.release()

    def checkpoint(self) -> None:
        """Move the log into the file, most of it while turns go on. Raises `apsw.Error`."""
        self.log.checkpoint(self._keep_others_away)

    @contextmanager
    def _keep_others_away(self) -> Iterator[None]:
        """Keep everybody else from writing while the block runs."""
        with self._one_turn_at_a_time:
            if self._closed:
                raise StoreClosed
            self._lock.acquire()
            try:
                yield
            finally:
                self._lock.release()

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Lend the connection in a transaction; what the block does not commit is rolled back."""
        connection = self.begin()
        try:
            yield connection
        finally:
            self.release()

    def close(self) -> None:
        """Close the connection once the running turn is over."""
        self.log.close()
        with self._one_turn_at_a_time:
            if self._closed:
                return
            self._closed = True
            if self._connection is not None:
                self._connection.close(force=True)
                self._connection = None
            self._lock.close()

    def _open_connection(self) -> apsw.Connection:
        """The connection; a new one where the last had to be given up."""
        if self._connection is None:
            self._file.forget_log()
            self._connection = connect_writer(self._file.path)
            self._file.require_in_place()
        return self._connection

    def _roll_back(self) -> None:
        """Roll back; a connection that cannot even do that is closed, which rolls back as well."""
        connection = self._connection
        if connection is None:
            return
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except Exception:
            self._connection = None
            connection.close(force=True)


class WriterLock:
    """An exclusive lock on a file beside the database, freed by the kernel when its holder dies.

    SQLite alone keeps two writers correct but not fair: whoever waits for its write lock sleeps and asks
    again, and a busy neighbour is always quicker (measured: 4,975 turns to 1). `flock` puts waiters to sleep
    in the kernel and wakes them when the lock is free. It is about fairness only: every turn still begins
    with `BEGIN IMMEDIATE`, so a lost lock file costs speed and nothing else.

    Each object has a lock of its own, also within one process; one object is for one thread at a time.
    Waiting has no limit of its own: a holder that lives is one that is committing.
    """

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        with suppress(FileExistsError):
            create_for_owner_of(database, path)
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def acquire(self) -> None:
        """Wait for the lock."""
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def try_acquire(self) -> bool:
        """Take the lock if nobody has it; False where somebody does."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Let go of the lock, and wake whoever waits for it."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the lock file. It stays on the disk, as another process may be waiting on it."""
        os.close(self._file)


def _version(connection: apsw.Connection) -> int:
    """A number of SQLite's that is another one when another connection has written."""
    version = connection.execute("PRAGMA data_version").get
    assert isinstance(version, int)
    return version
