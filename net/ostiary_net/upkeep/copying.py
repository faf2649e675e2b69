"""Copy a SQLite file to a PostgreSQL database: every record and entry as it is, counted afterwards."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw

from ostiary_core.model.decision import Insert
from ostiary_core.model.records import RECORD_TABLES
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.sql.columns import ENTRIES, TABLES
from ostiary_net.sql.migrations import Opening
from ostiary_net.sql.store import ALL_ENTRIES, ALL_RECORDS
from ostiary_net.sqlite.exclusive import open_exclusively
from ostiary_net.sqlite.record_sql import LAYOUTS
from ostiary_net.sqlite.schema import examine

T = TypeVar("T")

_A_BATCH: Final = 500


class CopyError(RuntimeError):
    """Raised when a copy was not begun, or is incomplete; the text is for an operator."""


def copy_records(source: Path, target: PostgreSQLStore, tell: Callable[[str, int], None]) -> dict[str, int]:
    """Copy everything; return the number of rows of each table, and call `tell` for each that is done.

    Raises `CopyError` if the target holds something, or the numbers differ afterwards, and what
    `open_exclusively` does: no program may write to the source meanwhile.
    """
    filled = [name for name, number in target.counts().items() if number]
    if filled:
        raise CopyError(f"the target is not empty: there are rows in {', '.join(filled)}")
    with open_exclusively(source) as reading:
        examine(reading, Opening.KEEPS)
        reading.execute("BEGIN")
        there = {name: _count(reading, name) for name in (*(each.name for each in TABLES.values()), "audit")}
        for table in RECORD_TABLES:
            layout = LAYOUTS[table]
            rows = map(layout.codec.from_row, reading.execute(ALL_RECORDS[table]))
            for batch in _batches(rows):
                target.write([Insert(record) for record in batch])
            tell(layout.name, there[layout.name])
        for entries in _batches(map(ENTRIES.from_row, reading.execute(ALL_ENTRIES))):
            target.keep_entries(entries)
        tell("audit", there["audit"])
    arrived = target.counts()
    if arrived != there:
        differing = [
            f"{name}: {number} and {arrived[name]}"
            for name, number in there.items()
            if arrived[name] != number
        ]
        raise CopyError(f"the copy is not complete ({'; '.join(differing)}); empty the target and retry")
    return arrived


def _batches(rows: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(rows, _A_BATCH)):
        yield batch


def _count(connection: apsw.Connection, name: str) -> int:
    rows: list[Any] = connection.execute(f"SELECT count(*) FROM {name}").fetchall()  # noqa: S608 (one of ours)
    return int(rows[0][0])
