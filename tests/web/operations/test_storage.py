"""The store that DATABASE_URL names: one that cannot be used ends the start with one line and no password."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
import pytest

from ostiary_web.cli import context
from ostiary_web.server import storage
from ostiary_web.server.database import PostgreSQLDatabase, read_database
from ostiary_web.server.settings import Settings
from tests.localhost import free_port
from tests.net.store.stores import POSTGRESQL
from tests.web.command_line.machine import Machine

_NOBODY = 65_534
needs_postgresql = pytest.mark.skipif(
    POSTGRESQL is None, reason="OSTIARY_TEST_POSTGRES names no server (postgresql://user@host:port/database)"
)


@pytest.fixture
def nobody_there() -> str:
    """An address where no database listens."""
    return f"postgresql://somebody:hunter22@127.0.0.1:{free_port()}/ostiary"


@pytest.mark.parametrize("words", [("migrate",), ("serve",), ("client", "list")])
@pytest.mark.parametrize("kind", ["sqlite", "foreign", "mysql", "postgresql"])
def test_a_database_that_cannot_be_used_is_one_line_for_every_command(
    kind: str, words: tuple[str, ...], nobody_there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_START_SECONDS", 0.1)
    monkeypatch.setattr(context, "_PATIENCE_SECONDS", 0.1)
    (tmp_path / "file").write_bytes(b"notes of mine, " * 100)
    urls = {
        "sqlite": f"sqlite:///{tmp_path / 'file'}/ostiary.db",
        "foreign": f"sqlite:///{tmp_path / 'file'}",
        "mysql": "mysql://root:hunter22@db/x",
        "postgresql": nobody_there,
    }
    ran = Machine(tmp_path, DATABASE_URL=urls[kind]).run(*words)
    assert (ran.exit_code, ran.out) == (1, "")
    *before, line = ran.err.splitlines()
    assert all("waiting for the database" in each for each in before)
    assert len(before) == (kind == "postgresql" and words != ("client", "list"))
    assert line.startswith("ostiary: DATABASE_URL: ")
    assert "; allowed: " in line
    assert "hunter22" not in ran.err
    assert ("not a SQLite file" in line) == (kind == "foreign")


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_waits_for_its_database_says_so_and_can_be_stopped(
    how: signal.Signals, workers: str, nobody_there: str, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, DATABASE_URL=nobody_there, WORKERS=workers)
    with machine.started(stderr=subprocess.PIPE) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline()
            assert "waiting for the database" in said
            assert urlsplit(nobody_there).netloc.rpartition("@")[2] in said
            assert "Connection refused" in said
            assert "hunter22" not in said
            server.send_signal(how)
            out, err = server.communicate(timeout=30)
        finally:
            server.kill()
    assert (server.returncode, out, err) == (0, "", "")


@needs_postgresql
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_has_no_room_for_every_name_is_left_alone(encoding: str, tmp_path: Path) -> None:
    with made_database(f"TEMPLATE template0 LOCALE 'C' ENCODING '{encoding}'") as url:
        for words in ("migrate", "serve"):
            ran = Machine(tmp_path, DATABASE_URL=url).run(words)
            assert (ran.exit_code, ran.out) == (1, "")
            [line] = ran.err.splitlines()
            assert line.startswith("ostiary: DATABASE_URL: ")
            assert f"its encoding is {encoding}," in line
            assert "ENCODING 'UTF8'" in line
        assert relations_in(url) == set()


@needs_postgresql
@pytest.mark.parametrize("table", ["users", "schema_migrations"])
def test_a_database_of_another_program_is_left_alone(table: str, tmp_path: Path) -> None:
    with made_database("TEMPLATE template0 ENCODING 'UTF8'") as url:
        with psycopg.connect(url) as connection:
            connection.execute(f"CREATE TABLE {table} (version VARCHAR)".encode())
        ran = Machine(tmp_path, DATABASE_URL=url).run("migrate")
        assert (ran.exit_code, ran.out) == (1, "")
        [line] = ran.err.splitlines()
        assert line.startswith("ostiary: DATABASE_URL: ")
        assert "belongs to another program" in line
        assert relations_in(url) == {table}


@needs_postgresql
def test_what_an_extension_brought_along_is_no_other_program(tmp_path: Path) -> None:
    with made_database("TEMPLATE template0 ENCODING 'UTF8'") as url:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE of_an_extension (version VARCHAR)")
            connection.execute("ALTER EXTENSION plpgsql ADD TABLE of_an_extension")
        assert Machine(tmp_path, DATABASE_URL=url).run("migrate").exit_code == 0


@contextmanager
def made_database(how: str) -> Iterator[str]:
    """A database of the test's own; its address."""
    assert POSTGRESQL is not None
    name = f"ostiary_test_{os.getpid()}"
    with psycopg.connect(POSTGRESQL, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} {how}".encode())
        try:
            parts = urlsplit(POSTGRESQL)
            yield urlunsplit(parts._replace(path=f"/{name}"))
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def relations_in(url: str) -> set[str]:
    """The tables, indexes and views that are there."""
    named = "SELECT relname::text::bytea FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    with psycopg.connect(url) as connection:
        return {bytes(name).decode() for (name,) in connection.execute(named)}


@pytest.mark.parametrize("name, mode", [("ostiary.db", 0o444), ("ostiary.db-shm", 0o444), (".", 0o555)])
def test_a_file_that_cannot_be_written_stops_the_start(name: str, mode: int) -> None:
    with of_nobody() as folder:
        machine = Machine(folder)
        assert machine.run("migrate").exit_code == 0
        (folder / name).touch()
        (folder / name).chmod(mode)
        before = sorted(folder.iterdir())
        for words in ("serve", "migrate"):
            ran = machine.run(words)
            assert (ran.exit_code, ran.out) == (1, "")
            # The folder may be `DATA_DIR` too, of which the log of a start tells.
            *_, line = ran.err.splitlines()
            assert line.startswith("ostiary: DATABASE_URL: ")
            assert f"{folder / name} cannot be written" in line
        assert sorted(folder.iterdir()) == before
        (folder / name).chmod(0o700)
        assert machine.run("migrate").exit_code == 0


@contextmanager
def of_nobody() -> Iterator[Path]:
    """A folder in which this process is a user whom modes of files hold for."""
    folder = Path(tempfile.mkdtemp(prefix="ostiary-"))
    is_root = os.geteuid() == 0
    try:
        if is_root:
            os.chown(folder, _NOBODY, -1)
            os.seteuid(_NOBODY)
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_the_password_of_a_database_is_in_no_printed_form() -> None:
    url = "postgresql://ostiary:hunter22@db1:5432,db2:5433/records?sslmode=verify-full&password=hunter23"
    database = read_database(url)
    assert isinstance(database, PostgreSQLDatabase)
    assert database.url.reveal() == url
    settings = Settings.from_environment({"DATABASE_URL": url})
    for printed in (str(database), repr(database), str(settings), repr(settings)):
        assert "hunter2" not in printed
    assert str(database) == "postgresql://db1,db2:5432,5433/records"


def test_a_file_that_is_gone_from_beneath_the_server_ends_it_with_a_word(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with machine.serving():
        pass  # its stop folds the log into the file, where readers find it mapped
    with machine.started(stderr=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        try:
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found
            # Of what is in the log SQLite knows how long the file is, and does not look.
            machine.script("client", "create", "app", "--redirect-uri", "https://client.example/callback")
            bearer = {"Authorization": "Bearer hunter22"}
            httpx.get(f"{found[0]}/api/oauth2/userinfo", headers=bearer)  # the first maps the file
            os.truncate(tmp_path / "ostiary.db", 0)
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{found[0]}/api/oauth2/userinfo", headers=bearer)
        finally:
            server.terminate()
        said = server.stderr.read()
    assert server.returncode == -signal.SIGBUS
    assert "Bus error" in said
    assert "sqlite/access.py" in said
    assert "hunter2" not in said
