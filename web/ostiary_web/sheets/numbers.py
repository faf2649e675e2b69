"""Read numbers in cells: all digits that the file has, and those that a person sees."""

import re
from decimal import Context, Decimal
from typing import Final

from ostiary_core.model.fields import FieldRule
from ostiary_web.sheets.cells import Number, UnreadableSheet

_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:E[+-]?[0-9]{1,3})?", re.IGNORECASE
)
_AS_SHOWN: Final = Context(prec=15)
"""Arithmetic with the 15 digits that spreadsheets keep and show."""

_INVISIBLE: Final = re.compile(r"_.|\*.|\[[^\]]*\]")
"""Pattern of parts of a format that show no digit: spaces, fillings, colours, conditions, languages."""

_WHOLE: Final = re.compile(r"(?:#,##)?#*(0*)", re.ASCII)
GENERAL: Final = "General"
_BUILT_IN: Final = {"0": GENERAL, "1": "0", "3": "#,##0", "37": "0", "38": "0", "49": GENERAL}
"""Built-in formats that show only digits, by number (ECMA-376 part 1, §18.8.30)."""


def read_number(text: str, code: str | None) -> Number:
    """Return the number in a cell, displayed by the format `code`; raise `UnreadableSheet` for anything else.

    >>> read_number("1.1010519900307888E+17", "General").value
    '110105199003078880'
    >>> read_number("123", "000000"), read_number("45678", "yyyy-mm-dd").shown
    (Number(value='123', shown='000123'), None)
    """
    if _NUMBER.fullmatch(text) is None:
        raise UnreadableSheet(FieldRule.SHEET)
    exact = Decimal(text)
    value = _plain(exact if exact == exact.to_integral_value() else _AS_SHOWN.plus(exact))
    return Number(value=value, shown=None if code is None else _format_digits(value, code))


def format_code(number_format: str, own: dict[str, str]) -> str | None:
    """Return the code of a format by its number: one of the book's `own`, or one that shows only digits."""
    return own.get(number_format) or _BUILT_IN.get(number_format)


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _format_digits(value: str, code: str) -> str | None:
    """Return a number as the first section of a format shows it, if the format only adds zeros."""
    section = _INVISIBLE.sub("", code.partition(";")[0]).strip()
    if section.lower() in ("general", "@", "g/通用格式"):
        return value
    found = _WHOLE.fullmatch(section)
    if found is None or not section or "." in value:
        return None
    digits = value.removeprefix("-").zfill(len(found[1]))
    return f"-{digits}" if value.startswith("-") else digits
