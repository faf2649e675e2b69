"""Sheets as they are read: whatever a file holds, either its rows come out or it is refused.

A sheet is a ZIP file of XML. Both can be made to cost far more than their size, so nothing is handed to the
library before it was unpacked within bounds and looked through:

- Members are unpacked piece by piece, and no further than all of them together may be.
- A document type is refused: entities are declared there.
- The library makes a table out to the farthest cell, so no cell may lie far out.
"""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Final
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from python_calamine import CalamineError, CalamineWorkbook

from ostiary_core.decision import FieldRule

__all__ = ["LONGEST_SHEET", "MOST_ROWS", "Cell", "Row", "read_sheet"]

LONGEST_SHEET: Final = 8 * 1024 * 1024
"""Bytes of a file that is uploaded."""

MOST_ROWS: Final = 2_000
"""Rows of one import: they are one turn, and others wait for it."""

_MOST_UNPACKED_BYTES: Final = 64 * 1024 * 1024
_MOST_MEMBERS: Final = 1_000
_FARTHEST_ROW: Final = 10_000
_FARTHEST_COLUMN: Final = 200
_PIECE: Final = 64 * 1024
_ENCRYPTED: Final = 0x1

Cell = object
"""Text, a number, a truth, a date or time; an empty string where there is nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row with the number that a person sees beside it."""

    number: int
    cells: Sequence[Cell]


class _Unreadable(Exception):
    """Not a sheet, or one that nobody needs to read."""

    def __init__(self, rule: FieldRule) -> None:
        super().__init__(rule.value)
        self.rule = rule


def read_sheet(content: bytes) -> tuple[Row, ...] | FieldRule:
    """The rows of the first sheet of an .xlsx file that are not empty, the headings among them; else what is
    wrong with it."""
    try:
        rows = _rows(_unpacked(content))
    except _Unreadable as unreadable:
        return unreadable.rule
    if not rows:
        return FieldRule.SHEET
    return rows if len(rows) <= MOST_ROWS + 1 else FieldRule.SHEET_TOO_LARGE


def _unpacked(content: bytes) -> bytes:
    """The same sheet without compression, with those members only that its rows are read from."""
    plain = BytesIO()
    try:
        with ZipFile(BytesIO(content)) as packed, ZipFile(plain, "w", ZIP_STORED) as unpacked:
            members = [member for member in packed.infolist() if _is_read(member)]
            if len(members) > _MOST_MEMBERS:
                raise _Unreadable(FieldRule.SHEET_TOO_LARGE)
            if len({member.filename for member in members}) < len(members):
                raise _Unreadable(FieldRule.SHEET)
            left = _MOST_UNPACKED_BYTES
            for member in members:
                text = _member(packed, member, left)
                left -= len(text)
                _look_through(text)
                unpacked.writestr(member.filename, text)
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
        raise _Unreadable(FieldRule.SHEET) from error
    return plain.getvalue()


def _is_read(member: ZipInfo) -> bool:
    """Whether a member may say what is in the rows. Other kinds of book are told by others."""
    name = member.filename.lower()
    return name.endswith((".xml", ".rels")) and name != "content.xml"


def _member(packed: ZipFile, member: ZipInfo, most: int) -> bytes:
    """A member, unpacked no further than its header says, which may not be more than `most`.

    The header may lie: only what is read piece by piece is not unpacked whole before it is cut off.
    """
    if member.flag_bits & _ENCRYPTED or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise _Unreadable(FieldRule.SHEET)
    if member.file_size > most:
        raise _Unreadable(FieldRule.SHEET_TOO_LARGE)
    pieces = bytearray()
    with packed.open(member) as stream:
        while piece := stream.read(_PIECE):
            pieces += piece
    return bytes(pieces)


def _look_through(text: bytes) -> None:
    """Refuse XML that is broken, declares anything, or has cells far out."""
    parser = expat.ParserCreate()
    rows = column = 0

    def refuse(*_: object) -> None:
        raise _Unreadable(FieldRule.SHEET)

    def see(name: str, attributes: dict[str, str]) -> None:
        nonlocal rows, column
        match name.rpartition(":")[2]:
            case "row":
                rows, column = rows + 1, 0
            case "c":
                column += 1
            case _:
                return
        if rows > _FARTHEST_ROW or column > _FARTHEST_COLUMN or _is_far_out(attributes.get("r", "")):
            raise _Unreadable(FieldRule.SHEET_TOO_LARGE)

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = see
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise _Unreadable(FieldRule.SHEET) from error


def _is_far_out(reference: str) -> bool:
    """Whether a cell `B7`, or a row `7`, is farther from the corner than any that is read."""
    letters = reference.rstrip("0123456789")
    digits = reference[len(letters) :]
    column = 0
    for letter in letters.upper()[:4]:
        column = column * 26 + (ord(letter) - 64)
    return (
        len(letters) > 3 or column > _FARTHEST_COLUMN or len(digits) > 7 or int(digits or 0) > _FARTHEST_ROW
    )


def _rows(plain: bytes) -> tuple[Row, ...]:
    try:
        with CalamineWorkbook.from_filelike(BytesIO(plain)) as book:
            sheet = book.get_sheet_by_index(0)
            table = sheet.to_python(skip_empty_area=False)
    except (CalamineError, OSError, ValueError) as error:
        raise _Unreadable(FieldRule.SHEET) from error
    except BaseException as error:
        # What is a fault of the library's own arrives under this name, which cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise _Unreadable(FieldRule.SHEET) from error
    return tuple(
        Row(number, cells)
        for number, cells in enumerate(table, start=1)
        if any(cell != "" and not (isinstance(cell, str) and cell.isspace()) for cell in cells)
    )
