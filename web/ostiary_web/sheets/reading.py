"""Read a sheet: whatever a file holds, its rows come out or it is refused.

A sheet is CSV (`csv_reading.py`), or a ZIP file of XML. ZIP and XML can be made to cost far more than their
size, so each member is unpacked and read piece by piece (`parsing.py`), and only those members are that the
rows come from. What a bound does not foresee ends the process that reads the sheet (`child.py`), and nothing
else.

No library reads cells here: those there are give numbers as floats, of which the digits after the 15th are
lost, and nothing if a cell has an error.
"""

import posixpath
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ostiary_core.model.fields import FieldRule
from ostiary_web.sheets.cells import Row, Sheet, UnreadableSheet
from ostiary_web.sheets.csv_reading import read_csv
from ostiary_web.sheets.parsing import Elements, Relations, Rows, SharedTexts, SheetList, Styles, parse

_MOST_UNPACKED_BYTES: Final = 128 * 1024 * 1024
_MOST_MEMBERS: Final = 1_000
_PIECE: Final = 64 * 1024
_ENCRYPTED: Final = 0x1
_ZIP: Final = b"PK"
"""First bytes of every ZIP file."""


def read_sheet(content: bytes) -> Sheet:
    """Return the rows that are not empty of CSV or of an .xlsx file's first sheet, or what is wrong.

    Raises `MemoryError` at the limit of the process.
    """
    if not content.startswith(_ZIP):
        return read_csv(content)
    try:
        with ZipFile(BytesIO(content)) as packed:
            rows = _rows(_Members(packed))
    except UnreadableSheet as unreadable:
        return unreadable.rule
    except (BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError):
        return FieldRule.SHEET
    return rows or FieldRule.SHEET


class _Members:
    """Members of a book, by lower-case name."""

    def __init__(self, packed: ZipFile) -> None:
        self._packed = packed
        self._left = _MOST_UNPACKED_BYTES
        members = packed.infolist()
        if len(members) > _MOST_MEMBERS:
            raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE)
        self._members = {_key(member.filename): member for member in members}
        if len(self._members) < len(members):
            raise UnreadableSheet(FieldRule.SHEET)

    def read(self, name: str, elements: Elements) -> None:
        """Parse a member; an absent one holds nothing."""
        member = self._members.get(_key(name))
        if member is not None:
            parse(self._pieces(member), elements)

    def _pieces(self, member: ZipInfo) -> Iterator[bytes]:
        """Yield a member in pieces, no further than its header says.

        The header may lie: a member is cut off only because it is unpacked piece by piece.
        """
        if member.flag_bits & _ENCRYPTED or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise UnreadableSheet(FieldRule.SHEET)
        if member.file_size > self._left:
            raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE)
        self._left -= member.file_size
        with self._packed.open(member) as stream:
            while piece := stream.read(_PIECE):
                yield piece


def _rows(members: _Members) -> tuple[Row, ...]:
    package = Relations()
    members.read("_rels/.rels", package)
    place = _at("", package.by_kind.get("officeDocument", "xl/workbook.xml"))
    folder, name = posixpath.split(place)
    book, related = SheetList(), Relations()
    members.read(place, book)
    members.read(f"{folder}/_rels/{name}.rels", related)
    if book.first_sheet is None or book.first_sheet not in related.by_id:
        raise UnreadableSheet(FieldRule.SHEET)
    styles, shared = Styles(), SharedTexts()
    members.read(_at(folder, related.by_kind.get("styles", "styles.xml")), styles)
    members.read(_at(folder, related.by_kind.get("sharedStrings", "sharedStrings.xml")), shared)
    rows = Rows(shared.texts, styles.codes)
    members.read(_at(folder, related.by_id[book.first_sheet]), rows)
    return rows.rows


def _at(folder: str, target: str) -> str:
    """Resolve a relation's target from the folder of the member that names it (ECMA-376 part 2, §9.3)."""
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def _key(name: str) -> str:
    """Return a member's name in lower case, as names ignore case (ECMA-376 part 2, §9.1.1)."""
    return name.replace("\\", "/").lstrip("/").lower()
