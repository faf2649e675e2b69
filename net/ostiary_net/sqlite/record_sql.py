"""Load records, write changes and insert audit entries over one SQLite connection, in its transaction."""

# ruff: noqa: S608 (what goes into a statement's text are the names of columns and tables)

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import apsw

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.identifiers import CONSOLE_CLIENT
from ostiary_core.model.records import Record, Table
from ostiary_core.storage.store import LostRace
from ostiary_net.sql.columns import ENTRIES, TABLES, Row, RowCodec, SQLValue, Stored, has_utf8, make_row_codec
from ostiary_net.sql.joins import JOINED

# --- statements

_SELECT_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)

_WRITE_SIZES: Final = (16, 8, 4, 2, 1)
"""Rows that one statement writes, the most first; any number of rows is a sum of these.

Larger ones gain nothing; one for each row costs its way through apsw and releases the interpreter's lock."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Statements and codec of one class of records."""

    name: str
    key: tuple[str, ...]
    codec: RowCodec
    inserts: Mapping[int, str]
    """Statements that insert rows, by their number (`_WRITE_SIZES`)."""
    deletes: Mapping[int, str]
    """Statements that delete rows, by their number; all at the revision that is bound behind their keys."""
    to_key: Callable[[Record], Sequence[SQLValue]]


@cache
def _build_update(layout: Layout, changed: tuple[int, ...]) -> str:
    """Return the statement that sets the columns at these places; binds values, key and the revision read.

    Raises ValueError for no column.
    """
    # Only changed columns: SQLite rewrites every index that a named column is in, changed or not. A statement
    # that names all costs a rotation nine indexes in place of two.
    if not changed:
        raise ValueError(f"an update of {layout.name} must change a column: leave it out of the changes")
    values = ", ".join(f"{layout.codec.columns[place]} = ?" for place in changed)
    key = " AND ".join(f"{part} = ?" for part in layout.key)
    return f"UPDATE {layout.name} SET {values} WHERE {key} AND revision = ?"


def _make_layout(stored: Stored) -> Layout:
    made = make_row_codec(stored.record)
    name, key, columns = stored.name, stored.key, made.columns
    return Layout(
        name=name,
        key=key,
        codec=made,
        # A key that exists must show as a lost race: as no row written, like a revision that was passed.
        inserts={
            size: f"{insert} ON CONFLICT DO NOTHING" for size, insert in _build_inserts(name, columns).items()
        },
        deletes={
            size: f"DELETE FROM {name} WHERE {_one_of(key, size)} AND revision = ?" for size in _WRITE_SIZES
        },
        to_key=_make_to_key(key),
    )


def _build_inserts(name: str, columns: Sequence[str]) -> Mapping[int, str]:
    """Return the statements that insert rows, by their number (`_WRITE_SIZES`)."""
    # OR FAIL: to undo a statement of several rows, SQLite would first copy each page it touches; here the
    # whole turn is rolled back. Measured, a token: 1.5 us, without it 3.6, one row a statement 2.3.
    row = f"({', '.join('?' * len(columns))})"
    return {
        size: f"INSERT OR FAIL INTO {name} ({', '.join(columns)}) VALUES {', '.join([row] * size)}"
        for size in _WRITE_SIZES
    }


def _execute_on(
    connection: apsw.Connection, statements: Mapping[int, str], rows: Sequence[Row], *behind: SQLValue
) -> None:
    """Execute `statements` on all rows, the largest first; `behind` is bound behind the rows."""
    start = 0
    for size, statement in statements.items():
        while len(rows) - start >= size:
            connection.execute(statement, [*chain.from_iterable(rows[start : start + size]), *behind])
            start += size


def _one_of(key: tuple[str, ...], size: int) -> str:
    """Return the condition that a key is one of `size` values."""
    if len(key) == 1:
        return f"{key[0]} IN ({', '.join('?' * size)})"
    place = f"({', '.join('?' * len(key))})"
    return f"({', '.join(key)}) IN (VALUES {', '.join([place] * size)})"


def _make_to_key(key: tuple[str, ...]) -> Callable[[Record], Sequence[SQLValue]]:
    values_of: Callable[[Record], Any] = attrgetter(*key)
    return values_of if len(key) > 1 else lambda record: (values_of(record),)


LAYOUTS: Final[Mapping[Table, Layout]] = {table: _make_layout(stored) for table, stored in TABLES.items()}
"""Layouts of the tables, by their names in the core."""


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Statements that find records by identifiers, and the function from a row to a record."""

    selects: Mapping[int, str]
    """Statements by number of identifiers; of `_SELECT_SIZES` only, so that a connection keeps all prepared.

    A shorter list is filled up by repeating one."""
    from_row: Callable[[Row], Any]


def _make_lookup(stored: Stored, key: tuple[str, ...]) -> _Lookup:
    made = make_row_codec(stored.record)
    selection = f"SELECT {', '.join(made.columns)} FROM {stored.name}"
    return _Lookup({size: f"{selection} WHERE {_one_of(key, size)}" for size in _SELECT_SIZES}, made.from_row)


_LOOKUPS: Final[Mapping[Table, _Lookup]] = {
    **{table: _make_lookup(stored, stored.key) for table, stored in TABLES.items()},
    Table.ACCESS_TOKEN: _make_lookup(TABLES[Table.SESSION], ("access_digest",)),
}
"""Lookups by key, and of sessions by access token."""


def _make_client_lookup() -> _Lookup:
    """Return a lookup that reads a stand-in row for a missing client, so both take the same time."""
    # Measured: to read a row and make its record takes 2 us, to search twice 0.2.
    lookup = _LOOKUPS[Table.CLIENT]
    place = f"coalesce((SELECT client_id FROM clients WHERE client_id = ?), '{CONSOLE_CLIENT}')"
    selection, _, _ = lookup.selects[1].partition(" WHERE ")
    return _Lookup({**lookup.selects, 1: f"{selection} WHERE client_id = {place}"}, lookup.from_row)


_LOOKUPS_OF_TURNS: Final[Mapping[Table, _Lookup]] = {**_LOOKUPS, Table.CLIENT: _make_client_lookup()}
"""Lookups of turns, for records that no token or code leads to."""


_WITH_ALL: Final = {
    table: {size: joined.select(f"IN ({', '.join('?' * size)})") for size in _SELECT_SIZES}
    for table, joined in JOINED.items()
}
"""Statements that find tokens and codes joined with all records that they lead to."""


# --- records


def fetch(connection: apsw.Connection, table: Table, identifiers: Collection[Any]) -> list[Record]:
    """Fetch the records of `table` under `identifiers`, as far as they exist."""
    return _find(connection, _LOOKUPS[table], identifiers)


def _find(connection: apsw.Connection, lookup: _Lookup, identifiers: Collection[Any]) -> list[Record]:
    from_row = lookup.from_row
    return [from_row(row) for row in _rows(connection, lookup.selects, identifiers)]


def fetch_with_all(connection: apsw.Connection, table: Table, identifiers: Collection[Any]) -> list[Record]:
    """Fetch records, and with tokens and codes all that they lead to: one statement in place of five."""
    selects = _WITH_ALL.get(table)
    if selects is None:
        return _find(connection, _LOOKUPS_OF_TURNS[table], identifiers)
    return JOINED[table].records(_rows(connection, selects, identifiers))


def _rows(
    connection: apsw.Connection, selects: Mapping[int, str], identifiers: Collection[Any]
) -> list[tuple[Any, ...]]:
    try:
        return _select(connection, selects, identifiers)
    except UnicodeEncodeError:
        # Half a surrogate pair has no UTF-8, so it is not in the file.
        return _select(connection, selects, [each for each in identifiers if has_utf8(each)])


def _select(
    connection: apsw.Connection, selects: Mapping[int, str], identifiers: Collection[Any]
) -> list[tuple[Any, ...]]:
    keys = list(identifiers)
    if len(keys) == 1:
        (key,) = keys
        return connection.execute(selects[1], key if isinstance(key, tuple) else keys).fetchall()
    rows: list[tuple[Any, ...]] = []
    longest = _SELECT_SIZES[-1]
    for start in range(0, len(keys), longest):
        chunk = keys[start : start + longest]
        size = next(size for size in _SELECT_SIZES if size >= len(chunk))
        chunk += chunk[-1:] * (size - len(chunk))
        bindings = list(chain.from_iterable(chunk)) if isinstance(chunk[0], tuple) else chunk
        rows += connection.execute(selects[size], bindings).fetchall()
    return rows


def write(connection: apsw.Connection, changes: Iterable[Change]) -> None:
    """Write all changes, at most one of each record.

    Raises `LostRace` if a record is no longer at the revision that was read; the caller then rolls back.
    """
    inserted: dict[Layout, list[Row]] = defaultdict(list)
    updated: dict[tuple[Layout, tuple[int, ...]], list[Row]] = defaultdict(list)
    deleted: dict[tuple[Layout, int], list[Row]] = defaultdict(list)
    for change in changes:
        match change:
            case Insert(after):
                layout = LAYOUTS[after.table]
                inserted[layout].append(layout.codec.to_row(after))
            case Update(before, after):
                layout = LAYOUTS[after.table]
                changed, values = layout.codec.difference(before, after)
                updated[layout, changed].append([*values, *layout.to_key(before), before.revision])
            case Delete(before):
                layout = LAYOUTS[before.table]
                deleted[layout, before.revision].append(layout.to_key(before))
    for (layout, changed), rows in updated.items():
        written_before = connection.total_changes()
        connection.executemany(_build_update(layout, changed), rows)
        _check_all_written(connection, layout, written_before, len(rows))
    for (layout, revision), keys in deleted.items():
        written_before = connection.total_changes()
        _execute_on(connection, layout.deletes, keys, revision)
        _check_all_written(connection, layout, written_before, len(keys))
    for layout, rows in inserted.items():
        written_before = connection.total_changes()
        _execute_on(connection, layout.inserts, rows)
        _check_all_written(connection, layout, written_before, len(rows))


def _check_all_written(connection: apsw.Connection, layout: Layout, before: int, expected: int) -> None:
    """Raise `LostRace` unless as many rows were written as expected."""
    if connection.total_changes() - before != expected:
        raise LostRace(f"a record of {layout.name} is not at the revision it was read at")


# --- the audit trail

# Six indexes lead to an entry, and adding it to each was half of the pages that a rotation wrote. So entries
# are inserted into a table without indexes, and now and then a turn moves all of them to the indexed one,
# where neighbours share pages. Readers use the view `audit`, which is both, or one that goes by user or
# session (docs/decisions/0026-entries-are-filed-later.md).

PENDING_ENTRIES_MAX = 512
"""Number of entries after which pending ones are indexed: a reader scans those, so there must be few."""

OF_A_USER: Final = "audit_of_user"
OF_A_SESSION: Final = "audit_of_session"
"""Views in place of `audit` for the entries of one user or one session."""

PARTS: Final = ("audit_filed", "audit_unfiled")
"""Tables of entries, the older ones first."""

_COLUMNS: Final = ", ".join(ENTRIES.columns)
_INSERT_ENTRIES: Final = _build_inserts("audit_unfiled", ENTRIES.columns[1:])
_INDEX_PENDING: Final = (
    f"INSERT INTO audit_filed ({_COLUMNS}) SELECT {_COLUMNS} FROM audit_unfiled ORDER BY number",
    "DELETE FROM audit_unfiled",
)


def insert_entries(connection: apsw.Connection, entries: Sequence[AuditEntry]) -> bool:
    """Insert entries in order; return whether the turn is to index the pending ones.

    The numbers tell, as they rise by one with each entry, whichever process inserts it.
    """
    _execute_on(connection, _INSERT_ENTRIES, [ENTRIES.to_row(entry)[1:] for entry in entries])
    last = connection.last_insert_rowid()
    return last // PENDING_ENTRIES_MAX != (last - len(entries)) // PENDING_ENTRIES_MAX


def index_pending(connection: apsw.Connection) -> None:
    """Move all pending entries to the indexed table."""
    for statement in _INDEX_PENDING:
        connection.execute(statement)
