"""The XML of a sheet, gone through before anything is built of it: what it would cost is known from it.

- A document type is refused: entities are declared there.
- The library makes a table out to the farthest cell, so no cell may lie far out.
- Every cell that refers to a shared text gets a copy of it, so it counts with each reference.
- The parser remembers every element that is open, so they may not lie deep within one another.
"""

from array import array
from typing import Final
from xml.parsers import expat

from ostiary_core.model.fields import FieldRule

LONGEST_TEXT: Final = 32_767
"""Characters of one cell, as in Excel."""

MOST_CHARACTERS: Final = 4 * 1024 * 1024
"""Of all cells together, each with the text that it refers to."""

_MOST_CELLS: Final = 1_000_000
_MOST_SHARED_TEXTS: Final = 1_000_000
_FARTHEST_ROW: Final = 10_000
_FARTHEST_COLUMN: Final = 200
_LONGEST_REFERENCE: Final = 10
_DEEPEST: Final = 100
_BUFFER: Final = 64 * 1024


class UnreadableSheet(Exception):
    """Not a sheet, or one that nobody needs to read."""

    def __init__(self, rule: FieldRule) -> None:
        super().__init__(rule.value)
        self.rule = rule


class Scan:
    """The members of one book, one after the other. Raises `UnreadableSheet` once there is too much.

    Which member holds the shared texts, and which one the first sheet, is the library's to know: all count.
    """

    def __init__(self) -> None:
        self._shared_lengths = array("H")
        self._references = array("L")
        self._cells = 0
        self._characters = 0
        """Of texts that stand in their cells."""

    def add(self, text: bytes) -> None:
        """Go through one member."""
        member = _Member(self)
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = _BUFFER
        parser.StartDoctypeDeclHandler = _refuse
        parser.StartElementHandler = member.start
        parser.CharacterDataHandler = member.add_text
        parser.EndElementHandler = member.end
        try:
            parser.Parse(text, True)
        except expat.ExpatError as error:
            raise UnreadableSheet(FieldRule.SHEET) from error

    def finish(self) -> None:
        """Look at what is known only when all members are: how much the references come to."""
        number = len(self._shared_lengths)
        self._count(sum(self._shared_lengths[index] for index in self._references if index < number))

    def add_cell(self, length: int) -> None:
        """Count a cell and the text that stands in it."""
        self._cells += 1
        if self._cells > _MOST_CELLS:
            raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE)
        self._count(_bounded(length))

    def add_shared(self, length: int) -> None:
        """Remember how long the next shared text is."""
        if len(self._shared_lengths) == _MOST_SHARED_TEXTS:
            raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE)
        self._shared_lengths.append(_bounded(length))

    def add_reference(self, text: str) -> None:
        """Remember which shared text a cell refers to; what is no number is read as the first."""
        is_number = len(text) < _LONGEST_REFERENCE and text.isascii() and text.isdigit()
        self._references.append(int(text) if is_number else 0)

    def _count(self, characters: int) -> None:
        self._characters += characters
        if self._characters > MOST_CHARACTERS:
            raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE)


class _Member:
    """What the parser says of one member."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._rows = self._column = self._depth = 0
        self._is_in_text = self._is_reference = False
        self._length = self._length_before_formula = 0
        """Characters since the cell or the shared text began, but for its formula."""
        self._reference = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self._depth += 1
        if self._depth > _DEEPEST:
            _refuse()
        match _local(name):
            case "row":
                self._rows, self._column = self._rows + 1, 0
                self._refuse_far_out(attributes)
            case "c":
                self._column += 1
                self._refuse_far_out(attributes)
                self._start_text()
                self._is_reference = attributes.get("t") == "s"
            case "si":
                self._start_text()
                self._is_reference = False
            case "v":
                self._reference = ""
            case "f":
                self._length_before_formula = self._length

    def add_text(self, text: str) -> None:
        """Characters within whatever is open."""
        self._length += len(text)
        if self._is_reference and len(self._reference) < _LONGEST_REFERENCE:
            self._reference += text

    def end(self, name: str) -> None:
        """An element ends."""
        self._depth -= 1
        match _local(name):
            case "c":
                self._is_in_text = False
                self._scan.add_cell(self._length)
            case "si":
                self._is_in_text = False
                self._scan.add_shared(self._length)
            case "v" if self._is_reference:
                self._scan.add_reference(self._reference)
            case "f":
                self._length = self._length_before_formula

    def _start_text(self) -> None:
        if self._is_in_text:
            _refuse()
        self._is_in_text = True
        self._length = 0

    def _refuse_far_out(self, attributes: dict[str, str]) -> None:
        if (
            self._rows > _FARTHEST_ROW
            or self._column > _FARTHEST_COLUMN
            or _is_far_out(attributes.get("r", ""))
        ):
            raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE)


def _refuse(*_: object) -> None:
    raise UnreadableSheet(FieldRule.SHEET)


def _bounded(length: int) -> int:
    if length > LONGEST_TEXT:
        raise UnreadableSheet(FieldRule.SHEET_TOO_LARGE)
    return length


def _local(name: str) -> str:
    """The name of an element without the prefix of its namespace."""
    return name.rpartition(":")[2]


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
