"""METRICS_BIND: what a running server tells there, and that each of several workers needs a port."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.processes import Machine


@pytest.fixture
def two_in_a_row() -> int:
    """A port that is free, and so is the next one."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
            try:
                with socket.create_server(("127.0.0.1", port + 1)):
                    return port
            except (OSError, OverflowError):
                continue


@pytest.mark.parametrize("why", ["the server's own", "in use", "past the last"])
def test_a_port_that_a_worker_cannot_have_stops_the_start(
    two_in_a_row: int, why: str, tmp_path: Path
) -> None:
    first = 65_535 if why == "past the last" else two_in_a_row
    bind = first + 1 if why == "the server's own" else 0
    machine = Machine(
        tmp_path, WORKERS="2", METRICS_BIND=f"127.0.0.1:{first}", BIND=f"127.0.0.1:{bind}", LOG_LEVEL="error"
    )
    taken = socket.create_server(("127.0.0.1", first + 1 if why == "in use" else 0))
    with taken:
        ran = subprocess.run(
            [sys.executable, "-m", "ostiary_web", "serve"],
            env=os.environ | machine.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (ran.returncode, ran.stdout) == (1, "")
    [line] = ran.stderr.splitlines()
    assert line.startswith(f"ostiary: METRICS_BIND: cannot listen on 127.0.0.1:{first + 1}: ")
    assert "worker 2 of 2" in line


def test_what_the_door_refuses_and_what_the_process_takes_can_be_watched(
    two_in_a_row: int, tmp_path: Path
) -> None:
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
