"""What ten thousand idle kept-alive connections cost a process, and whether the others still are answered.

Every connection is answered once through the token lane and then left alone. The slowest of a hundred
introspections beside them is told, with and without a client that stops in the middle of its request.
"""

import resource
import socket
import time
from contextlib import ExitStack
from pathlib import Path

from docs.bench.cells import LANE
from docs.bench.driver import Address, WrongAnswer, ask_once
from docs.bench.findings import Idle
from docs.bench.names import CHAINS, client_id, token
from docs.bench.running import running
from docs.bench.workloads import post

_SESSIONS = 1_000


def measure_idle(folder: Path, connections: int) -> Idle | None:
    """The cost of so many, on a server made in `folder`; None where the machine allows no such number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 200
    if 0 <= hard < wanted:
        return None
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard < 0 else max(soft, wanted), hard))
    request = post(LANE.paths.introspect, client_id(CHAINS), token=token("access", CHAINS))
    with ExitStack() as stack:
        server = stack.enter_context(running(LANE, folder, _SESSIONS))
        _ask(server.address, request)
        empty = server.resident_bytes()
        links = []
        for _ in range(connections):  # none waits for its answer, or the first would be closed by the last
            links.append(stack.enter_context(socket.create_connection(server.address, timeout=60)))
            links[-1].sendall(request)
        for link in links:
            if b'"active":true' not in link.recv(65536):
                raise WrongAnswer("an introspection was not answered")
        if (files := server.open_files()) < connections:
            raise WrongAnswer(f"of {connections} idle connections only {files} are open")
        full = server.resident_bytes()
        slowest = _slowest(server.address, request)
        torn = stack.enter_context(socket.create_connection(server.address, timeout=30))
        torn.sendall(request[:20])
        return Idle(connections, empty / 2**20, full / 2**20, slowest, _slowest(server.address, request))


def _ask(address: Address, request: bytes) -> None:
    status, body = ask_once(address, request)
    if status != 200 or b'"active":true' not in body:
        raise WrongAnswer(f"{status} {body[:200]!r}")


def _slowest(address: Address, request: bytes) -> float:
    slowest = 0.0
    for _ in range(100):
        begun = time.perf_counter()
        _ask(address, request)
        slowest = max(slowest, time.perf_counter() - begun)
    return slowest * 1e3
