"""Copy the database file, complete and of one moment, while a server goes on writing to it."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import apsw

from ostiary_core.model.instant import Instant
from ostiary_net.observability.summaries import Milestone
from ostiary_net.runtime.files import flush_to_disk, give_free_name
from ostiary_net.sql.migrations import Opening
from ostiary_net.sql.paging import Execute
from ostiary_net.sql.summaries import record_milestone
from ostiary_net.sqlite.connections import open_alone
from ostiary_net.sqlite.file import DatabaseFile, create_file, describe_fault
from ostiary_net.sqlite.schema import examine
from ostiary_net.sqlite.writer import Writer

_PAGES_A_STEP: Final = 1_000
"""Pages copied in one step, 4 MiB: between two steps, others have the file."""


class BackupError(RuntimeError):
    """Raised when a copy could not be made, or is incomplete; the text is for an operator."""


def back_up(source: Path, target: Path) -> int:
    """Copy the database at `source`, which may be in use, to a new `target`; return its size in bytes.

    The copy is checked page by page, and has its name only once it is whole and on the disk. Only its owner
    can read it. Raises `BackupError` and `SchemaError`.
    """
    return _make_copy(source, target, partial(Path.touch, mode=0o600, exist_ok=False), None)


def _make_copy(
    source: Path, target: Path, create: Callable[[Path], None], finish: Callable[[Path], None] | None
) -> int:
    """Copy `source` to a file that `create` makes, and call `finish` on it before it gets its name."""
    unfinished = target.with_name(target.name + ".unfinished")
    try:
        _refuse_unfit(source, target)
        unfinished.unlink(missing_ok=True)
        create(unfinished)
        _copy(source, unfinished)
        if finish is not None:
            finish(unfinished)
            with open_alone(unfinished) as connection:
                _merge_log(connection)
        flush_to_disk(unfinished)
        give_free_name(unfinished, target)
    except FileExistsError as error:
        raise BackupError(f"{target} exists already; name another file, or move it away") from error
    except (OSError, apsw.Error) as error:
        raise BackupError(f"{source} could not be copied to {target}: {describe_fault(error)}") from error
    finally:
        for end in ("", "-wal", "-shm", "-journal", ".lock"):
            # If it cannot be removed, it could not be made: that error is told.
            with suppress(OSError):
                unfinished.with_name(unfinished.name + end).unlink()
    flush_to_disk(target.parent)
    return target.stat().st_size


def _refuse_unfit(source: Path, target: Path) -> None:
    if not source.exists():
        raise BackupError(f"there is no database at {source}")
    if target.exists():
        raise BackupError(f"{target} exists already; name another file, or move it away")
    if not target.parent.is_dir():
        # Not made here: if its disk is not mounted, the copy would land beside it.
        raise BackupError(f"there is no folder {target.parent}; make it, or mount what it is on")


def restore(backup: Path, database: Path, finish: Callable[[Path], None] | None = None) -> int:
    """Make a database from a backup, if there is none; return its size in bytes.

    `finish` is called on the database before it gets its name. Made by root, it belongs to the owner of its
    folder. Raises `BackupError`, `SchemaError`, and what `finish` raises.
    """
    refuse_taken(database)
    return _make_copy(backup, database, create_file, finish)


def refuse_taken(database: Path) -> None:
    """Raise `BackupError` unless a database can be made there; make its folder."""
    try:
        for end in ("", "-wal", "-shm"):
            left = database.with_name(database.name + end)
            if left.exists():
                raise BackupError(f"{left} exists: stop the server and move it away first")
        database.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BackupError(f"{database} cannot be made: {error.strerror}") from error


def record_backup(source: Path, now: Instant) -> None:
    """Record in the database at `source` that a backup was made, if it can be written."""
    with suppress(apsw.Error, OSError):
        writer = Writer(DatabaseFile(source))
        try:
            writer.open(lambda connection: None)
            with writer.transaction() as connection:
                execute: Execute = lambda text, bound: connection.execute(text, bound).fetchall()  # noqa: E731
                record_milestone(execute, Milestone.BACKED_UP, now)
                connection.execute("COMMIT")
        finally:
            writer.close()


def _copy(source: Path, target: Path) -> None:
    with open_alone(source) as reading, open_alone(target) as writing:
        # Without a transaction SQLite begins anew whenever another connection wrote between two steps:
        # measured, a file of 65 MB was not copied within a minute.
        reading.execute("BEGIN")
        examine(reading, Opening.UPDATES)
        copying = writing.backup("main", reading, "main")
        try:
            while not copying.step(_PAGES_A_STEP):
                pass
        finally:
            copying.close(force=True)  # without force it raises once more what a step raised
        _merge_log(writing)
        found = [str(line) for (line,) in writing.execute("PRAGMA integrity_check")]
        if found != ["ok"]:
            raise BackupError(f"the copy is not complete: {found[0]}")
        examine(writing, Opening.UPDATES)


def _merge_log(connection: apsw.Connection) -> None:
    """Move the log into the database file, and remove it."""
    connection.execute("PRAGMA journal_mode = DELETE").fetchall()
