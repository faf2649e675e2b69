"""Instances on one database and one socket are replaced one after the other under load: nothing is lost.

The socket belongs to no instance, as with systemd's socket activation. The callers behave as in real
networks: some keep a connection and pause between two requests, some need a moment between connecting and
their first byte. No caller asks a second time: a connection that ends without an answer is a lost request.
"""

import os
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

from fuzz.processes.server import ADMIN_PASSWORD, Server
from ostiary_net.front_door.listeners import open_listeners
from tests.net.postgres.load import Desk, Load, Pair
from tests.support.processes import Cluster, ForkedServer

INSTANCES = 2
CALLERS_OF_A_KIND = 4


@pytest.fixture(params=["postgresql", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a cluster of the tests' own, or of a file."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ostiary.db'}"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.address


async def test_a_rolling_restart_of_all_instances_under_load_loses_no_request(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        [listener] = stack.enter_context(open_listeners("127.0.0.1:0"))
        descriptor = os.dup(listener.fileno())
        stack.callback(os.close, descriptor)

        def instance(name: str) -> Server:
            (tmp_path / name).mkdir()
            settings = {"DATABASE_URL": database, "BIND": f"fd://{descriptor}"}
            one = stack.enter_context(ForkedServer(tmp_path / name, settings=settings, inherits=[descriptor]))
            one.start_and_wait()
            return one

        running = [await trio.to_thread.run_sync(instance, f"old-{place}") for place in range(INSTANCES)]
        desk = Desk(running[0].port, ADMIN_PASSWORD)
        await desk.open()
        load = Load(lambda: [running[0].port], desk)
        kinds: dict[str, Callable[[str, Pair], Awaitable[None]]] = {
            "introspection": load.keep_introspecting,
            "refresh": load.keep_refreshing,
            "new connection": load.keep_connecting,
        }
        began = time.monotonic()
        async with trio.open_nursery() as nursery:
            for name, keep_asking in kinds.items():
                for _ in range(CALLERS_OF_A_KIND):
                    nursery.start_soon(keep_asking, name, await desk.tokens())
            desk.hang_up()
            await load.until_answered(kinds, 20)
            for place in range(INSTANCES):
                follower = await trio.to_thread.run_sync(instance, f"new-{place}")
                assert await trio.to_thread.run_sync(running[place].stop) == 0
                running[place] = follower
            await load.until_answered(kinds, 20)
            nursery.cancel_scope.cancel()
    # docs/scale.md has this line: pytest -s
    print(f"{dict(load.answered)} in {time.monotonic() - began:.0f} s, lost {len(load.lost)}")
    assert (load.lost, load.wrong, load.failed) == ([], [], [])
