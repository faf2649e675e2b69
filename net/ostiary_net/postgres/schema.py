"""Brings the database's schema up to date step by step, in one of however many instances start.

Each step is a file of plain SQL in `migrations/`, numbered from 1 without gaps and never edited once
published. `schema_migrations` says which were taken. A row that is locked for as long as it takes makes
the others wait: unlike advisory locks, every PostgreSQL-compatible engine has row locks.

Instances of the release before may still be running beside the new one, so a step only adds: tables, columns
with a default, indexes.
"""

import time
from typing import Any, Final

from psycopg import Connection, errors

from ostiary_core.model.instant import Instant
from ostiary_net.sql.migrations import Migration, SchemaError, find_missing, has_all, read_migrations

_MOST_ATTEMPTS: Final = 50

# Two instances that create a table at the same moment collide in the catalogue, IF NOT EXISTS or not.
_COLLISIONS: Final = (
    errors.UniqueViolation,
    errors.DuplicateTable,
    errors.DuplicateObject,
    errors.SerializationFailure,
)

_BOOKS: Final = """
    CREATE TABLE IF NOT EXISTS schema_lock (id INTEGER NOT NULL PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS schema_migrations (
        version    BIGINT NOT NULL PRIMARY KEY,
        name       TEXT NOT NULL,
        applied_at BIGINT NOT NULL
    );
    INSERT INTO schema_lock (id) VALUES (1) ON CONFLICT DO NOTHING;
"""


_NAMES_OF_BOOKS: Final = {"schema_lock", "schema_migrations"}
"""Both, as other programs keep a `schema_migrations` too."""

# Without what extensions brought along (pg_depend), as pg_stat_statements does.
_TABLES: Final = """
    SELECT relname FROM pg_class
    WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND relkind IN ('r', 'p', 'v', 'm', 'f')
        AND NOT EXISTS (
            SELECT FROM pg_depend
            WHERE pg_depend.classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e'
        )
"""


def known_migrations() -> tuple[Migration, ...]:
    """All steps of the schema that this release knows, in order."""
    return read_migrations("ostiary_net.postgres")


def examine_encoding(connection: Connection[Any]) -> None:
    """Raise `SchemaError` unless the database's encoding can hold every name there is.

    It is chosen when a database is made.
    """
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise SchemaError(
            f"its encoding is {encoding}, in which not every name can be written: make another one, with "
            "CREATE DATABASE ... TEMPLATE template0 ENCODING 'UTF8'"
        )


def bring_up_to_date(
    connection: Connection[Any], now: Instant, steps: tuple[Migration, ...] | None = None
) -> None:
    """Apply the steps that are missing, all or none; wait while another instance applies them.

    Raises `SchemaError` for a database that a newer or a different Ostiary or another program has written,
    which stays as it is.
    """
    steps = known_migrations() if steps is None else steps
    _examine_tables(connection)
    _open_books(connection)
    with connection.transaction():
        # Taking the steps may last, and waiting for whoever takes them lasts as long.
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute("SELECT id FROM schema_lock WHERE id = 1 FOR UPDATE")
        for step in find_missing(_read_applied(connection), steps):
            connection.execute(step.sql.encode())
            connection.execute(
                "INSERT INTO schema_migrations (version, name, applied_at) VALUES (%s, %s, %s)",
                (step.version, step.name, now),
            )


def is_current(connection: Connection[Any]) -> bool:
    """Whether the database has been through all steps that this release knows, and maybe newer ones."""
    return has_all(_read_applied(connection), known_migrations())


def _read_applied(connection: Connection[Any]) -> list[tuple[int, str]]:
    """The steps of the schema that the database has been through."""
    rows = connection.execute("SELECT version, name FROM schema_migrations ORDER BY version").fetchall()
    return [(int(version), str(name)) for version, name in rows]


def _examine_tables(connection: Connection[Any]) -> None:
    """Raise `SchemaError` for a schema with tables but without our books: another program's.

    Our books are made at one moment, so one search sees all or nothing of what another instance makes.
    """
    names = {str(name) for (name,) in connection.execute(_TABLES).fetchall()}
    if names and not names >= _NAMES_OF_BOOKS:
        raise SchemaError(
            "the database belongs to another program; name one of Ostiary's own, or one that is empty"
        )


def _open_books(connection: Connection[Any]) -> None:
    """Make the tables that say which steps were applied, where they are missing."""
    for attempt in range(_MOST_ATTEMPTS):
        try:
            connection.execute(_BOOKS)
        except _COLLISIONS:
            if attempt == _MOST_ATTEMPTS - 1:
                raise
            time.sleep(0.05)
        else:
            return
