"""The servers side by side: how each is started, what it can be asked, and what it costs the machine."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from tests.bench.driver import Conversation, WrongAnswer, ask_once
from tests.bench.population import lay_out_codes, token
from tests.bench.workloads import (
    OPERATIONS,
    ClientCredentials,
    CodeExchange,
    Fixed,
    Introspection,
    Issuing,
    Paths,
    Refresh,
    UserInfo,
    post,
)

__all__ = ["CELLS", "Cell", "Running", "running"]

_SERVERS: Final = Path(__file__).parent / "servers"
_START_SECONDS: Final = 60.0
_OURS: Final = Paths("/api/oauth2/token", "/api/oauth2/introspect", "/api/oauth2/userinfo")
_CODES_A_ROUND: Final = 10_000
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cell:
    """One server: its name in the tables, and the command that starts it on a port."""

    name: str
    command: tuple[str, ...]
    operations: tuple[str, ...]
    paths: Paths = _OURS
    own_store: bool = False
    """Whether it works on a store of this project, filled beforehand."""
    environment: dict[str, str] = field(default_factory=dict)


_HYPERCORN: Final = (
    sys.executable,
    "-m",
    "hypercorn",
    "--worker-class",
    "trio",
    "--bind",
    "127.0.0.1:{port}",
)

CELLS: Final = (
    Cell("lane", (sys.executable, "-m", "ostiary_web", "serve"), OPERATIONS, own_store=True),
    Cell("plain", (*_HYPERCORN, "ostiary_web.asgi:app"), OPERATIONS, own_store=True),
    Cell("bare ASGI", (*_HYPERCORN, "tests.bench.servers.bare_asgi:app"), ("fixed",)),
    Cell("bare Trio", (sys.executable, str(_SERVERS / "bare_trio.py"), "{port}"), ("fixed",)),
)


class Running:
    """A cell that serves."""

    def __init__(
        self, cell: Cell, process: subprocess.Popen[bytes], port: int, folder: Path, sessions: int
    ) -> None:
        self.cell = cell
        self.address = ("127.0.0.1", port)
        self._process = process
        self._folder = folder
        self._sessions = sessions
        self._codes = count()
        self._chains: list[Refresh] = []

    def conversations(self, operation: str, connections: int, seed: int) -> list[Conversation]:
        """So many connections' worth of an operation."""
        paths, sessions = self.cell.paths, self._sessions
        everyone = range(connections)
        match operation:
            case "fixed":
                return [Fixed(paths.introspect) for _ in everyone]
            case "introspect":
                return [Introspection(paths, sessions, seed + number) for number in everyone]
            case "userinfo":
                return [UserInfo(paths, sessions, seed + number) for number in everyone]
            case "credentials":
                return [ClientCredentials(paths, number) for number in everyone]
            case "refresh":
                for number in range(len(self._chains), connections):
                    self._chains.append(Refresh(paths, number, token("refresh", number)))
                return list(self._chains[:connections])
            case "code":
                codes = self._laid_out_codes()
                return [CodeExchange(paths, codes) for _ in everyone]
        raise ValueError(operation)

    def look_up(self, conversations: Sequence[Conversation]) -> None:
        """What was handed out must be good afterwards."""
        for conversation in conversations:
            if isinstance(conversation, Issuing) and conversation.issued:
                client, issued = conversation.issued[-1]
                status, body = ask_once(self.address, post(self.cell.paths.introspect, client, token=issued))
                if status != 200 or b'"active":true' not in body.replace(b" ", b""):
                    raise WrongAnswer(f"{self.cell.name} handed out a token that is not good: {body[:200]!r}")

    def cpu_seconds(self) -> float:
        """Of all its processes since they began."""
        return sum(map(_cpu_seconds, self._processes()))

    def resident_bytes(self) -> int:
        """Memory of all its processes."""
        pages = 0
        for process in self._processes():
            with suppress(OSError):
                pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def open_files(self) -> int:
        """Files and connections that the server has open."""
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    def _processes(self) -> list[int]:
        found = [self._process.pid]
        for parent in found:
            with suppress(OSError):
                found += map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split())
        return found

    def _laid_out_codes(self) -> Iterator[int]:
        first = next(self._codes)
        last = first + _CODES_A_ROUND
        lay_out_codes(self._folder / "ostiary.db", first, _CODES_A_ROUND)
        self._codes = count(last)
        return iter(range(first, last))


@contextmanager
def running(cell: Cell, store: Path, folder: Path, sessions: int, core: int | None) -> Iterator[Running]:
    """The cell with a copy of `store`, on `core` alone where one is named."""
    folder.mkdir()
    if cell.own_store:
        shutil.copyfile(store, folder / "ostiary.db")
    port = _free_port()
    environment = {
        **os.environ,
        **cell.environment,
        "BIND": f"127.0.0.1:{port}",
        "DATA_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder / 'ostiary.db'}",
        "RATE_LIMIT_SCALE": "1000000",
        "LOG_FORMAT": "json",
        "BENCH_SESSIONS": str(sessions),
    }
    command = [part.format(port=port, folder=folder) for part in cell.command]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=None if core is None else partial(os.sched_setaffinity, 0, {core}),
        )
        try:
            _wait_until_it_serves(process, port, folder / "log")
            yield Running(cell, process, port, folder, sessions)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _cpu_seconds(process: int) -> float:
    try:
        # Behind the name, which may hold anything, stand the numbers; 14 and 15 of all are the two times.
        numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(numbers[11]) + int(numbers[12])) / _TICKS_A_SECOND


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_it_serves(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.1)
    raise RuntimeError(f"a server did not start; its log ends with\n{log.read_text()[-2000:]}")
