"""`ostiary copy` copies every record of the SQLite file to PostgreSQL; tokens work on."""

from pathlib import Path

import apsw
import pytest

from ostiary_core.model.records import RECORD_TABLES
from ostiary_net.postgres import PostgreSQLStore
from ostiary_net.sqlite import SQLiteStore
from tests.support.processes import Machine, is_active, token
from tests.support.stores import lent_schema


def test_everything_arrives_and_tokens_live_on(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.run("migrate").exit_code == 0
    secret = machine.client()
    with machine.serving() as address:
        issued = token(address, secret)
        source = machine.environment["DATABASE_URL"]
        with lent_schema() as url:
            beside = Machine(tmp_path, DATABASE_URL=url).run("copy", source)
        assert (beside.exit_code, beside.out) == (1, "")
        assert "ostiary.db is in use: stop the server" in beside.err
    with lent_schema() as url:
        moved = Machine(tmp_path, DATABASE_URL=url)
        counts = moved.script("copy", source)
        with SQLiteStore(tmp_path / "ostiary.db") as old, PostgreSQLStore(url) as new:
            for table in RECORD_TABLES:
                assert set(new.records(table)) == set(old.records(table))
            told = [entry.kind for entry in new.audit()]
            assert told == [entry.kind for entry in old.audit()]
        assert (counts["sessions"], counts["refresh_tokens"]) == (1, 0)
        assert counts["audit"] == len(told)
        with moved.serving() as address:
            assert is_active(address, secret, issued)
        again = moved.run("copy", source)
        assert (again.exit_code, "is not empty" in again.err) == (1, True)
    with lent_schema() as url:
        lines = Machine(tmp_path, DATABASE_URL=url).run("copy", source).lines
        assert sorted(lines) == sorted(f"{name}: {number}" for name, number in counts.items())


def test_a_target_that_does_not_answer_is_one_line_without_a_password(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.run("migrate").exit_code == 0
    url = "postgresql://u:hunter22@127.0.0.1:9/d"
    ran = machine.run("copy", machine.environment["DATABASE_URL"], url)
    assert (ran.exit_code, ran.err.count("\n"), "hunter22" in ran.err) == (1, 1, False), ran.err


def test_a_copy_of_another_release_or_without_all_rows_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path)
    assert machine.run("migrate").exit_code == 0
    with lent_schema() as url:
        target = Machine(tmp_path, DATABASE_URL=url)
        monkeypatch.setattr(PostgreSQLStore, "keep_entries", lambda *_: None)
        ran = target.run("copy", machine.environment["DATABASE_URL"])
        assert (ran.exit_code, "is not complete (audit: 1 and 0); empty" in ran.err) == (1, True), ran.err
    with apsw.Connection(str(tmp_path / "ostiary.db")) as connection:
        connection.execute("DELETE FROM schema_migrations WHERE version > 20")
    with lent_schema() as url:
        ran = Machine(tmp_path, DATABASE_URL=url).run("copy", machine.environment["DATABASE_URL"])
        assert (ran.exit_code, ran.err.count("\n"), "migrate" in ran.err) == (1, 1, True), ran.err
