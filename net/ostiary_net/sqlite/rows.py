"""Makes the SQLite statements that read and write each table, from the columns of its records."""

# ruff: noqa: S608 (what goes into a statement's text are the names of columns and tables)

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import apsw

from ostiary_core.model.records import Record, Table
from ostiary_net.sql.columns import TABLES, Row, RowCodec, SQLValue, Stored, row_codec

SELECT_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)

WRITE_SIZES: Final = (16, 8, 4, 2, 1)
"""How many rows a statement writes, the most first: any number is a sum of these. Larger ones gain nothing
more; one for each row costs its way through apsw and lets go of the interpreter's lock."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """How the records of one class lie in their table: the statements and the codec."""

    name: str
    key: tuple[str, ...]
    codec: RowCodec
    inserts: Mapping[int, str]
    """Add as many rows as the number says (`WRITE_SIZES`)."""
    deletes: Mapping[int, str]
    """Remove the rows under as many keys, all at the one revision that is bound behind them."""
    to_key: Callable[[Record], Sequence[SQLValue]]

    def update(self, changed: tuple[int, ...]) -> str:
        """The statement that sets the columns at these places, for a row of a key and a revision.

        The key and the revision that was read are bound behind the values.

        SQLite rewrites every index that a column of the statement is in, changed or not, so a statement that
        names them all costs a rotation nine indexes in place of two. Raises ValueError where none is named.
        """
        return _update(self, changed)


@cache
def _update(layout: Layout, changed: tuple[int, ...]) -> str:
    if not changed:
        raise ValueError(f"an update of {layout.name} must change a column: leave it out of the changes")
    values = ", ".join(f"{layout.codec.columns[place]} = ?" for place in changed)
    key = " AND ".join(f"{part} = ?" for part in layout.key)
    return f"UPDATE {layout.name} SET {values} WHERE {key} AND revision = ?"


def _layout(stored: Stored) -> Layout:
    made = row_codec(stored.record)
    name, key, columns = stored.name, stored.key, made.columns
    return Layout(
        name=name,
        key=key,
        codec=made,
        # A key that is taken must show as a lost race: as no row written, like a revision that moved on.
        inserts={
            size: f"{insert} ON CONFLICT DO NOTHING" for size, insert in insertions(name, columns).items()
        },
        deletes={
            size: f"DELETE FROM {name} WHERE {_one_of(key, size)} AND revision = ?" for size in WRITE_SIZES
        },
        to_key=_key_maker(key),
    )


def insertions(name: str, columns: Sequence[str]) -> Mapping[int, str]:
    """The statements that add rows, by the number of rows that each adds (`WRITE_SIZES`).

    OR FAIL: to take back a statement of several rows alone, SQLite would first copy each page it touches,
    and here the whole turn is rolled back. Measured, a token: 1.5 us, without it 3.6, one a statement 2.3.
    """
    row = f"({', '.join('?' * len(columns))})"
    return {
        size: f"INSERT OR FAIL INTO {name} ({', '.join(columns)}) VALUES {', '.join([row] * size)}"
        for size in WRITE_SIZES
    }


def execute_on(
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
class Lookup:
    """The statements that find records by identifiers, and what makes a record of a row."""

    selects: Mapping[int, str]
    """Reads those under as many identifiers as the number says; only `SELECT_SIZES`, so that a connection
    keeps them all prepared. A shorter list is filled up by repeating one."""
    from_row: Callable[[Row], Any]


def _lookup(stored: Stored, key: tuple[str, ...]) -> Lookup:
    made = row_codec(stored.record)
    selection = f"SELECT {', '.join(made.columns)} FROM {stored.name}"
    return Lookup({size: f"{selection} WHERE {_one_of(key, size)}" for size in SELECT_SIZES}, made.from_row)


LOOKUPS: Final[Mapping[Table, Lookup]] = {
    **{table: _lookup(stored, stored.key) for table, stored in TABLES.items()},
    Table.ACCESS_TOKEN: _lookup(TABLES[Table.SESSION], ("access_digest",)),
}
"""What each table is asked by its keys, and the sessions by their access tokens."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The statements that find records of one table together with those they lead to."""

    selects: Mapping[int, str]
    client: tuple[int, Callable[[Row], Any]]
    """The place of its key in a row, NULL where there is none, and what makes the record of a row."""
    parts: tuple[tuple[int, Callable[[Row], Any]], ...]
    """Key place and record maker for each of the other tables; what others lead to comes first."""


def _join_all(first_table: Table) -> Joined:
    """The statements for refresh tokens, or sessions by access token, with all that these lead to."""
    aliases = {Table.SESSION: "s", Table.CONSENT: "n", Table.USER: "u", Table.CLIENT: "c"}
    found, digest = "sessions s", "s.access_digest"
    if first_table is Table.REFRESH_TOKEN:
        aliases = {Table.REFRESH_TOKEN: "t", **aliases}
        found, digest = "refresh_tokens t LEFT JOIN sessions s ON s.session_id = t.session_id", "t.digest"
    listed: list[str] = []
    parts: list[tuple[int, Callable[[Row], Any]]] = []
    for table, alias in aliases.items():
        made = LAYOUTS[table].codec
        first = len(listed)
        key = first + made.columns.index(LAYOUTS[table].key[0])
        parts.append((key, made.from_row_at(first)))
        listed += [f"{alias}.{column}" for column in made.columns]
    selection = (
        f"SELECT {', '.join(listed)} FROM {found}"
        " LEFT JOIN consents n ON n.user_id = s.user_id AND n.client_id = s.client_id"
        " LEFT JOIN users u ON u.user_id = s.user_id"
        " LEFT JOIN clients c ON c.client_id = s.client_id"
    )
    return Joined(
        {size: f"{selection} WHERE {digest} IN ({', '.join('?' * size)})" for size in SELECT_SIZES},
        parts[-1],
        tuple(reversed(parts[:-1])),
    )


WITH_ALL: Final = {table: _join_all(table) for table in (Table.ACCESS_TOKEN, Table.REFRESH_TOKEN)}
"""By tokens: session, consent, user and client, which every event needs that has a token in it."""
