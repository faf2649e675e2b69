"""Makes the PostgreSQL statements that read and write each table, from the columns of its records."""

# ruff: noqa: S608 (what goes into a statement's text are the names of columns and tables)

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from ostiary_core.model.records import Record, Table
from ostiary_net.sql.columns import ENTRIES, TABLES, RowCodec, SQLValue, Stored, row_codec

__all__ = [
    "DELETE",
    "INSERT",
    "KEEP_ENTRY",
    "LAYOUTS",
    "SESSIONS_OF_ACCESS_TOKENS",
    "UPDATE",
    "WRITES",
    "Layout",
]


@dataclass(frozen=True, slots=True)
class Layout:
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


def _layout(stored: Stored) -> Layout:
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

    return Layout(
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


SESSIONS_OF_ACCESS_TOKENS: Final = "SELECT session_id FROM access_tokens WHERE digest = ANY(%s::bytea[])"
"""Which sessions access tokens lead to."""

LAYOUTS: Final[Mapping[Table, Layout]] = {table: _layout(stored) for table, stored in TABLES.items()}
"""Every table of records, by the name it has in the core."""

INSERT, UPDATE, DELETE = range(3)
"""The ways of writing, in the order in which a turn goes through a table."""

WRITES: Final[Mapping[tuple[Table, int], tuple[str, str]]] = {
    # They have no revision: those of their sessions guard them.
    (Table.ACCESS_TOKEN, INSERT): (
        "access_tokens",
        "INSERT INTO access_tokens (digest, session_id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
    ),
    (Table.ACCESS_TOKEN, DELETE): ("access_tokens", "DELETE FROM access_tokens WHERE digest = %s"),
    **{
        (table, way): (layout.name, statement)
        for table, layout in LAYOUTS.items()
        for way, statement in ((INSERT, layout.insert), (UPDATE, layout.update), (DELETE, layout.delete))
    },
}
"""The name of a table and the statement that writes to it."""

KEEP_ENTRY: Final = (
    f"INSERT INTO audit ({', '.join(ENTRIES.columns[1:])}) "
    f"VALUES ({', '.join(['%s'] * (len(ENTRIES.columns) - 1))})"
)
