"""The start of `ostiary serve`: what it imports, and what it heeds before it has imported anything."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ostiary_web.sheets import reader
from tests.support.processes import Machine, Process

PATIENCE_SECONDS = 30
NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork"]


def test_workers_import_nothing_from_the_folder_that_the_server_was_started_in(
    machine: Machine, tmp_path: Path
) -> None:
    folder = tmp_path / "started here"
    folder.mkdir()
    mark = folder / "mark"
    (folder / "priority.py").write_text(f"open({str(mark)!r}, 'w')\n")
    with Process(
        [sys.executable, "-P", "-m", "ostiary_web", "serve"],
        cwd=folder,
        env={**os.environ, **machine.environment, "WORKERS": "2"},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert "Ostiary serves" in server.out.readline()
    assert not mark.exists()


def test_a_sheet_is_read_without_the_folder_that_the_server_was_started_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", ["/started/here", "/given", "", "/installed"])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert reader._import_folders() == ["/given", "/installed"]
    monkeypatch.setenv("PYTHONPATH", "/started/here:/given")
    assert reader._import_folders() == ["/started/here", "/given", "/installed"]


@pytest.mark.skipif(
    subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode != 0,
    reason="this machine gives us no namespace of processes",
)
def test_the_first_process_of_a_container_heeds_sigterm_while_it_still_imports(
    machine: Machine, tmp_path: Path
) -> None:
    (tmp_path / "click.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(600)\n")
    with Process(
        [*NAMESPACE, "--kill-child", sys.executable, "-m", "ostiary_web", "serve"],
        env={**os.environ, **machine.environment, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as container:
        assert container.out.readline() == "importing\n"
        [first] = Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text().split()
        os.kill(int(first), signal.SIGTERM)
        assert container.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
