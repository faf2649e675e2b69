"""Read the rows of a file to import by its ending: a sheet (.xlsx), CSV, or JSON lines (.jsonl).

CSV is read as spreadsheet programs write it (RFC 4180 has the comma only): with commas, semicolons or tabs,
in UTF-8, in UTF-16 ("Unicode text"), or in the GB 2312 of Chinese systems.
"""

import codecs
import csv
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Final, NoReturn, TypeVar

import msgspec

from ostiary_core.model.fields import FieldFault, FieldRule, Fields
from ostiary_web.api.resources.fields import ListView
from ostiary_web.api.resources.imports import LONGEST_IMPORT
from ostiary_web.api.resources.sheet_rows import SheetRows, read_objects, read_rows
from ostiary_web.sheets.cells import MOST_COLUMNS, MOST_ROWS, BadCell, Cell, Row, Sheet
from ostiary_web.sheets.reading import read_sheet
from ostiary_web.streams import exit_with
from ostiary_web.texts import LANGUAGES

T = TypeVar("T")
V = TypeVar("V")

_DELIMITERS: Final = ",;\t"
_LONG_NUMBER: Final = re.compile(r"[+-]?[0-9](?:[.,][0-9]+)?E\+[0-9]{2,3}", re.ASCII)
"""Pattern of a number of which a spreadsheet program wrote only the digits it shows."""


def read_import_file(path: Path, list_view: ListView[T, V]) -> SheetRows:
    """Return the rows of a file, or what is wrong with them; exit with one line if it cannot be read."""
    content = _read_file(path)
    match path.suffix.lower():
        case ".xlsx":
            return read_rows(list_view, read_sheet(content), LANGUAGES)
        case ".csv":
            return read_rows(list_view, _read_csv(path, content), LANGUAGES)
        case ".jsonl":
            return _read_json_lines(path, content)
    return _exit(path, "must end in .xlsx, .csv or .jsonl")


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_IMPORT + 1)
    except OSError as error:
        _exit(path, f"cannot be read: {error.strerror}")
    if len(content) > LONGEST_IMPORT:
        _exit(path, f"has more than {LONGEST_IMPORT} bytes; import it in parts")
    return content


def _read_csv(path: Path, content: bytes) -> Sheet:
    """Return rows numbered as a spreadsheet numbers them, the headings first."""
    text = _decode_csv(path, content)
    rows: list[Row] = []
    try:
        for number, cells in enumerate(_split_rows(text), 1):
            if not any(cell.strip() for cell in cells) or (number == 1 and cells[0].startswith("sep=")):
                continue
            if len(rows) > MOST_ROWS or any(cell.strip() for cell in cells[MOST_COLUMNS:]):
                return FieldRule.SHEET_TOO_LARGE
            width = len(rows[0].cells) if rows else len(cells)
            rows.append(Row(number, [_decode_cell(text, place < width) for place, text in enumerate(cells)]))
    except csv.Error as error:
        _exit(path, f"is not CSV: {error}")
    return tuple(rows) or FieldRule.SHEET_EMPTY


def _split_rows(text: str) -> Iterator[list[str]]:
    """Return a reader of rows with the delimiter of the headings, or that of a first line `sep=;`."""
    first = text.lstrip("\r\n").partition("\n")[0].rstrip("\r")
    named = first[4:] if first.startswith("sep=") else ""
    delimiter = named if named in (*_DELIMITERS, "|") else max(_DELIMITERS, key=first.count)
    return csv.reader(StringIO(text, newline=""), strict=True, delimiter=delimiter)


def _decode_cell(text: str, has_heading: bool) -> Cell:
    if text.strip() and not has_heading:
        # A comma that should have been in quotes moves all that comes after it into the next column.
        return BadCell(FieldRule.CELL_WITHOUT_HEADING)
    return BadCell(FieldRule.CELL_NUMBER) if _LONG_NUMBER.fullmatch(text.strip()) else text


def _decode_csv(path: Path, content: bytes) -> str:
    """Return the text by its byte order mark; without one as UTF-8, else GB 2312.

    Anything else is refused and not guessed, or names would be changed.
    """
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if is_utf_16 else ("utf-8-sig", "gb2312"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    return _exit(path, 'is not text in UTF-8: save it as "CSV UTF-8", or as a sheet (.xlsx)')


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
