"""`python -m fuzz.processes.keeper`: start programs for a holder, and end all of them when it ends.

So nothing is left behind however the holder ends, even by SIGKILL. Each line of its input is JSON and is
answered with one line: `command` (with `environment` and `log`) starts a program and returns its process id;
`ends` names another process to end as well; `last` is a command to run at the very end. Programs started by
these programs end too, daemons included: the keeper is their reaper (prctl(2), PR_SET_CHILD_SUBREAPER).
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from fuzz.processes.server import ROOT, parents

_PR_SET_CHILD_SUBREAPER: Final = 36
_PATIENCE_SECONDS: Final = 20.0
_CLOSING_SECONDS: Final = 60.0


class Keeper:
    """The holder's side: a keeper, with a folder that is removed with it."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.processes.keeper", str(folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def start(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> int:
        """Start a program and return its process id; its output is appended to `log`."""
        return self._order(command=list(command), log=str(log), environment=dict(environment or {}))

    def end_too(self, pid: int) -> None:
        """End this process, too, at the end, and all in its session."""
        self._order(ends=pid)

    def run_last(self, command: Sequence[str]) -> None:
        """Run a command at the very end."""
        self._order(last=list(command))

    def _order(self, **order: object) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the keeper's input, which ends it."""
        self._process.communicate(timeout=_CLOSING_SECONDS)


def main(folder: Path) -> None:
    """Start programs until the input ends."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the holder handles it
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    sessions: list[int] = []
    last: list[list[str]] = []
    try:
        for line in sys.stdin:
            order: dict[str, Any] = json.loads(line)
            if "command" in order:
                answer = _start(order)
            elif "ends" in order:
                sessions.append(answer := order["ends"])
            else:
                last.append(order["last"])
                answer = 0
            print(answer, flush=True)
    finally:
        _end_all(sessions)
        for command in last:
            subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


def _start(order: Mapping[str, Any]) -> int:
    with open(order["log"], "ab") as log:
        return subprocess.Popen(
            order["command"],
            cwd="/",
            env={**os.environ, **order["environment"]},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ).pid


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _end_all(sessions: Sequence[int]) -> None:
    """Send SIGKILL until no started program and none of their children is left."""
    for pid in sessions:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    until = time.monotonic() + _PATIENCE_SECONDS
    while (left := find_descendants(os.getpid())) and time.monotonic() < until:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
        _reap()


def find_descendants(pid: int) -> list[int]:
    """Return every process below this one."""
    found = [pid]
    pairs = parents()
    for each in found:
        found += [child for child, parent in pairs if parent == each]
    return found[1:]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
