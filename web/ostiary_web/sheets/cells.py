"""Hold the rows and cells of a sheet, of whatever kind its file is.

A cell with an error, or with a formula and no result, is never taken for an empty one: empty cells clear
fields.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from ostiary_core.model.fields import FieldRule

MOST_ROWS: Final = 2_000
"""Most rows of an import: they are one turn, for which others wait."""

MOST_COLUMNS: Final = 200

_ERROR: Final = re.compile(
    r"#(?:NULL!|DIV/0!|VALUE!|REF!|NAME\?|NUM!|N/A|N/A!|GETTING_DATA|SPILL!|CALC!|FIELD!|BLOCKED!|CONNECT!"
    r"|UNKNOWN!|BUSY!|PYTHON!|EXTERNAL!)|Err:[0-9]{3}",
    re.IGNORECASE,
)
"""Pattern of errors as Excel, WPS and LibreOffice show them; a CSV file has them as texts."""


class UnreadableSheet(Exception):
    """A file that is no sheet, or one that costs too much."""

    def __init__(self, rule: FieldRule) -> None:
        self.rule = rule


class Number(msgspec.Struct, frozen=True, tag="number"):
    """A number, or a date, which is a number shown in another way."""

    value: str
    """All digits, without an exponent."""
    shown: str | None
    """Displayed digits, `000123` for 123; None if the cell shows anything but digits."""


class BadCell(msgspec.Struct, frozen=True, tag="bad"):
    """A cell without a value."""

    rule: FieldRule
    holds: str = ""
    """Name of an error."""


Cell = str | bool | Number | BadCell
"""Text, a boolean or a number; an empty string for nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row with its number in the spreadsheet."""

    number: int
    cells: Sequence[Cell]


Sheet = tuple[Row, ...] | FieldRule
"""The rows that are not empty, or what is wrong with the file."""


def is_empty(cell: Cell) -> bool:
    """Whether a cell has nothing that anybody sees."""
    return isinstance(cell, str) and (not cell or cell.isspace())


def is_error(text: str) -> bool:
    """Whether a text is what a spreadsheet shows for an error.

    >>> is_error("#N/A"), is_error(" Err:502 "), is_error("#5 Elm Street")
    (True, True, False)
    """
    return _ERROR.fullmatch(text.strip()) is not None
