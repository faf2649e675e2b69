"""Schemas on a PostgreSQL server for tests: each test has one to itself, emptied after the one before."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from urllib.parse import quote

import psycopg

from ostiary_net.sql.columns import TABLES

_numbers = count()
_made: list[tuple[str, str]] = []
_free: list[str] = []
_WITHOUT_RECORDS = ("TRUNCATE audit RESTART IDENTITY", "TRUNCATE summaries, refusals, milestones")


@contextmanager
def lent_schema(server: str) -> Iterator[str]:
    """Yield the address of a schema without records."""
    address = _free.pop() if _free else made_schema(server)
    try:
        yield address
    finally:
        _empty(address)
        _free.append(address)


def made_schema(server: str) -> str:
    """Return the address of an empty schema."""
    name = f"ostiary_test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    _made.append((server, name))
    joint = "&" if "?" in server else "?"
    return f"{server}{joint}options={quote(f'-c search_path={name}')}"


def drop_schemas() -> None:
    """Take back all schemas that this process made."""
    _free.clear()
    while _made:
        server, name = _made.pop()
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


def _empty(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        there = connection.execute("SELECT to_regclass('audit')").fetchone()
        if there is not None and there[0] is not None:
            names = ["access_tokens", *(stored.name for stored in TABLES.values())]
            statements = [f"DELETE FROM {name}" for name in names]
            connection.execute("; ".join([*statements, *_WITHOUT_RECORDS]).encode())
