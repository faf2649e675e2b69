"""`ostiary backup FILE` and `ostiary restore FILE`: the SQLite file, copied in use, and put back."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click

from ostiary_net.runtime.system import SystemClock
from ostiary_net.sql.migrations import Opening, SchemaError
from ostiary_net.sqlite.backup import BackupError, back_up, note_backup
from ostiary_net.sqlite.backup import restore as put_back
from ostiary_web.app.asgi_app import settings_or_exit
from ostiary_web.cli.context import run
from ostiary_web.cli.ending import end_everything
from ostiary_web.cli.printing import Printer, with_printer
from ostiary_web.server.database import SQLiteFile
from ostiary_web.server.settings import Settings

_BACKED_UP = {"file": "command.backup.file", "bytes": "command.backup.bytes"}
_RESTORED = {**_BACKED_UP, "ended": "command.restore.ended"}

_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@click.command()
@_FILE
@with_printer
def backup(printer: Printer, file: Path) -> None:
    """Copy the database to FILE, which must not be there. The server may go on.

    The copy is of one moment and is checked before it gets its name. It holds digests, names and telephone
    numbers: only its owner can read it.
    """
    database = _sqlite_file(settings_or_exit(os.environ))
    try:
        size = back_up(database, file)
    except (BackupError, SchemaError) as error:
        _exit(str(error))
    note_backup(database, SystemClock().now())
    printer.record({"file": str(file), "bytes": size}, _BACKED_UP)


@click.command()
@_FILE
@click.option(
    "--keep-sessions",
    is_flag=True,
    help="Let tokens live on that were alive when the backup was made, also where they were ended since.",
)
@with_printer
def restore(printer: Printer, file: Path, keep_sessions: bool) -> None:
    """Make the database out of FILE, where there is none. The server must not run.

    What was ended since the backup would be alive again: so all sessions are ended, and everybody signs in
    anew. Passwords and clients are those of the backup.
    """
    settings = settings_or_exit(os.environ)
    database, ended = _sqlite_file(settings), 0

    def end_in(copy: Path) -> None:
        """Before it has its name: no server may start on a file in which something is alive again."""
        nonlocal ended
        ended = run(end_everything, replace(settings, database=SQLiteFile(copy)), Opening.UPDATES)

    try:
        size = put_back(file, database, None if keep_sessions else end_in)
    except (BackupError, SchemaError) as error:
        _exit(str(error))
    printer.record({"file": str(database), "bytes": size, "ended": ended}, _RESTORED)


def _sqlite_file(settings: Settings) -> Path:
    database = settings.database
    if not isinstance(database, SQLiteFile):
        _exit(
            f"{database} is no SQLite file: PostgreSQL has pg_dump and pg_restore, and after a restore "
            "`ostiary end-everything`"
        )
    return database.path


def _exit(words: str) -> NoReturn:
    sys.exit(f"ostiary: {words}")
