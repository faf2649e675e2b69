"""A store behind PgBouncer, which lends one connection of the database to many of ours."""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import quote

import psycopg
import pytest

from fuzz.shared.memory_store import ServerMemoryStore
from ostiary_core.conformance import run_check, turns
from ostiary_core.conformance.harness import StoreFactory
from ostiary_core.model.decision import Insert
from ostiary_core.model.records import Role, Table
from ostiary_core.model.reply import UserKnown
from ostiary_net.postgres import PostgreSQLStore
from tests.net.postgres.test_surroundings import wait_for
from tests.support.processes import Cluster, free_port
from tests.support.stores import at_once, live, registration_of
from tests.support.story import START

_numbers = count()


class Pooler:
    """A PgBouncer in front of a cluster, and databases of the cluster that are empty."""

    def __init__(self, cluster: Cluster, folder: Path, mode: str) -> None:
        self.cluster = cluster
        self.port = free_port()
        (folder / "users").write_text('"ostiary" ""\n')
        (folder / "ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={cluster.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = trust\n"
            f"auth_file = {folder / 'users'}\npool_mode = {mode}\n"
            # In mode "transaction" the four instances of a test share two connections to the database.
            f"default_pool_size = {2 if mode == 'transaction' else 40}\nmax_client_conn = 500\n"
            "server_idle_timeout = 2\n"
        )
        if cluster.owner:
            shutil.chown(folder, "postgres")

    def made_database(self) -> str:
        """Return the address of an empty database through the pooler, once it answers."""
        name = f"pooled_{next(_numbers)}"
        self.cluster.execute(f"CREATE DATABASE {name}")
        address = f"postgresql://ostiary@127.0.0.1:{self.port}/{name}"
        wait_for(address, "SELECT 1")
        return address


@pytest.fixture(params=["transaction", "session"])
def pooler(
    request: pytest.FixtureRequest, cluster: Cluster, start_pgbouncer: Callable[[Path], None]
) -> Iterator[Pooler]:
    with TemporaryDirectory() as folder:
        made = Pooler(cluster, Path(folder), request.param)
        start_pgbouncer(Path(folder) / "ini")
        yield made


@pytest.mark.parametrize("pooler", ["transaction"], indirect=True)
def test_turns_are_whole_and_races_have_one_winner_if_connections_are_lent_by_turn(pooler: Pooler) -> None:
    with ExitStack() as stack:

        def make() -> PostgreSQLStore:
            return stack.enter_context(PostgreSQLStore(pooler.made_database(), keeps_time=False))

        stores = StoreFactory(make, at_once=at_once)
        for check in (turns.a_turn_of_many_events_is_the_same_as_many_turns, *turns.CHECKS_AT_ONCE):
            assert run_check(check, stores) is None


def test_turns_of_several_instances_share_connections_and_leave_them_as_they_were(pooler: Pooler) -> None:
    address = pooler.made_database()
    settings = "SELECT name, setting FROM pg_settings WHERE source = 'session' AND name LIKE '%timeout'"

    def instance(number: int) -> None:
        with PostgreSQLStore(address) as store:
            for turn in range(20):
                [decision] = store.turn([registration_of(f"user-{number}-{turn}")], START)
                assert isinstance(decision.reply, UserKnown)
                assert store.session_history("0" * 32) is None

    with ThreadPoolExecutor(4) as threads:
        for running in [threads.submit(instance, number) for number in range(4)]:
            running.result(120)
    with psycopg.connect(address, autocommit=True) as stranger:
        assert stranger.execute(settings).fetchall() == []
        assert stranger.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)


OTHERS: Final = """\
array_nulls=off backslash_quote=off bytea_output=escape client_encoding=latin1 client_min_messages=error
datestyle=SQL,DMY default_transaction_deferrable=on default_transaction_isolation=serializable
extra_float_digits=-15 intervalstyle=sql_standard lock_timeout=1 standard_conforming_strings=off
synchronous_commit=off timezone=Asia/Shanghai transform_null_equals=on
"""
"""Settings that an administrator may make for a role or a database, for the sake of other programs."""


def test_no_settings_of_an_address_change_a_decision(address: str) -> None:
    require_same_life(address + quote("".join(f" -c {setting}" for setting in OTHERS.split())))


def test_no_variable_of_libpq_changes_a_decision(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    require_same_life(address)


def test_no_settings_of_a_role_change_a_decision_behind_a_pooler(pooler: Pooler) -> None:
    for name, _, value in (setting.partition("=") for setting in OTHERS.split()):
        pooler.cluster.execute(f"ALTER ROLE ostiary SET {name} = '{value}'")
    try:
        require_same_life(pooler.made_database())
    finally:
        pooler.cluster.execute("ALTER ROLE ostiary RESET ALL")


def require_same_life(address: str) -> None:
    expected = [decision for _, decision in live(ServerMemoryStore())]
    with PostgreSQLStore(address, keeps_time=False) as store:
        assert [decision for _, decision in live(store)] == expected
        named = Role(role_id="named", name="名字")
        store.write([Insert(named)])
        assert list(store.fetch(Table.ROLE, ["named"])) == [named]
        # The store sets these itself: it reads the warning of a commit, and waits for a lock.
        asked = "SELECT current_setting('client_min_messages'), current_setting('lock_timeout')"
        assert store._find(lambda reading: reading.execute(asked, ())) == [("warning", "0")]
