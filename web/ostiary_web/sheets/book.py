"""Write a workbook (ECMA-376, `.xlsx`) as a stream: its beginning is sent before the rest is known.

Rules, all in this file:

- Nothing is gone back to: sizes stand behind the parts of the ZIP file, and what names all sheets comes last.
- Every text stands in its cell as text. None is a formula, a link, or a reference into a table of texts.
- What XML cannot hold stands as `_xHHHH_` (ECMA-376 Part 1, 22.9.2.19), and so does what looks like that.
- The one clock is the instant that was handed in.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import IntEnum
from typing import IO, Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile

_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_TYPES: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

_LONGEST_SHEET: Final = 2**30
"""Most bytes of a sheet's XML: half of what a ZIP file holds without an extension that some programs lack."""
_LEVEL: Final = 4
"""Compression level: a third less work than the default, for a file a twentieth longer."""

_UNHOLDABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


class Style(IntEnum):
    """Formats of cells, by their places in the list of styles."""

    GENERAL = 0
    HEADING = 1
    TEXT = 2
    """Keeps as text whatever is typed into the cell."""
    LINES = 3
    """Text of several lines."""
    QUOTED = 4
    """Keeps as text, when edited, what begins like a formula."""
    TIME = 5
    WRAPPED = 6


_TEXT_FORMAT: Final = 49
"""Number of the built-in format "@"."""
_TIME_FORMAT: Final = 164
_TOP: Final = '<alignment vertical="top" wrapText="1"/>'
_FORMATS: Final = (
    (0, 0, "", ""),
    (0, 1, "", _TOP),
    (_TEXT_FORMAT, 0, "", ""),
    (_TEXT_FORMAT, 0, "", '<alignment wrapText="1"/>'),
    (_TEXT_FORMAT, 0, ' quotePrefix="1"', ""),
    (_TIME_FORMAT, 0, "", ""),
    (0, 0, "", _TOP),
)
"""Number format, font, other attributes and alignment of each style."""


class SheetColumn(NamedTuple):
    """A column's width, and the style of its empty cells."""

    width: int
    style: Style = Style.GENERAL


def text_cell(text: str, style: Style) -> str:
    """Make a cell that holds this text and nothing else.

    >>> text_cell("=1+1", Style.QUOTED)
    ' s="4" t="inlineStr"><is><t>=1+1</t></is></c>'
    """
    held = escape(_UNHOLDABLE.sub(lambda sign: f"_x{ord(sign[0]):04X}_", text))
    space = ' xml:space="preserve"' if text != text.strip() else ""
    return f' s="{style:d}" t="inlineStr"><is><t{space}>{held}</t></is></c>'


def number_cell(number: float, style: Style = Style.GENERAL) -> str:
    """Make a cell that holds a number."""
    return f' s="{style:d}"><v>{number!r}</v></c>'


def boolean_cell(truth: bool) -> str:
    """Make a cell that holds true or false."""
    return f' t="b"><v>{truth:d}</v></c>'


class Book:
    """Writes sheets row by row; `take_bytes` returns what is ready to send."""

    def __init__(self, created: datetime) -> None:
        self._sink = _Sink()
        self._zip = _UnfinishedZip(self._sink, "w", ZIP_DEFLATED, compresslevel=_LEVEL)
        self._titles: list[str] = []
        self._sheet: IO[bytes] | None = None
        self._write_part("_rels/.rels", _relationships(_ROOT_PARTS))
        self._write_part("docProps/core.xml", _CORE.format(created=created.strftime("%Y-%m-%dT%H:%M:%SZ")))
        self._write_part("xl/styles.xml", _styles())

    @property
    def is_sheet_full(self) -> bool:
        """Whether the sheet has so many bytes that the next row belongs on another."""
        return self._written >= _LONGEST_SHEET

    def begin_sheet(self, title: str, columns: Sequence[SheetColumn]) -> None:
        """Begin the next sheet, whose first row stays in sight."""
        self._end_sheet()
        self._titles.append(title)
        self._names = [_column_name(place) for place in range(len(columns))]
        self._sheet = self._zip.open(f"xl/worksheets/sheet{len(self._titles)}.xml", "w")
        self._written = 0
        self.row = 0
        """The number of the row that was written last."""
        widths = "".join(_describe_column(place, column) for place, column in enumerate(columns, 1))
        self._write(
            f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
            '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView>'
            f'</sheetViews><sheetFormatPr defaultRowHeight="15"/><cols>{widths}</cols><sheetData>'
        )

    def write_row(self, cells: Sequence[str | None]) -> None:
        """Write the next row; None is an empty cell."""
        self.row += 1
        written = [
            f'<c r="{name}{self.row}"{cell}' for name, cell in zip(self._names, cells, strict=True) if cell
        ]
        self._write(f'<row r="{self.row}">{"".join(written)}</row>')

    def take_bytes(self) -> bytes:
        """Return what was written since the last time and is ready to be sent."""
        return self._sink.take_bytes()

    def close(self) -> None:
        """Complete the workbook."""
        self._end_sheet()
        places = range(1, len(self._titles) + 1)
        sheets = "".join(
            f'<sheet name={quoteattr(title)} sheetId="{place}" r:id="rId{place}"/>'
            for place, title in zip(places, self._titles, strict=True)
        )
        parts = [(f"{_OFFICE}/worksheet", f"worksheets/sheet{place}.xml") for place in places]
        self._write_part(
            "xl/workbook.xml",
            f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><bookViews><workbookView/></bookViews>'
            f"<sheets>{sheets}</sheets></workbook>",
        )
        self._write_part(
            "xl/_rels/workbook.xml.rels", _relationships([*parts, (f"{_OFFICE}/styles", "styles.xml")])
        )
        self._write_part("[Content_Types].xml", _content_types(places))
        self._zip.close()

    def _write_part(self, name: str, content: str) -> None:
        with self._zip.open(name, "w") as part:
            part.write(content.encode())

    def _write(self, text: str) -> None:
        assert self._sheet is not None
        self._written += self._sheet.write(text.encode())

    def _end_sheet(self) -> None:
        if self._sheet is not None:
            self._write("</sheetData></worksheet>")
            self._sheet.close()
            self._sheet = None


class _UnfinishedZip(ZipFile):
    """A ZIP file that may never be completed, as its client may leave."""

    def __del__(self) -> None:
        """Leave the file without its end."""


class _Sink:
    """Target of the ZIP file: not seekable, keeps bytes until they are taken."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def take_bytes(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


def _describe_column(place: int, column: SheetColumn) -> str:
    style = f' style="{column.style:d}"' if column.style else ""
    return f'<col min="{place}" max="{place}" width="{column.width}.7109375"{style} customWidth="1"/>'


def _column_name(place: int) -> str:
    """Return the letters of a column.

    >>> _column_name(0), _column_name(25), _column_name(26)
    ('A', 'Z', 'AA')
    """
    before = _column_name(place // 26 - 1) if place >= 26 else ""
    return f"{before}{chr(ord('A') + place % 26)}"


# --- the other parts


_ROOT_PARTS: Final = (
    (f"{_OFFICE}/officeDocument", "xl/workbook.xml"),
    (f"{_PACKAGE}/relationships/metadata/core-properties", "docProps/core.xml"),
)
_CORE: Final = (
    f'{_HEAD}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
    'xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
    '<dcterms:created xsi:type="dcterms:W3CDTF">{created}</dcterms:created></cp:coreProperties>'
)


def _relationships(parts: Sequence[tuple[str, str]]) -> str:
    each = "".join(
        f'<Relationship Id="rId{place}" Type="{kind}" Target="{target}"/>'
        for place, (kind, target) in enumerate(parts, start=1)
    )
    return f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{each}</Relationships>'


def _content_types(places: Sequence[int]) -> str:
    kinds = {
        "/docProps/core.xml": "application/vnd.openxmlformats-package.core-properties+xml",
        "/xl/workbook.xml": f"{_TYPES}.sheet.main+xml",
        "/xl/styles.xml": f"{_TYPES}.styles+xml",
        **{f"/xl/worksheets/sheet{place}.xml": f"{_TYPES}.worksheet+xml" for place in places},
    }
    each = "".join(f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in kinds.items())
    return (
        f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{each}</Types>'
    )


def _styles() -> str:
    none = '<xf numFmtId="0" fontId="0" fillId="0" borderId="0"'
    formats = "".join(
        f'<xf numFmtId="{number}" fontId="{font}" fillId="0" borderId="0" xfId="0"{more}'
        f' applyNumberFormat="1" applyFont="1" applyAlignment="1">{inner}</xf>'
        for number, font, more, inner in _FORMATS
    )
    font = '<sz val="11"/><name val="Calibri"/><family val="2"/>'
    return (
        f'{_HEAD}<styleSheet xmlns="{_MAIN}">'
        f'<numFmts count="1"><numFmt numFmtId="{_TIME_FORMAT}" formatCode="yyyy-mm-dd hh:mm:ss"/></numFmts>'
        f'<fonts count="2"><font>{font}</font><font><b/>{font}</font></fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        f'<cellStyleXfs count="1">{none}/></cellStyleXfs>'
        f'<cellXfs count="{len(_FORMATS)}">{formats}</cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
    )
