"""Sheets of a few kilobytes that would cost a reader gigabytes, each in a way of its own."""

from collections.abc import Callable, Mapping
from typing import Final

from tests.web.resources.sheets import MAIN, book_around, cells

REFERENCE: Final = '<c t="s"><v>0</v></c>'


def shared_texts(*texts: str) -> dict[str, bytes]:
    """The member that holds what cells refer to."""
    return {"xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{"".join(texts)}</sst>'.encode()}


def _rows(row: str, number: int) -> bytes:
    return cells(f"<row>{row}</row>" * number)


def _one_text(length: int, references: int) -> bytes:
    """One shared text, and cells that refer to it, fifteen in a row."""
    return book_around(
        _rows(REFERENCE * 15, references // 15), **shared_texts(f"<si><t>{'x' * length}</t></si>")
    )


def _runs() -> bytes:
    run = f"<r><rPr><b/></rPr><t>{'x' * 300}</t></r>"
    return book_around(_rows(REFERENCE * 15, 2_000), **shared_texts(f"<si>{run * 100}</si>"))


def _with_members(**members: bytes) -> bytes:
    return book_around(_rows("<c><v>1</v></c>", 1), **members)


REFUSED_AT_ONCE: Final[Mapping[str, Callable[[], bytes]]] = {
    "a long text in 30,000 cells": lambda: _one_text(32_000, 30_000),
    "two million characters in 3,000 cells": lambda: _one_text(2_000_000, 3_000),
    "60 million characters in 60 cells": lambda: _one_text(60_000_000, 60),
    "a text of many runs": _runs,
    "texts in their cells": lambda: book_around(
        _rows(f'<c t="inlineStr"><is><t>{"x" * 32_000}</t></is></c>', 1_000)
    ),
    "results of formulas": lambda: book_around(
        _rows(f'<c t="str"><f>A1</f><v>{"x" * 32_000}</v></c>', 1_000)
    ),
    "one huge text": lambda: book_around(_rows(f'<c t="str"><v>{"x" * 60_000_000}</v></c>', 1)),
    "elements in elements": lambda: book_around(b"<a>" * 20_000_000),
    "shared texts that are empty": lambda: _with_members(**shared_texts("<si/>" * 10_000_000)),
    "shared texts by another name": lambda: book_around(
        _rows(REFERENCE * 15, 2_000),
        **{"xl/SHAREDSTRINGS.xml": shared_texts(f"<si><t>{'x' * 32_000}</t></si>")["xl/sharedStrings.xml"]},
    ),
    "two million cells": lambda: book_around(_rows("<c><v>1</v></c>" * 200, 10_000)),
    "a bomb of spaces": lambda: book_around(cells(" " * 140_000_000)),
    "a bomb of styles": lambda: _with_members(**{"xl/styles.xml": b"<styleSheet>" + b" " * 140_000_000}),
    "a bomb of the book": lambda: _with_members(**{"xl/workbook.xml": b"<workbook>" + b" " * 140_000_000}),
    "a name of a million letters": lambda: _with_members(
        **{"xl/workbook.xml": b"<workbook " + b"x" * 100_000_000}
    ),
}
"""What the bounds know of: refused before anything is built."""


UNFORESEEN: Final[Mapping[str, Callable[[], bytes]]] = {
    "more cells than anybody waits for": lambda: book_around(_rows('<c s="1"/>' * 1_000, 10_000)),
}
"""What only the limits of the process end."""
