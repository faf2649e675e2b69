"""`BIND` may be a socket in the file system or several addresses; systemd learns of start and stop."""

import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from ostiary_net.front_door.listeners import open_listeners
from tests.support.processes import Machine

PATIENCE_SECONDS = 30


@contextmanager
def serve(machine: Machine, path: Path, **settings: str) -> Iterator[list[str]]:
    """Run a server on the socket; yield the lines that it printed at its start."""
    with machine.start(settings={"BIND": f"unix:{path}", **settings}) as process:
        said = [process.out.readline()]
        while said[-1] and "curl" not in said[-1]:
            said.append(process.out.readline())
        yield said
        process.stop()


def over(path: Path) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://localhost")


def ask(path: Path) -> httpx.Response:
    with over(path) as client:
        return client.get("/readyz")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_socket_is_for_its_owner_and_group_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "door"
    before = os.umask(umask)
    try:
        with open_listeners(f"unix:{path}"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
    finally:
        os.umask(before)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")
def test_the_line_to_try_works_as_it_is_printed(machine: Machine, tmp_path: Path) -> None:
    with serve(machine, tmp_path / "a door") as said:
        line = said[-1].strip().replace("YOUR-PASSWORD", machine.environment["ADMIN_PASSWORD"])
        ran = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=True)
    assert '"accessToken"' in ran.stdout


def test_a_second_server_does_not_take_the_path_of_one_that_runs(machine: Machine, tmp_path: Path) -> None:
    """Otherwise the second server would get the first one's requests, and the proxy would not notice."""
    path = tmp_path / "door"
    with serve(machine, path):
        file = path.stat().st_ino
        ran = machine.run("serve", env={"BIND": f"unix:{path}"})
        assert ran.exit_code == 1
        assert "another process listens on it" in ran.err
        assert path.stat().st_ino == file
        assert ask(path).status_code == 200


def test_the_socket_of_a_server_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "door"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()
    with open_listeners(f"unix:{path}"), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))
    assert not path.exists()


def test_who_follows_while_the_one_before_finishes_keeps_the_path(tmp_path: Path) -> None:
    path = tmp_path / "door"
    with ExitStack() as before:
        [listener] = before.enter_context(open_listeners(f"unix:{path}"))
        listener.close()
        with open_listeners(f"unix:{path}"):
            before.close()
            assert path.exists()
    assert not path.exists()


def test_a_server_listens_on_several_addresses(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "door"
    with machine.start(settings={"BIND": f"127.0.0.1:0, [::1]:0,unix:{path}", "WORKERS": "2"}) as process:
        four, six, local = process.out.readline().removeprefix("Ostiary serves ").strip().split(" and ")
        assert local == f"unix:{path}"
        for address in (four, six):
            assert httpx.get(f"{address}/readyz").status_code == 200
        assert "[::1]" in six
        assert ask(path).status_code == 200
        process.stop()
    assert not path.exists()


@pytest.mark.parametrize("workers, is_abstract", [("1", False), ("2", True)])
def test_systemd_is_notified(machine: Machine, tmp_path: Path, workers: str, is_abstract: bool) -> None:
    """Systemd learns when the server serves and when it stops."""
    name = f"@ostiary-{os.getpid()}-{workers}" if is_abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name.replace("@", "\0"))
        manager.settimeout(PATIENCE_SECONDS)
        path = tmp_path / "door"
        with serve(machine, path, WORKERS=workers, NOTIFY_SOCKET=name) as said:
            assert said[0] == f"Ostiary serves unix:{path}\n"
            assert manager.recv(100) == b"READY=1"
            assert ask(path).json() == {"code": 0, "msg": "ok", "data": None}
        assert not path.exists()
        assert manager.recv(100) == b"STOPPING=1"
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            manager.recv(100)


def test_a_file_that_is_no_socket_is_left_alone(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "door"
    path.write_text("somebody's letter")
    for workers in ("1", "2"):
        ran = machine.run("serve", env={"BIND": f"unix:{path}", "WORKERS": workers})
        assert ran.exit_code == 1
        assert ran.err.startswith(f"ostiary: BIND: cannot listen on unix:{path}: ")
        assert ran.err.endswith("; allowed: an address that is free, as 127.0.0.1:8001\n")
    assert path.read_text() == "somebody's letter"


def test_a_proxy_on_the_socket_is_believed_where_any_is_trusted(machine: Machine, tmp_path: Path) -> None:
    path = tmp_path / "door"
    with serve(machine, path, TRUST_PROXY="127.0.0.1"), over(path) as client:
        content = {"username": "admin", "password": machine.environment["ADMIN_PASSWORD"]}
        fields = {"X-Forwarded-For": "198.51.100.7"}
        token = client.post("/api/auth/login", json=content, headers=fields).json()["data"]["accessToken"]
        client.cookies.clear()
        online = client.get("/api/monitor/online-users", headers={"Authorization": f"Bearer {token}"})
    assert [row["ip"] for row in online.json()["data"]["items"]] == ["198.51.100.7"]


# --- METRICS_BIND


@pytest.fixture
def two_in_a_row() -> int:
    """Return a free port whose next port is free too."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
            try:
                with socket.create_server(("127.0.0.1", port + 1)):
                    return port
            except (OSError, OverflowError):
                continue


@pytest.mark.parametrize("why", ["the server's own", "in use", "past the last"])
def test_a_port_that_a_worker_cannot_have_ends_a_start(two_in_a_row: int, why: str, tmp_path: Path) -> None:
    first = 65_535 if why == "past the last" else two_in_a_row
    bind = first + 1 if why == "the server's own" else 0
    settings = {"METRICS_BIND": f"127.0.0.1:{first}", "BIND": f"127.0.0.1:{bind}", "LOG_LEVEL": "error"}
    with socket.create_server(("127.0.0.1", first + 1 if why == "in use" else 0)):
        ran = Machine(tmp_path, WORKERS="2", **settings).run("serve")
    assert (ran.exit_code, ran.out) == (1, "")
    [line] = ran.err.splitlines()
    assert line.startswith(f"ostiary: METRICS_BIND: cannot listen on 127.0.0.1:{first + 1}: ")
    assert "worker 2 of 2" in line


def test_refusals_at_the_door_and_the_process_itself_are_measured(two_in_a_row: int, tmp_path: Path) -> None:
    metrics = f"127.0.0.1:{two_in_a_row}"
    with Machine(tmp_path, METRICS_BIND=metrics).serving() as address:
        assert httpx.post(f"{address}/api/auth/login", content=b"x" * 70_000).status_code == 413
        lines = httpx.get(f"http://{metrics}/metrics").text.splitlines()
    read = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert read['ostiary_refused_at_the_door_total{status="413"}'] == "1"
    for name in ("connections_refused", "connections_evicted", "late_answers", "refusals_not_logged"):
        assert read[f"ostiary_{name}_total"] == "0"
    assert float(read["process_resident_memory_bytes"]) > 2**20
    assert 0 < float(read["process_open_fds"]) < float(read["process_max_fds"])
