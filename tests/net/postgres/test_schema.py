"""The schema in PostgreSQL: made once however many start, refused when not ours, true to the classes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.records import Table
from ostiary_core.model.secret import digest_of
from ostiary_net.postgres import PostgreSQLStore, SchemaError
from ostiary_net.postgres.schema import bring_up_to_date, known_migrations
from ostiary_net.sql.columns import TABLES
from ostiary_net.sql.migrations import Migration
from tests.core import asks
from tests.core.story import START
from tests.net.postgres.schemas import made_schema
from tests.net.sqlite.test_file import declared
from tests.net.store.stores import POSTGRESQL

TYPES = {"TEXT": "text", "BLOB": "bytea", "INTEGER": "bigint"}


def test_ten_instances_may_start_at_once_on_an_empty_database(address: str) -> None:
    together = threading.Barrier(10)

    def instance(number: int) -> None:
        together.wait(60)
        with PostgreSQLStore(address, keeps_time=False, most_connections=2) as store:
            store.turn([asks.user(f"user{number}")], START)

    with ThreadPoolExecutor(10) as threads:
        for started in [threads.submit(instance, number) for number in range(10)]:
            started.result(60)
    with psycopg.connect(address) as connection:
        steps = connection.execute("SELECT version, name FROM schema_migrations ORDER BY version").fetchall()
        assert steps == [(step.version, step.name) for step in known_migrations()]
        assert connection.execute("SELECT count(*) FROM users").fetchone() == (10,)


def test_a_database_of_a_newer_version_is_left_alone(address: str) -> None:
    PostgreSQLStore(address).close()
    newer = len(known_migrations()) + 1
    with psycopg.connect(address) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (%s, 'of_tomorrow', 0)", (newer,))
    with pytest.raises(SchemaError, match=f"version {newer}.*newer Ostiary"):
        PostgreSQLStore(address)


def test_a_step_that_fails_leaves_the_schema_as_it_was(address: str) -> None:
    bad = Migration(len(known_migrations()) + 1, "bad", "CREATE TABLE x (y BIGINT); NONSENSE")
    with psycopg.connect(address, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.SyntaxError):
            bring_up_to_date(connection, START, (*known_migrations(), bad))
        there = connection.execute("SELECT to_regclass('users'), to_regclass('x')").fetchone()
    assert there == (None, None)


def test_an_instance_of_the_release_before_goes_on_beside_a_schema_that_grew(address: str) -> None:
    grown = Migration(
        len(known_migrations()) + 1, "grown", "ALTER TABLE users ADD COLUMN nickname TEXT DEFAULT 'none'"
    )
    with PostgreSQLStore(address, keeps_time=False) as running:
        running.turn([asks.user("before")], START)
        with psycopg.connect(address, autocommit=True) as connection:
            bring_up_to_date(connection, START, (*known_migrations(), grown))
        running.turn([asks.user("after")], START)


def test_access_tokens_of_before_are_found_by_their_sessions(address: str) -> None:
    live = digest_of("live")
    with psycopg.connect(address, autocommit=True) as connection:
        bring_up_to_date(connection, START, known_migrations()[:5])
        for digest, kind in ((live, "access"), (digest_of("present"), "refresh")):
            connection.execute("INSERT INTO tokens VALUES (%s, 's', %s, 1, 1)", (digest, kind))
        connection.execute(
            "INSERT INTO sessions (session_id, kind, client_id, scopes, user_epoch, client_epoch,"
            " consent_epoch, started_at, expires_at, generation, access_digest, access_scopes,"
            " access_expires_at, source, revision)"
            " VALUES ('s', 'authorization_code', 'app', '[]', 0, 0, 0, 0, 9, 1, %s, '[]', 5, '', 2)",
            (live,),
        )
    with PostgreSQLStore(address) as store:
        [session] = store.records(Table.SESSION)
        assert store.fetch(Table.ACCESS_TOKEN, [live, digest_of("spent")]) == [session]
        assert [record.key.id for record in store.records(Table.REFRESH_TOKEN)] == [digest_of("present")]


@pytest.fixture(scope="module")
def columns() -> dict[str, dict[str, tuple[str, bool]]]:
    """Every table's columns: their type and whether they may be NULL."""
    if POSTGRESQL is None:
        pytest.skip("OSTIARY_TEST_POSTGRES names no server (postgresql://user@host:port/database)")
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    address = made_schema(POSTGRESQL)
    PostgreSQLStore(address).close()
    with psycopg.connect(address) as connection:
        rows = connection.execute(
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND (collation_name = 'C' OR data_type <> 'text')"
        ).fetchall()
    for table, column, kind, nullable in rows:
        found.setdefault(table, {})[column] = (kind, nullable == "YES")
    return found


@pytest.mark.parametrize(
    "name, kind",
    [(stored.name, stored.record) for stored in TABLES.values()] + [("audit", AuditEntry)],
)
def test_the_schema_has_the_columns_of_the_class(
    columns: dict[str, dict[str, tuple[str, bool]]], name: str, kind: type[Any]
) -> None:
    expected = {
        column: (
            "boolean" if column in ("enabled", "built_in", "must_change_password") else TYPES[type_],
            null,
        )
        for column, (type_, null) in declared(kind).items()
    }
    assert columns[name] == expected
