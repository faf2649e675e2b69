"""A cell that serves: its process from start to end, what it is asked, and what it costs the machine."""

import os
import socket
import subprocess
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from docs.bench import workloads
from docs.bench.cells import ROOT, STORE, Cell
from docs.bench.driver import Address, Conversation, WrongAnswer, ask_once
from docs.bench.workloads import (
    ClientCredentials,
    CodeExchange,
    Fixed,
    Introspection,
    Issuing,
    Refresh,
    RefreshAny,
    Tokens,
    UserInfo,
    post,
)
from tests.support.processes import free_port

_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 20.0
_CODES_A_SECOND: Final = 12_000
"""More than any server here redeems."""
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")


class Running:
    """A cell that serves."""

    def __init__(
        self, cell: Cell, process: subprocess.Popen[bytes], address: Address, folder: Path, sessions: int
    ) -> None:
        self.cell = cell
        self.address = address
        self.disk_bytes = 0
        """What its sessions take on the disk."""
        self._process = process
        self._folder = folder
        self.sessions = sessions
        self._next_code = 0
        self._chains: list[Refresh] = []
        self._tokens = Tokens(sessions, cell.token)

    def conversations(
        self, operation: str, connections: int, seed: int, seconds: float
    ) -> list[Conversation]:
        """So many connections' worth of an operation."""
        paths, tokens = self.cell.paths, self._tokens
        everyone = range(connections)
        match operation:
            case "fixed":
                return [Fixed(paths.introspect) for _ in everyone]
            case "introspect":
                return [Introspection(paths, tokens, seed + number) for number in everyone]
            case workloads.TRACED:
                return [Introspection(paths, tokens, seed + number, is_traced=True) for number in everyone]
            case "userinfo":
                return [UserInfo(paths, tokens, seed + number) for number in everyone]
            case "credentials":
                return [ClientCredentials(paths, number) for number in everyone]
            case "refresh":
                for number in range(len(self._chains), connections):
                    self._chains.append(Refresh(paths, number, tokens.refresh(number)))
                return list(self._chains[:connections])
            case workloads.REFRESH_ANY:
                return [RefreshAny(paths, tokens, number, connections, seed + number) for number in everyone]
            case "code":
                codes = self._laid_out_codes(connections + int(seconds * _CODES_A_SECOND))
                return [CodeExchange(paths, tokens, codes) for _ in everyone]
        raise ValueError(operation)

    def look_up(self, conversations: Sequence[Conversation]) -> None:
        """What was handed out must be good afterwards."""
        for conversation in conversations:
            if isinstance(conversation, Issuing) and conversation.issued:
                client, issued = conversation.issued[-1]
                status, body = ask_once(self.address, post(self.cell.paths.introspect, client, token=issued))
                if status != 200 or b'"active":true' not in body.replace(b" ", b""):
                    raise WrongAnswer(f"{self.cell.name} handed out a token that is not good: {body[:200]!r}")

    def read_store(self) -> None:
        """Have the system keep its file in memory, if it has one: read it from its beginning to its end."""
        with suppress(FileNotFoundError), (self._folder / STORE).open("rb", buffering=0) as file:
            part = bytearray(2**20)
            while file.readinto(part):
                pass

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
            # A process is the child of the thread that started it.
            for children in Path(f"/proc/{parent}/task").glob("*/children"):
                with suppress(OSError):
                    found += map(int, children.read_text().split())
        return found

    def _laid_out_codes(self, count: int) -> Iterator[int]:
        first = self._next_code
        self._next_code += count
        self.cell.lay_out_codes(self._folder, self.address, first, count)
        return iter(range(first, self._next_code))


@contextmanager
def running(cell: Cell, folder: Path, sessions: int, cores: Collection[int] = ()) -> Iterator[Running]:
    """The cell with so many sessions in `folder`, which it makes, on these cores alone if any are named."""
    folder.mkdir()
    disk_bytes = cell.fill(folder, sessions)
    address = ("127.0.0.1", free_port())
    store = folder / STORE
    environment = {
        **os.environ,
        "BIND": f"{address[0]}:{address[1]}",
        "DATA_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{store}",
        "RATE_LIMIT_SCALE": "1000000",
        "GUESS_LIMIT_SCALE": "1000000",
        "LOG_FORMAT": "json",
        "BENCH_STORE": str(store),
        **cell.environment,
    }
    command = [part.format(port=address[1], sessions=sessions, folder=folder) for part in cell.command]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=partial(os.sched_setaffinity, 0, set(cores)) if cores else None,
        )
        try:
            _wait_until_it_serves(process, address, folder / "log")
            found = Running(cell, process, address, folder, sessions)
            found.disk_bytes = disk_bytes
            yield found
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
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


def _wait_until_it_serves(process: subprocess.Popen[bytes], address: Address, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with suppress(OSError), socket.create_connection(address, 1.0):
            return
        time.sleep(0.1)
    raise RuntimeError(f"a server did not start; its log ends with\n{log.read_text()[-2000:]}")
