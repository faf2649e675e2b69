"""Loads records and writes changes over one PostgreSQL connection, in the transaction it is in."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from psycopg import Connection, Cursor

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.records import Record, Session, Table
from ostiary_core.storage.store import LostRace
from ostiary_net.postgres.statements import (
    DELETE,
    INSERT,
    KEEP_ENTRY,
    LAYOUTS,
    SESSIONS_OF_ACCESS_TOKENS,
    UPDATE,
    WRITES,
)
from ostiary_net.sql.columns import ENTRIES, SQLValue, has_utf8

__all__ = ["can_hold", "fetch", "write"]

_Row = Sequence[SQLValue]


def can_hold(value: object) -> bool:
    """Whether the database can hold a value: text in UTF-8 without a NUL, and anything that is no text."""
    parts = value if isinstance(value, tuple) else (value,)
    return has_utf8(value) and not any(isinstance(part, str) and "\x00" in part for part in parts)


def fetch(connection: Connection[Any], table: Table, identifiers: Collection[Any]) -> list[Record]:
    """Fetch the records of `table` under `identifiers`, as far as they exist, in one statement.

    By access tokens in two, as one would look into two tables that may be distributed over machines.
    """
    if table is Table.ACCESS_TOKEN:
        rows = connection.execute(SESSIONS_OF_ACCESS_TOKENS, [list(identifiers)]).fetchall()
        return fetch(connection, Table.SESSION, [session_id for (session_id,) in rows])
    layout = LAYOUTS[table]
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
            _send(connection, KEEP_ENTRY, [_replace_nuls(ENTRIES.to_row(entry)[1:]) for entry in entries])
    for table, cursor, expected in sent:
        if cursor.rowcount != expected:
            raise LostRace(f"a record of {table} is not at the revision it was read at")


def _replace_nuls(row: list[SQLValue]) -> list[SQLValue]:
    """Put U+FFFD for each NUL in a row, which text in PostgreSQL cannot hold.

    No field lets one through but a User-Agent, where the HTTP parser does; one such header must not fail
    the turn that others share.
    """
    return [value.replace("\x00", "\ufffd") if isinstance(value, str) else value for value in row]


def _send(connection: Connection[Any], statement: str, rows: list[_Row]) -> Cursor[Any]:
    cursor = connection.cursor()
    cursor.executemany(statement, rows)
    return cursor


def _statements(changes: Iterable[Change]) -> list[tuple[str, str, list[_Row]]]:
    """Group changes by table and way of writing, in order: the table's name, the statement and its rows."""
    grouped: dict[tuple[Table, int], list[tuple[tuple[SQLValue, ...], _Row]]] = defaultdict(list)
    for change in changes:
        for way, row in _of_access_tokens(change):
            grouped[Table.ACCESS_TOKEN, way].append((row[:1], row))
        match change:
            case Insert(after):
                layout = LAYOUTS[after.table]
                grouped[after.table, INSERT].append(
                    (layout.to_key(after), _replace_nuls(layout.codec.to_row(after)))
                )
            case Update(before, after):
                layout = LAYOUTS[after.table]
                grouped[after.table, UPDATE].append(
                    (layout.to_key(after), _replace_nuls(layout.to_update(after, before.revision)))
                )
            case Delete(before):
                layout = LAYOUTS[before.table]
                key = layout.to_key(before)
                grouped[before.table, DELETE].append((key, [*key, before.revision]))
    statements = []
    for (table, way), rows in sorted(grouped.items(), key=lambda group: group[0]):
        rows.sort(key=lambda row: row[0])
        name, statement = WRITES[table, way]
        statements.append((name, statement, [row for _, row in rows]))
    return statements


def _of_access_tokens(change: Change) -> Iterator[tuple[int, tuple[SQLValue, ...]]]:
    """The writes to the table of access tokens that a change of a session needs."""
    match change:
        case Insert(Session() as after):
            yield INSERT, (after.access_digest, after.session_id)
        case Update(Session() as before, Session() as after) if after.access_digest != before.access_digest:
            yield DELETE, (before.access_digest,)
            yield INSERT, (after.access_digest, after.session_id)
        case Delete(Session() as before):
            yield DELETE, (before.access_digest,)
