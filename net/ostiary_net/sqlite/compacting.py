"""Return free pages of a database file to the disk, which SQLite keeps for new rows."""

from pathlib import Path

import apsw

from ostiary_net.sql.migrations import Opening
from ostiary_net.sqlite.backup import describe
from ostiary_net.sqlite.connections import open_alone
from ostiary_net.sqlite.file import refuse_lone_file, refuse_lone_log, refuse_unwritable
from ostiary_net.sqlite.schema import examine
from ostiary_net.sqlite.writer import WriterLock


class CompactError(RuntimeError):
    """Raised when a file could not be compacted and is as it was; the text is for an operator."""


def compact(path: Path) -> tuple[int, int]:
    """Write the file anew without its free pages; return its size in bytes, and by how much it shrank.

    No other program may have it open; a server that starts meanwhile waits. A crash leaves the file as it
    was. Raises `CompactError` and `SchemaError`.
    """
    if not path.exists():
        raise CompactError(f"there is no database at {path}")
    path = path.resolve()
    try:
        for refuse in (refuse_lone_log, refuse_lone_file, refuse_unwritable):
            refuse(path)
        lock = WriterLock(path)
        try:
            if not lock.try_acquire():
                raise CompactError(_in_use(path))
            return _write_anew(path)
        finally:
            lock.close()
    except (OSError, apsw.Error) as error:
        raise CompactError(f"{path} could not be compacted: {describe(error)}") from error


def _write_anew(path: Path) -> tuple[int, int]:
    with open_alone(path) as connection:
        examine(connection, Opening.UPDATES)
        connection.set_busy_timeout(0)
        try:
            # Only the last connection to a file may remove its log. A store sets it up again.
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        except apsw.BusyError as error:
            raise CompactError(_in_use(path)) from error
        before = path.stat().st_size
        connection.execute("VACUUM")
        after = path.stat().st_size
    return after, before - after


def _in_use(path: Path) -> str:
    return f"{path} is in use: stop the server, and whatever else has it open"
