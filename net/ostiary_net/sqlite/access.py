"""Loads records, writes changes and keeps audit entries over one SQLite connection, in its transaction."""

# ruff: noqa: S608 (what goes into a statement's text are the columns of the audit trail)

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import apsw

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.records import Record, Table
from ostiary_core.storage.store import LostRace
from ostiary_net.sql.columns import ENTRIES, Row, has_utf8
from ostiary_net.sqlite.rows import LAYOUTS, LOOKUPS, SELECT_SIZES, WITH_ALL, Layout, execute_on, insertions


def fetch(connection: apsw.Connection, table: Table, identifiers: Collection[Any]) -> list[Record]:
    """Fetch the records of `table` under `identifiers`, as far as they exist, in one statement.

    Lists longer than the longest statement takes are read in several.
    """
    lookup = LOOKUPS[table]
    from_row = lookup.from_row
    return [from_row(row) for row in _rows(connection, lookup.selects, identifiers)]


def fetch_with_all(connection: apsw.Connection, table: Table, identifiers: Collection[Any]) -> list[Record]:
    """Fetch records, and by tokens all that these lead to: one statement in place of five.

    What a token leads to comes before it.
    """
    joined = WITH_ALL.get(table)
    if joined is None:
        return fetch(connection, table, identifiers)
    records: list[Record] = []
    clients: set[str] = set()
    client_at, client_from = joined.client
    for row in _rows(connection, joined.selects, identifiers):
        # Few clients have all the tokens, so each is made once.
        client_id = row[client_at]
        if client_id is not None and client_id not in clients:
            clients.add(client_id)
            records.append(client_from(row))
        for key, from_row in joined.parts:
            if row[key] is not None:
                records.append(from_row(row))
    return records


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
    longest = SELECT_SIZES[-1]
    for start in range(0, len(keys), longest):
        chunk = keys[start : start + longest]
        size = next(size for size in SELECT_SIZES if size >= len(chunk))
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
        connection.executemany(layout.update(changed), rows)
        _check_all_written(connection, layout, written_before, len(rows))
    for (layout, revision), keys in deleted.items():
        written_before = connection.total_changes()
        execute_on(connection, layout.deletes, keys, revision)
        _check_all_written(connection, layout, written_before, len(keys))
    for layout, rows in inserted.items():
        written_before = connection.total_changes()
        execute_on(connection, layout.inserts, rows)
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

FILED_AT_ONCE = 512
"""Whenever so many were kept. A reader goes through those that are not filed yet, so there must be few."""

OF_A_USER: Final = "audit_of_user"
OF_A_SESSION: Final = "audit_of_session"
"""What to read in place of `audit` for the entries of one user or one session."""

PARTS: Final = ("audit_filed", "audit_unfiled")
"""The tables, the older entries first."""

_COLUMNS: Final = ", ".join(ENTRIES.columns)
_KEEP: Final = insertions("audit_unfiled", ENTRIES.columns[1:])
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
    execute_on(connection, _KEEP, [ENTRIES.to_row(entry)[1:] for entry in entries])
    last = connection.last_insert_rowid()
    return last // FILED_AT_ONCE != (last - len(entries)) // FILED_AT_ONCE


def index_pending(connection: apsw.Connection) -> None:
    """Move all pending entries to the table that has indexes."""
    for statement in _FILE:
        connection.execute(statement)
