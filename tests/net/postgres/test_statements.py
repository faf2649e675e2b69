"""All SQL that the store sends: distributed engines understand it, and turns look up whole keys.

No engine but PostgreSQL runs here, so every statement must be of a subset that PostgreSQL, YugabyteDB,
CockroachDB and Citus document (decision 0014): the store sends nothing that this page does not list.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import psycopg
import pytest

from ostiary_core.events import Event
from ostiary_core.model.records import Session, Table
from ostiary_core.model.why import Why
from ostiary_core.retention import Expirable
from ostiary_core.storage.listing import GRANTS, FilterValue, Listable, Listing, Match, Sort, TimeRange
from ostiary_net.observability.summaries import Metric, Milestone, Refusal, SummaryKey, Tally
from ostiary_net.postgres import PostgreSQLStore, SchemaError
from ostiary_net.postgres.schema import known_migrations
from ostiary_net.postgres.transaction import READING, WRITING
from ostiary_net.sql.columns import TABLES
from tests.net.store.test_listing import RESOURCES
from tests.support import asks
from tests.support.stores import live, world_on
from tests.support.story import START

Sent = tuple[str, Sequence[Any]]

FRAMES: Final = {
    "BEGIN ISOLATION LEVEL REPEATABLE READ",
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "COMMIT",
    (
        "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,"
        " pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean,"
        " concat(inet_server_addr(), ' ', inet_server_port())"
    ),
    "SELECT version FROM schema_migrations WHERE version = 14 FOR KEY SHARE",
}
"""Statements that begin and end a turn."""

OF_A_CONNECTION: Final = "SELECT set_config('statement_timeout'"
FUNCTIONS: Final = {
    *("coalesce", "count", "extract", "cast", "sum", "min", "max", "lower", "position", "unnest"),
    *("clock_timestamp", "current_setting", "pg_is_in_recovery", "set_config"),
    *("concat", "current_database", "has_table_privilege", "inet_server_addr", "inet_server_port"),
}
MISSING_SOMEWHERE: Final = (
    *("advisory", "listen", "notify", "serial", "nextval", "lock table", "temp", "copy", "declare"),
    *("fetch first", "trigger", "references", "foreign", "create function", "extension", "xmin", "ctid"),
    *("tablesample", "merge"),
    *("lateral", "materialized", "savepoint", "read committed", "serializable", "unlogged", "exclude using"),
)
"""Words of statements that one of the engines refuses, ignores or executes in another way."""

COLUMN_TYPES: Final = {"TEXT", "BIGINT", "INTEGER", "BOOLEAN", "BYTEA"}
A_STEP: Final = re.compile(
    r"CREATE TABLE \w+ \(.*\)|CREATE INDEX (CONCURRENTLY )?\w+ ON \w+ \(.*\)( WHERE .+)?|"
    rf"ALTER TABLE \w+ ADD COLUMN \w+ +({'|'.join(COLUMN_TYPES)})( COLLATE .C.)?( DEFAULT .+)?|"
    # The release before goes on writing and reading these columns.
    r"ALTER TABLE \w+ ALTER COLUMN \w+ SET DEFAULT .+|INSERT INTO .+ ON CONFLICT DO NOTHING|UPDATE \w+ SET .+"
)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sent]:
    """Every statement from now on, with its bindings."""
    statements: list[Sent] = []
    execute = psycopg.Cursor.execute

    def execute_recorded(cursor: Any, query: Any, bindings: Any = None, **options: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        statements.append((" ".join(text.split()), bindings or ()))
        return execute(cursor, query, bindings, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", execute_recorded)
    return statements


@pytest.fixture(params=["one server", "distributed"])
def store(
    address: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PostgreSQLStore]:
    if request.param == "distributed":
        monkeypatch.setattr("ostiary_net.postgres.store.is_distributed", lambda connection: True)
    with PostgreSQLStore(address) as made:
        yield made


def listings(resource: Listable[Any]) -> Iterator[Listing[Any]]:
    """Yield a listing for every sort, filter and range, and a search if the list has one."""
    needed: dict[str, FilterValue] = {"user_id": "nobody"} if resource is GRANTS else {}
    for field in resource.sorts:
        for descending in (False, True):
            yield Listing(resource=resource, filters=needed, sort=(Sort(field, descending),), page=2)
    values: dict[Match, FilterValue] = {Match.EQUALS: ("a", "b"), Match.IS: True}
    values |= {Match.CONTAINS: "a", Match.HAS: "a"}
    for field, match in resource.filters.items():
        yield Listing(resource=resource, filters={**needed, field: values[match]})
    for field in resource.ranges:
        yield Listing(
            resource=resource, filters=needed, ranges=(TimeRange(field=field, start=START, end=START),)
        )
    if resource.searched:
        yield Listing(resource=resource, filters=needed, search="a")


def use_all(store: PostgreSQLStore) -> None:
    """Call everything that a store can do."""
    live(store)
    session = next(each for each in store.records(Table.SESSION) if isinstance(each, Session))
    for resource in RESOURCES:
        for listing in listings(resource):
            store.page(listing, START)
    store.session_history(session.session_id)
    store.last_used(["app"])
    for kind in Expirable:
        store.find_expired(kind, b"", START, 10)
    store.sessions_past_grace(START, 30, 10)
    store.take_lease("sweeper", "one", 60, START)
    store.count_entries(START, 100)
    refused = SummaryKey("app", START, Metric.REFUSED, "code_used")
    store.add_tallies({refused: Tally(1)}, [Refusal("app", START, "0", "", Why.CODE_USED)] * 2, START)
    for of_clients in (True, False):
        store.summaries(START, START, of_clients=of_clients)
    store.last_refusals("app")
    store.forget_summaries(START, 0, 10)
    store.record_milestone(Milestone.SWEPT, START)
    store.state()
    store.forget_entries(START, 0, 10)
    store.fetch(Table.CLIENT, ["app"])
    store.check_ready()
    store.present(START)
    store.mark()
    store.counts()
    store.audit()
    with suppress(SchemaError):
        store.trail_end()


def in_turns(sent: Sequence[Sent]) -> list[Sent]:
    """Return the statements that read and write, without those that begin and end a turn."""
    return [(text, bindings) for text, bindings in sent if text not in FRAMES and text]


def test_a_turn_is_a_handful_of_statements_however_many_events_it_has(address: str, sent: list[Sent]) -> None:
    with PostgreSQLStore(address, keeps_time=False) as store:
        world = world_on(store)
        pairs, login = [world.tokens() for _ in range(4)], world.login()
        sent.clear()
        events: list[Event] = [asks.approve(login), asks.machine(world.basic())]
        events += [asks.refresh(world.basic(), pair) for pair in pairs]
        events += [asks.revoke(world.basic(), pair.refresh_token) for pair in pairs]
        events += [asks.user(f"user{number}") for number in range(4)]
        store.turn(events, START)
    assert sum(text.startswith("BEGIN") for text, _ in sent) == 1
    assert not any("set_config" in text for text, _ in sent), "a turn has the settings of its connection"
    assert not any("FOR KEY SHARE" in text for text, _ in sent), "its writes are what a standby confirms"
    reads = [text for text, _ in in_turns(sent) if text.startswith("SELECT")]
    assert len(events) > len(TABLES)
    assert len(reads) <= len(TABLES) + 2
    asked = Counter(re.sub(".*? FROM ([a-z_]+) .*", r"\1", text) for text in reads)
    assert set(asked.values()) == {1}, "no table is asked twice"
    writes = Counter(" ".join(text.split()[:3]) for text, _ in in_turns(sent) if "unnest" in text)
    assert set(writes.values()) == {1}, "nor is one written twice in one way"


def test_turns_look_up_by_primary_keys_alone(store: PostgreSQLStore, sent: list[Sent], address: str) -> None:
    live(store)
    lookups = {text: bindings for text, bindings in in_turns(sent) if " WHERE " in text}
    assert store._is_distributed != any(" JOIN " in text for text in lookups)
    assert len(lookups) > len(TABLES)
    with psycopg.connect(address) as connection:
        connection.execute("SET enable_seqscan = off")
        for text, bindings in lookups.items():
            plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {text}".encode(), bindings))
            assert "Seq Scan on" not in plan, plan
            used = set(re.findall(r"(?:using|Bitmap Index Scan on) (\w+)", plan))
            assert used, plan
            assert used <= {"access_tokens_pkey", *(f"{each.name}_pkey" for each in TABLES.values())}, plan


def test_all_that_is_ever_sent_is_of_the_subset(store: PostgreSQLStore, sent: list[Sent]) -> None:
    use_all(store)
    assert len({text for text, _ in sent}) > 80
    for text, _ in sent:
        lowered = re.sub(r"'[^']*'", "''", text.lower())
        for word in MISSING_SOMEWHERE:
            assert not re.search(rf"\b{word}\b", lowered), text
        assert "pg_locks" not in lowered or not store._is_distributed, text
        called = set(re.findall(r"\b([a-z_]+)\(", lowered)) - {"in", "values", "any", "array"}
        assert called <= FUNCTIONS, (called - FUNCTIONS, text)
        if "for update" in lowered:
            assert " from schema_lock where id = 1 " in lowered, text
        if "for key share" in lowered:
            assert " from schema_migrations where version = 14 " in lowered, text


def test_only_a_read_of_a_known_primary_can_write_nothing(address: str, sent: list[Sent]) -> None:
    with PostgreSQLStore(address) as store:
        sent.clear()
        for _ in range(2):
            store.present(START)
    assert [text for text, _ in sent if text.startswith("BEGIN")] == [WRITING, READING]


@pytest.mark.parametrize("plans_once", [True, False])
def test_a_transaction_is_planned_for_its_values_once_if_the_engine_chooses_plans(
    address: str, plans_once: bool, sent: list[Sent]
) -> None:
    with PostgreSQLStore(address) as store:
        with store._connections.lend() as made:
            made.plans_once = plans_once
        sent.clear()
        store.counts()
    planned = [place for place, (text, _) in enumerate(in_turns(sent)) if "plan_cache_mode" in text]
    assert planned == [0] * plans_once


def test_statements_that_a_connection_begins_with_are_listed(address: str, sent: list[Sent]) -> None:
    with PostgreSQLStore(address) as store:
        sent.clear()
        with PostgreSQLStore(address):
            pass
        store.present(START)
    settings = [text for text, _ in sent if text.startswith("SET ") or "set_config" in text]
    assert settings
    assert all(text.startswith((OF_A_CONNECTION, "SET LOCAL statement_timeout")) for text in settings)


@pytest.mark.parametrize("step", known_migrations(), ids=lambda step: step.name)
def test_a_step_of_the_schema_only_adds_tables_columns_and_indexes(step: Any) -> None:
    text = " ".join(re.sub(r"--.*", "", step.sql).split())
    for statement in filter(None, map(str.strip, text.split(";"))):
        expected = 'a step that the release before can go on beside; a text column is TEXT COLLATE "C"'
        assert A_STEP.fullmatch(statement), f"expected {expected}, got {statement}"
        for word in MISSING_SOMEWHERE:
            assert not re.search(rf"\b{word}\b", statement.lower()), statement
        if statement.startswith("CREATE TABLE"):
            columns = re.findall(r"[(,] (\w+) +([A-Z]+)\b", statement.replace("PRIMARY KEY", "primary key"))
            assert columns, statement
            assert {kind for _, kind in columns} <= COLUMN_TYPES, statement
            assert "PRIMARY KEY" in statement
            identities = re.findall(r"(\w+) BIGINT GENERATED ALWAYS AS IDENTITY", statement)
            assert identities in ([], ["number"] if " audit (" in statement else []), statement
