"""Uploaded files: whole or not at all, each under a name of its own, and no way to any other file."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from fuzz.shared.seeds import SeededEntropy
from ostiary_net.runtime.files import Files
from ostiary_net.runtime.system import run_inline


def files_in(folder: Path) -> Files:
    return Files(folder / "files", entropy_source=SeededEntropy(), run_sync=run_inline)


async def test_what_is_kept_is_read_back_until_it_is_removed(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    name = await files.keep(b"content", "png")
    assert await files.read(name) == b"content"
    await files.remove(name)
    assert await files.read(name) is None
    await files.remove(name)


async def test_equal_contents_are_files_apart_so_that_one_can_be_removed(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    first, second = await files.keep(b"content", "png"), await files.keep(b"content", "png")
    assert first != second
    await files.remove(first)
    assert await files.read(second) == b"content"


async def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    name = await files_in(tmp_path / "other").keep(b"content", "png")
    (tmp_path / "files" / name).mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        await files.keep(b"content", "png")
    assert [path.name for path in (tmp_path / "files").iterdir()] == [name]


async def test_a_file_that_the_disk_does_not_let_go_is_told_and_breaks_nothing(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    name = "a" * 64 + ".png"
    (tmp_path / "files" / name).mkdir(parents=True)
    with capture_logs() as logs:
        await files.remove(name)
    assert [(told["event"], told["file"]) for told in logs] == [("file not removed", name)]


async def test_after_keeping_there_is_the_file_and_nothing_beside_it(tmp_path: Path) -> None:
    files = Files(tmp_path / "files", entropy_source=SeededEntropy())
    name = await files.keep(b"content", "webp")
    assert [path.name for path in (tmp_path / "files").iterdir()] == [name]


HOSTILE = [
    "",
    ".",
    "..",
    "../secret",
    "..%2fsecret",
    "/etc/passwd",
    "a" * 64,
    "a" * 64 + ".png\x00",
    "a" * 64 + ".png/../../secret",
    "A" * 64 + ".png",
    "." + "a" * 64 + ".png",
    "a" * 64 + ".png\n",
    "a" * 64 + ".",
]


@pytest.mark.parametrize("name", HOSTILE)
async def test_no_other_name_reaches_the_disk(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    files = files_in(tmp_path)
    await files.keep(b"content", "png")
    assert await files.read(name) is None
    await files.remove(name)
    assert (tmp_path / "secret").exists()
