"""What is in a sheet, of whatever kind its file is: rows of cells, each as the file has it.

A cell that holds no value but an error, or the formula of one, is never taken for an empty one: empty cells
take things away.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from ostiary_core.model.fields import FieldRule

MOST_ROWS: Final = 2_000
"""Rows of one import: they are one turn, and others wait for it."""

MOST_COLUMNS: Final = 200

_ERROR: Final = re.compile(
    r"#(?:NULL!|DIV/0!|VALUE!|REF!|NAME\?|NUM!|N/A|N/A!|GETTING_DATA|SPILL!|CALC!|FIELD!|BLOCKED!|CONNECT!"
    r"|UNKNOWN!|BUSY!|PYTHON!|EXTERNAL!)|Err:[0-9]{3}",
    re.IGNORECASE,
)
"""As Excel, WPS and LibreOffice show them; a sheet saved as CSV has them as texts."""


class Number(msgspec.Struct, frozen=True, tag="number"):
    """A number as it is stored, or a date, which is a number that is shown otherwise."""

    value: str
    """All its digits, without an exponent."""
    shown: str | None
    """What a person sees, `000123` for 123; None where the cell shows something else than digits."""


class BadCell(msgspec.Struct, frozen=True, tag="bad"):
    """A cell that holds no value."""

    rule: FieldRule
    holds: str = ""
    """The name of an error."""


Cell = str | bool | Number | BadCell
"""Text, a boolean, a number; an empty string where there is nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row with the number that a person sees beside it."""

    number: int
    cells: Sequence[Cell]


Sheet = tuple[Row, ...] | FieldRule
"""What was read: the rows that are not empty, or what is wrong with the file."""


def is_empty(cell: Cell) -> bool:
    """Whether there is nothing in a cell, or nothing that anybody sees."""
    return isinstance(cell, str) and (not cell or cell.isspace())


def is_error(text: str) -> bool:
    """Whether a text is what a spreadsheet shows in place of a value.

    >>> is_error("#N/A"), is_error(" Err:502 "), is_error("#5 Elm Street")
    (True, True, False)
    """
    return _ERROR.fullmatch(text.strip()) is not None
