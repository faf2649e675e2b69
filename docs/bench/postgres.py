"""This server on PostgreSQL: one process, and two on one database, each schema filled from a SQLite file.

The database is one of the run's own, started where the machine has PostgreSQL. What it takes of the processor
is not in the figures of the server, and it has no core of its own: on two cores it works beside server and
driver.
"""

import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import psycopg
import pytest

from docs.bench import population
from docs.bench.cells import LANE, STORE, Cell
from docs.bench.peers.installing import Unavailable
from tests.support.processes import running_cluster

OPERATIONS: Final = ("introspect", "credentials", "refresh")
CONNECTIONS: Final = 32
"""Connections to each instance."""

_TAKEN: Final = (
    "SELECT sum(pg_total_relation_size(name::regclass))"
    " FROM unnest(ARRAY['sessions', 'refresh_tokens', 'access_tokens']) AS name"
)

ONE: Final = replace(LANE, name="lane on PostgreSQL")
TWO: Final = replace(LANE, name="lane on PostgreSQL, 2 instances", cores=2, instances=2)


def on_postgres(stack: ExitStack) -> list[Cell]:
    """Both, on a database that is there for as long as `stack`. Raises `Unavailable`."""
    try:
        cluster = stack.enter_context(running_cluster())
    except pytest.skip.Exception as reason:
        raise Unavailable(str(reason)) from None
    return [_on(cluster.address, cell) for cell in (ONE, TWO)]


def _on(server: str, cell: Cell) -> Cell:
    """The cell with a database to itself."""
    database = f"instances_{cell.cores}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {database}".encode())
    address = server.rpartition("/")[0] + f"/{database}"
    environment = {"WORKERS": str(cell.cores), "DATABASE_URL": address}

    def fill(folder: Path, sessions: int) -> int:
        population.fill(folder / STORE, sessions)
        subprocess.run(
            [sys.executable, "-m", "ostiary_web", "copy", f"sqlite:///{folder / STORE}"],
            env={**os.environ, **environment, "DATA_DIR": str(folder)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            [[taken]] = connection.execute(_TAKEN).fetchall()
        return int(taken)

    return replace(cell, fill=fill, environment=environment)
