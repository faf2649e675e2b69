"""The statements of one refresh are those that the book prints (docs/architecture.md)."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from ostiary_core.conformance.scenario import Backend
from ostiary_core.model.reply import TokensIssued
from ostiary_net.sqlite import SQLiteStore

BOOK = Path(__file__).parents[3] / "docs" / "architecture.md"


@contextmanager
def record_statements(statements: list[str]) -> Iterator[None]:
    """Record what every connection opened inside the block executes."""

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = record

    def record(_cursor: Any, statement: str, _bindings: Any) -> bool:
        statements.append(" ".join(statement.split()))
        return True

    apsw.connection_hooks.append(hook)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(hook)


def test_the_book_prints_the_statements_of_a_refresh(tmp_path: Path) -> None:
    printed = re.search(r"```text\n(BEGIN IMMEDIATE.+?)```", BOOK.read_text(encoding="utf-8"), re.DOTALL)
    assert printed is not None
    patterns = [re.escape(" ".join(each.split())).replace("…", ".+") for each in printed[1].split(";")[:-1]]
    statements: list[str] = []
    with record_statements(statements), SQLiteStore(tmp_path / "ostiary.db") as store:
        backend = Backend(store)
        backend.populate()
        pair = backend.ask(backend.redemption(backend.code(backend.login("alice"))), TokensIssued)
        backend.wait(2_000)
        refresh = backend.refreshing(pair)
        statements.clear()
        backend.ask(refresh, TokensIssued)
    assert len(statements) == len(patterns), statements
    for pattern, statement in zip(patterns, statements, strict=True):
        assert re.fullmatch(pattern, statement), (pattern, statement)
