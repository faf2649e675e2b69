"""A new process takes over the socket of the one before, under load: no request is lost.

So it is with systemd's socket activation: the socket belongs to neither, and who connects while none of them
takes connections waits in the kernel's queue.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx

from ostiary_net.front_door.listeners import open_listeners
from tests.web.command_line.machine import Machine

PATIENCE_SECONDS = 60


def server_on(machine: Machine, descriptor: int, said: Path) -> subprocess.Popen[bytes]:
    """A server on an inherited socket, once it says that it serves."""
    environment = {**os.environ, **machine.environment, "BIND": f"fd://{descriptor}", "PYTHONUNBUFFERED": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    with said.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "ostiary_web", "serve"], env=environment, stdout=out, pass_fds=[descriptor]
        )
    until = time.monotonic() + PATIENCE_SECONDS
    while b"Ostiary serves" not in said.read_bytes():
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < until, "the server never served"
        time.sleep(0.02)
    return process


def test_no_request_is_lost_while_one_process_follows_another(tmp_path: Path) -> None:
    machine = Machine(tmp_path, RATE_LIMIT_SCALE="1000")
    assert machine.run("migrate").exit_code == 0
    secret = machine.script(
        *("client", "create", "app", "--redirect-uri", "https://app.example/callback"),
        *("--grant", "client_credentials"),
    )["secret"]
    answered: list[int] = []
    lost: list[str] = []
    over = threading.Event()
    with open_listeners("127.0.0.1:0") as [listener]:
        port = listener.getsockname()[1]
        descriptor = os.dup(listener.fileno())
        os.set_inheritable(descriptor, True)
        running = server_on(machine, descriptor, tmp_path / "first")

        def ask() -> None:
            while not over.is_set():
                try:
                    response = httpx.post(
                        f"http://127.0.0.1:{port}/api/oauth2/token",
                        data={"grant_type": "client_credentials"},
                        auth=("app", secret),
                        headers={"Connection": "close"},
                        timeout=PATIENCE_SECONDS,
                    )
                    answered.append(response.status_code)
                except httpx.TransportError as error:
                    lost.append(repr(error))

        callers = [threading.Thread(target=ask) for _ in range(4)]
        for caller in callers:
            caller.start()
        try:
            for generation in ("second", "third"):
                follower = server_on(machine, descriptor, tmp_path / generation)
                running.send_signal(signal.SIGTERM)
                assert running.wait(PATIENCE_SECONDS) == 0
                running = follower
            served = len(answered)
            until = time.monotonic() + PATIENCE_SECONDS
            while len(answered) < served + 20 and time.monotonic() < until:
                time.sleep(0.02)
        finally:
            over.set()
            for caller in callers:
                caller.join(PATIENCE_SECONDS)
            running.terminate()
            running.wait(PATIENCE_SECONDS)
            os.close(descriptor)
    assert lost == []
    assert set(answered) == {200}
    assert len(answered) > 40
