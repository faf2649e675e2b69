"""A hostile sheet costs only its own import, and neither the server nor other users."""

import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import trio

from ostiary_core.model.fields import FieldRule
from ostiary_core.model.permissions import Permission
from ostiary_web.sheets import child as sheet_child
from ostiary_web.sheets.cells import Row, Sheet
from ostiary_web.sheets.reader import SheetReader, read_sheet_in_place
from tests.support.callers import expect_refusal, expect_success, fields_of
from tests.support.files import book_around, cells, shared_texts, sheet_of
from tests.support.people import holder_of
from tests.support.served import Serve

REFERENCE: Final = '<c t="s"><v>0</v></c>'


def _rows(row: str, number: int) -> bytes:
    return cells(f"<row>{row}</row>" * number)


def _one_text(text: str, references: int) -> bytes:
    """Return a sheet of one shared text, to which fifteen cells in each row refer."""
    return book_around(_rows(REFERENCE * 15, references // 15), **shared_texts(f"<si>{text}</si>"))


PLAIN = _rows("<c><v>1</v></c>", 1)
REFUSED_AT_ONCE: Final[Mapping[str, Callable[[], bytes]]] = {
    "a long text in 30,000 cells": lambda: _one_text(f"<t>{'x' * 32_000}</t>", 30_000),
    "60 million characters in 60 cells": lambda: _one_text(f"<t>{'x' * 60_000_000}</t>", 60),
    "a text of many runs": lambda: _one_text(f"<r><rPr><b/></rPr><t>{'x' * 300}</t></r>" * 100, 30_000),
    "texts in their cells": lambda: book_around(
        _rows(f'<c t="inlineStr"><is><t>{"x" * 32_000}</t></is></c>', 1_000)
    ),
    "one huge text": lambda: book_around(_rows(f'<c t="str"><v>{"x" * 60_000_000}</v></c>', 1)),
    "elements in elements": lambda: book_around(b"<a>" * 20_000_000),
    "shared texts that are empty": lambda: book_around(PLAIN, **shared_texts("<si/>" * 10_000_000)),
    "two million cells": lambda: book_around(_rows("<c><v>1</v></c>" * 200, 10_000)),
    "a bomb of spaces": lambda: book_around(cells(" " * 140_000_000)),
    "a name of a million letters": lambda: book_around(
        PLAIN, **{"xl/workbook.xml": b"<workbook " + b"x" * 100_000_000}
    ),
}
"""Sheets that the bounds refuse before anything is built of them."""
ENOUGH_FOR_ANY_BYTES = 256 * 1024 * 1024
"""The address space that suffices to refuse any of these sheets: less than a reader may have."""
ROLES = "/api/iam/roles"


def readers() -> set[int]:
    """Return the processes that read sheets for this one now."""
    children = [each for tasks in Path("/proc/self/task").glob("*/children") for each in _words(tasks)]
    commands = {int(child): "".join(_words(Path(f"/proc/{child}/cmdline"))) for child in children}
    return {child for child, command in commands.items() if sheet_child.__name__ in command}


def _words(file: Path) -> list[str]:
    """Return the words of a file in /proc; none if its process or thread has ended."""
    try:
        return file.read_text().split()
    except OSError:
        return []


async def reader_started() -> None:
    while not readers():  # noqa: ASYNC110 (the kernel reports no new process)
        await trio.sleep(0.01)


def environment_of(process: int) -> set[str]:
    """Return the names of a process's variables."""
    return {each.partition("=")[0] for each in Path(f"/proc/{process}/environ").read_text().split("\0")}


def find_open_files(process: int) -> set[str]:
    """Return the open files of a process: each one's name, else its kind; a number if it was just closed."""
    opened = (os.path.realpath(each) for each in Path(f"/proc/{process}/fd").iterdir())
    return {re.sub(rf"/proc/{process}/fd/|:.*", "", each) for each in opened}


async def test_what_no_bound_foresees_is_ended_by_the_limits_of_the_process(serve: Serve) -> None:
    content = book_around(_rows('<c s="1"/>' * 1_000, 10_000))
    async with serve(read_sheet=SheetReader().read) as served:
        api = await holder_of(served, Permission.ROLE_CREATE)
        failure = expect_refusal(await api.import_sheet(ROLES, content, "insert"), 400, "A0401")
        assert fields_of(failure) == ["file"]
        good = [["code", "name"], ["porter", "Porter"]]
        assert expect_success(await api.import_sheet(ROLES, good, "insert"))["created"] == 1


# --- the bounds


@pytest.mark.parametrize("build", REFUSED_AT_ONCE.values(), ids=REFUSED_AT_ONCE)
def test_a_bound_refuses_before_the_memory_is_used(build: Callable[[], bytes]) -> None:
    """The reader has less memory here than usual, and still answers instead of being killed."""
    command, most = [sys.executable, "-m", sheet_child.__name__], (ENOUGH_FOR_ANY_BYTES,) * 2
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, most)
    done = subprocess.run(command, input=build(), capture_output=True, preexec_fn=limit, check=True)
    assert done.stdout in (b'"sheet"', b'"sheet-too-large"')


# --- the process


async def test_a_process_reads_what_is_read_in_place() -> None:
    for content in (
        sheet_of([["a", 1, 1.5, True, False, None, "=1+1", "中文 🚪"], [None], [-0.0, 1e300]]),
        book_around(cells("<row><c><v>NaN</v></c><c><v>inf</v></c><c t='d'><v>2026-01-02</v></c></row>")),
        b"no sheet",
    ):
        assert await SheetReader().read(content) == await read_sheet_in_place(content), content


@pytest.fixture(scope="module")
def slow_sheet() -> bytes:
    return book_around(cells("\n" * 60_000_000))


async def test_a_process_knows_nothing_of_the_server(
    serve: Serve, slow_sheet: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMS_GATEWAY_TOKEN", "a secret of the server")
    async with serve(), trio.open_nursery() as nursery:
        nursery.start_soon(SheetReader().read, slow_sheet)
        await reader_started()
        [reader] = readers()
        assert environment_of(reader) <= {"", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH"}
        # Python opens and closes files while it starts; files of the server would stay open.
        with trio.fail_after(60):
            while find_open_files(reader) != {"pipe", os.devnull}:  # noqa: ASYNC110 (as above)
                await trio.sleep(0.01)
        nursery.cancel_scope.cancel()


async def test_a_caller_who_goes_away_leaves_no_process_behind(slow_sheet: bytes) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(SheetReader().read, slow_sheet)
        await reader_started()
        nursery.cancel_scope.cancel()
    assert not readers()


async def test_a_sheet_that_takes_too_long_is_refused(slow_sheet: bytes) -> None:
    assert await SheetReader(most_seconds=0).read(slow_sheet) is FieldRule.SHEET_TOO_LARGE
    assert not readers()


async def test_few_are_read_at_a_time(slow_sheet: bytes) -> None:
    reader = SheetReader()
    read: list[Sheet] = []

    async def take() -> None:
        read.append(await reader.read(sheet_of([["a"]])))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(take)
        while len(read) < 5:
            assert len(readers()) <= 2
            await trio.sleep(0.01)
    assert read == [(Row(1, ["a"]),)] * 5


async def test_a_caller_without_a_place_learns_when_to_come_again(serve: Serve, slow_sheet: bytes) -> None:
    reader = SheetReader(most_seconds_for_a_place=0.2)
    async with serve(read_sheet=reader.read) as served, trio.open_nursery() as nursery:
        api = await holder_of(served, Permission.ROLE_CREATE)
        for _ in range(2):
            nursery.start_soon(reader.read, slow_sheet)
        while len(readers()) < 2:  # noqa: ASYNC110 (as above)
            await trio.sleep(0.01)
        response = await api.import_sheet(ROLES, [["code", "name"], ["porter", "Porter"]])
        expect_refusal(response, 429, "A0429")
        assert response.headers["Retry-After"] == "6"
        nursery.cancel_scope.cancel()
