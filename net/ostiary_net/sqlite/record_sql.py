"""Loads records, writes changes and keeps audit entries over one SQLite connection, in its transaction."""

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
from ostiary_net.sql.joins import ALL_OF_SESSIONS, JOINED

# --- statements

_SELECT_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)

_WRITE_SIZES: Final = (16, 8, 4, 2, 1)
"""How many rows a statement writes, the most first: any number is a sum of these. Larger ones gain nothing
more; one for each row costs its way through apsw and lets go of the interpreter's lock."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """How the records of one class lie in their table: the statements and the codec."""

    name: str
    key: tuple[str, ...]
    codec: RowCodec
    inserts: Mapping[int, str]
    """Add as many rows as the number says (`_WRITE_SIZES`)."""
    deletes: Mapping[int, str]
    """Remove the rows under as many keys, all at the one revision that is bound behind them."""
    to_key: Callable[[Record], Sequence[SQLValue]]


@cache
def _update(layout: Layout, changed: tuple[int, ...]) -> str:
    """The statement that sets the columns at these places, for a row of a key and a revision.

    The key and the revision that was read are bound behind the values.

    SQLite rewrites every index that a column of the statement is in, changed or not, so a statement that
    names them all costs a rotation nine indexes in place of two. Raises ValueError where none is named.
    """
    if not changed:
        raise ValueError(f"an update of {layout.name} must change a column: leave it out of the changes")
    values = ", ".join(f"{layout.codec.columns[place]} = ?" for place in changed)
    key = " AND ".join(f"{part} = ?" for part in layout.key)
    return f"UPDATE {layout.name} SET {values} WHERE {key} AND revision = ?"


def _layout(stored: Stored) -> Layout:
    made = make_row_codec(stored.record)
    name, key, columns = stored.name, stored.key, made.columns
    return Layout(
        name=name,
        key=key,
        codec=made,
        # A key that is taken must show as a lost race: as no row written, like a revision that moved on.
        inserts={
            size: f"{insert} ON CONFLICT DO NOTHING" for size, insert in _insertions(name, columns).items()
        },
        deletes={
            size: f"DELETE FROM {name} WHERE {_one_of(key, size)} AND revision = ?" for size in _WRITE_SIZES
        },
        to_key=_key_maker(key),
    )


def _insertions(name: str, columns: Sequence[str]) -> Mapping[int, str]:
    """The statements that add rows, by the number of rows that each adds (`_WRITE_SIZES`).

    OR FAIL: to take back a statement of several rows alone, SQLite would first copy each page it touches,
    and here the whole turn is rolled back. Measured, a token: 1.5 us, without it 3.6, one a statement 2.3.
    """
    row = f"({', '.join('?' * len(columns))})"
    return {
        size: f"INSERT OR FAIL INTO {name} ({', '.join(columns)}) VALUES {', '.join([row] * size)}"
        for size in _WRITE_SIZES
    }


def _execute_on(
    connection: apsw.Connection, statements: Mapping[int, str], rows: Sequence[Row], *behind: SQLValue
) -> None:
    """Execute on all rows the statements that take several of them, the largest first.

    `behind` is bound behind the rows.
    """
    start = 0
    for size, statement in statements.items():
        while len(rows) - start >= size:
            connection.execute(statement, [*chain.from_iterable(rows[start : start + size]), *behind])
            start += size


def _one_of(key: tuple[str, ...], size: int) -> str:
    """The SQL condition that a key is one of `size` values."""
    if len(key) == 1:
        return f"{key[0]} IN ({', '.join('?' * size)})"
    place = f"({', '.join('?' * len(key))})"
    return f"({', '.join(key)}) IN (VALUES {', '.join([place] * size)})"


def _key_maker(key: tuple[str, ...]) -> Callable[[Record], Sequence[SQLValue]]:
    values_of: Callable[[Record], Any] = attrgetter(*key)
    return values_of if len(key) > 1 else lambda record: (values_of(record),)


LAYOUTS: Final[Mapping[Table, Layout]] = {table: _layout(stored) for table, stored in TABLES.items()}
"""Every table of records, by the name it has in the core."""


@dataclass(frozen=True, slots=True)
class _Lookup:
    """The statements that find records by identifiers, and what makes a record of a row."""

    selects: Mapping[int, str]
    """Reads those under as many identifiers as the number says; only `_SELECT_SIZES`, so that a connection
    keeps them all prepared. A shorter list is filled up by repeating one."""
    from_row: Callable[[Row], Any]


def _lookup(stored: Stored, key: tuple[str, ...]) -> _Lookup:
    made = make_row_codec(stored.record)
    selection = f"SELECT {', '.join(made.columns)} FROM {stored.name}"
    return _Lookup({size: f"{selection} WHERE {_one_of(key, size)}" for size in _SELECT_SIZES}, made.from_row)


_LOOKUPS: Final[Mapping[Table, _Lookup]] = {
    **{table: _lookup(stored, stored.key) for table, stored in TABLES.items()},
    Table.ACCESS_TOKEN: _lookup(TABLES[Table.SESSION], ("access_digest",)),
}
"""What each table is asked by its keys, and the sessions by their access tokens."""


def _client_or_another() -> _Lookup:
    """The lookup that finds, in the place of a single client that is not there, one that always is.

    So an unknown client is read as any other, and time does not tell which there are: measured, a row and its
    record are 2 us, and to look for it twice 0.2.
    """
    lookup = _LOOKUPS[Table.CLIENT]
    place = f"coalesce((SELECT client_id FROM clients WHERE client_id = ?), '{CONSOLE_CLIENT}')"
    selection, _, _ = lookup.selects[1].partition(" WHERE ")
    return _Lookup({**lookup.selects, 1: f"{selection} WHERE client_id = {place}"}, lookup.from_row)


_LOOKUPS_OF_TURNS: Final[Mapping[Table, _Lookup]] = {**_LOOKUPS, Table.CLIENT: _client_or_another()}
"""What turns ask that are not led there by a token or code."""


def _selects_with_all(found: str, digest: str, columns: str) -> Mapping[int, str]:
    selection = f"SELECT {columns} FROM {found}{ALL_OF_SESSIONS}"
    return {size: f"{selection} WHERE {digest} IN ({', '.join('?' * size)})" for size in _SELECT_SIZES}


_WITH_ALL: Final = {
    table: _selects_with_all(found, digest, JOINED[table].columns)
    for table, found, digest in (
        (Table.ACCESS_TOKEN, "sessions s", "s.access_digest"),
        (
            Table.REFRESH_TOKEN,
            "refresh_tokens t LEFT JOIN sessions s ON s.session_id = t.session_id",
            "t.digest",
        ),
        (Table.CODE, "codes s", "s.digest"),
    )
}
"""The statements that find tokens and codes with all that these lead to."""


# --- records


def fetch(connection: apsw.Connection, table: Table, identifiers: Collection[Any]) -> list[Record]:
    """Fetch the records of `table` under `identifiers`, as far as they exist, in one statement.

    Lists longer than the longest statement takes are read in several.
    """
    return _find(connection, _LOOKUPS[table], identifiers)


def _find(connection: apsw.Connection, lookup: _Lookup, identifiers: Collection[Any]) -> list[Record]:
    from_row = lookup.from_row
    return [from_row(row) for row in _rows(connection, lookup.selects, identifiers)]


def fetch_with_all(connection: apsw.Connection, table: Table, identifiers: Collection[Any]) -> list[Record]:
    """Fetch records, and by tokens and codes all that these lead to: one statement in place of five.

    What a token or code leads to comes before it.
    """
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
        # Half a surrogate pair has no UTF-8, so it cannot be in the file: whoever asks for it finds nothing.
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
    """Make all changes, at most one of each record; each must meet the record it was decided on.

    Raises `LostRace` when one does not. What was written by then is for the caller to roll back.
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
        connection.executemany(_update(layout, changed), rows)
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
    """Raise `LostRace` unless as many rows were written as expected.

    Each row goes by its key, so it was written once or not at all.
    """
    if connection.total_changes() - before != expected:
        raise LostRace(f"a record of {layout.name} is not at the revision it was read at")


# --- the audit trail

# Six indexes lead to an entry, and adding it to each of them was half of the pages that a rotation wrote. So
# an entry goes to a table without indexes first, and the turn with which there are enough of them moves them
# all to the one that has them, where neighbours share pages. Whoever reads asks the view `audit`, which is
# both; for the entries of a user or a session, one that goes by their index
# (docs/decisions/0026-entries-are-filed-later.md).

PENDING_ENTRIES_MAX = 512
"""Whenever so many were kept. A reader goes through those that are not filed yet, so there must be few."""

OF_A_USER: Final = "audit_of_user"
OF_A_SESSION: Final = "audit_of_session"
"""What to read in place of `audit` for the entries of one user or one session."""

PARTS: Final = ("audit_filed", "audit_unfiled")
"""The tables, the older entries first."""

_COLUMNS: Final = ", ".join(ENTRIES.columns)
_KEEP: Final = _insertions("audit_unfiled", ENTRIES.columns[1:])
_FILE: Final = (
    f"INSERT INTO audit_filed ({_COLUMNS}) SELECT {_COLUMNS} FROM audit_unfiled ORDER BY number",
    "DELETE FROM audit_unfiled",
)


def keep(connection: apsw.Connection, entries: Sequence[AuditEntry]) -> bool:
    """Add entries in order; whether it is time to index what is pending, in the same transaction.

    Numbers tell, which rise by one with each entry whichever process keeps it.
    """
    if not entries:
        return False
    _execute_on(connection, _KEEP, [ENTRIES.to_row(entry)[1:] for entry in entries])
    last = connection.last_insert_rowid()
    return last // PENDING_ENTRIES_MAX != (last - len(entries)) // PENDING_ENTRIES_MAX


def index_pending(connection: apsw.Connection) -> None:
    """Move all pending entries to the table that has indexes."""
    for statement in _FILE:
        connection.execute(statement)
