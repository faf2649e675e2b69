"""Uploaded files: each is written whole or not at all, under its own name, and gives access to no other."""

import os
import threading
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from fuzz.shared.seeds import SeededEntropy
from ostiary_core.model.secret import Entropy
from ostiary_net.front_door.limits import CannotStart
from ostiary_net.runtime.files import Files, create_for_owner_of, give_free_name
from ostiary_net.runtime.system import SystemEntropy, run_inline
from ostiary_web.server.second_factor_key import KEY_FILE, make_second_factor_key, read_key_file
from tests.support.files import without_links
from tests.support.stores import at_once


def files_in(folder: Path) -> Files:
    return Files(folder / "files", entropy_source=SeededEntropy(), run_sync=run_inline)


async def test_a_file_is_on_the_disk_until_it_is_removed_and_has_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[int, str]] = []

    def flush(descriptor: int) -> None:
        flushed.append((descriptor, os.readlink(f"/proc/self/fd/{descriptor}")))

    monkeypatch.setattr(os, "fsync", flush)
    files = files_in(tmp_path)
    name = await files.keep(b"content", "png")
    assert [path for _, path in flushed] == [f"{files.folder}/.{name}", f"{files.folder}"]
    for descriptor, _ in flushed:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    assert [path.name for path in (tmp_path / "files").iterdir()] == [name]
    assert await files.read(name) == b"content"
    with capture_logs() as logs:
        await files.remove(name)
        assert await files.read(name) is None
        await files.remove(name)
    assert logs == []


async def test_equal_contents_are_files_apart_so_that_one_can_be_removed(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    first, second = await files.keep(b"content", "png"), await files.keep(b"content", "png")
    assert first != second
    await files.remove(first)
    assert await files.read(second) == b"content"


async def test_nothing_is_left_of_a_file_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_in(tmp_path)
    name = await files_in(tmp_path / "other").keep(b"content", "png")
    (tmp_path / "files" / name).mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        await files.keep(b"content", "png")
    monkeypatch.setattr(Path, "write_bytes", lambda *_: os.write(os.open("/dev/full", os.O_WRONLY), b"x"))
    with pytest.raises(OSError, match="No space"):
        await files.keep(b"content", "png")
    assert [path.name for path in (tmp_path / "files").iterdir()] == [name]


async def test_a_file_that_cannot_be_removed_is_logged(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    name = DIGEST + ".png"
    (tmp_path / "files" / name).mkdir(parents=True)
    with capture_logs() as logs:
        await files.remove(name)
    entry = {"event": "file not removed", "file": name, "cause": "IsADirectoryError", "log_level": "warning"}
    assert logs == [entry]


DIGEST = "a" * 64


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            ".",
            "..",
            "../secret",
            "..%2fsecret",
            "/etc/passwd",
            DIGEST,
            DIGEST + ".",
            "." + DIGEST + ".png",
        ),
        *(DIGEST + ".png/../../secret", DIGEST.upper() + ".png", DIGEST + ".png\x00", DIGEST + ".png\n"),
    ],
)
async def test_no_other_name_reaches_the_disk(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    files = files_in(tmp_path)
    await files.keep(b"content", "png")
    assert await files.read(name) is None
    await files.remove(name)
    assert (tmp_path / "secret").exists()


def test_what_root_makes_belongs_to_the_owner_of_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[int, ...]] = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "fchown", lambda *to: given.append(to))
    create_for_owner_of(tmp_path, tmp_path / "file")
    [(descriptor, *owner)] = given
    assert owner == [tmp_path.stat().st_uid, tmp_path.stat().st_gid]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


# --- names that are given once


@pytest.fixture(params=["links", "renames", "neither"])
def _file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """exFAT, CIFS and Azure Files have no hard links, and not all of them can rename to a free name alone."""
    if request.param != "links":
        without_links(monkeypatch, renames=request.param == "renames")


@pytest.mark.usefixtures("_file_system")
def test_a_name_is_given_to_a_whole_file_and_never_taken_from_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, name = Path("first"), Path("second"), Path("name")
    first.write_text("whole")
    give_free_name(first, name)
    second.write_text("another")
    with pytest.raises(FileExistsError):
        give_free_name(second, name)
    assert (name.read_text(), second.read_text()) == ("whole", "another")
    assert not first.exists()
    with pytest.raises(FileNotFoundError):
        give_free_name(first, tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.usefixtures("_file_system")
def test_first_starts_that_race_have_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", threading.get_native_id)  # each thread stands for a process
    made = at_once([partial(make_second_factor_key, tmp_path / "data", SystemEntropy())] * 8)
    assert len({key for key, _ in made}) == 1
    assert [is_new for _, is_new in made].count(True) == 1
    assert [file.name for file in (tmp_path / "data").iterdir()] == [KEY_FILE]


def test_an_overtaken_start_takes_the_others_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, found = count(), list[tuple[bytes, bool]]()
    monkeypatch.setattr(os, "getpid", lambda: next(numbers))

    class Overtaken(SystemEntropy):
        def draw(self) -> Entropy:
            found.append(make_second_factor_key(tmp_path, SystemEntropy()))
            return super().draw()

    late = make_second_factor_key(tmp_path, Overtaken())
    assert found == [(late[0], True)]
    assert (late[1], read_key_file(tmp_path)) == (False, late[0])


def test_a_key_file_that_stays_empty_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).touch()
    with pytest.raises(CannotStart, match="it is empty, as a first start was interrupted: remove it"):
        make_second_factor_key(tmp_path, SystemEntropy())
