"""The parts of the failover campaign that need no cluster: its figures, and the end of all its processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.processes.availability import InstanceProbe
from fuzz.processes.server import ROOT, runs
from tests.support.processes import wait_until

HOLDER = """
import sys, time
from pathlib import Path
from fuzz.processes.keeper import Keeper

keeper = Keeper(Path(sys.argv[1]))
daemon = ["sh", "-c", "setsid sleep 1000 & echo $! >" + sys.argv[2]]
keeper.start(daemon, Path(sys.argv[2] + ".log"))
print("started", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize(
    "answered, expected",
    [
        ([0, 0.2, 8.2, 8.4], 0.8),  # the database was away from 1 to 8
        ([0, 0.2, 12.2], 4.8),
        ([0.5, 0.9, 8.1], 0.0),
        ([0, 0.2, 0.4, 3.4], 0.4),  # and then the probe ended
    ],
)
def test_an_instance_is_measured_beyond_its_database(answered: list[float], expected: float) -> None:
    probe = InstanceProbe(0, ("", ""))
    probe.answered += answered
    assert probe.measure_extra_delay([(1.0, 8.0)]) == pytest.approx(expected)


def test_a_killed_campaign_leaves_no_process_running(tmp_path: Path) -> None:
    folder, told = tmp_path / "folder", tmp_path / "pid"
    folder.mkdir()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), str(told)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"started\n"
    wait_until(lambda: told.exists() and told.read_text().strip())
    daemon = int(told.read_text())
    assert runs(daemon)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    wait_until(lambda: not runs(daemon) and not folder.exists())
