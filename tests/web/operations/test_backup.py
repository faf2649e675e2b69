"""`ostiary backup` makes a whole copy of one moment for its owner; `ostiary restore` ends all sessions."""

import os
import re
import resource
import shutil
import sqlite3
import stat
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import psycopg
import pytest
from click.testing import BytesIOCopy

from ostiary_net.observability.summaries import Milestone
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.sqlite.backup import restore
from ostiary_net.sqlite.compacting import compact as compact_file
from ostiary_net.sqlite.writer import WriterLock
from ostiary_web.cli import backup
from tests.net.sqlite.disk import Disk
from tests.support import asks
from tests.support.files import without_links
from tests.support.processes import Machine, is_active, token
from tests.support.stores import lent_schema, need_postgresql, usernames
from tests.support.story import START

UNLIMITED = {"RATE_LIMIT_SCALE": "1000", "GUESS_LIMIT_SCALE": "1000"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine with a database."""
    return Machine.with_database(tmp_path / "here", **UNLIMITED)


def test_a_backup_is_flushed_first(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a machine that stopped between the two would leave a broken file under this name."""
    file, done = tmp_path / "backup.db", list[tuple[str, Path]]()
    flush, link = os.fsync, os.link

    def record_flush(descriptor: int) -> None:
        flush(descriptor)
        done.append(("flush", Path(os.readlink(f"/proc/self/fd/{descriptor}"))))

    def record_link(source: Path, target: Path) -> None:
        link(source, target)
        done.append(("name", target))

    monkeypatch.setattr(os, "fsync", record_flush)
    monkeypatch.setattr(os, "link", record_link)
    assert machine.run("backup", str(file)).exit_code == 0
    unfinished = file.with_name(file.name + ".unfinished")
    seen = [each for each in done if tmp_path in (each[1], each[1].parent)]
    assert seen == [("flush", unfinished), ("name", file), ("flush", tmp_path)]


def test_a_backup_under_load_holds_all_that_was_acknowledged_before(machine: Machine, tmp_path: Path) -> None:
    secret, file = machine.client(), tmp_path / "backup.db"
    assert machine.run("backup", str(tmp_path / "not mounted" / "backup.db")).exit_code == 1
    with SQLiteStore(tmp_path / "here" / "ostiary.db") as store:
        assert Milestone.BACKED_UP not in store.state().milestones
    over = threading.Event()
    with machine.serving() as address:
        before = [token(address, secret) for _ in range(3)]

        def ask() -> None:
            while not over.is_set():
                token(address, secret)

        with ThreadPoolExecutor() as callers:
            callers.submit(ask)
            try:
                made = machine.script("backup", str(file))
            finally:
                over.set()
    assert made == {"file": str(file), "bytes": file.stat().st_size}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("backup")] == ["backup.db"]

    with SQLiteStore(tmp_path / "here" / "ostiary.db") as store:
        assert Milestone.BACKED_UP in store.state().milestones

    elsewhere = Machine(tmp_path / "there")
    assert elsewhere.script("restore", str(file), "--keep-sessions")["ended"] == 0
    with elsewhere.serving() as address:
        assert all(is_active(address, secret, each) for each in before)


def test_writes_delay_no_backup(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server writes between any two steps of the copy, and the backup ends all the same."""
    with SQLiteStore(tmp_path / "here" / "ostiary.db") as store:
        number = count()

        class BetweenSteps(apsw.Connection):
            def backup(self, *of: Any) -> Any:
                copying = super().backup(*of)

                def step(pages: int) -> bool:
                    written = next(number)
                    assert written < 1_000, "it begins anew with every change"
                    store.turn([asks.user(f"user{written}")], START)
                    return copying.step(1)

                return SimpleNamespace(step=step, close=copying.close)

        monkeypatch.setattr(apsw, "Connection", BetweenSteps)
        machine.script("backup", str(tmp_path / "backup.db"))
        monkeypatch.undo()
        assert next(number) > 10
    with SQLiteStore(tmp_path / "backup.db") as copied:
        assert usernames(copied) <= {"admin", "user0"}, "of one moment"


def test_what_was_alive_in_a_backup_is_dead_once_it_is_restored(machine: Machine, tmp_path: Path) -> None:
    secret, file = machine.client(), tmp_path / "backup.db"
    with machine.serving() as address:
        old = token(address, secret)
        machine.script("backup", str(file))
    elsewhere, mark = Machine(tmp_path / "there"), tmp_path / "there" / "database-mark.json"
    mark.parent.mkdir()
    mark.touch()
    assert elsewhere.script("restore", str(file))["ended"] == 3, "its client, and the backend's own two"
    assert not mark.exists(), "the database is accepted as it is"
    with elsewhere.serving() as address:
        assert not is_active(address, secret, old)
        assert is_active(address, secret, token(address, secret))


@pytest.mark.skipif(shutil.which("pg_dump") is None, reason="pg_dump is not on this machine")
def test_what_was_alive_in_a_dump_of_postgresql_is_dead_once_everything_is_ended(tmp_path: Path) -> None:
    server = need_postgresql()
    with lent_schema() as url:
        schema = url.rpartition("%3D")[2]
        machine = Machine(tmp_path / "here", DATABASE_URL=url, **UNLIMITED)
        machine.run("migrate")
        secret = machine.client()
        with machine.serving() as address:
            old = token(address, secret)
            dump = subprocess.run(["pg_dump", "-n", schema, server], check=True, capture_output=True).stdout
            for action in ("disable", "enable") * 3:  # more entries than an end of everything makes
                machine.run("client", action, "app")
            assert not is_active(address, secret, old)
        with machine.serving():
            pass  # it writes down how far the database is
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())
        subprocess.run(["psql", "-q", server], check=True, input=dump, stdout=subprocess.DEVNULL)
        mark = next((tmp_path / "here").rglob("database-mark.json"))
        kept = mark.read_text()
        by_file = machine.run("backup", str(tmp_path / "backup.db"))
        assert (by_file.exit_code, "PostgreSQL has pg_dump" in by_file.err) == (1, True)
        refused = machine.run("serve")
        told = "ostiary: DATABASE_URL: .* put back to an earlier moment.*`ostiary end-everything`"
        assert re.fullmatch(f"{told}.*", refused.err.splitlines()[-1])
        mark.unlink()
        with machine.serving() as address:
            assert is_active(address, secret, old), "the dump brings it back"
        mark.write_text(kept)
        assert machine.run("end-everything", stdin="n\n").exit_code == 1
        assert machine.script("end-everything", "--yes")["ended"] == 3
        with machine.serving() as address:
            assert not is_active(address, secret, old)
            assert is_active(address, secret, token(address, secret))


def refuse(machine: Machine, command: str, file: Path, *words: str) -> None:
    """Have a command about a file refused in one line with these words."""
    ran = machine.run(command, str(file))
    assert (ran.exit_code, ran.out, ran.err.count("\n")) == (1, "", 1), ran.err
    assert [each for each in words if each not in ran.err] == [], ran.err


def test_a_copy_that_cannot_be_made_is_one_line(machine: Machine, tmp_path: Path) -> None:
    # Beside it stands `….unfinished`, whose name is too long for every file system.
    refuse(machine, "backup", tmp_path / ("b" * 250), "could not be copied to", "File name too long")
    machine.script("backup", str(tmp_path / "backup.db"))
    (tmp_path / "file").touch()
    nowhere = Machine(tmp_path, DATABASE_URL=f"sqlite:///{tmp_path / 'file' / 'there' / 'ostiary.db'}")
    refuse(nowhere, "restore", tmp_path / "backup.db", "ostiary.db cannot be made: Not a directory")


@pytest.mark.parametrize(
    "arguments",
    [("backup", "{}"), ("restore", "{}"), ("copy", "sqlite:///{}", "postgresql://u@127.0.0.1:9/d")],
)
def test_a_name_that_is_too_long_is_one_line(machine: Machine, tmp_path: Path, arguments: Any) -> None:
    name = str(tmp_path / ("a" * 300))
    elsewhere = {"DATABASE_URL": f"sqlite:///{tmp_path}/new.db"} if arguments[0] == "restore" else {}
    refused = machine.run(*(each.format(name) for each in arguments), env=elsewhere)
    assert (refused.exit_code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert name in refused.err or "names no existing SQLite file" in refused.err


def test_no_file_is_written_over_and_no_torn_file_is_restored(machine: Machine, tmp_path: Path) -> None:
    file, elsewhere = tmp_path / "backup.db", Machine(tmp_path / "there")
    refuse(elsewhere, "backup", file, "there is no database")
    assert not file.exists()
    machine.script("backup", str(file))
    kept = file.read_bytes()
    refuse(machine, "backup", file, "exists already")
    assert file.read_bytes() == kept
    refuse(machine, "restore", file, "stop the server")
    torn = bytearray(kept)
    for start in range(3 * 4_096, len(torn), 2 * 4_096):
        torn[start : start + 64] = b"\xff" * 64
    for content in (b"something else entirely", torn):
        file.write_bytes(content)
        refuse(elsewhere, "restore", file)
        assert [path for path in (tmp_path / "there").iterdir() if path.suffix == ".db"] == []


def test_a_database_without_an_index_is_neither_copied_nor_restored(machine: Machine, tmp_path: Path) -> None:
    """SQLite reads a file with unused pages without an error. Only its integrity check reports them."""
    file, elsewhere = tmp_path / "backup.db", Machine(tmp_path / "there")
    with closing(sqlite3.connect(tmp_path / "here" / "ostiary.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'audit_by_time'")
    refuse(machine, "backup", file, "the copy is not complete")
    assert not file.exists()
    file.write_bytes((tmp_path / "here" / "ostiary.db").read_bytes())
    refuse(elsewhere, "restore", file, "the copy is not complete")


class FullDisk(Disk):
    """A disk with room for so many writes. Truncating and flushing a file need no room."""

    def operate(self, what: str) -> None:
        if what == "write":
            try:
                super().operate(what)
            except apsw.FullError:
                raise apsw.FullError("not an error") from None  # as the system's own disks have it


@pytest.mark.parametrize("renames", [True, False])
def test_file_systems_without_hard_links_take_backups_and_databases(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renames: bool
) -> None:
    without_links(monkeypatch, renames=renames)
    file = tmp_path / "backup.db"
    assert machine.script("backup", str(file))["bytes"] == file.stat().st_size
    refuse(machine, "backup", file, "exists already")
    there = Machine(tmp_path / "there")
    assert there.script("restore", str(file))["bytes"] == (tmp_path / "there" / "ostiary.db").stat().st_size
    assert {each.name for each in (tmp_path / "there").iterdir()} <= {"ostiary.db", "ostiary.db.lock"}


def prepare_copy(machine: Machine, folder: Path, command: str) -> tuple[Path, Machine, Path]:
    """Return an empty folder, and the machine and the file with which a command copies into it."""
    whole, target = folder / "whole.db", folder / "target"
    machine.script("backup", str(whole))
    target.mkdir()
    return (target, machine, target / "b.db") if command == "backup" else (target, Machine(target), whole)


@pytest.mark.parametrize("writes", [0, 1, 2, 5, 20])
@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_full_disk_is_named_and_empty(machine: Machine, tmp_path: Path, command: str, writes: int) -> None:
    """The command says that the disk is full, and leaves nothing of the copy on it."""
    target, elsewhere, file = prepare_copy(machine, tmp_path, command)
    with FullDisk() as disk:
        disk.fail_after(writes)
        refuse(elsewhere, command, file, ": the disk is full\n")
    assert list(target.iterdir()) == []


def test_a_failed_restore_leaves_nothing_and_can_be_done_again(machine: Machine, tmp_path: Path) -> None:
    machine.client()
    machine.script("backup", str(tmp_path / "whole.db"))
    elsewhere = Machine(tmp_path / "there")
    said: list[str] = []
    for writes in range(40, 1_000, 4):
        with FullDisk() as disk:
            disk.fail_after(writes)
            ran = elsewhere.run("restore", str(tmp_path / "whole.db"))
        if ran.exit_code == 0:
            break
        assert list((tmp_path / "there").iterdir()) == []
        said.append(ran.err)
    assert any("the store could not be used" in line for line in said), "it failed while all was ended"
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["ostiary.db"]


def test_an_end_that_is_still_in_the_log_is_not_lost_with_it(machine: Machine, tmp_path: Path) -> None:
    """SQLite does not say that the disk was too full to move the log into a file that is closed."""

    def erase(copy: Path) -> None:
        with closing(apsw.Connection(str(copy))) as connection:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.execute("PRAGMA journal_mode = WAL; DELETE FROM users").fetchall()

    restore(tmp_path / "here" / "ostiary.db", tmp_path / "ostiary.db", erase)
    with SQLiteStore(tmp_path / "ostiary.db") as restored:
        assert usernames(restored) == set()


@pytest.mark.parametrize("bytes_at_most", [0, 100_000])
@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_file_limit_is_reported(machine: Machine, tmp_path: Path, command: str, bytes_at_most: int) -> None:
    """The command reports the words of the system, and leaves nothing of the copy."""
    target, elsewhere, file = prepare_copy(machine, tmp_path, command)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_at_most, usual[1]))
    try:
        ran = elsewhere.run(command, str(file))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert (ran.exit_code, ran.out, "could not be copied" in ran.err) == (1, "", True)
    assert "not an error" not in ran.err
    assert list(target.iterdir()) == []


def test_sqlite_reads_a_backup_and_no_folder_is_made_for_one(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "not-mounted"
    refuse(machine, "backup", folder / "backup.db", f"there is no folder {folder}")
    assert not folder.exists()
    machine.script("backup", str(tmp_path / "backup.db"))
    connection = apsw.Connection(str(tmp_path / "backup.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("journal_mode") == "delete"
    assert connection.execute("SELECT count(*) FROM users").fetchall() == [(1,)]
    connection.close()


def test_a_backup_goes_to_standard_output_whole_and_leaves_no_file(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, made, make = machine.client(), list[str](), tempfile.mkdtemp

    def make_and_record(*of: Any, **named: Any) -> str:
        folder: str = make(*of, **named)
        # The process of a first server's start makes one as well, for sockets.
        made.extend([] if named else [folder])
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_record)
    with machine.serving() as address:
        before = token(address, secret)
        ran = machine.run("backup", "-")
    assert (ran.exit_code, ran.err) == (0, "")
    elsewhere, restore = Machine(tmp_path / "there"), ("restore", "-", "--keep-sessions")
    assert elsewhere.run(*restore).err.startswith("ostiary: standard input was empty")
    restored = elsewhere.run(*restore, stdin=ran.raw)
    assert (restored.exit_code, restored.err) == (0, "")
    assert {path.name for path in (tmp_path / "there").iterdir()} <= {"ostiary.db", "ostiary.db.lock"}
    assert [Path(each).parent.name for each in made] == ["here", "there", "there"], "beside the database"
    assert "stop the server and move it away first" in elsewhere.run(*restore, stdin=ran.raw).err
    assert len(made) == 3, "nothing is received for a database that is there"
    assert not [path.name for path in (tmp_path / "here").iterdir() if "backup" in path.name]
    with elsewhere.serving() as address:
        assert is_active(address, secret, before)
    refuse(Machine(tmp_path / "nowhere"), "backup", Path("-"), "there is no database")
    monkeypatch.setattr(BytesIOCopy, "isatty", lambda stream: True, raising=False)
    refuse(machine, "backup", Path("-"), "standard output is a terminal")


# --- made small


def erase_much(path: Path) -> None:
    """Leave empty pages in a file, as retention does."""
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE much (x)")
    connection.execute("INSERT INTO much SELECT randomblob(100000) FROM pragma_function_list LIMIT 50")
    connection.execute("DROP TABLE much")
    connection.close()


def test_a_file_is_made_small_if_no_process_uses_it(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, secret = tmp_path / "here" / "ostiary.db", machine.client()
    erase_much(file)
    before, beside = file.stat().st_size, list[str]()

    def compact(path: Path) -> tuple[int, int]:
        beside.append(os.environ["SQLITE_TMPDIR"])
        return compact_file(path)

    monkeypatch.setattr(backup, "compact_file", compact)
    with machine.serving() as address:
        live = token(address, secret)
        ran = machine.run("compact")
        assert (ran.exit_code, ran.out, "is in use: stop the server" in ran.err) == (1, "", True)
        assert is_active(address, secret, live)
    starting = WriterLock(file)
    starting.acquire()
    assert "is in use: stop the server" in machine.run("compact").err
    starting.close()
    made = machine.script("compact")
    assert beside == [str(file.parent)] * 3, "what SQLite needs meanwhile is where the file is"
    after = file.stat().st_size
    assert made == {"bytes": after, "gained": made["gained"]}
    assert made["gained"] > 4_000_000 > before - after - made["gained"]
    with machine.serving() as address:
        assert is_active(address, secret, live)


@pytest.mark.parametrize("writes", [0, 5, 30])
def test_a_disk_that_is_full_leaves_the_file_as_it_was(machine: Machine, tmp_path: Path, writes: int) -> None:
    erase_much(tmp_path / "here" / "ostiary.db")
    with FullDisk() as disk:
        disk.fail_after(writes)
        ran = machine.run("compact")
        disk.fail_after(writes)
        assert "cannot be used: the disk is full" in Machine(tmp_path / "new").run("migrate").err
    assert (ran.exit_code, ran.out) == (1, "")
    assert ran.err.endswith("the disk is full\n")
    assert machine.run("client", "list").exit_code == 0
    assert machine.script("compact")["gained"] > 4_000_000
