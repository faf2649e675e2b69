"""The database file itself: who makes it, who may write it, and whether its name still leads to it."""

import os
import re
from contextlib import suppress
from pathlib import Path

from ostiary_net.runtime.files import create_for_owner_of, find_user_name, read_owner


class FileMoved(OSError):
    """The database file that was opened is not at its place any more."""


class UnsafePlace(OSError):
    """A database file without the place beside it that its log needs."""


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

    Where root makes it, it belongs to whoever the folder belongs to.

    An existing file is never opened here: closing it would drop the locks that SQLite holds on it in
    this process (fcntl locks belong to the process, not to the descriptor).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        create_for_owner_of(path.parent, path)


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
    beside = (path.with_name(path.name + end) for end in ("-wal", "-shm", ".lock"))
    for each in (path.parent, path, *(each for each in beside if each.exists())):
        if not os.access(each, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            whose, runs = read_owner(each), find_user_name(os.geteuid())
            raise PermissionError(f"{each} cannot be written: it belongs to {whose}, and this runs as {runs}")


def refuse_lone_file(path: Path) -> None:
    """Raise `UnsafePlace` where the log would not lie beside the file for whoever opens it next.

    SQLite finds it by the name of the file: what is in it is lost with a container into which only the file
    is mounted, and by another name of the file nobody sees it.
    """
    names = path.stat().st_nlink
    if names > 1:
        raise UnsafePlace(
            f"{path} has {names} names (hard links), and its log lies beside one: remove the others"
        )
    if str(path) in _mount_points():
        raise UnsafePlace(f"{path} is mounted by itself, and its log would lie outside: mount its folder")


def _mount_points() -> set[str]:
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return set()  # not Linux: only containers mount single files
    return {re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), line.split()[4]) for line in lines}
