"""Bring the schema of the database file up to date step by step.

Each step is a file of plain SQL in `migrations/`, numbered on from the first release, never edited.
`schema_migrations` has those that were applied; all that are missing are applied in one transaction, under
the writer lock, or none of them. A file that a newer Ostiary has written is left alone.
"""

import apsw

from ostiary_core.model.instant import Instant
from ostiary_net.sql.migrations import Migration, Opening, SchemaError, find_missing, has_all, read_migrations

APPLICATION_ID = 0x4F535459
"""Mark of Ostiary's SQLite files ("OSTY"; `PRAGMA application_id`)."""

_VERSION_TABLE = """
    CREATE TABLE schema_migrations (
        version    INTEGER NOT NULL PRIMARY KEY,
        name       TEXT NOT NULL,
        applied_at INTEGER NOT NULL
    ) STRICT
"""


def known_migrations() -> tuple[Migration, ...]:
    """Return all steps that this release knows, in order."""
    return read_migrations("ostiary_net.sqlite")


def examine(connection: apsw.Connection, opening: Opening) -> None:
    """Raise `SchemaError` for a newer or foreign file, or if `opening` forbids a missing step."""
    find_missing(_read_applied(connection), known_migrations(), opening)


def is_current(connection: apsw.Connection) -> bool:
    """Whether the file has all steps that this release knows; newer ones may follow."""
    return has_all(_read_applied(connection), known_migrations())


def bring_up_to_date(
    connection: apsw.Connection, now: Instant, steps: tuple[Migration, ...] | None = None
) -> None:
    """Apply the missing steps, all or none; the caller holds the writer lock.

    Raises `SchemaError` for a file of a newer Ostiary or of another program, which stays as it is.
    """
    steps = known_migrations() if steps is None else steps
    connection.execute("BEGIN IMMEDIATE")
    try:
        applied = _read_applied(connection)
        missing = find_missing(applied, steps)
        if not applied:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(_VERSION_TABLE)
        for step in missing:
            connection.execute(step.sql).fetchall()
            connection.execute(
                "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)",
                (step.version, step.name, now),
            )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _read_applied(connection: apsw.Connection) -> list[tuple[int, str]]:
    """Return the steps that the file has been through; none for a fresh one."""
    try:
        application_id = connection.pragma("application_id")
        tables = connection.execute("SELECT name FROM sqlite_schema").fetchall()
    except apsw.NotADBError as error:
        raise SchemaError(
            "the database file is not a SQLite file; name one of Ostiary's own, or a new one"
        ) from error
    if application_id == APPLICATION_ID:
        rows = connection.execute("SELECT version, name FROM schema_migrations ORDER BY version")
        return [(int(version), str(name)) for version, name in rows]
    if application_id or tables:
        raise SchemaError(
            "the database file belongs to another program; name a file of Ostiary's own, or a new one"
        )
    return []
