"""Read CSV as spreadsheet programs write it (RFC 4180 has the comma only).

Cells are parted by commas, semicolons or tabs; the text is in UTF-8, in UTF-16 ("Unicode text"), or in the
GB 18030 of Chinese systems.
"""

import codecs
import csv
import re
from collections.abc import Iterator
from io import StringIO
from typing import Final

from ostiary_core.model.fields import FieldRule
from ostiary_web.sheets.cells import MOST_COLUMNS, MOST_ROWS, BadCell, Cell, Row, Sheet, UnreadableSheet

_DELIMITERS: Final = ",;\t"
_LONG_NUMBER: Final = re.compile(r"[+-]?[0-9](?:[.,][0-9]+)?E\+[0-9]{2,3}", re.ASCII)
"""Pattern of a number of which a spreadsheet program wrote only the digits it shows."""


def read_csv(content: bytes) -> Sheet:
    """Return rows numbered as a spreadsheet numbers them, the headings first, or what is wrong."""
    rows: list[Row] = []
    try:
        for number, cells in enumerate(_split_rows(_decode(content)), 1):
            if not any(cell.strip() for cell in cells) or (number == 1 and cells[0].startswith("sep=")):
                continue
            if len(rows) > MOST_ROWS or any(cell.strip() for cell in cells[MOST_COLUMNS:]):
                return FieldRule.SHEET_TOO_LARGE
            rows.append(Row(number, [_decode_cell(text) for text in cells[:MOST_COLUMNS]]))
    except csv.Error:
        return FieldRule.CSV
    except UnreadableSheet as unreadable:
        return unreadable.rule
    return tuple(rows) or FieldRule.SHEET_EMPTY


def _split_rows(text: str) -> Iterator[list[str]]:
    """Return a reader of rows with the delimiter of the headings, or that of a first line `sep=;`."""
    first = text.lstrip("\r\n").partition("\n")[0].rstrip("\r")
    delimiter = "|" if first == "sep=|" else max(_DELIMITERS, key=first.count)
    return csv.reader(StringIO(text, newline=""), strict=True, delimiter=delimiter)


def _decode_cell(text: str) -> Cell:
    return BadCell(FieldRule.CELL_NUMBER) if _LONG_NUMBER.fullmatch(text.strip()) else text


def _decode(content: bytes) -> str:
    """Return the text by its byte order mark; without one as UTF-8, else as GB 18030 that is Chinese.

    Anything else is refused and not guessed, or names would be changed.
    """
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if is_utf_16 else ("utf-8-sig", "gb18030"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" in text:
            raise UnreadableSheet(FieldRule.SHEET)  # a file of another program
        if encoding != "gb18030" or _is_chinese(text):
            return text
    raise UnreadableSheet(FieldRule.SHEET if b"\x00" in content else FieldRule.CSV)


def _is_chinese(text: str) -> bool:
    """Whether at least half of the characters beyond ASCII are common Chinese ones.

    An accented letter of a Western text and the letter behind it can be read as a rare Chinese character,
    but as a common one (GB 2312) only if two accented letters meet.
    """
    # ASCII takes a byte, a common character two, and a rare one is left out.
    return len(text.encode("gb2312", "ignore")) >= len(text)
