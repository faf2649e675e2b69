"""What a request costs in CPU, server and database apart, on SQLite and on PostgreSQL.

    python -m tests.bench.databases postgresql://... --processes POSTMASTER_PID

A real server by `ostiary serve`, 16 callers on a connection each. Time on the processor is read from the
kernel, so whoever else works on the machine shows in it only by what they do to caches and to the size of
turns. The database has to be an empty one.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import trio

from fuzz.processes.connection import Connection
from fuzz.processes.server import ADMIN_PASSWORD, Server
from tests.net.postgres.authorizing import Desk, Pair

_CALLERS: Final = 16
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
_REQUESTS: Final = {"introspection": 400, "refresh": 150}
"""Of each caller, after as many that are not measured."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("address", nargs="?")
    parser.add_argument("--processes", type=int, help="the process whose children serve the database")
    asked = parser.parse_args()
    print(f"{'':<11} {'':<14} {'server µs':>10} {'database µs':>12} {'a second':>9}")
    trio.run(_measure, "SQLite", {}, lambda: 0.0)
    if asked.address:
        database = partial(_of_children, asked.processes) if asked.processes else lambda: 0.0
        trio.run(_measure, "PostgreSQL", {"DATABASE_URL": asked.address}, database)


async def _measure(name: str, settings: dict[str, str], database: Callable[[], float]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder), settings={"LOG_LEVEL": "warning", **settings}) as server,
    ):
        await trio.to_thread.run_sync(server.start_and_wait)
        desk = Desk(server.port, ADMIN_PASSWORD)
        await desk.open()
        for what, requests in _REQUESTS.items():
            for is_measured in (False, True):
                pairs = [await desk.tokens() for _ in range(_CALLERS)]
                began, server_before, database_before = time.perf_counter(), _of(server.pid), database()
                async with trio.open_nursery() as nursery:
                    for pair in pairs:
                        nursery.start_soon(_ask, server.port, desk.basic, what, requests, pair)
                if is_measured:
                    number = requests * _CALLERS
                    print(
                        f"{name:<11} {what:<14} {(_of(server.pid) - server_before) / number * 1e6:>10.0f} "
                        f"{(database() - database_before) / number * 1e6:>12.0f} "
                        f"{number / (time.perf_counter() - began):>9.0f}",
                        flush=True,
                    )
        desk.hang_up()


async def _ask(port: int, basic: tuple[str, str], what: str, requests: int, pair: Pair) -> None:
    connection, refresh = Connection(port), pair.refresh
    fields = [basic, ("User-Agent", "bench")]
    for _ in range(requests):
        if what == "introspection":
            heard = await connection.post_form("/api/oauth2/introspect", fields, token=pair.access)
            assert heard.json()["active"]
        else:
            heard = await connection.post_form(
                "/api/oauth2/token", fields, grant_type="refresh_token", refresh_token=refresh
            )
            refresh = str(heard.json()["refresh_token"])
    connection.close()


def _fields(pid: int) -> list[str]:
    """What /proc tells of a process behind its name."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _of(pid: int) -> float:
    """Seconds on the processor."""
    return sum(map(int, _fields(pid)[11:13])) / _TICKS_A_SECOND


def _of_children(pid: int) -> float:
    """Seconds on the processor of those that are left and those that have ended."""
    ticks = sum(map(int, _fields(pid)[11:15]))
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = _fields(int(entry))
            except OSError:
                continue
            if int(fields[1]) == pid:
                ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS_A_SECOND


if __name__ == "__main__":
    main()
