"""A command reports an error of the machine in one line, and a failed start in the form of the log."""

import errno
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import click
import psycopg
import pytest

from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.cli.command_line import main
from tests.support.processes import Machine

TROUBLES: dict[str, Exception] = {
    "full": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x"),
    "read-only": OSError(errno.EROFS, os.strerror(errno.EROFS), "/data/x"),
    "of a nursery": ExceptionGroup("nursery", [PermissionError(errno.EACCES, "Permission denied", "/data")]),
    "SQLite": apsw.FullError("database or disk is full"),
    "PostgreSQL": psycopg.OperationalError("the server closed the connection\n\tunexpectedly"),
    "a turn": TurnFailed(),
}
MORE_WORDS = {
    **dict.fromkeys(("client", "role", "session", "user"), ("list",)),
    **dict.fromkeys(("apply", "backup", "restore", "explain"), ("x",)),
    "audit": ("export",),
    "copy": ("x", "y"),
}
COMMANDS = sorted({*main.load_all()} - {"work"})


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_ends_with_one_line_for_what_the_machine_does_to_it(
    name: str, trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object, **options: object) -> None:
        raise TROUBLES[trouble]

    command = main.commands[name]
    for each in command.commands.values() if isinstance(command, click.Group) else [command]:
        monkeypatch.setattr(each, "invoke", fail)
    words = (name, *MORE_WORDS.get(name, ()))
    ran = Machine(tmp_path).run(*words)
    assert ran.exit_code == 1
    [line] = ran.err.splitlines()
    assert line.startswith("ostiary: ")
    assert ("the disk is full" in line) == (trouble in ("full", "SQLite"))
    monkeypatch.setitem(TROUBLES, trouble, KeyError("a fault of the program"))
    with pytest.raises(KeyError):
        Machine(tmp_path).run(*words)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk with too little room for a database."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("taken_kib", [0, 40, 64])
def test_a_full_disk_is_named_at_the_start(taken_kib: int, small_disk: Path, tmp_path: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(taken_kib * 1024))
    ran = Machine(tmp_path, DATABASE_URL=f"sqlite:///{small_disk}/ostiary.db").run("migrate")
    assert (ran.exit_code, ran.err.count("\n")) == (1, 1)
    assert "ostiary.db cannot be used: the disk is full; allowed: " in ran.err


def test_a_migration_needs_no_data_folder_nor_key(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "data", tmp_path / "empty"):
        ran = Machine(tmp_path, DATA_DIR=str(folder)).run("migrate")
        assert (ran.exit_code, ran.err) == (0, "")
        assert not folder.exists()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("words", ["migrate", "serve"])
@pytest.mark.parametrize(
    "settings, reason",
    [
        ({"DATABASE_URL": "sqlite:////dev/null/ostiary.db"}, "DATABASE_URL: sqlite:////dev/null/ostiary.db"),
        ({"BIND": "nonsense"}, "BIND: "),
        ({"ADMIN_USERNAME": "two words"}, "ADMIN_USERNAME: "),
    ],
)
def test_why_a_start_failed_stands_in_the_log_in_its_form(
    words: str, settings: dict[str, str], reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = Machine(tmp_path, **settings, LOG_FORMAT="json").run(words)
    assert ran.exit_code == 1
    *_, last = map(json.loads, (capfd.readouterr().err + ran.err).splitlines())
    assert (last["level"], last["event"]) == ("critical", "cannot start")
    assert last["reason"].startswith(reason)
    # A person reads what a command says.
    ran = Machine(tmp_path / "none", LOG_FORMAT="json").run("client", "list")
    assert ran.err.startswith("ostiary: DATABASE_URL: ")
