"""METRICS_BIND with several workers: each needs a port, and where one has none nobody starts."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.web.command_line.machine import Machine


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
