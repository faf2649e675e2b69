"""Run `ostiary backup`, `restore` and `compact` on the SQLite file."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Final

import click

from ostiary_net.runtime.system import SystemClock
from ostiary_net.sql.migrations import Opening
from ostiary_net.sqlite.backup import (
    BackupError,
    back_up,
    record_backup,
    refuse_taken,
    restore as restore_file,
)
from ostiary_net.sqlite.compacting import CompactError, compact as compact_file
from ostiary_net.sqlite.exclusive import FileInUse
from ostiary_web.app.asgi_app import load_settings_or_exit
from ostiary_web.cli.context import run
from ostiary_web.cli.ending import end_everything
from ostiary_web.cli.printing import Printer, with_printer
from ostiary_web.server.database import SQLiteFile
from ostiary_web.server.settings import Settings
from ostiary_web.streams import OutputFailed, exit_with

_STANDARD_STREAM: Final = "-"

_BACKED_UP = {"file": "command.backup.file", "bytes": "command.backup.bytes"}
_RESTORED = {**_BACKED_UP, "ended": "command.restore.ended"}

_COMPACTED = {"bytes": "command.backup.bytes", "gained": "command.compact.gained"}

_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))


@click.command()
@_FILE
@with_printer
def backup(printer: Printer, file: Path) -> None:
    """Copy the database to FILE, which must not exist; - for standard output. The server may run.

    The copy is of one moment and is checked before it gets its name. It holds digests, names and telephone
    numbers: only its owner can read it. On its way to standard output it lies beside the database.
    """
    database = _sqlite_file(load_settings_or_exit(os.environ))
    is_streamed = str(file) == _STANDARD_STREAM
    try:
        size = 0 if is_streamed else back_up(database, file)
        if is_streamed:
            _stream_backup(database)
    except BackupError as error:
        exit_with(error)
    record_backup(database, SystemClock().now())
    if not is_streamed:
        printer.record({"file": str(file), "bytes": size}, _BACKED_UP)


def _stream_backup(database: Path) -> None:
    """Write a checked copy to standard output; raise what `back_up` does, and `OutputFailed`."""
    output = sys.stdout.buffer
    if output.isatty():
        raise BackupError("standard output is a terminal: send it to a file or another program")
    if not database.exists():
        raise BackupError(f"there is no database at {database}")
    with TemporaryDirectory(prefix=".ostiary-backup-", dir=database.parent) as folder:
        back_up(database, Path(folder) / "copy.db")
        copy = (Path(folder) / "copy.db").open("rb")
    # From here on it has no name, so that nothing of it is left behind.
    with copy:
        try:
            copyfileobj(copy, output)
            output.flush()
        except OSError as error:
            raise OutputFailed(error) from error


@contextmanager
def _receive(file: Path, database: Path) -> Iterator[Path]:
    """Yield a backup's file; of standard input, a copy beside the database that is gone afterwards."""
    if str(file) != _STANDARD_STREAM:
        yield file
        return
    if sys.stdin.isatty():
        raise BackupError(
            "standard input is a terminal: send a backup to it, as `ostiary backup -` writes it"
        )
    refuse_taken(database)
    with TemporaryDirectory(prefix=".ostiary-restore-", dir=database.parent) as folder:
        received = Path(folder) / "backup.db"
        with received.open("xb") as copy:
            copyfileobj(sys.stdin.buffer, copy)
        if not received.stat().st_size:
            raise BackupError(
                "standard input was empty: send a backup to it, as `ostiary backup -` writes it"
            )
        yield received


@click.command()
@with_printer
def compact(printer: Printer) -> None:
    """Give the space of erased records in the SQLite file back to the disk. The server must not run.

    It needs as much free space as the file has in the end, and prints how many bytes it gained. The file is
    replaced as a whole, or stays as it was.
    """
    database = _sqlite_file(load_settings_or_exit(os.environ))
    # What SQLite writes beside the file may be too much for /tmp, and is nobody else's.
    os.environ.setdefault("SQLITE_TMPDIR", str(database.parent.absolute()))
    try:
        size, gained = compact_file(database)
    except (CompactError, FileInUse) as error:
        exit_with(error)
    printer.record({"bytes": size, "gained": gained}, _COMPACTED)


@click.command()
@_FILE
@click.option(
    "--keep-sessions",
    is_flag=True,
    help="Keep the tokens that were alive when the backup was made, even if they were ended since.",
)
@with_printer
def restore(printer: Printer, file: Path, keep_sessions: bool) -> None:
    """Make the database from FILE; none may exist yet; - for standard input. The server must not run.

    Sessions that ended since the backup would be alive again, so all sessions end, and everybody signs in
    again. Passwords and clients are those of the backup. On its way from standard input it lies beside the
    database.
    """
    settings = load_settings_or_exit(os.environ)
    database, ended = _sqlite_file(settings), 0

    def end_in(copy: Path) -> None:
        """End all sessions in the copy before it has its name: no server may start on it before."""
        nonlocal ended
        ended = run(end_everything, replace(settings, database=SQLiteFile(copy)), Opening.UPDATES)

    try:
        with _receive(file, database) as whole:
            size = restore_file(whole, database, None if keep_sessions else end_in)
    except BackupError as error:
        exit_with(error)
    printer.record({"file": str(database), "bytes": size, "ended": ended}, _RESTORED)


def _sqlite_file(settings: Settings) -> Path:
    database = settings.database
    if not isinstance(database, SQLiteFile):
        exit_with(
            f"{database} is not a SQLite file: PostgreSQL has pg_dump and pg_restore, and after a restore "
            "`ostiary end-everything`"
        )
    return database.path
