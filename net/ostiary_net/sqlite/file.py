"""Create the database file, check that it can be written, and that its name still leads to it."""

import errno
import os
import re
from contextlib import suppress
from pathlib import Path

import apsw

from ostiary_net.observability.log import format_on_one_line
from ostiary_net.runtime.files import create_for_owner_of, find_user_name, read_owner


class FileMoved(OSError):
    """Raised when the database file that was opened is no longer at its path."""


class UnsafePlace(OSError):
    """Raised for a database file whose log would not lie beside it."""


class DatabaseFile:
    """The file that was at a path when a store was opened, and its write-ahead log.

    When a file is moved, deleted or replaced, processes that have it open keep writing where no other finds
    it.
    """

    __slots__ = ("_identity", "_log", "_log_identity", "path")

    def __init__(self, path: Path) -> None:
        """Raise `FileMoved` if there is no file."""
        self.path = path
        self._log = path.with_name(path.name + "-wal")
        self._identity = _identity(path)
        self._log_identity: tuple[int, int] | None = None

    def require_in_place(self) -> None:
        """Raise `FileMoved` unless the path still leads to the file.

        Called before each connect, too: SQLite removes the log that it finds beside an empty file.
        """
        if _identity(self.path) != self._identity:
            raise FileMoved(f"{self.path} is another file than the one that was opened: restart")

    def require_log_in_place(self) -> None:
        """Raise `FileMoved` unless the log is where it was the first time; a transaction keeps it there."""
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
    """Make an empty database file that only its owner can read, and its folder, unless they are there.

    Made by root, it belongs to the owner of its folder.
    """
    # An existing file is not opened: closing it would drop the locks that SQLite holds on it in this process,
    # as fcntl locks belong to the process and not to the descriptor.
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        create_for_owner_of(path.parent, path)


def describe_fault(error: Exception) -> str:
    """Describe on one line what kept SQLite or the system from a file; of some faults SQLite has no text."""
    code = getattr(error, "extendedresult", -1)
    # The index of a log is enlarged for nothing else, and its code has no other text than "disk I/O error".
    is_full = isinstance(error, apsw.FullError) or code == apsw.SQLITE_IOERR_SHMSIZE
    if is_full or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)):
        return "the disk is full"
    if isinstance(error, OSError) and error.filename:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, apsw.Error) and str(error) == "not an error":
        return f"SQLite says {apsw.mapping_extended_result_codes.get(code, type(error).__name__)}"
    return format_on_one_line(error)


def measure_log(path: Path) -> int:
    """Return the size of the write-ahead log in bytes; 0 without one."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size
    except FileNotFoundError:
        return 0


def refuse_lone_log(path: Path) -> None:
    """Raise `FileMoved` if there is a log beside an empty or missing file.

    SQLite would remove that log, and with it the last changes of a file that was moved away without it.
    """
    if measure_log(path) and not (path.exists() and path.stat().st_size):
        raise FileMoved(f"{path}-wal is there without its database: put that back, or move the log away too")


def refuse_unwritable(path: Path) -> None:
    """Raise `PermissionError` unless the file, its log and locks, and its folder can be written.

    SQLite would open such a file for reading, and leave others beside it that cannot be written either.
    """
    beside = (path.with_name(path.name + end) for end in ("-wal", "-shm", ".lock"))
    for each in (path.parent, path, *(each for each in beside if each.exists())):
        if not os.access(each, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            if os.statvfs(each).f_flag & os.ST_RDONLY:
                raise PermissionError(f"{each} cannot be written: it is on a file system for reading only")
            whose, runs = read_owner(each), find_user_name(os.geteuid())
            raise PermissionError(f"{each} cannot be written: it belongs to {whose}, and this runs as {runs}")


def refuse_lone_file(path: Path) -> None:
    """Raise `UnsafePlace` if the next process to open the file might not find its log.

    SQLite finds the log by the name of the file: it is lost with a container into which only the file is
    mounted, and missed by a process that opens the file under another name.
    """
    if path.is_dir():
        raise UnsafePlace(f"{path} is a folder: name a file in it")
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
