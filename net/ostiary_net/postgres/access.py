"""Loads records and writes changes over one PostgreSQL connection, in the transaction it is in."""

# ruff: noqa: S608 (what goes into a statement's text are the names of columns and tables)

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from psycopg import Connection, Cursor

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.records import Record, Session, Table
from ostiary_core.storage.store import LostRace
from ostiary_net.sql.columns import ENTRIES, TABLES, Row, RowCodec, SQLValue, Stored, has_utf8, row_codec


def can_hold(value: object) -> bool:
    """Whether the database can hold a value: text in UTF-8 without a NUL, and anything that is no text."""
    parts = value if isinstance(value, tuple) else (value,)
    return has_utf8(value) and not any(isinstance(part, str) and "\x00" in part for part in parts)


# --- statements


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the records of one class lie in their table: the statements and the codec."""

    name: str
    codec: RowCodec
    insert: str
    update: str
    """Binds a row and the revision it replaces; the row begins with the new values, the key is behind."""
    delete: str
    select: str
    """Binds one array for each column of the key."""
    to_update: Callable[[Record, int], list[SQLValue]]
    to_key: Callable[[Record], tuple[SQLValue, ...]]
    key_arrays: Callable[[Collection[Any]], list[list[Any]]]


def _layout(stored: Stored) -> _Layout:
    made = row_codec(stored.record)
    name, key, columns = stored.name, stored.key, made.columns
    listed = ", ".join(columns)
    matches = " AND ".join(f"{part} = %s" for part in key)
    others = [number for number, column in enumerate(columns) if column not in key]
    keyed = [columns.index(part) for part in key]
    places = ", ".join(["%s"] * len(columns))
    new_values = ", ".join(f"{columns[number]} = %s" for number in others)

    def to_update(record: Record, revision: int) -> list[SQLValue]:
        row = made.to_row(record)
        return [*(row[number] for number in others), *(row[number] for number in keyed), revision]

    values_of: Callable[[Record], Any] = attrgetter(*key)

    def to_key(record: Record) -> tuple[SQLValue, ...]:
        value = values_of(record)
        return tuple(str(part) for part in value) if len(key) > 1 else (value,)

    def key_arrays(identifiers: Collection[Any]) -> list[list[Any]]:
        if len(key) == 1:
            return [list(identifiers)]
        return [[identifier[place] for identifier in identifiers] for place in range(len(key))]

    return _Layout(
        name=name,
        codec=made,
        # A key that is taken must show as a lost race: as no row written, like a revision that moved on.
        insert=f"INSERT INTO {name} ({listed}) VALUES ({places}) ON CONFLICT DO NOTHING",
        update=f"UPDATE {name} SET {new_values} WHERE {matches} AND revision = %s",
        delete=f"DELETE FROM {name} WHERE {matches} AND revision = %s",
        select=f"SELECT {listed} FROM {name} WHERE {_one_of(key, stored.record)}",
        to_update=to_update,
        to_key=to_key,
        key_arrays=key_arrays,
    )


def _one_of(key: tuple[str, ...], record: type[Record]) -> str:
    """The SQL condition that a key is one of those in the bound arrays."""
    if len(key) == 1:
        return f"{key[0]} = ANY(%s::{'bytea' if key[0] == 'digest' else 'text'}[])"
    arrays = ", ".join(["%s::text[]"] * len(key))
    return f"({', '.join(key)}) IN (SELECT * FROM unnest({arrays}))"


_SESSIONS_OF_ACCESS_TOKENS: Final = "SELECT session_id FROM access_tokens WHERE digest = ANY(%s::bytea[])"
"""Which sessions access tokens lead to."""

_LAYOUTS: Final[Mapping[Table, _Layout]] = {table: _layout(stored) for table, stored in TABLES.items()}
"""Every table of records, by the name it has in the core."""

_INSERT, _UPDATE, _DELETE = range(3)
"""The ways of writing, in the order in which a turn goes through a table."""

_WRITES: Final[Mapping[tuple[Table, int], tuple[str, str]]] = {
    # They have no revision: those of their sessions guard them.
    (Table.ACCESS_TOKEN, _INSERT): (
        "access_tokens",
        "INSERT INTO access_tokens (digest, session_id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
    ),
    (Table.ACCESS_TOKEN, _DELETE): ("access_tokens", "DELETE FROM access_tokens WHERE digest = %s"),
    **{
        (table, way): (layout.name, statement)
        for table, layout in _LAYOUTS.items()
        for way, statement in ((_INSERT, layout.insert), (_UPDATE, layout.update), (_DELETE, layout.delete))
    },
}
"""The name of a table and the statement that writes to it."""

_KEEP_ENTRY: Final = (
    f"INSERT INTO audit ({', '.join(ENTRIES.columns[1:])}) "
    f"VALUES ({', '.join(['%s'] * (len(ENTRIES.columns) - 1))})"
)


# --- records


def fetch(connection: Connection[Any], table: Table, identifiers: Collection[Any]) -> list[Record]:
    """Fetch the records of `table` under `identifiers`, as far as they exist, in one statement.

    By access tokens in two, as one would look into two tables that may be distributed over machines.
    """
    if table is Table.ACCESS_TOKEN:
        rows = connection.execute(_SESSIONS_OF_ACCESS_TOKENS, [list(identifiers)]).fetchall()
        return fetch(connection, Table.SESSION, [session_id for (session_id,) in rows])
    layout = _LAYOUTS[table]
    # What cannot be in the database is not in it.
    possible = [identifier for identifier in identifiers if can_hold(identifier)]
    if not possible:
        return []
    rows = connection.execute(layout.select, layout.key_arrays(possible)).fetchall()
    from_row = layout.codec.from_row
    return [from_row(row) for row in rows]


def write(connection: Connection[Any], changes: Iterable[Change], entries: Sequence[AuditEntry]) -> None:
    """Make all changes, each of which must meet the record it was decided on, and keep the entries.

    All of it goes out at once. Rows are locked in one order, by table and key, so that two turns which
    write the same ones wait for each other and do not deadlock. Raises `LostRace` when a record is not at
    the revision it was read at; what was written by then is for the caller to roll back.
    """
    with connection.pipeline():
        sent = [
            (table, cursor, len(rows))
            for table, statement, rows in _statements(changes)
            for cursor in [_send(connection, statement, rows)]
        ]
        if entries:
            _send(connection, _KEEP_ENTRY, [_replace_nuls(ENTRIES.to_row(entry)[1:]) for entry in entries])
    for table, cursor, expected in sent:
        if cursor.rowcount != expected:
            raise LostRace(f"a record of {table} is not at the revision it was read at")


def _replace_nuls(row: list[SQLValue]) -> list[SQLValue]:
    """Put U+FFFD for each NUL in a row, which text in PostgreSQL cannot hold.

    No field lets one through but a User-Agent, where the HTTP parser does; one such header must not fail
    the turn that others share.
    """
    return [value.replace("\x00", "\ufffd") if isinstance(value, str) else value for value in row]


def _send(connection: Connection[Any], statement: str, rows: list[Row]) -> Cursor[Any]:
    cursor = connection.cursor()
    cursor.executemany(statement, rows)
    return cursor


def _statements(changes: Iterable[Change]) -> list[tuple[str, str, list[Row]]]:
    """Group changes by table and way of writing, in order: the table's name, the statement and its rows."""
    grouped: dict[tuple[Table, int], list[tuple[tuple[SQLValue, ...], Row]]] = defaultdict(list)
    for change in changes:
        for way, row in _of_access_tokens(change):
            grouped[Table.ACCESS_TOKEN, way].append((row[:1], row))
        match change:
            case Insert(after):
                layout = _LAYOUTS[after.table]
                grouped[after.table, _INSERT].append(
                    (layout.to_key(after), _replace_nuls(layout.codec.to_row(after)))
                )
            case Update(before, after):
                layout = _LAYOUTS[after.table]
                grouped[after.table, _UPDATE].append(
                    (layout.to_key(after), _replace_nuls(layout.to_update(after, before.revision)))
                )
            case Delete(before):
                layout = _LAYOUTS[before.table]
                key = layout.to_key(before)
                grouped[before.table, _DELETE].append((key, [*key, before.revision]))
    statements = []
    for (table, way), rows in sorted(grouped.items(), key=lambda group: group[0]):
        rows.sort(key=lambda row: row[0])
        name, statement = _WRITES[table, way]
        statements.append((name, statement, [row for _, row in rows]))
    return statements


def _of_access_tokens(change: Change) -> Iterator[tuple[int, tuple[SQLValue, ...]]]:
    """The writes to the table of access tokens that a change of a session needs."""
    match change:
        case Insert(Session() as after):
            yield _INSERT, (after.access_digest, after.session_id)
        case Update(Session() as before, Session() as after) if after.access_digest != before.access_digest:
            yield _DELETE, (before.access_digest,)
            yield _INSERT, (after.access_digest, after.session_id)
        case Delete(Session() as before):
            yield _DELETE, (before.access_digest,)
