"""Four instances on one database and one socket are replaced one after the other under load: nothing is lost.

The socket belongs to none of them, as with systemd's socket activation. The callers are as they are in real
networks: some keep a connection and think between two requests, some need a moment between connecting and
their first byte. None of them asks a second time: a connection that ends without an answer is a lost request.
"""

import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

from fuzz.processes.connection import Connection, Lost
from fuzz.processes.server import ADMIN_PASSWORD, Server
from fuzz.shared.http_client import HttpClient, form_request
from ostiary_net.front_door.listeners import open_listeners
from tests.net.postgres.authorizing import Desk, Pair
from tests.net.postgres.cluster import Cluster

INSTANCES = 4
CALLERS_OF_A_KIND = 4
THINKING_SECONDS = 0.02
ON_THE_WAY_SECONDS = 0.05
"""Between a connection and its first byte, as with a caller far away."""
PATIENCE_SECONDS = 60
TOKEN, INTROSPECT = "/api/oauth2/token", "/api/oauth2/introspect"


class Load:
    """What callers were answered, and what was lost."""

    def __init__(self, port: int, desk: Desk) -> None:
        self.port, self.desk = port, desk
        self.answered: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.lost: list[str] = []
        self._connections: list[Connection] = []
        self._heard = trio.Event()

    async def keep_introspecting(self, pair: Pair) -> None:
        """On one connection for as long as the server keeps it."""
        connection = self._connection()
        while True:
            await self._ask("introspection", connection, INTROSPECT, token=pair.access)
            await trio.sleep(THINKING_SECONDS)

    async def keep_refreshing(self, pair: Pair) -> None:
        """On one connection; each token from the answer before."""
        connection, refresh = self._connection(), pair.refresh
        while True:
            found = await self._ask(
                "refresh", connection, TOKEN, grant_type="refresh_token", refresh_token=refresh
            )
            refresh = found or refresh
            await trio.sleep(THINKING_SECONDS)

    async def keep_connecting(self, pair: Pair) -> None:
        """A connection a request, which is used a moment after it was made."""
        fields = [self.desk.basic, ("Connection", "close")]
        request = HttpClient("id.example").write(form_request(INTROSPECT, fields, {"token": pair.access}))
        while True:
            try:
                stream = await trio.open_tcp_stream("127.0.0.1", self.port)
                async with stream:
                    await trio.sleep(ON_THE_WAY_SECONDS)
                    await stream.send_all(request)
                    heard = b"".join([part async for part in stream])
            except (OSError, trio.BrokenResourceError) as error:
                self.lost.append(f"a new connection: {error!r}")
                continue
            self._count("new connection", int(heard[9:12] or b"0"))

    async def _ask(self, what: str, connection: Connection, path: str, **form: str) -> str | None:
        try:
            heard = await connection.post_form(path, [self.desk.basic, ("User-Agent", "one")], **form)
        except Lost as error:
            self.lost.append(f"{what}: {error.__cause__!r}")
            return None
        self._count(what, heard.status)
        return heard.json().get("refresh_token")

    def _count(self, what: str, status: int) -> None:
        if status == 200:
            self.answered[what] += 1
            self._heard.set()
        else:
            self.wrong.append(f"{what}: {status}")

    def _connection(self) -> Connection:
        connection = Connection(self.port)
        self._connections.append(connection)
        return connection

    def hang_up(self) -> None:
        """Close every connection that is kept."""
        for connection in self._connections:
            connection.close()

    async def until_answered(self, more: int) -> None:
        """Back when every kind of caller was answered so many times more."""
        wanted = {what: self.answered[what] + more for what in ("introspection", "refresh", "new connection")}
        with trio.fail_after(PATIENCE_SECONDS):
            while any(self.answered[what] < number for what, number in wanted.items()):
                self._heard = trio.Event()
                await self._heard.wait()


async def test_a_rolling_restart_of_four_instances_under_load_loses_no_request(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        [listener] = stack.enter_context(open_listeners("127.0.0.1:0"))
        descriptor = os.dup(listener.fileno())
        stack.callback(os.close, descriptor)

        def instance(name: str) -> Server:
            (tmp_path / name).mkdir()
            settings = {"DATABASE_URL": cluster.address, "BIND": f"fd://{descriptor}"}
            server = stack.enter_context(Server(tmp_path / name, settings=settings, inherits=[descriptor]))
            server.start_and_wait()
            return server

        running = [await trio.to_thread.run_sync(instance, f"old-{place}") for place in range(INSTANCES)]
        desk = Desk(running[0].port, ADMIN_PASSWORD)
        await desk.open()
        load = Load(running[0].port, desk)
        kinds: list[Callable[[Pair], Awaitable[None]]] = [
            load.keep_introspecting,
            load.keep_refreshing,
            load.keep_connecting,
        ]
        began = time.monotonic()
        async with trio.open_nursery() as nursery:
            for kind in kinds:
                for _ in range(CALLERS_OF_A_KIND):
                    nursery.start_soon(kind, await desk.tokens())
            desk.hang_up()
            await load.until_answered(20)
            for place in range(INSTANCES):
                follower = await trio.to_thread.run_sync(instance, f"new-{place}")
                assert await trio.to_thread.run_sync(running[place].stop) == 0
                running[place] = follower
            await load.until_answered(20)
            nursery.cancel_scope.cancel()
        load.hang_up()
    # docs/scale.md has this line: pytest -s
    print(f"{dict(load.answered)} in {time.monotonic() - began:.0f} s, lost {len(load.lost)}")
    assert load.lost == []
    assert load.wrong == []
