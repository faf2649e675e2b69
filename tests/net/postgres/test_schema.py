"""The schema in PostgreSQL: many that start make it once, a foreign one is refused, it fits the classes."""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from ostiary_core.model.audit import AuditEntry, audit_entries
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.reply import Done
from ostiary_net.postgres import PostgreSQLStore, SchemaError, schema
from ostiary_net.postgres.schema import bring_up_to_date, is_distributed, known_migrations
from ostiary_net.sql.columns import TABLES
from ostiary_net.sql.migrations import Migration
from tests.net.sqlite.test_file import read_columns
from tests.support import asks
from tests.support.stores import made_schema
from tests.support.story import START

TYPES = {"TEXT": "text", "BLOB": "bytea", "INTEGER": "bigint"}
NEWER = known_migrations()[-1].version + 1


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
    with psycopg.connect(address) as connection:
        connection.execute("CREATE SEQUENCE of_somebody")  # without a table, it is no other program
    PostgreSQLStore(address).close()
    with psycopg.connect(address) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (%s, 'of_tomorrow', 0)", (NEWER,))
    with pytest.raises(SchemaError, match=f"version {NEWER}.*newer Ostiary"):
        PostgreSQLStore(address)


def test_a_store_whose_database_lost_a_step_is_not_ready(address: str) -> None:
    with PostgreSQLStore(address) as store:
        store.check_ready()
        with psycopg.connect(address) as connection:
            connection.execute("DELETE FROM schema_migrations")
        with pytest.raises(SchemaError):
            store.check_ready()


def test_a_store_is_ready_while_its_role_may_change_each_table_and_no_lock_delays_turns(address: str) -> None:
    PostgreSQLStore(address).close()
    schema, role = address.rpartition("%3D")[2], f"ostiary_test_role_{os.getpid()}"
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role}; GRANT USAGE ON SCHEMA {schema} TO {role}".encode())
        owner.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role}".encode())
        try:
            with PostgreSQLStore(f"{address}%20-c%20role%3D{role}") as store:
                store.check_ready()
                for lacking in ("UPDATE ON sessions", "DELETE ON text_codes", "INSERT ON audit"):
                    owner.execute(f"REVOKE {lacking} FROM {role}".encode())
                    with pytest.raises(SchemaError, match="role may not change"):
                        store.check_ready()
                    owner.execute(f"GRANT {lacking} TO {role}".encode())
                for locked in ("LOCK TABLE sessions", "LOCK TABLE audit IN EXCLUSIVE MODE"):
                    with psycopg.connect(address) as other:
                        other.execute(locked.encode())
                        with pytest.raises(psycopg.errors.LockNotAvailable):
                            store.check_ready()
                with psycopg.connect(address) as other:
                    other.execute("DELETE FROM sessions; DELETE FROM audit")
                    store.check_ready()
        finally:
            owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def test_a_database_is_told_from_others_by_its_age_and_its_last_entry(address: str) -> None:
    with PostgreSQLStore(address) as store:
        made_at, number = store.mark()
        assert 0 <= store.present(START) - made_at < 600_000
        store.turn([asks.user("first"), asks.user("second")], START)
        assert (number, store.mark()) == (0, (made_at, 2))
        assert store.state().schema == store.state().known_schema == NEWER - 1


def lender(address: str) -> Callable[[], psycopg.Connection[Any]]:
    return lambda: psycopg.connect(address, autocommit=True)


def step_behind(sql: str) -> tuple[Migration, ...]:
    """Return the steps of this release and one more."""
    return (*known_migrations(), Migration(NEWER, "more", sql))


def test_a_step_that_fails_leaves_the_schema_as_it_was(address: str) -> None:
    with psycopg.connect(address) as connection:  # as an instance that ended early leaves it
        connection.execute(schema._VERSION_TABLES)
    PostgreSQLStore(address).close()
    with pytest.raises(psycopg.errors.SyntaxError):
        bring_up_to_date(lender(address), step_behind("CREATE TABLE x (y BIGINT); NONSENSE"))
    with psycopg.connect(address) as connection:
        there = connection.execute("SELECT to_regclass('x'), max(version) FROM schema_migrations").fetchone()
    assert there == (None, NEWER - 1)


def test_an_instance_of_the_release_before_goes_on_beside_a_schema_that_grew(address: str) -> None:
    with PostgreSQLStore(address, keeps_time=False) as running:
        running.turn([asks.user("before")], START)
        names = ("statement_timeout", "idle_in_transaction_session_timeout")
        bounded = address + "".join(f"%20-c%20{name}%3D9s" for name in names)
        lasts = "".join(f"DO $$ BEGIN ASSERT current_setting('{name}') = '0'; END $$;" for name in names)
        bring_up_to_date(lender(bounded), step_behind(f"{lasts}ALTER TABLE users ADD COLUMN nickname TEXT"))
        running.turn([asks.user("after")], START)


def test_an_index_is_made_while_others_write_and_made_anew_after_an_interruption(address: str) -> None:
    steps = step_behind("CREATE INDEX CONCURRENTLY users_by_locale ON users (locale)")
    is_valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('users_by_locale')"
    with PostgreSQLStore(address, keeps_time=False) as running, ThreadPoolExecutor(1) as thread:
        running.turn([asks.user("before")], START)
        with psycopg.connect(address) as writing, psycopg.connect(address, autocommit=True) as operator:
            writing.execute("UPDATE users SET locale = 'en-US'")
            migrating = thread.submit(bring_up_to_date, lender(address), steps)
            while operator.execute(is_valid).fetchone() != (False,):
                time.sleep(0.01)
            running.turn([asks.user("meanwhile")], START)
            operator.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONC%'"
            )
            with pytest.raises(psycopg.OperationalError):
                migrating.result(60)
            assert operator.execute(is_valid).fetchone() == (False,)
            writing.rollback()
            bring_up_to_date(lender(address), steps)
            assert operator.execute(is_valid).fetchone() == (True,)
        running.turn([asks.user("after")], START)


def test_indexes_have_time_to_be_made_and_a_connection_that_a_pooler_keeps_is_as_it_was(address: str) -> None:
    with PostgreSQLStore(address, keeps_time=False) as store:
        store.turn([asks.user("before")], START)
    closed: list[tuple[str]] = []

    class Pooled(psycopg.Connection[Any]):
        def close(self) -> None:
            closed.extend(self.execute("SHOW statement_timeout"))
            super().close()

    made_with_time = """
        CREATE FUNCTION timed(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
        BEGIN ASSERT current_setting('statement_timeout') = '0'; RETURN $1; END $$
    """
    # So many that a statement which the driver prepares by itself would be.
    indexes = [f"CREATE INDEX CONCURRENTLY more_{place} ON users (timed(locale))" for place in range(4)]
    steps = [Migration(NEWER + place, "more", sql) for place, sql in enumerate([made_with_time, *indexes])]
    bounded = f"{address}%20-c%20statement_timeout%3D9s"
    made = "SELECT indexrelid FROM pg_index WHERE indrelid = 'users'::regclass AND indisvalid"
    found = set[tuple[int]]()
    with psycopg.Connection[Any].connect(bounded, autocommit=True) as connection:
        before = set(connection.execute(made))
        for _ in range(2):
            lent = chain([connection], (Pooled.connect(bounded, autocommit=True) for _ in indexes))
            bring_up_to_date(map(nullcontext, lent).__next__, (*known_migrations(), *steps))
            found.update(connection.execute(made))
            # One that ends between an index and its record leaves a whole index.
            connection.execute("DELETE FROM schema_migrations WHERE version > %s", (NEWER,))
    assert len(found - before) == len(indexes)
    assert closed == [("9s",)] * len(indexes) * 2


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which take no time."""
    made: list[float] = []
    monkeypatch.setattr(schema, "time", SimpleNamespace(sleep=made.append))
    return made


def test_a_step_that_waits_for_a_lock_gives_up_soon(
    address: str, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    for name, value in (("LOCK_TIMEOUT_MS", 100), ("MOST_LOCK_ATTEMPTS", 3)):
        monkeypatch.setattr(f"ostiary_net.postgres.schema._{name}", value)
    steps = step_behind("ALTER TABLE users ADD COLUMN nickname TEXT")
    PostgreSQLStore(address).close()
    with psycopg.connect(address) as reading:
        reading.execute("SELECT FROM users")
        with pytest.raises(SchemaError, match=f"step {NEWER} of the schema waits for a lock"):
            bring_up_to_date(lender(address), steps)
    assert pauses == [1.0, 1.0]
    bring_up_to_date(lender(address), steps)


@pytest.mark.parametrize("collisions", [2, 3])
def test_instances_that_make_the_same_table_try_again_a_number_of_times(
    collisions: int, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostiary_net.postgres.schema._MOST_ATTEMPTS", 3)
    left = iter(range(collisions))

    def execute(statement: str) -> None:
        if next(left, None) is not None:
            raise psycopg.errors.UniqueViolation

    colliding: Any = SimpleNamespace(execute=execute)
    with pytest.raises(psycopg.errors.UniqueViolation) if collisions == 3 else nullcontext():
        schema._create_version_tables(colliding)
    assert len(pauses) == 2


@pytest.fixture(scope="module")
def columns() -> dict[str, dict[str, tuple[str, bool]]]:
    """Every table's columns: their type and whether they may be NULL."""
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    address = made_schema()
    PostgreSQLStore(address).close()
    with psycopg.connect(address) as connection:
        rows = connection.execute(
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND (collation_name = 'C' OR data_type <> 'text')"
        ).fetchall()
    for table, column, kind, nullable in rows:
        found.setdefault(table, {})[column] = (kind, nullable == "YES")
    return found


BOOLEANS = {"enabled", "built_in", "must_change_password", "has_second_factor"}


@pytest.mark.parametrize(
    "name, kind", [(stored.name, stored.record) for stored in TABLES.values()] + [("audit", AuditEntry)]
)
def test_the_schema_has_the_columns_of_the_class(
    columns: dict[str, dict[str, tuple[str, bool]]], name: str, kind: type[Any]
) -> None:
    expected = {
        column: ("boolean" if column in BOOLEANS else TYPES[type_], null)
        for column, (type_, null) in read_columns(kind).items()
    }
    assert columns[name] == expected


def test_each_field_of_an_entry_is_kept_without_the_others(address: str) -> None:
    [plain] = audit_entries([Decision(Done(), facts=(Fact(kind=FactKind.USER_CHANGED),))], [], START)
    change = FieldChange(field="name", before="a", after="b")
    alone: dict[str, Any] = {
        "changes": (change,),
        "actor_session_id": "s",
        "actor_name": "n",
        "earlier_user_agent": "e",
    }
    entries = [replace(plain, number=number, **{name: alone[name]}) for number, name in enumerate(alone, 1)]
    with PostgreSQLStore(address) as store:
        for entry in entries:
            store.keep_entries([entry])
        assert store.audit() == tuple(entries)


@pytest.mark.parametrize(
    "version, has_citus, expected",
    [
        ("PostgreSQL 15.4 (Debian)", False, False),
        ("PostgreSQL 15.4 (Debian)", True, True),
        ("PostgreSQL 11.2-YB-2.19.0.0-b0", False, True),
        ("CockroachDB CCL v23.1.0", False, True),
    ],
)
def test_an_engine_that_spreads_its_tables_is_known(version: str, has_citus: bool, expected: bool) -> None:
    told = SimpleNamespace(fetchall=lambda: [(version, has_citus)])
    engine: Any = SimpleNamespace(execute=lambda statement: told)
    assert is_distributed(engine) == expected
