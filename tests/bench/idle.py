"""What ten thousand idle kept-alive connections cost a process, and whether the others still are answered.

    python -m tests.bench.idle --connections 10000

Every connection is answered once through the token lane and then left alone. The slowest of a hundred
introspections beside them is printed, with and without a client that stops in the middle of its request.
"""

import argparse
import resource
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.cells import CELLS, running
from tests.bench.driver import WrongAnswer, ask_once
from tests.bench.population import client_id, fill, token
from tests.bench.workloads import CHAINS, post

__all__ = ["main"]

_SESSIONS = 1_000
_PATH = "/api/oauth2/introspect"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--connections", type=int, default=10_000)
    count: int = parser.parse_args().connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (hard if hard < 0 else max(soft, min(hard, count + 200)), hard)
    )
    request = post(_PATH, client_id(CHAINS), token=token("access", CHAINS))
    lane = next(cell for cell in CELLS if cell.name == "lane")
    with TemporaryDirectory(prefix="ostiary-bench-") as name, ExitStack() as stack:
        store = Path(name) / "store.db"
        fill(store, _SESSIONS)
        server = stack.enter_context(running(lane, store, Path(name) / "lane", _SESSIONS, None))
        _ask(server.address, request)
        before = server.resident_bytes()
        links = []
        for _ in range(count):  # none waits for its answer, or the first would be closed as idle by the last
            links.append(stack.enter_context(socket.create_connection(server.address, timeout=60)))
            links[-1].sendall(request)
        for link in links:
            if b'"active":true' not in link.recv(65536):
                raise WrongAnswer("an introspection was not answered")
        still_open = server.open_files()
        after = server.resident_bytes()
        print(
            f"{count:,} idle connections ({still_open:,} files open): {after / 2**20:.0f} MiB,"
            f" {(after - before) / count / 1024:.1f} KiB each"
        )
        print(f"slowest of 100 beside them: {_slowest(server.address, request):.0f} ms")
        slow = stack.enter_context(socket.create_connection(server.address, timeout=30))
        slow.sendall(request[:20])
        print(f"and beside a torn request: {_slowest(server.address, request):.0f} ms")


def _ask(address: tuple[str, int], request: bytes) -> None:
    status, body = ask_once(address, request)
    if status != 200 or b'"active":true' not in body:
        raise WrongAnswer(f"{status} {body[:200]!r}")


def _slowest(address: tuple[str, int], request: bytes) -> float:
    slowest = 0.0
    for _ in range(100):
        begun = time.perf_counter()
        _ask(address, request)
        slowest = max(slowest, time.perf_counter() - begun)
    return slowest * 1e3


if __name__ == "__main__":
    main()
