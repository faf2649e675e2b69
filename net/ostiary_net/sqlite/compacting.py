"""Gives back to the disk what was erased of a database file, which SQLite keeps for what comes."""

from pathlib import Path

import apsw

from ostiary_net.sql.migrations import Opening
from ostiary_net.sqlite.backup import describe
from ostiary_net.sqlite.connections import connect
from ostiary_net.sqlite.file import refuse_lone_file, refuse_lone_log, refuse_unwritable
from ostiary_net.sqlite.schema import examine
from ostiary_net.sqlite.writer import WriterLock


class CompactError(RuntimeError):
    """The file could not be compacted and is as it was; the text is for an operator."""


def compact(path: Path) -> tuple[int, int]:
    """Write the file anew without its empty pages; its size in bytes, and by how much it was larger.

    Nobody else may have it open: they would wait for as long as it takes, and be told that they failed. A
    server that starts meanwhile waits. It is done or not: a crash leaves what was there. Raises
    `CompactError` and `SchemaError`.
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
    connection = connect(path)
    try:
        examine(connection, Opening.UPDATES)
        connection.set_busy_timeout(0)
        try:
            # Only the last that has the file open can do without its log. A store sets it up again.
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        except apsw.BusyError as error:
            raise CompactError(_in_use(path)) from error
        before = path.stat().st_size
        connection.execute("VACUUM")
        after = path.stat().st_size
    finally:
        connection.close(force=True)
    return after, before - after


def _in_use(path: Path) -> str:
    return f"{path} is in use: stop the server, and whatever else has it open"
