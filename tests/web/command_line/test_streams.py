"""Standard streams that are closed, full or read by nobody: as real processes."""

import fcntl
import os
import signal

import httpx
import pytest

from tests.web.command_line.machine import Machine

PATIENCE_SECONDS = 30
LINES_BEYOND_THE_PIPE = 100


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_log_that_nobody_reads_holds_up_no_request_and_no_stop(machine: Machine, workers: str) -> None:
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    server = machine.started(stderr=write_end, settings={"LOG_LEVEL": "info", "WORKERS": workers})
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        with httpx.Client(timeout=PATIENCE_SECONDS) as caller:
            for _ in range(LINES_BEYOND_THE_PIPE):
                assert caller.get(f"{address}/api/oauth2/userinfo").status_code == 401
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_SECONDS) == 0
    finally:
        server.kill()
        server.communicate()
        os.close(read_end)
        os.close(write_end)
