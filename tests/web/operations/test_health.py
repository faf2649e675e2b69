"""`/healthz` and `/readyz` answer any caller at any rate; `/readyz` is 503 if no change would be kept."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import apsw
import httpx
import psycopg
import pytest
import trio
from structlog.testing import capture_logs

from ostiary_web.server.readiness import Readiness
from tests.net.sqlite.disk import Disk
from tests.support.callers import expect_refusal, expect_success
from tests.support.processes import Machine, Process, free_port, token, wait_until
from tests.support.served import Served
from tests.web.operations.test_storage import made_database


async def test_a_server_with_its_store_is_healthy_and_ready_at_any_rate(served: Served) -> None:
    api = served.api()
    for path in ("/healthz", "/readyz") * 130:
        assert expect_success(await api.get(path)) is None


async def test_another_schema_is_not_ready_and_still_healthy(served: Served, tmp_path: Path) -> None:
    with apsw.Connection(str(tmp_path / "ostiary.db")) as connection:
        connection.execute("DELETE FROM schema_migrations")
    with capture_logs() as log:
        expect_refusal(await served.api().get("/readyz"), 503, "A0503")
    assert [(entry["event"], entry["cause"]) for entry in log] == [("not ready", "SchemaError")]
    assert (await served.api().get("/healthz")).status_code == 200


async def test_a_store_that_keeps_nothing_is_not_ready(served: Served) -> None:
    served.store.close()
    expect_refusal(await served.api().get("/readyz"), 503, "A0503")


@pytest.fixture
def disk() -> Iterator[Disk]:
    with Disk() as disk:
        yield disk


async def test_a_disk_that_takes_nothing_more_is_not_ready(disk: Disk, served: Served) -> None:
    disk.fail_after(0)
    expect_refusal(await served.api().get("/readyz"), 503, "A0503")
    disk.fail_after(None)
    assert (await served.api().get("/healthz")).status_code == 200


async def test_a_file_that_another_program_writes_to_is_not_ready(served: Served, tmp_path: Path) -> None:
    held = apsw.Connection(str(tmp_path / "ostiary.db"))
    served.store._writer._open_connection().set_busy_timeout(1)
    held.execute("BEGIN IMMEDIATE")
    try:
        expect_refusal(await served.api().get("/readyz"), 503, "A0503")
    finally:
        held.close(force=True)


def test_a_disk_with_room_for_less_than_a_turn_is_not_ready_and_the_metrics_tell(tmp_path: Path) -> None:
    port = free_port()
    machine = Machine(tmp_path, METRICS_BIND=f"127.0.0.1:{port}", LOG_LEVEL="error")
    assert machine.run("migrate").exit_code == 0
    secret, log = machine.client(), tmp_path / "ostiary.db-wal"
    sign_in = {"username": "admin", "password": machine.environment["ADMIN_PASSWORD"]}
    with machine.start() as server:
        address = server.read_address()
        token(address, secret)
        room = log.stat().st_size + 2 * 4_120  # two pages of the log, which is what a probe needs
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        assert httpx.post(f"{address}/api/auth/login", json=sign_in).status_code == 500
        assert httpx.get(f"{address}/readyz").status_code == 503
        told = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        assert 'ostiary_requests_total{operation="sign_in_attempted",outcome="failed"} 1' in told
        assert f"ostiary_write_ahead_log_bytes {log.stat().st_size}\n" in told
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        token(address, secret)
        wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 200)


@pytest.mark.parametrize(
    "statement", ["REVOKE UPDATE ON sessions FROM {role}", "ALTER TABLE audit RENAME TO kept"]
)
def test_a_role_that_cannot_keep_a_change_is_not_ready(statement: str, tmp_path: Path) -> None:
    role = f"ostiary_test_role_{os.getpid()}"
    with made_database() as url:
        assert Machine(tmp_path, DATABASE_URL=url).run("migrate").exit_code == 0
        with psycopg.connect(url, autocommit=True) as owner:
            try:
                owner.execute(f"CREATE ROLE {role}".encode())
                owner.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}".encode())
                with Machine(tmp_path, DATABASE_URL=f"{url}?options=-c%20role%3D{role}").serving() as address:
                    assert httpx.get(f"{address}/readyz").status_code == 200
                    owner.execute(statement.format(role=role).encode())
                    wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 503)
            finally:
                owner.execute(f"DROP OWNED BY {role}".encode())
                owner.execute(f"DROP ROLE {role}".encode())


@pytest.mark.parametrize(
    "statement, status",
    [
        ("LOCK TABLE sessions", 503),
        ("LOCK TABLE users IN SHARE MODE", 503),
        ("LOCK TABLE audit IN EXCLUSIVE MODE", 503),
        ("REINDEX INDEX sessions_by_expiry", 503),
        ("DELETE FROM sessions; DELETE FROM audit; SELECT FROM users FOR UPDATE", 200),
    ],
)
def test_only_locks_that_requests_meet_are_not_ready(statement: str, status: int, tmp_path: Path) -> None:
    """A server is ready while a lock delays none of its requests."""
    with made_database() as url:
        machine = Machine(tmp_path, DATABASE_URL=url)
        assert machine.run("migrate").exit_code == 0
        with machine.serving() as address, psycopg.connect(url) as operator:
            operator.execute(statement.encode())
            began = time.monotonic()
            assert httpx.get(f"{address}/readyz").status_code == status
            assert time.monotonic() - began < 4
            operator.rollback()
            wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 200)


async def test_asking_often_looks_at_the_store_once_a_moment(autojump_clock: trio.testing.MockClock) -> None:
    looks, broken = 0, False

    async def look() -> None:
        nonlocal looks
        looks += 1
        await trio.sleep(0.1)
        if broken:
            raise OSError("no space left on device")

    readiness = Readiness(look)
    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(readiness.is_ready)
    assert looks == 1
    broken = True
    with capture_logs() as log:
        await trio.sleep(1.1)
        assert not await readiness.is_ready()
        broken = False
        await trio.sleep(1.1)
        assert await readiness.is_ready()
    assert [entry["event"] for entry in log] == ["not ready", "ready again"]


async def test_a_look_that_takes_too_long_is_a_no(autojump_clock: trio.testing.MockClock) -> None:
    with capture_logs() as log:
        assert not await Readiness(trio.sleep_forever).is_ready()
    assert [entry["cause"] for entry in log] == ["TooSlowError"]


def test_where_few_files_may_be_open_half_are_for_connections_and_the_log_says_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    limited = ["/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "sh", sys.executable, "-m", "ostiary_web", "serve"]
    pipe = subprocess.PIPE
    environment = {**os.environ, **machine.environment, "WORKERS": "1"}
    with Process(limited, env=environment, stdout=pipe, stderr=pipe, text=True) as server:
        address = server.read_address()
        with httpx.Client(timeout=30) as caller, ExitStack() as held:
            for _ in range(32):  # all at once
                assert held.enter_context(caller.stream("GET", f"{address}/healthz")).status_code == 200
            assert len(os.listdir(f"/proc/{server.pid}/fd")) < 64
        server.stop()
        said = server.err.read()
    assert "few open files" in said
    assert "connections=32" in said
