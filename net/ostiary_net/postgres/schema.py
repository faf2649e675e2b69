"""Bring the database's schema up to date step by step, in one of the instances that start.

Each step is a file of plain SQL in `migrations/`, numbered on from the first release, never edited.
`schema_migrations` has those that were applied. A locked row makes other instances wait meanwhile: unlike
advisory locks, every PostgreSQL-compatible engine has row locks.

Instances of the release before may still be running beside the new one, so a step only adds: tables, columns
with a default, indexes. An index of a table that may be large is a step of its own, one statement
`CREATE INDEX CONCURRENTLY name ON …`, as others write to the table meanwhile.
"""

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from itertools import takewhile
from typing import Any, Final

from psycopg import Connection, Error, errors

from ostiary_net.postgres.record_sql import Ask
from ostiary_net.sql.migrations import Migration, Opening, SchemaError, find_missing, has_all, read_migrations

FIRST_VERSION: Final = 14
"""Number of the first release's step, which every database has."""
_MOST_ATTEMPTS: Final = 50
_LOCK_TIMEOUT_MS: Final = 2_000
_PAUSE_SECONDS: Final = 1.0
_OTHERS_PAUSE_SECONDS: Final = 0.1
_MOST_LOCK_ATTEMPTS: Final = 100
_CONCURRENT_INDEX: Final = re.compile(r"^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) ON ", re.MULTILINE)

LendConnection = Callable[[], AbstractContextManager[Connection[Any]]]
"""Lends a connection that is in no transaction."""

# Two instances that create a table at the same moment collide in the catalogue, IF NOT EXISTS or not.
_COLLISIONS: Final = (
    errors.UniqueViolation,
    errors.DuplicateTable,
    errors.DuplicateObject,
    errors.SerializationFailure,
)

_ENGINE: Final = "SELECT version(), EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"

_VERSION_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS schema_lock (id INTEGER NOT NULL PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS schema_migrations (
        version    BIGINT NOT NULL PRIMARY KEY,
        name       TEXT NOT NULL,
        applied_at BIGINT NOT NULL
    );
    INSERT INTO schema_lock (id) VALUES (1) ON CONFLICT DO NOTHING;
"""


_LOCK: Final = "SELECT id FROM schema_lock WHERE id = 1 FOR UPDATE SKIP LOCKED"
"""Statement that locks the row of the instance that applies steps; no row while another has it."""

_VERSION_TABLE_NAMES: Final = {"schema_lock", "schema_migrations"}
"""Names of both: other programs have a `schema_migrations` too."""

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
    """Return all steps that this release knows, in order."""
    return read_migrations("ostiary_net.postgres")


def examine_encoding(connection: Connection[Any]) -> None:
    """Raise `SchemaError` unless the database's encoding can hold every name."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise SchemaError(
            f"its encoding is {encoding}, in which not every name can be written: make another one, with "
            "CREATE DATABASE ... TEMPLATE template0 ENCODING 'UTF8'"
        )


def is_distributed(connection: Connection[Any]) -> bool:
    """Whether the engine says that it puts tables on several machines."""
    [[version, has_citus]] = connection.execute(_ENGINE).fetchall()
    return not str(version).startswith("PostgreSQL") or "-YB-" in version or has_citus


def bring_up_to_date(
    lend: LendConnection, steps: tuple[Migration, ...] | None = None, opening: Opening = Opening.MAKES
) -> None:
    """Apply the missing steps, if `opening` allows them; wait while another instance applies them.

    Consecutive steps are one transaction, but for those that make an index while others write to its table.
    Raises `SchemaError` for a database of a newer or different Ostiary or of another program, if `opening`
    forbids a step, and if a table stays locked.
    """
    steps = known_migrations() if steps is None else steps
    with lend() as connection:
        names = _examine_tables(connection)
        if not names >= _VERSION_TABLE_NAMES:
            find_missing([], steps, opening)
            _create_version_tables(connection)
        attempts = 0
        # No lock if no step is missing: a lock is a write, which waits for standbys.
        while missing := find_missing(_read_applied_on(connection), steps, opening):
            try:
                if not _apply_next(connection, lend, steps):
                    time.sleep(_OTHERS_PAUSE_SECONDS)
            except errors.LockNotAvailable as error:
                attempts += 1
                if attempts == _MOST_LOCK_ATTEMPTS:
                    raise SchemaError(
                        f"step {missing[0].version} of the schema waits for a lock that others hold: end the "
                        "long transactions of the database, and start again"
                    ) from error
                time.sleep(_PAUSE_SECONDS)


def _apply_next(connection: Connection[Any], lend: LendConnection, steps: tuple[Migration, ...]) -> bool:
    """Apply the next missing steps, as many as go into one transaction; return False while another does.

    Raises `LockNotAvailable` if a table is in use for too long: all later statements queue behind such a
    lock.
    """
    with connection.transaction():
        # CREATE INDEX CONCURRENTLY waits for the snapshots of other isolation levels.
        connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        # Steps may last.
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        # An instance that waited for this row would have a snapshot meanwhile, and the statement that makes
        # an index waits for that: for ever, as what holds the row waits for the statement.
        if not connection.execute(_LOCK).fetchall():
            return False
        connection.execute(f"SET LOCAL lock_timeout = {_LOCK_TIMEOUT_MS}")
        missing = find_missing(_read_applied_on(connection), steps)
        if missing and _CONCURRENT_INDEX.search(missing[0].sql):
            with lend() as builder:
                _make_index(builder, missing[0])
            _record_applied(connection, missing[0])
            return True
        for step in takewhile(lambda step: not _CONCURRENT_INDEX.search(step.sql), missing):
            connection.execute(step.sql.encode())
            _record_applied(connection, step)
    return True


def _make_index(connection: Connection[Any], step: Migration) -> None:
    """Make the index of a step while others write to its table; begin anew after an interruption."""
    match = _CONCURRENT_INDEX.search(step.sql)
    assert match is not None
    name = match[1]
    try:
        connection.execute("SET statement_timeout = 0")
        rows = connection.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (name,)
        ).fetchall()
        if rows == [(True,)]:
            return
        if rows:
            connection.execute(f"DROP INDEX CONCURRENTLY {name}".encode())
        connection.execute(step.sql.encode())
    finally:
        # Closed, as it has settings of its own; behind a pooler, its connection to the database lives on.
        with suppress(Error):
            connection.execute("RESET statement_timeout")
        connection.close()


def _record_applied(connection: Connection[Any], step: Migration) -> None:
    connection.execute(
        "INSERT INTO schema_migrations (version, name, applied_at)"
        " VALUES (%s, %s, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)",
        (step.version, step.name),
    )


def is_current(ask: Ask) -> bool:
    """Whether the database has all steps that this release knows; newer ones may follow."""
    return has_all(_read_applied(ask), known_migrations())


def _read_applied(ask: Ask) -> list[tuple[int, str]]:
    """Return the steps that the database has been through."""
    rows = ask("SELECT version, name FROM schema_migrations ORDER BY version", ())
    return [(int(str(version)), str(name)) for version, name in rows]


def _read_applied_on(connection: Connection[Any]) -> list[tuple[int, str]]:
    # Without bound values or a plan of its own: the portal of such a statement keeps its snapshot while the
    # transaction lasts, and what makes an index would wait for that too.
    return _read_applied(lambda text, _: connection.execute(text.encode(), prepare=False).fetchall())


def _examine_tables(connection: Connection[Any]) -> set[str]:
    """Return the names of all tables; raise `SchemaError` for a database of another program."""
    names = {str(name) for (name,) in connection.execute(_TABLES).fetchall()}
    # Both version tables are made at one moment, so another instance's are seen whole or not at all.
    if names and not names >= _VERSION_TABLE_NAMES:
        raise SchemaError(
            "the database belongs to another program; name one of Ostiary's own, or one that is empty"
        )
    return names


def _create_version_tables(connection: Connection[Any]) -> None:
    """Make the version tables if they are missing."""
    for attempt in range(_MOST_ATTEMPTS):
        try:
            connection.execute(_VERSION_TABLES)
        except _COLLISIONS:
            if attempt == _MOST_ATTEMPTS - 1:
                raise
            time.sleep(0.05)
        else:
            return
