"""Load records and write changes over one PostgreSQL connection, in its transaction.

Rows are exchanged as one array for each column: a turn takes as many statements for one event as for
hundreds.
"""

# ruff: noqa: S608 (what goes into a statement's text are the names of columns and tables)

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Any, Final

from psycopg import Connection

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.records import Record, Session, Table
from ostiary_core.storage.store import LostRace
from ostiary_net.sql.columns import ENTRIES, TABLES, Row, RowCodec, SQLValue, Stored, has_utf8, make_row_codec
from ostiary_net.sql.joins import JOINED

Ask = Callable[[str, Sequence[Any]], list[Row]]
"""Executes a statement with its bindings, and returns its rows."""


def can_hold(value: object) -> bool:
    """Whether the database can hold a value: any but a text that has no UTF-8, or a NUL."""
    parts = value if isinstance(value, tuple) else (value,)
    return has_utf8(value) and not any(isinstance(part, str) and "\x00" in part for part in parts)


# --- arrays


def _quote(text: str) -> str:
    """Write a text as an element of an array."""
    # PostgreSQL's text has no NUL. Only a User-Agent may bring one, and it must not fail the turn that others
    # share.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\x00", "\ufffd")
    return f'"{escaped}"'


_ELEMENTS: Final[Mapping[type, Callable[[Any], str]]] = {
    str: _quote,
    bytes: lambda value: f'"\\\\x{value.hex()}"',
    int: str,
    bool: str,
}
_TYPES: Final = {str: "text", bytes: "bytea", int: "bigint", bool: "boolean"}


def _write_array(kind: type, values: Iterable[SQLValue]) -> str:
    """Write the values of one column as the text of an array."""
    # Not as a list: the driver gives a list the type of its items, and a statement is prepared anew for each
    # type. It also writes bytes by `standard_conforming_strings`, which a pooler changes from one transaction
    # to the next.
    write_element = _ELEMENTS[kind]
    return "{" + ",".join(["NULL" if value is None else write_element(value) for value in values]) + "}"


def _unnest(kinds: Iterable[type]) -> str:
    """Return the FROM item for the rows of the bound arrays."""
    return f"unnest({', '.join(f'%s::{_TYPES[kind]}[]' for kind in kinds)})"


# --- statements


@dataclass(frozen=True, slots=True, eq=False)
class _ArrayLayout:
    """Statements and codec of one class of records."""

    name: str
    key: tuple[str, ...]
    codec: RowCodec
    insert: str
    delete: str
    """Statement that binds an array for each column of the key, and one of the revisions that were read."""
    select: str
    """Statement that binds an array for each column of the key."""
    to_key: Callable[[Record], tuple[SQLValue, ...]]
    key_kinds: tuple[type, ...]


def _make_layout(stored: Stored) -> _ArrayLayout:
    made = make_row_codec(stored.record)
    name, key = stored.name, stored.key
    key_kinds = tuple(made.kinds[made.columns.index(part)] for part in key)
    values_of: Callable[[Record], Any] = attrgetter(*key)

    def to_key(record: Record) -> tuple[SQLValue, ...]:
        value = values_of(record)
        return tuple(str(part) for part in value) if len(key) > 1 else (value,)

    return _ArrayLayout(
        name=name,
        key=key,
        codec=made,
        insert=_build_insert(name, made.columns, made.kinds),
        delete=(
            f"DELETE FROM {name} AS t USING {_unnest((*key_kinds, int))} AS v ({', '.join(key)}, replaced)"
            f" WHERE {_is_replaced(key)}"
        ),
        select=f"SELECT {', '.join(made.columns)} FROM {name} WHERE {_one_of(key, key_kinds)}",
        to_key=to_key,
        key_kinds=key_kinds,
    )


def _build_insert(name: str, columns: Sequence[str], kinds: Iterable[type]) -> str:
    """Return the statement that inserts rows."""
    # A key that exists must show as a lost race: as no row written, like a revision that was passed.
    return f"INSERT INTO {name} ({', '.join(columns)}) SELECT * FROM {_unnest(kinds)} ON CONFLICT DO NOTHING"


def _is_replaced(key: Iterable[str]) -> str:
    return " AND ".join([*(f"t.{part} = v.{part}" for part in key), "t.revision = v.replaced"])


@cache
def _build_update(layout: _ArrayLayout, places: tuple[int, ...]) -> str:
    """Return the statement that sets the columns at these places; binds key, revision read and values."""
    changed = [layout.codec.columns[place] for place in places]
    kinds = (*layout.key_kinds, int, *(layout.codec.kinds[place] for place in places))
    names = ", ".join((*layout.key, "replaced", *(f"new_{column}" for column in changed)))
    return (
        f"UPDATE {layout.name} AS t SET {', '.join(f'{column} = v.new_{column}' for column in changed)}"
        f" FROM {_unnest(kinds)} AS v ({names}) WHERE {_is_replaced(layout.key)}"
    )


def _one_of(key: tuple[str, ...], kinds: tuple[type, ...]) -> str:
    """Return the condition that a key is one of those in the bound arrays."""
    if len(key) == 1:
        return f"{key[0]} = ANY(%s::{_TYPES[kinds[0]]}[])"
    return f"({', '.join(key)}) IN (SELECT * FROM {_unnest(kinds)})"


_LAYOUTS: Final[Mapping[Table, _ArrayLayout]] = {
    table: _make_layout(stored) for table, stored in TABLES.items()
}
"""Layouts of the tables, by their names in the core."""

# Access tokens have no revision: those of their sessions guard them.
_INSERT_ACCESS_TOKENS: Final = _build_insert("access_tokens", ("digest", "session_id"), (bytes, str))
_DELETE_ACCESS_TOKENS: Final = "DELETE FROM access_tokens WHERE digest = ANY(%s::bytea[])"
_SESSIONS_OF_ACCESS_TOKENS: Final = "SELECT session_id FROM access_tokens WHERE digest = ANY(%s::bytea[])"
"""Statement for the sessions that access tokens lead to."""

_JOINED: Final = {
    **JOINED,
    Table.ACCESS_TOKEN: replace(
        JOINED[Table.ACCESS_TOKEN],
        found="access_tokens t JOIN sessions s ON s.session_id = t.session_id",
        digest="t.digest",
    ),
}
_WITH_ALL: Final = {table: joined.select("= ANY(%s::bytea[])") for table, joined in _JOINED.items()}
"""Statements that find tokens and codes joined with all records that they lead to."""

_ENTRY_COLUMNS: Final = tuple(zip(ENTRIES.columns[1:], ENTRIES.kinds[1:], strict=True))
"""Columns of an entry that are written; the database gives its number."""
_COLUMNS_OF_TOKENS: Final = _ENTRY_COLUMNS[: ENTRIES.columns.index("changes") - 1]
"""Columns of entries without `changes` and what acted; leaving those arrays out saves their cost."""
_INSERT_ENTRIES: Final = {
    kept: (
        f"INSERT INTO audit ({', '.join(column for column, _ in kept)})"
        f" SELECT * FROM {_unnest(kind for _, kind in kept)}"
    ).encode()
    for kept in (_ENTRY_COLUMNS, _COLUMNS_OF_TOKENS)
}


# --- records

FetchBy = Callable[[Ask, Table, Collection[Any]], list[Record]]
"""Fetches the records of a table under identifiers, as far as they exist."""


def fetch(ask: Ask, table: Table, identifiers: Collection[Any]) -> list[Record]:
    """Fetch the records of `table` under `identifiers`, as far as they exist."""
    if table is Table.ACCESS_TOKEN:
        # Two statements: one would join tables that may be distributed over machines.
        rows = ask(_SESSIONS_OF_ACCESS_TOKENS, [_write_array(bytes, identifiers)])
        return fetch(ask, Table.SESSION, [session_id for (session_id,) in rows])
    layout = _LAYOUTS[table]
    possible = [identifier for identifier in identifiers if can_hold(identifier)]
    if not possible:
        return []
    columns = [possible] if len(layout.key) == 1 else zip(*possible, strict=True)
    keys = [_write_array(kind, column) for kind, column in zip(layout.key_kinds, columns, strict=True)]
    from_row = layout.codec.from_row
    return [from_row(row) for row in ask(layout.select, keys)]


def fetch_with_all(ask: Ask, table: Table, identifiers: Collection[Any]) -> list[Record]:
    """Fetch records, and with tokens and codes all that they lead to: one statement in place of five."""
    statement = _WITH_ALL.get(table)
    if statement is None:
        return fetch(ask, table, identifiers)
    return JOINED[table].records(ask(statement, [_write_array(bytes, identifiers)]))


def write(connection: Connection[Any], changes: Iterable[Change], entries: Sequence[AuditEntry]) -> None:
    """Write all changes and entries in one flight.

    Raises `LostRace` if a record is no longer at the revision that was read; the caller then rolls back.
    """
    # In one order, by table and key, so that two turns which write the same rows wait for each other. If
    # the database takes rows in another order, as it may in a small table, a deadlock is a lost race for one
    # of them.
    with connection.pipeline():
        sent = [
            (name, connection.execute(statement.encode(), arrays), expected)
            for name, statement, arrays, expected in _statements(changes)
        ]
        if entries:
            is_of_tokens = not any(
                entry.changes or entry.actor_session_id or entry.actor_name for entry in entries
            )
            kept = _COLUMNS_OF_TOKENS if is_of_tokens else _ENTRY_COLUMNS
            rows = [ENTRIES.to_row(entry)[1 : len(kept) + 1] for entry in entries]
            connection.execute(_INSERT_ENTRIES[kept], _arrays((kind for _, kind in kept), rows))
    for name, cursor, expected in sent:
        if cursor.rowcount != expected:
            raise LostRace(f"a record of {name} is not at the revision it was read at")


_Statement = tuple[str, str, list[str], int]
"""Table's name, statement, bound arrays, and the number of rows that it must write."""


def _arrays(kinds: Iterable[type], rows: Iterable[Row]) -> list[str]:
    return [_write_array(kind, column) for kind, column in zip(kinds, zip(*rows, strict=True), strict=True)]


def _statements(changes: Iterable[Change]) -> Iterator[_Statement]:
    """Yield the statements for all changes, by table and kind of write."""
    inserted: dict[Table, list[Record]] = defaultdict(list)
    updated: dict[Table, list[Update]] = defaultdict(list)
    deleted: dict[Table, list[Record]] = defaultdict(list)
    new_access_tokens: list[tuple[bytes, str]] = []
    old_access_tokens: list[bytes] = []
    for change in changes:
        match change:
            case Insert(after):
                inserted[after.table].append(after)
                if isinstance(after, Session):
                    new_access_tokens.append((after.access_digest, after.session_id))
            case Update(before, after):
                updated[after.table].append(change)
                if (
                    isinstance(before, Session)
                    and isinstance(after, Session)
                    and before.access_digest != after.access_digest
                ):
                    old_access_tokens.append(before.access_digest)
                    new_access_tokens.append((after.access_digest, after.session_id))
            case Delete(before):
                deleted[before.table].append(before)
                if isinstance(before, Session):
                    old_access_tokens.append(before.access_digest)
    if new_access_tokens:
        arrays = _arrays((bytes, str), sorted(new_access_tokens))
        yield "access_tokens", _INSERT_ACCESS_TOKENS, arrays, len(new_access_tokens)
    if old_access_tokens:
        arrays = [_write_array(bytes, sorted(old_access_tokens))]
        yield "access_tokens", _DELETE_ACCESS_TOKENS, arrays, len(old_access_tokens)
    for table, layout in _LAYOUTS.items():
        if table in inserted:
            records = sorted(inserted[table], key=layout.to_key)
            arrays = _arrays(layout.codec.kinds, map(layout.codec.to_row, records))
            yield layout.name, layout.insert, arrays, len(records)
        if table in updated:
            yield _make_update(layout, sorted(updated[table], key=lambda each: layout.to_key(each.before)))
        if table in deleted:
            records = sorted(deleted[table], key=layout.to_key)
            rows = [(*layout.to_key(record), record.revision) for record in records]
            yield layout.name, layout.delete, _arrays((*layout.key_kinds, int), rows), len(records)


def _make_update(layout: _ArrayLayout, updates: Sequence[Update]) -> _Statement:
    """Return one statement for all updates of a table, of the columns that change in any of them."""
    # Two statements for different columns would lock their rows in two orders.
    columns = layout.codec.columns
    if len(updates) == 1:
        [one] = updates
        places, values = layout.codec.difference(one.before, one.after)
        rows = [(*layout.to_key(one.before), one.before.revision, *values)]
    else:
        differing = {
            place for each in updates for place in layout.codec.difference(each.before, each.after)[0]
        }
        places = tuple(sorted(differing))
        rows = []
        for each in updates:
            row = layout.codec.to_row(each.after)
            rows.append(
                (*layout.to_key(each.before), each.before.revision, *(row[place] for place in places))
            )
    assert places, f"an update of {layout.name} must change a column of {columns}"
    kinds = (*layout.key_kinds, int, *(layout.codec.kinds[place] for place in places))
    return layout.name, _build_update(layout, places), _arrays(kinds, rows), len(updates)
