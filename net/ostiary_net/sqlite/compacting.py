"""Return free pages of a database file to the disk, which SQLite keeps for new rows."""

from pathlib import Path

import apsw

from ostiary_net.sql.migrations import Opening
from ostiary_net.sqlite.exclusive import open_exclusively
from ostiary_net.sqlite.file import describe_fault
from ostiary_net.sqlite.schema import examine


class CompactError(RuntimeError):
    """Raised when a file could not be compacted and is as it was; the text is for an operator."""


def compact(path: Path) -> tuple[int, int]:
    """Write the file anew without its free pages; return its size in bytes, and by how much it shrank.

    No other program may have it open; a server that starts meanwhile waits. A crash leaves the file as it
    was. Raises `CompactError`, `FileInUse` and `SchemaError`.
    """
    if not path.exists():
        raise CompactError(f"there is no database at {path}")
    try:
        with open_exclusively(path) as connection:
            examine(connection, Opening.UPDATES)
            before = path.stat().st_size
            connection.execute("VACUUM")
            after = path.stat().st_size
    except (OSError, apsw.Error) as error:
        raise CompactError(f"{path} could not be compacted: {describe_fault(error)}") from error
    return after, before - after
