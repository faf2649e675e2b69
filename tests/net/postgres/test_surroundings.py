"""`ostiary check` on a cluster: a standby that no commit waits for, an archive that fails, a pooler."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psycopg
import pytest

from ostiary_net.postgres import cluster_status
from tests.support.processes import Cluster, Machine, free_port

FILES: Final = Path(__file__).parents[3] / "docs" / "deploy" / "cluster"


@pytest.fixture(autouse=True)
def _settings_as_they_were(cluster: Cluster) -> Iterator[None]:
    yield
    cluster.execute("ALTER SYSTEM RESET ALL")
    cluster.execute("SELECT pg_reload_conf()")


def find_levels(folder: Path, address: str, **settings: str) -> dict[str, tuple[str, str]]:
    """Return level and text of the findings about the cluster, by subject."""
    machine = Machine(folder, DATABASE_URL=address, **settings)
    assert machine.run("migrate").exit_code == 0
    findings = json.loads(machine.run("check", "--json").out)["findings"]
    return {each["about"]: (each["level"], each["text"]) for each in findings}


def wait_for(address: str, question: str) -> None:
    """Wait until the answer has a row."""
    deadline = time.monotonic() + 20
    while True:
        with suppress(psycopg.OperationalError), psycopg.connect(address, autocommit=True) as connection:
            if connection.execute(question.encode()).fetchone():
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def following(cluster: Cluster, folder: Path) -> Iterator[None]:
    """Receive what the primary writes, as a standby does."""
    program = str(cluster.binaries / "pg_receivewal")
    receiving = subprocess.Popen([program, "-D", str(folder), "-d", cluster.address, "--synchronous"])
    try:
        wait_for(cluster.address, "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")
        yield
    finally:
        receiving.terminate()
        receiving.wait(20)


def test_a_lone_server_has_no_standby_to_speak_of(cluster: Cluster, tmp_path: Path) -> None:
    with cluster_status._connect(cluster.address, "secret") as connection:
        with cluster_status._transaction(connection):
            assert connection.execute("SHOW statement_timeout").fetchone() == ("10s",)
        assert connection.info.password == "secret"
        assert connection.info.get_parameters()["connect_timeout"] == "5"
    assert not {"replication", "standbys", "archive", "pooler"} & set(find_levels(tmp_path, cluster.address))


def test_a_standby_that_no_commit_waits_for_is_named(cluster: Cluster, tmp_path: Path) -> None:
    with following(cluster, tmp_path):
        level, text = find_levels(tmp_path, cluster.address)["replication"]
        assert level == "warning"
        assert "is asynchronous, with 1 standby" in text
        cluster.execute("CREATE ROLE without_pg_monitor LOGIN")
        found = cluster_status.read_cluster_status(f"{cluster.address}?user=without_pg_monitor")
        assert (found.standbys, found.visible_standbys) == (1, ())
        cluster.set("synchronous_standby_names", "'*'")
        wait_for(cluster.address, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
        assert find_levels(tmp_path, cluster.address)["replication"][0] == "fine"
        cluster.set("synchronous_commit", "'local'")
        assert find_levels(tmp_path, cluster.address)["replication"][0] == "warning"


def test_an_archive_that_fails_is_a_fault(cluster: Cluster, tmp_path: Path) -> None:
    cluster.execute("ALTER SYSTEM SET archive_mode = on")
    cluster.execute("ALTER SYSTEM SET archive_command = 'false'")
    cluster.stop("fast")
    cluster.start()
    cluster.execute("SELECT pg_switch_wal()")
    wait_for(cluster.address, "SELECT 1 FROM pg_stat_archiver WHERE failed_count > 0")
    assert find_levels(tmp_path, cluster.address)["archive"][0] == "fault"
    cluster.execute("SELECT pg_stat_reset_shared('archiver')")


@pytest.mark.parametrize(
    "mode, prepared, level",
    [("session", "auto", ""), ("transaction", "auto", "fine"), ("transaction", "on", "warning")],
)
def test_a_pooler_that_lends_by_transaction_must_not_be_given_prepared_statements(
    mode: str,
    prepared: str,
    level: str,
    cluster: Cluster,
    tmp_path: Path,
    start_pgbouncer: Callable[[Path], None],
) -> None:
    port = free_port()
    settings = Path(shutil.copy(FILES / "pgbouncer.ini", cluster.folder))
    text = settings.read_text().replace("6432", str(port)).replace("port=5000", f"port={cluster.port}")
    text = text.replace("dbname=ostiary", "dbname=postgres").replace("scram-sha-256", "any")
    text = text.replace("ostiary = host", "postgres = user=ostiary host").replace("= session", f"= {mode}")
    settings.write_text(text)
    settings.chmod(0o644)
    start_pgbouncer(settings)
    address = f"postgresql://ostiary@127.0.0.1:{port}/postgres"
    wait_for(address, "SELECT 1")
    findings = find_levels(tmp_path, address, DATABASE_PREPARED_STATEMENTS=prepared)
    assert findings.get("pooler", ("",))[0] == level
    with psycopg.connect(address, autocommit=True) as stranger:
        assert stranger.execute("SHOW statement_timeout").fetchone() == ("0",)
