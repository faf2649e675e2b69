"""Sheets as they are read: whatever a file holds, either its rows come out or it is refused.

A sheet is a ZIP file of XML. Both can be made to cost far more than their size, so nothing is handed to the
library before it was unpacked within bounds and scanned (`sheet_scanning.py`). What a bound does not foresee
ends the process that reads the sheet (`sheet_child.py`), and nothing else.
"""

import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, time
from io import BytesIO
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from python_calamine import CalamineError, CalamineWorkbook

from ostiary_core.model.fields import FieldRule
from ostiary_web.sheets.scanning import MOST_CHARACTERS, Scan, UnreadableSheet

MOST_ROWS: Final = 2_000
"""Rows of one import: they are one turn, and others wait for it."""

_MOST_UNPACKED_BYTES: Final = 64 * 1024 * 1024
_MOST_MEMBERS: Final = 1_000
_PIECE: Final = 64 * 1024
_ENCRYPTED: Final = 0x1

Cell = str | float | bool
"""Text, a number or a boolean; a date or time as ISO 8601 has it; an empty string where there is nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row with the number that a person sees beside it."""

    number: int
    cells: Sequence[Cell]


Sheet = tuple[Row, ...] | FieldRule
"""What was read: the rows that are not empty, or what is wrong with the file."""


def read_sheet(content: bytes) -> Sheet:
    """The rows of the first sheet of an .xlsx file that are not empty, the headings among them; else what is
    wrong with it. Raises `MemoryError` where the process may have no more memory."""
    try:
        rows = _rows(_unpacked(content))
    except UnreadableSheet as unreadable:
        return unreadable.rule
    return rows or FieldRule.SHEET


def _unpacked(content: bytes) -> BytesIO:
    """The same sheet without compression, with those members only that its rows are read from."""
    plain = BytesIO()
    try:
        with ZipFile(BytesIO(content)) as packed, ZipFile(plain, "w", ZIP_STORED) as unpacked:
            members = [member for member in packed.infolist() if _is_read(member)]
            if len(members) > _MOST_MEMBERS:
                raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE)
            if len({member.filename for member in members}) < len(members):
                raise UnreadableSheet(FieldRule.SHEET)
            left, scan = _MOST_UNPACKED_BYTES, Scan()
            for member in members:
                text = _member(packed, member, left)
                left -= len(text)
                scan.add(text)
                unpacked.writestr(member.filename, text)
            scan.finish()
    except (
        BadZipFile,
        zlib.error,
        struct.error,  # a name that is longer written again than it was read
        EOFError,
        OSError,
        ValueError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise UnreadableSheet(FieldRule.SHEET) from error
    plain.seek(0)
    return plain


def _is_read(member: ZipInfo) -> bool:
    """Whether a member may say what is in the rows. Other kinds of book are told by others."""
    name = member.filename.lower()
    return name.endswith((".xml", ".rels")) and name != "content.xml"


def _member(packed: ZipFile, member: ZipInfo, most: int) -> bytes:
    """A member, unpacked no further than its header says, which may not be more than `most`.

    The header may lie: only what is read piece by piece is not unpacked whole before it is cut off.
    """
    if member.flag_bits & _ENCRYPTED or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise UnreadableSheet(FieldRule.SHEET)
    if member.file_size > most:
        raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE)
    pieces = bytearray()
    with packed.open(member) as stream:
        while piece := stream.read(_PIECE):
            pieces += piece
    return bytes(pieces)


def _rows(plain: BytesIO) -> tuple[Row, ...]:
    try:
        with CalamineWorkbook.from_filelike(plain) as book:
            return _within_bounds(book.get_sheet_by_index(0).iter_rows())
    except (CalamineError, OSError, ValueError) as error:
        raise UnreadableSheet(FieldRule.SHEET) from error
    except BaseException as error:
        # What is a fault of the library's own arrives under this name, which cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise UnreadableSheet(FieldRule.SHEET) from error


def _within_bounds(table: Iterable[Sequence[object]]) -> tuple[Row, ...]:
    """The rows that are not empty, no further than there may be of them and of their text."""
    rows: list[Row] = []
    characters = 0
    for number, values in enumerate(table, start=1):
        cells = [_cell(value) for value in values]
        if all(isinstance(cell, str) and (not cell or cell.isspace()) for cell in cells):
            continue
        rows.append(Row(number, cells))
        characters += sum(len(cell) for cell in cells if isinstance(cell, str))
        if len(rows) > MOST_ROWS + 1 or characters > MOST_CHARACTERS:
            raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE)
    return tuple(rows)


def _cell(value: object) -> Cell:
    match value:
        case bool() | str():
            return value
        case int() | float() if math.isfinite(value):
            return float(value)
        case date() | time():
            return value.isoformat()
        case _:
            return str(value)
