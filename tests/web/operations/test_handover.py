"""A new process takes over the socket of the one before, under load: no request is lost.

So it is with systemd's socket activation: the socket belongs to neither, and who connects while none of them
takes connections waits in the kernel's queue.
"""

import os
import threading
import time
from itertools import pairwise
from pathlib import Path

import httpx

from fuzz.processes.server import Server
from ostiary_net.front_door.listeners import open_listeners
from tests.web.command_line.machine import Machine

PATIENCE_SECONDS = 60


def test_no_request_is_lost_while_one_process_follows_another(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.run("migrate").exit_code == 0
    secret = machine.client()
    answered: list[int] = []
    lost: list[str] = []
    over = threading.Event()
    with open_listeners("127.0.0.1:0") as [listener]:
        port = listener.getsockname()[1]
        descriptor = os.dup(listener.fileno())
        os.set_inheritable(descriptor, True)
        settings = {"BIND": f"fd://{descriptor}"}
        generations = [Server(tmp_path, settings=settings, inherits=[descriptor]) for _ in range(3)]
        generations[0].start_and_wait()

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
            for before, follower in pairwise(generations):
                follower.start_and_wait()
                assert before.stop() == 0
            served = len(answered)
            until = time.monotonic() + PATIENCE_SECONDS
            while len(answered) < served + 20 and time.monotonic() < until:
                time.sleep(0.02)
        finally:
            over.set()
            for caller in callers:
                caller.join(PATIENCE_SECONDS)
            generations[-1].stop()
            os.close(descriptor)
    assert lost == []
    assert set(answered) == {200}
    assert len(answered) > 40
