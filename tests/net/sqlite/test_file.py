"""The database file: who may read it, how it is written, its schema, and files that are not ours."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import apsw
import pytest

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Insert, Update
from ostiary_core.model.records import Role, Table
from ostiary_core.model.reply import CodeIssued
from ostiary_core.model.secret import Secret
from ostiary_net.sql.columns import TABLES, make_row_codec
from ostiary_net.sql.migrations import Migration
from ostiary_net.sqlite import SchemaError, SQLiteStore
from ostiary_net.sqlite.file import FileMoved, describe_fault
from ostiary_net.sqlite.record_sql import PARTS
from ostiary_net.sqlite.schema import bring_up_to_date, known_migrations
from ostiary_net.sqlite.writer import WriterLock
from ostiary_net.turns.turn_queue import LONGEST_WAIT_SECONDS
from tests.support import asks, story
from tests.support.stores import live, usernames
from tests.support.story import START

NEWER = known_migrations()[-1].version + 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "made" / "ostiary.db"


@pytest.fixture
def no_umask() -> Iterator[None]:
    previous = os.umask(0)
    yield
    os.umask(previous)


# --- who may read it, how it is written


@pytest.mark.usefixtures("no_umask")
def test_every_file_of_the_store_is_its_owners_alone(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.turn([asks.user()], START)
        modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == dict.fromkeys((f"ostiary.db{ending}" for ending in ("", "-wal", "-shm", ".lock")), 0o600)


def test_every_setting_of_the_connections_took_effect(path: Path) -> None:
    with SQLiteStore(path) as store:
        writer = store._writer._open_connection()
        assert store.try_begin_turn() is None, "which waits for nobody while it tries"
        assert writer.pragma("journal_mode") == "wal"
        full, fast = 2, 2
        assert (writer.pragma("synchronous"), writer.pragma("secure_delete")) == (full, fast)
        assert writer.pragma("fullfsync") == writer.pragma("checkpoint_fullfsync") == 1
        assert writer.pragma("busy_timeout") == 8_000
        assert LONGEST_WAIT_SECONDS > 8, "a caller who has gone is told nothing of why"
        assert writer.pragma("journal_size_limit") == 64 * 1024 * 1024
        for name, value in (("DEFENSIVE", 1), ("TRUSTED_SCHEMA", 0), ("ENABLE_QPSG", 1)):
            assert writer.config(getattr(apsw, f"SQLITE_DBCONFIG_{name}"), -1) == value
        assert writer.pragma("cache_size") == -4_096
        assert writer.pragma("mmap_size") == 0
        assert not writer.open_flags & apsw.SQLITE_OPEN_CREATE, "what was moved away is not made anew"
        with store._readers.snapshot() as reader:
            assert (reader.pragma("query_only"), reader.readonly("main")) == (1, True)
            memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
            assert memory // 2 - 1 <= reader.pragma("mmap_size") <= memory // 2
            assert reader.pragma("cache_size") == -4_096
            with pytest.raises(apsw.ReadOnlyError):
                reader.execute("DELETE FROM users")


def test_a_connection_that_was_given_up_is_made_anew_by_what_waits(path: Path) -> None:
    store = SQLiteStore(path)
    with (path.parent / "ostiary.db-wal").open():  # so that the next log has another number
        for _ in range(2):
            store.check_ready()
            store._writer._open_connection().close()
            with pytest.raises(apsw.ConnectionClosedError):
                store.check_ready()
    assert store.try_begin_turn() is None, "what waits makes the connection anew"
    kept = path.rename(path.with_name("kept"))
    with pytest.raises(FileMoved):
        store.check_ready()
    kept.rename(path)
    with closing(WriterLock(path)) as lock:
        assert lock.try_acquire(), "a turn that cannot begin holds up no other process"
    store.close()


def test_a_closed_store_says_so_and_closing_again_is_nothing(path: Path) -> None:
    store = SQLiteStore(path)
    store.close()
    store.close()
    turn, read = partial(store.turn, [asks.user()], START), partial(store.records, Table.USER)
    for asked in (turn, read, store.begin_turn, store.try_begin_turn):
        with pytest.raises(RuntimeError, match="closed"):
            asked()
    assert {file.name for file in path.parent.iterdir()} == {"ostiary.db", "ostiary.db.lock"}


@pytest.mark.parametrize("ending", ["", "-wal"])
def test_no_turn_is_kept_in_a_file_that_was_moved_away(path: Path, ending: str) -> None:
    with SQLiteStore(path) as store:
        store.turn([asks.user("before")], START)
        gone = path.with_name(path.name + ending)
        gone.rename(path.with_name("kept"))
        for begin in (store.begin_turn, store.try_begin_turn, store.check_ready):
            with pytest.raises(FileMoved, match=re.escape(f"{gone} was moved away")):
                begin()
        gone.touch()
        with pytest.raises(FileMoved, match="another file"):
            store.begin_turn()
        if not ending:
            for read in (partial(store.records, Table.USER), store.checkpoint):
                with pytest.raises(FileMoved):
                    read()
            with pytest.raises(FileMoved, match="without its database"):
                SQLiteStore(path)
        path.with_name("kept").rename(gone)
        store.turn([asks.user("after")], START)
    with SQLiteStore(path) as again:
        assert {"before", "after"} <= usernames(again)


def test_no_token_code_or_secret_is_in_any_file_of_the_store(path: Path) -> None:
    with SQLiteStore(path) as store:
        secrets = {each for _, decision in live(store) for each in secrets_in(decision.reply)}
        held = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert len(secrets) > 20
    said = {secret.reveal() for secret in secrets}
    text_codes = {secret for secret in said if len(secret) == 6}
    assert not [secret for secret in said - text_codes if secret.encode() in held]
    digests: set[bytes] = {secret.digest for secret in secrets}
    assert len([digest for digest in digests if digest in held]) > 10, "the digests should be there"


def secrets_in(item: Any) -> Iterator[Secret]:
    if isinstance(item, Secret):
        yield item
    elif isinstance(item, CodeIssued):
        yield story.code_in(item)
    elif is_dataclass(item):
        for each in fields(item):
            yield from secrets_in(getattr(item, each.name))


# --- the schema


TYPES = {str: "TEXT", bytes: "BLOB", int: "INTEGER", bool: "INTEGER"}


def read_columns(kind: type[Any]) -> dict[str, tuple[str, bool]]:
    """Return the columns of a class: their type and whether they may be NULL."""
    columns: dict[str, tuple[str, bool]] = {}
    hints = get_type_hints(kind)
    names = iter(make_row_codec(kind).columns)
    for field in fields(kind):
        members = get_args(hints[field.name])
        optional = NoneType in members
        is_union = get_origin(hints[field.name]) in (Union, UnionType)
        plain: Any = next(m for m in members if m is not NoneType) if is_union else hints[field.name]
        plain = getattr(plain, "__supertype__", plain)
        # Most entries record no change, and have NULL then.
        optional = optional or plain == tuple[FieldChange, ...]
        if get_origin(plain) is tuple or issubclass(plain, Enum):
            plain = str
        if issubclass(plain, tuple):
            columns |= {next(names): ("INTEGER", False) for _ in plain._fields}
        else:
            columns[next(names)] = (TYPES[plain], optional)
    return columns


@pytest.mark.parametrize(
    "name, kind, key",
    [(stored.name, stored.record, stored.key) for stored in TABLES.values()]
    + [(part, AuditEntry, ("number",)) for part in PARTS],
)
def test_the_schema_fits_the_class(path: Path, name: str, kind: type[Any], key: tuple[str, ...]) -> None:
    with SQLiteStore(path) as store:
        rows: list[Any] = store._writer._open_connection().execute(f"PRAGMA table_info({name})").fetchall()
        [[strict]] = (
            store._writer._open_connection()
            .execute("SELECT strict FROM pragma_table_list(?)", (name,))
            .fetchall()
        )
    assert {row[1]: (row[2], not row[3]) for row in rows} == read_columns(kind)
    assert tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5]) == key
    assert strict == 1


def test_a_step_that_fails_leaves_the_schema_as_it_was(path: Path) -> None:
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    steps = (*known_migrations(), Migration(NEWER, "bad", "CREATE TABLE x (y); NONSENSE"))
    with pytest.raises(apsw.SQLError):
        bring_up_to_date(connection, START, steps)
    assert connection.execute("SELECT name, sql FROM sqlite_schema").fetchall() == []
    connection.close()


# --- files that are not ours


@pytest.mark.parametrize(
    "is_made, statement, message",
    [
        (
            True,
            f"INSERT INTO schema_migrations VALUES ({NEWER}, 'of_tomorrow', 0); PRAGMA journal_mode = DELETE",
            f"version {NEWER}.*newer Ostiary",
        ),
        (True, "UPDATE schema_migrations SET name = 'of_a_fork'", "different Ostiary"),
        (False, "CREATE TABLE things (thing)", "another program"),
        (False, "PRAGMA application_id = 7", "another program"),
        (False, None, "not a SQLite file"),
    ],
)
def test_a_foreign_file_is_left_alone(path: Path, is_made: bool, statement: str | None, message: str) -> None:
    path.parent.mkdir()
    if is_made:
        SQLiteStore(path).close()
    if statement is None:
        path.write_text("Dear diary, " * 200)
    else:
        connection = apsw.Connection(str(path))
        connection.execute(statement).fetchall()
        connection.close()
    before, open_files = path.read_bytes(), os.listdir("/proc/self/fd")
    with pytest.raises(SchemaError, match=message):
        SQLiteStore(path)
    assert (path.read_bytes(), os.listdir("/proc/self/fd")) == (before, open_files)
    assert {file.name for file in path.parent.iterdir()} <= {path.name, path.name + ".lock"}


def test_an_update_that_changes_nothing_is_refused_in_words(path: Path) -> None:
    role = Role(role_id="clerk", name="Clerk")
    with SQLiteStore(path) as store:
        store.write([Insert(role)])
        with pytest.raises(ValueError, match="must change a column"):
            store.write([Update(role, role)])
        assert store.records(Table.ROLE) == (role,)


def test_an_error_that_every_later_turn_will_meet_too_is_the_files(path: Path) -> None:
    of_one_turn = (apsw.BusyError, apsw.LockedError, apsw.ConstraintError, FileMoved, ValueError)
    with SQLiteStore(path) as store:
        kinds: tuple[type[Exception], ...] = (*of_one_turn, apsw.IOError, apsw.FullError)
        assert [kind for kind in kinds if store.is_broken_by(kind())] == [apsw.IOError, apsw.FullError]


def fault(kind: type[apsw.Error], code: int, text: str = "disk I/O error") -> apsw.Error:
    """Return an error of SQLite with one of its extended codes."""
    error: Any = kind(text)
    error.extendedresult = code
    assert isinstance(error, apsw.Error)
    return error


@pytest.mark.parametrize(
    "error, said",
    [
        (OSError(errno.ENOSPC, "No space left on device", "f"), "the disk is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "f"), "the disk is full"),
        (apsw.FullError("database or disk is full"), "the disk is full"),
        (fault(apsw.IOError, apsw.SQLITE_IOERR_SHMSIZE), "the disk is full"),
        (fault(apsw.IOError, apsw.SQLITE_IOERR_READ), "disk I/O error"),
        (fault(apsw.IOError, apsw.SQLITE_IOERR_READ, "not an error"), "SQLite says SQLITE_IOERR_READ"),
        (fault(apsw.BusyError, -1, "not an error"), "SQLite says BusyError"),
        (OSError(errno.EACCES, "Permission denied", b"/x/\xff"), "/x/\udcff: Permission denied"),
        (OSError(errno.EACCES, "Permission denied"), "[Errno 13] Permission denied"),
        (FileMoved("it was\nmoved"), "it was moved"),
        (ValueError("not an error"), "not an error"),
    ],
    ids=repr,
)
def test_a_fault_of_the_file_is_described_on_one_line(error: Exception, said: str) -> None:
    assert describe_fault(error) == said
