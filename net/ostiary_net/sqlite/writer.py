"""Keep the one connection that writes: one turn at a time has it, in this process and in others.

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
    """A connection in write-ahead mode; from `begin` to `commit` or `release` one turn has it."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self._one_turn_at_a_time = threading.Lock()
        self._lock = WriterLock(file.path)
        self.log = WriteAheadLog(file)
        self._connection: apsw.Connection | None = None
        self._closed = False
        self._version = -1

    def open(self, prepare: Callable[[apsw.Connection], None]) -> None:
        """Connect to the file and call `prepare`, while no other writes to it."""
        with self._keep_others_away():
            self._connection = connect(self._file.path)
            self._file.require_in_place()
            prepare(self._connection)

    def begin(self) -> apsw.Connection:
        """Wait until no other writes, and begin a transaction. Raises `StoreClosed` and `FileMoved`."""
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
        """Begin a transaction if no other has to be waited for; else return None.

        Raises `StoreClosed` and `FileMoved`.
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
        # None if another process wrote since: a process that never waits is always quicker than one that
        # does.
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
                with suppress(apsw.Error):  # the commit is kept, whatever becomes of the log
                    self.log.measure(self._connection)
        finally:
            self._lock.release()
            self._one_turn_at_a_time.release()

    def checkpoint(self) -> None:
        """Move the log into the file, most of it while turns go on. Raises `apsw.Error`."""
        self.log.checkpoint(self._keep_others_away)

    @contextmanager
    def _keep_others_away(self) -> Iterator[None]:
        """Keep all others from writing while the block runs."""
        with self._one_turn_at_a_time:
            self._lock.acquire()
            try:
                yield
            finally:
                self._lock.release()

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Lend the connection in a transaction; roll back what the block does not commit."""
        connection = self.begin()
        try:
            yield connection
        finally:
            self.release()

    def close(self) -> None:
        """Close the connection once the running turn ends."""
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
        """Return the connection, a new one if the last was given up."""
        if self._connection is None:
            self._file.forget_log()
            self._connection = connect_writer(self._file.path)
            self._file.require_in_place()
        return self._connection

    def _roll_back(self) -> None:
        """Roll back, or close a connection that cannot, which rolls back as well."""
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

    SQLite alone keeps two writers correct but not fair: a process that waits for its write lock sleeps and
    polls, and a busy neighbour is always quicker (measured: 4,975 turns to 1). `flock` wakes waiters when the
    lock is free. Correctness does not need it: every turn begins with `BEGIN IMMEDIATE`, so a lost lock file
    costs only speed.

    Each object has its own lock, also within one process, and is for one thread at a time. Waiting has no
    limit: a holder that lives is committing.
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
        """Acquire the lock if it is free; False otherwise."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Release the lock, and wake a waiter."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the lock file; it stays on the disk, as another process may wait on it."""
        os.close(self._file)


def _version(connection: apsw.Connection) -> int:
    """Return SQLite's data version, which changes when another connection writes."""
    version = connection.execute("PRAGMA data_version").get
    assert isinstance(version, int)
    return version
