"""Open a database file for maintenance that needs it alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from ostiary_net.sqlite.connections import open_alone
from ostiary_net.sqlite.file import refuse_lone_file, refuse_lone_log, refuse_unwritable
from ostiary_net.sqlite.writer import WriterLock


class FileInUse(RuntimeError):
    """Raised for a file that another program has open; the text is for an operator."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is in use: stop the server, and whatever else has it open")


@contextmanager
def open_exclusively(path: Path) -> Iterator[apsw.Connection]:
    """Open a file that no other program has open; a server that starts before the block ends waits.

    Its log is merged into it. Raises `FileInUse`, `OSError` and `apsw.Error`.
    """
    path = path.resolve()
    for refuse in (refuse_lone_log, refuse_lone_file, refuse_unwritable):
        refuse(path)
    lock = WriterLock(path)
    try:
        if not lock.try_acquire():
            raise FileInUse(path)
        with open_alone(path) as connection:
            connection.set_busy_timeout(0)
            try:
                # Only the last connection to a file may remove its log. A store sets it up again.
                connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            except apsw.BusyError as error:
                raise FileInUse(path) from error
            yield connection
    finally:
        lock.close()
