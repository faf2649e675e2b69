"""The database file itself: who makes it, who may write it, and whether its name still leads to it."""

import os
from contextlib import suppress
from pathlib import Path


class FileMoved(OSError):
    """The database file that was opened is not at its place any more."""


class DatabaseFile:
    """The file that was at a path when a store was opened, and its write-ahead log.

    Whoever moves one away, deletes it, or puts another in its place leaves those who have it open with one
    that nobody else finds: what they keep there is lost, and what they answer from it is of before.
    """

    __slots__ = ("_identity", "_log", "_log_identity", "path")

    def __init__(self, path: Path) -> None:
        """Raise `FileMoved` where there is none."""
        self.path = path
        self._log = path.with_name(path.name + "-wal")
        self._identity = _identity(path)
        self._log_identity: tuple[int, int] | None = None

    def require_in_place(self) -> None:
        """Raise `FileMoved` unless the path still leads to the file: measured, 1 us.

        Before something connects to it, too: SQLite removes the log that it finds beside an empty file.
        """
        if _identity(self.path) != self._identity:
            raise FileMoved(f"{self.path} is another file than the one that was opened: restart")

    def require_log_in_place(self) -> None:
        """Raise `FileMoved` unless the log is where it was the first time. A transaction keeps it there."""
        identity = _identity(self._log)
        if self._log_identity is None:
            self._log_identity = identity
        elif identity != self._log_identity:
            raise FileMoved(f"{self._log} is another file than the one that is written to: restart")

    def forget_log(self) -> None:
        """Expect another log: the last connection to close removes it."""
        self._log_identity = None


def _identity(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise FileMoved(f"{path} was moved away or deleted: put it back, or restart") from None
    return found.st_dev, found.st_ino


def create_file(path: Path) -> None:
    """Make an empty database file that only its owner can read, and its folder, unless it is there.

    An existing file is never opened here: closing it would drop the locks that SQLite holds on it in
    this process (fcntl locks belong to the process, not to the descriptor).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def measure_log(path: Path) -> int:
    """The bytes of the write-ahead log; 0 where there is none."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size
    except FileNotFoundError:
        return 0


def refuse_lone_log(path: Path) -> None:
    """Raise `FileMoved` where there is a log, and the file is empty or missing.

    SQLite would remove the log, and with it the last changes of a file that was moved away without it.
    """
    if measure_log(path) and not (path.exists() and path.stat().st_size):
        raise FileMoved(f"{path}-wal is there without its database: put that back, or move the log away too")


def refuse_unwritable(path: Path) -> None:
    """Raise `PermissionError` unless the file, what lies beside it and its folder can be written.

    SQLite would open such a file for reading, and leave beside it what nobody can write either.
    """
    beside = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    for each in (path.parent, path, *(each for each in beside if each.exists())):
        if not os.access(each, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(f"{each} cannot be written")
