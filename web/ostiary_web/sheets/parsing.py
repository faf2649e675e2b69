"""Parse the XML of a book (ECMA-376 part 1, §18) piece by piece, refusing what would cost too much.

- A document type is refused: entities are declared there.
- Elements may not lie deep within one another, as the parser remembers all that are open.
- Only cells with something in them are kept, so formatted rows down to the last one count for nothing.
- A text may be as long as Excel has it, and every cell that refers to a shared one counts with it.
- Rows, and the cells of a row, come in their order: what two readers could read in two ways is refused.
"""

import re
from collections.abc import Iterable
from typing import Final
from xml.parsers import expat

from ostiary_core.model.fields import FieldRule
from ostiary_web.sheets.cells import MOST_COLUMNS, MOST_ROWS, BadCell, Cell, Row, UnreadableSheet, is_empty
from ostiary_web.sheets.numbers import GENERAL, format_code, read_number

LONGEST_TEXT: Final = 32_767
"""Most characters of one cell, as in Excel."""

MOST_CHARACTERS: Final = 4 * 1024 * 1024
"""Most characters of all cells together, each with its shared text."""

_MOST_SHARED_TEXTS: Final = 1_000_000
_LAST_ROW: Final = 1_048_576
_DEEPEST: Final = 100
_BUFFER: Final = 64 * 1024
_LONGEST_TOKEN: Final = 1024 * 1024
"""Most bytes of a tag or comment: the parser keeps it whole, and starts it anew with every piece."""

_REFERENCE: Final = re.compile(r"([A-Z]{1,3})([0-9]{1,7})", re.ASCII | re.IGNORECASE)
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_INDEX: Final = re.compile(r"[0-9]{1,9}", re.ASCII)

Attributes = dict[str, str]


class Elements:
    """Receives the elements of one member, by names without namespace."""

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""

    def end(self, name: str) -> None:
        """End an element."""

    def add_text(self, text: str) -> None:
        """Add characters of the open element."""


def parse(pieces: Iterable[bytes], elements: Elements) -> None:
    """Parse one member; raise `UnreadableSheet` if it is no XML, or once there is too much."""
    depth = 0

    def start(name: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            refuse()
        elements.start(name.rpartition(":")[2], attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        elements.end(name.rpartition(":")[2])

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.buffer_size = _BUFFER
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.CharacterDataHandler = elements.add_text
    parser.EndElementHandler = end
    try:
        read = 0
        for piece in pieces:
            parser.Parse(piece, False)
            read += len(piece)
            if read - parser.CurrentByteIndex > _LONGEST_TOKEN:
                refuse(rule=FieldRule.SHEET_TOO_LARGE)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise UnreadableSheet(FieldRule.SHEET) from error


def refuse(*_: object, rule: FieldRule = FieldRule.SHEET) -> None:
    """Raise `UnreadableSheet` from inside the parser."""
    raise UnreadableSheet(rule)


class Relations(Elements):
    """The members that another one names, by identifier, and by the last part of their kinds."""

    def __init__(self) -> None:
        self.by_id: dict[str, str] = {}
        self.by_kind: dict[str, str] = {}

    def start(self, name: str, attributes: Attributes) -> None:
        if name != "Relationship" or attributes.get("TargetMode") == "External":
            return
        target = attributes.get("Target", "")
        self.by_id.setdefault(attributes.get("Id", ""), target)
        self.by_kind.setdefault(attributes.get("Type", "").rpartition("/")[2], target)


class SheetList(Elements):
    """The relation of the book's first sheet."""

    def __init__(self) -> None:
        self.first_sheet: str | None = None

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sheet" and self.first_sheet is None:
            self.first_sheet = next((attributes[key] for key in attributes if key.endswith(":id")), "")


class Styles(Elements):
    """The number format of each style; None for one that shows anything but digits."""

    def __init__(self) -> None:
        self.codes: list[str | None] = []
        self._own: dict[str, str] = {}
        self._is_of_cells = False

    def start(self, name: str, attributes: Attributes) -> None:
        match name:
            case "numFmt":
                self._own[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
            case "cellXfs":
                self._is_of_cells = True
            case "xf" if self._is_of_cells:
                self.codes.append(format_code(attributes.get("numFmtId", "0"), self._own))

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._is_of_cells = False


class _Texts(Elements):
    """Texts of elements `t`, without the readings beside them in East Asian sheets (`rPh`)."""

    def __init__(self) -> None:
        self._readings = 0
        self._is_in_text = False

    def add_text(self, text: str) -> None:
        if self._is_in_text:
            self._length += len(text)
            if self._length > LONGEST_TEXT:
                refuse(rule=FieldRule.SHEET_TOO_LARGE)
            self._pieces.append(text)

    def _begin(self) -> None:
        self._pieces: list[str] = []
        self._length = 0

    def _whole(self) -> str:
        return _ESCAPE.sub(_unescape, "".join(self._pieces))


class SharedTexts(_Texts):
    """Texts that cells refer to by number."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._is_in_item = False

    def start(self, name: str, attributes: Attributes) -> None:
        match name:
            case "si":
                if self._is_in_item:
                    refuse()
                self._is_in_item = True
                self._begin()
            case "rPh":
                self._readings += 1
            case "t":
                self._is_in_text = self._is_in_item and not self._readings

    def end(self, name: str) -> None:
        match name:
            case "si":
                self._is_in_item = False
                if len(self.texts) == _MOST_SHARED_TEXTS:
                    refuse(rule=FieldRule.SHEET_TOO_LARGE)
                self.texts.append(self._whole())
            case "rPh":
                self._readings -= 1
            case "t":
                self._is_in_text = False


class Rows(_Texts):
    """Rows of one sheet that are not empty."""

    def __init__(self, shared: list[str], codes: list[str | None]) -> None:
        super().__init__()
        self._shared = shared
        self._codes = codes
        self._rows: list[Row] = []
        self._number = 0
        self._is_numbered = True
        """Whether the row that is open said which it is, or one of its cells did."""
        self._cells: list[Cell] = []
        self._column = 0
        self._is_in_cell = self._has_formula = self._has_value = False
        self._kind = self._style = ""
        self._characters = 0

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return all rows, each as long as the longest."""
        width = max((len(row.cells) for row in self._rows), default=0)
        return tuple(Row(row.number, [*row.cells, *[""] * (width - len(row.cells))]) for row in self._rows)

    def start(self, name: str, attributes: Attributes) -> None:
        match name:
            case "c":
                self._start_cell(attributes)
            case "row":
                if self._is_in_cell:
                    refuse()
                number = attributes.get("r")
                self._is_numbered = number is not None
                self._cells, self._column = [], 0
                self._go_to_row(self._number + 1 if number is None else _whole_number(number))
            case "v":
                self._has_value = True
                self._is_in_text = self._is_in_cell
            case "t":
                self._is_in_text = self._is_in_cell and not self._readings
            case "f":
                self._has_formula = True
            case "rPh":
                self._readings += 1

    def end(self, name: str) -> None:
        match name:
            case "c":
                self._end_cell()
            case "row":
                self._end_row()
            case "v" | "t":
                self._is_in_text = False
            case "rPh":
                self._readings -= 1

    def _go_to_row(self, number: int, *, least: int | None = None) -> None:
        if number > _LAST_ROW:
            refuse(rule=FieldRule.SHEET_TOO_LARGE)
        if number <= self._number if least is None else number < least:
            refuse()
        self._number = number

    def _start_cell(self, attributes: Attributes) -> None:
        if self._is_in_cell:
            refuse()
        column = self._column + 1
        reference = attributes.get("r")
        if reference is not None:
            column = self._refer(reference)
        if column <= self._column:
            refuse()
        self._column = column
        self._is_in_cell, self._has_formula, self._has_value = True, False, False
        self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "0")
        self._begin()

    def _refer(self, reference: str) -> int:
        """Return the column of a cell `B7`, which must be in the open row."""
        found = _REFERENCE.fullmatch(reference)
        if found is None:
            raise UnreadableSheet(FieldRule.SHEET)
        if not self._is_numbered:
            self._is_numbered = True
            self._go_to_row(int(found[2]), least=self._number)
        if int(found[2]) != self._number:
            refuse()
        column = 0
        for letter in found[1].upper():
            column = column * 26 + (ord(letter) - 64)
        return column

    def _end_cell(self) -> None:
        self._is_in_cell = False
        cell = self._cell() if self._pieces or self._has_formula else ""
        if cell == "":
            return
        if self._column > MOST_COLUMNS:
            refuse(rule=FieldRule.SHEET_TOO_LARGE)
        self._characters += len(cell) if isinstance(cell, str) else 1
        if self._characters > MOST_CHARACTERS:
            refuse(rule=FieldRule.SHEET_TOO_LARGE)
        self._cells += [""] * (self._column - 1 - len(self._cells))
        self._cells.append(cell)

    def _cell(self) -> Cell:
        text = self._whole()
        match self._kind:
            case "inlineStr":
                return text
            case "str" if self._has_value:
                return text
            case "e":
                return BadCell(FieldRule.CELL_ERROR, text[:20])
            case _ if not text:
                return BadCell(FieldRule.CELL_FORMULA)
            case "s":
                place = _whole_number(text)
                if place >= len(self._shared):
                    refuse()
                return self._shared[place]
            case "b":
                return text in ("1", "true")
            case "n":
                return read_number(text.strip(), self._code())
            case _:
                # A date (§18.18.11), or what a later edition has.
                return BadCell(FieldRule.CELL_FORMAT)

    def _code(self) -> str | None:
        place = _whole_number(self._style)
        return self._codes[place] if place < len(self._codes) else GENERAL

    def _end_row(self) -> None:
        if all(is_empty(cell) for cell in self._cells):
            return
        if len(self._rows) > MOST_ROWS:
            refuse(rule=FieldRule.SHEET_TOO_LARGE)
        self._rows.append(Row(self._number, self._cells))


def _unescape(found: re.Match[str]) -> str:
    """Return the character of an escape (§22.4.2.4); half of a surrogate pair stays as written."""
    number = int(found[1], 16)
    return found[0] if 0xD800 <= number <= 0xDFFF else chr(number)


def _whole_number(text: str) -> int:
    if _INDEX.fullmatch(text) is None:
        # What is longer is farther out than any row that there is.
        raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE if text.isdigit() else FieldRule.SHEET)
    return int(text)
