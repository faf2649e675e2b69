"""What callers who pipeline without a pause cost everybody else.

Each sends user-info requests without a token as fast as its socket takes them, and throws the answers away:
what is refused without a turn is the cheapest to ask for. Beside them one client asks for introspections, one
after the other, as it did before they came.

    python -m docs.bench.crowding HOST PORT CALLERS    # the callers alone, until they are killed
"""

import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from docs.bench.cells import LANE, ROOT, Cell
from docs.bench.driver import Address, drive
from docs.bench.findings import Crowded
from docs.bench.running import Running, running

_SESSIONS = 1_000
_REQUESTS = b"GET /api/oauth2/userinfo HTTP/1.1\r\nHost: l\r\n\r\n" * 4_000


def measure_crowding(folder: Path, callers: int, seconds: float, cell: Cell = LANE) -> Crowded:
    """The latency of one client without and beside so many callers, at a server made in `folder`."""
    with running(cell, folder, _SESSIONS) as server:
        _latencies(server, seconds / 4)
        alone = _latencies(server, seconds)
        logged = os.path.getsize(folder / "log")
        with _calling(server.address, callers):
            _latencies(server, seconds / 4)
            beside = _latencies(server, seconds)
        logged = os.path.getsize(folder / "log") - logged
    return Crowded(
        callers,
        median(alone) * 1e3,
        median(beside) * 1e3,
        beside[int(0.99 * len(beside))] * 1e3,
        logged / (1.25 * seconds) / 1024,
    )


def _latencies(server: Running, seconds: float) -> list[float]:
    [asker] = server.conversations("introspect", 1, 1, seconds)
    return sorted(drive(server.address, [asker], seconds).latencies)


@contextmanager
def _calling(address: Address, callers: int) -> Iterator[None]:
    """Have a process of their own call for as long as the block runs."""
    command = [sys.executable, "-m", "docs.bench.crowding", address[0], str(address[1]), str(callers)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # they have begun
            yield
        finally:
            process.kill()


def call(address: Address, callers: int) -> None:
    """Call without a pause from so many connections, for ever."""
    selector = selectors.DefaultSelector()
    links: dict[int, socket.socket] = {}
    rest: dict[int, bytes] = {}
    for _ in range(callers):
        link = socket.create_connection(address)
        link.setblocking(False)
        selector.register(link, selectors.EVENT_READ | selectors.EVENT_WRITE)
        links[link.fileno()], rest[link.fileno()] = link, _REQUESTS
    print("calling", flush=True)
    while True:
        for key, events in selector.select():
            link = links[key.fd]
            if events & selectors.EVENT_READ and not link.recv(2**20):
                raise ConnectionError("the server closed a connection")
            if events & selectors.EVENT_WRITE:
                sent = link.send(rest[key.fd])
                rest[key.fd] = rest[key.fd][sent:] or _REQUESTS


if __name__ == "__main__":
    call((sys.argv[1], int(sys.argv[2])), int(sys.argv[3]))
