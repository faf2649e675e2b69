"""Read the rows of a file to import by its ending: a sheet (.xlsx, .csv), or JSON lines (.jsonl).

Standard input has no ending: it has JSON lines if it begins with a brace, as no sheet does.
"""

import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec

from ostiary_core.model.fields import FieldFault, FieldRule, Fields
from ostiary_web.application.resources.fields import ListView
from ostiary_web.application.resources.imports import LONGEST_IMPORT
from ostiary_web.application.resources.sheet_rows import SheetRows, read_objects, read_rows
from ostiary_web.cli.arguments import STANDARD_INPUT
from ostiary_web.sheets.cells import MOST_ROWS
from ostiary_web.sheets.reading import read_sheet
from ostiary_web.streams import exit_with
from ostiary_web.texts import LANGUAGES

T = TypeVar("T")
V = TypeVar("V")


def read_import_file(path: Path, list_view: ListView[T, V]) -> SheetRows:
    """Return the rows of a file, or what is wrong with them; exit with one line if it cannot be read."""
    content = _read_file(path)
    if path == STANDARD_INPUT:
        is_json = content.removeprefix(BOM_UTF8).lstrip().startswith(b"{")
        return _read_json_lines(path, content) if is_json else _read_sheet(list_view, content)
    match path.suffix.lower():
        case ".xlsx" | ".csv":
            return _read_sheet(list_view, content)
        case ".jsonl":
            return _read_json_lines(path, content)
    return _exit(path, "must end in .xlsx, .csv or .jsonl")


def _read_sheet(list_view: ListView[T, V], content: bytes) -> SheetRows:
    return read_rows(list_view, read_sheet(content), LANGUAGES)


def _read_file(path: Path) -> bytes:
    try:
        with sys.stdin.buffer if path == STANDARD_INPUT else path.open("rb") as file:
            content = file.read(LONGEST_IMPORT + 1)
    except OSError as error:
        _exit(path, f"cannot be read: {error.strerror}")
    if len(content) > LONGEST_IMPORT:
        _exit(path, f"has more than {LONGEST_IMPORT} bytes; import it in parts")
    return content


def _read_json_lines(path: Path, content: bytes) -> SheetRows:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        _exit(path, "is not text in UTF-8, which JSON always is (RFC 8259)")
    rows = dict(_decode_json_lines(path, text))
    if 0 < len(rows) <= MOST_ROWS:
        return read_objects(rows)
    rule = FieldRule.SHEET_TOO_LARGE if rows else FieldRule.SHEET_EMPTY
    return SheetRows(by_number={}, faults=(FieldFault("file", rule),), headings={})


def _decode_json_lines(path: Path, text: str) -> Iterator[tuple[int, Fields]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, msgspec.json.decode(line, type=dict[str, object])
        except (msgspec.DecodeError, RecursionError):
            _exit(path, f"line {number} is not a JSON object")


def _exit(path: Path, fault: str) -> NoReturn:
    exit_with(f"{str(path)!r} {fault}")
