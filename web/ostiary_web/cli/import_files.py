"""The rows of a file to import, by its ending: a sheet (.xlsx), CSV, or a JSON object a line (.jsonl)."""

import csv
import sys
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec

from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_web.api.resources.fields import ListView
from ostiary_web.api.resources.imports import LONGEST_IMPORT, read_rows
from ostiary_web.api.resources.resource import Fields
from ostiary_web.sheets.reading import MOST_ROWS, Row, Sheet, read_sheet
from ostiary_web.texts import LANGUAGES

T = TypeVar("T")
V = TypeVar("V")


def read_import_file(path: Path, list_view: ListView[T, V]) -> Mapping[int, Fields] | tuple[FieldFault, ...]:
    """The rows as JSON objects by their numbers, or what is wrong with the headings. A file that cannot be
    read ends the command with one line."""
    content = _content(path)
    if path.suffix == ".xlsx":
        return read_rows(list_view, read_sheet(content), LANGUAGES)
    if path.suffix == ".csv":
        return read_rows(list_view, _read_csv(path, content), LANGUAGES)
    if path.suffix == ".jsonl":
        return _read_json_lines(path, content)
    return _exit(path, "has none of the endings .xlsx, .csv and .jsonl")


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_IMPORT + 1)
    except OSError as error:
        _exit(path, f"cannot be read: {error.strerror}")
    if len(content) > LONGEST_IMPORT:
        _exit(path, f"has more than {LONGEST_IMPORT} bytes; import it in parts")
    return content


def _read_csv(path: Path, content: bytes) -> Sheet:
    """Numbered as a spreadsheet numbers them, with the headings as the first row."""
    rows = []
    try:
        for number, cells in enumerate(
            csv.reader(StringIO(_text(path, content), newline=""), strict=True), 1
        ):
            if any(cell.strip() for cell in cells):
                rows.append(Row(number, cells))
    except csv.Error as error:
        _exit(path, f"is no CSV: {error}")
    if not rows:
        return FieldRule.SHEET_EMPTY
    return FieldRule.SHEET_TOO_LARGE if len(rows) > MOST_ROWS + 1 else tuple(rows)


def _read_json_lines(path: Path, content: bytes) -> Mapping[int, Fields] | tuple[FieldFault, ...]:
    rows = dict(_json_objects(path, _text(path, content)))
    if not rows:
        return (FieldFault("file", FieldRule.SHEET_EMPTY),)
    return (FieldFault("file", FieldRule.SHEET_TOO_LARGE),) if len(rows) > MOST_ROWS else rows


def _json_objects(path: Path, text: str) -> Iterator[tuple[int, Fields]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, msgspec.json.decode(line, type=dict[str, object])
        except (msgspec.DecodeError, RecursionError):
            _exit(path, f"line {number} is no JSON object")


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        _exit(path, "is no text in UTF-8")


def _exit(path: Path, fault: str) -> NoReturn:
    sys.exit(f"ostiary: {str(path)!r} {fault}")
