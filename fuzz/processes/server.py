"""A real server: start it, find its port, kill it with all its workers, start it again.

Each start is `python -m ostiary_web serve` in a process of its own.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

ADMIN_PASSWORD: Final = "a-password-for-the-first-administrator"
ROOT: Final = Path(__file__).parents[2]
VARIABLE: Final = "OSTIARY_FUZZ_FAULT"
"""Environment variable with the server's fault from `fuzz.processes.faults`, if any."""
_SERVES: Final = re.compile(rb"^Ostiary serves http://127\.0\.0\.1:(\d+)$", re.MULTILINE)
_PATIENCE_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.005


class NotServing(RuntimeError):
    """The server did not start; the text has the end of its log."""


class Server:
    """One server at a time on one folder, with one log file over all its starts."""

    def __init__(
        self,
        folder: Path,
        *,
        workers: int = 1,
        settings: Mapping[str, str] | None = None,
        inherits: Sequence[int] = (),
        program: Sequence[str] = ("ostiary_web", "serve"),
        end_too: Callable[[int], None] = lambda pid: None,
    ) -> None:
        """Create a server that is not started.

        `inherits` are descriptors for the process, such as the socket of `BIND=fd:

        N`; `program` is the module to run, with its arguments; `end_too` is called with the id of each
        process.
        """
        self.folder = folder
        self.database = folder / "ostiary.db"
        self.log = folder / "log"
        self.workers = workers
        self.pid = 0
        self.port = 0
        self._inherits = inherits
        self._program = program
        self._end_too = end_too
        self._process: subprocess.Popen[Any] | None = None
        self._said = 0
        self._environment = {
            "DATABASE_URL": f"sqlite:///{self.database}",
            "DATA_DIR": str(folder),
            "ADMIN_PASSWORD": ADMIN_PASSWORD,
            "BIND": "127.0.0.1:0",
            "WORKERS": str(workers),
            "RATE_LIMIT_SCALE": "1000000",
            "GUESS_LIMIT_SCALE": "1000000",
            "LOG_LEVEL": "debug",
            "LOG_FORMAT": "json",
            **(settings or {}),
        }

    def start(self) -> None:
        """Begin a start; `ready` returns True once it serves."""
        self.log.touch()
        self._said = self.log.stat().st_size
        self.port = 0
        with self.log.open("ab") as log:
            is_planted = self._program[0] == "ostiary_web" and VARIABLE in os.environ
            program = ("fuzz.processes.planted", "serve") if is_planted else self._program
            environment = {**os.environ, **self._environment}
            self._process = self._launch(program, environment, log.fileno(), self._inherits)
        self.pid = self._process.pid
        self._end_too(self.pid)

    def _launch(
        self, program: Sequence[str], environment: Mapping[str, str], log: int, inherits: Sequence[int]
    ) -> subprocess.Popen[Any]:
        """Start the process; tests override this with a faster way."""
        return subprocess.Popen(
            [sys.executable, "-m", *program],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=inherits,
            start_new_session=True,
        )

    def ready(self) -> bool:
        """Whether it serves by now. Raises `NotServing` if it has ended instead."""
        with self.log.open("rb") as log:
            log.seek(self._said)
            text = log.read()
        found = _SERVES.search(text)
        if found is not None:
            self.port = int(found[1])
            return True
        if not self.lives():
            raise NotServing(text[-2_000:].decode("utf-8", "replace"))
        return False

    def start_and_wait(self) -> None:
        """Start, and return when it serves. Raises `NotServing`."""
        began = time.monotonic()
        self.start()
        while not self.ready():
            if time.monotonic() - began > _PATIENCE_SECONDS:
                raise NotServing("no answer in time")
            time.sleep(_LOOK_SECONDS)

    def lives(self) -> bool:
        """Whether its first process runs."""
        if self._process is not None:
            self._process.poll()
        return runs(self.pid)

    def list_worker_pids(self) -> list[int]:
        """Return the processes that its supervisor has started."""
        return [pid for pid, parent in parents() if parent == self.pid]

    def stop(self) -> int:
        """Send SIGTERM, as in a replacement; wait for the end and return the exit code."""
        assert self._process is not None
        self._process.terminate()
        code = self._process.wait(_PATIENCE_SECONDS)
        self._process = None
        return code

    def kill(self) -> None:
        """Send SIGKILL to all its processes at once; return when none is left.

        The first one is stopped before its workers are looked up, so that it starts no others meanwhile.
        """
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGSTOP)
        pids = [*self.list_worker_pids(), self.pid]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
            self._process = None
        until = time.monotonic() + _PATIENCE_SECONDS
        while any(map(runs, pids)):
            if time.monotonic() > until:
                raise RuntimeError("a killed process lives on")
            time.sleep(_LOOK_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pid:
            self.kill()


def parents() -> list[tuple[int, int]]:
    """Return every process with its parent."""
    stats = ((int(entry), _stat(int(entry))) for entry in os.listdir("/proc") if entry.isdigit())
    return [(pid, int(fields[1])) for pid, fields in stats if fields]


def _stat(pid: int) -> list[str]:
    """Return state, parent and so on from /proc; nothing if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()


def runs(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    fields = _stat(pid)
    return bool(fields) and fields[0] not in ("Z", "X")
