"""Sheets as they are written: an export of any length in constant memory, and the template of an import.

Rules, all in this file:

- What is text stays text: no cell becomes a formula or a link, neither when the sheet is opened nor when a
  cell is edited. Text that would be read as a formula has the quote prefix, which is no part of it.
- Times are local to one zone, which their headings name; lists stand line by line.
- The text of a cell is the whole value or, where no cell can hold it, something that no import takes.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import IO, Any, Final, Generic, TypeVar
from zoneinfo import ZoneInfo

import xlsxwriter

from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import Instant
from ostiary_core.texts import Language, Languages
from ostiary_web.api.resources.changes import change_lines
from ostiary_web.api.resources.fields import Column, Field, Kind, ListView

V = TypeVar("V")

SHEET_MEDIA_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

TOO_LONG: Final = "#too long for a cell"
"""In place of a value that no cell can hold. No field of a record can be this text."""

_LONGEST_CELL: Final = 32_767
_ROWS_A_SHEET: Final = 1_048_576
_FORMULA_BEGINS: Final = ("=", "+", "-", "@", "\t", "\r")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT_FORMAT: Final = 49
"""The number of the built-in format "@": what is typed into such a cell is text."""
_TIME_FORMAT: Final = "yyyy-mm-dd hh:mm:ss"
_NOTES_COLUMNS: Final = (("sheet.column", 28), ("sheet.name", 28), ("sheet.note", 90))
"""The headings of the notes in a template, and how wide their columns are."""
_WIDTHS: Final = {
    Kind.TEXT: 24,
    Kind.TEXTS: 44,
    Kind.CODES: 24,
    Kind.INTEGER: 14,
    Kind.BOOLEAN: 12,
    Kind.TIME: 22,
    Kind.CHANGES: 60,
}
_OPTIONS: Final = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}


class SheetWriter(Generic[V]):
    """Writes items row by row into a file; `close` completes it."""

    def __init__(
        self,
        file: IO[bytes],
        list_view: ListView[Any, V],
        language: Language,
        zone: ZoneInfo,
        now: Instant,
        *,
        rows_a_sheet: int = _ROWS_A_SHEET,
    ) -> None:
        self._list_view = list_view
        self._fields = [
            field for field in list_view.fields if field.column in (Column.EXPORT_ONLY, Column.IMPORT_EXPORT)
        ]
        self._title = list_view.title(language)
        self._language = language
        self._zone = zone
        self._rows_a_sheet = rows_a_sheet
        self._book = _new_book(file, now)
        self._heading = self._book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        self._text = self._book.add_format({"num_format": _TEXT_FORMAT})
        self._lines = self._book.add_format({"num_format": _TEXT_FORMAT, "text_wrap": True})
        self._quoted = self._book.add_format({"num_format": _TEXT_FORMAT, "quote_prefix": True})
        self._time = self._book.add_format({"num_format": _TIME_FORMAT})
        self._sheets = 0
        self._begin_sheet()

    def write(self, items: Iterable[V]) -> None:
        """The next rows; on a further sheet where one is full."""
        for item in items:
            if self._row == self._rows_a_sheet:
                self._begin_sheet()
            for column, field in enumerate(self._fields):
                self._write_cell(column, field.kind, field.read(item))
            self._row += 1

    def close(self) -> None:
        """Complete the file."""
        self._book.close()

    def _begin_sheet(self) -> None:
        self._sheets += 1
        self._sheet: Any = self._book.add_worksheet(
            self._title if self._sheets == 1 else f"{self._title} {self._sheets}"
        )
        _prepare(self._sheet, self._fields, self._text)
        for column, field in enumerate(self._fields):
            heading = self._list_view.heading(field, self._language)
            if field.kind is Kind.TIME:
                heading = f"{heading} ({self._zone.key})"
            self._sheet.write_string(0, column, heading, self._heading)
        self._row = 1

    def _write_cell(self, column: int, kind: Kind, value: object) -> None:
        match kind, value:
            case _, None:
                pass
            case Kind.BOOLEAN, bool(truth):
                self._sheet.write_boolean(self._row, column, truth)
            case Kind.INTEGER, int(number):
                self._sheet.write_number(self._row, column, number)
            case Kind.TIME, int(instant):
                moment = (_EPOCH + timedelta(milliseconds=instant)).astimezone(self._zone)
                self._sheet.write_datetime(self._row, column, moment.replace(tzinfo=None), self._time)
            case ((Kind.TEXTS | Kind.CODES), tuple(texts)):
                self._write_text(column, "\n".join(texts), self._lines)
            case Kind.CHANGES, (FactKind() as done, tuple(changes)):
                self._write_text(column, "\n".join(change_lines(done, changes, self._language)), self._lines)
            case _:
                self._write_text(column, str(value), self._text)

    def _write_text(self, column: int, text: str, plain: Any) -> None:
        fits = len(text) <= _LONGEST_CELL
        written = text if fits else TOO_LONG
        if written:
            cell_format = self._quoted if written.startswith(_FORMULA_BEGINS) else plain
            self._sheet.write_string(self._row, column, written, cell_format)


def write_template(
    file: IO[bytes], list_view: ListView[Any, V], language: Language, languages: Languages, now: Instant
) -> None:
    """An empty sheet with the headings that an import takes, and a second one that explains them."""
    taken = [
        field for field in list_view.fields if field.column in (Column.IMPORT_EXPORT, Column.IMPORT_ONLY)
    ]
    book = _new_book(file, now)
    bold = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
    wrapped = book.add_format({"text_wrap": True, "valign": "top"})
    text = book.add_format({"num_format": _TEXT_FORMAT})
    sheet = book.add_worksheet(list_view.title(language))
    _prepare(sheet, taken, text)
    for column, field in enumerate(taken):
        sheet.write_string(0, column, list_view.heading(field, language), bold)
    notes = book.add_worksheet(language.text("sheet.notes"))
    for column, (heading, width) in enumerate(_NOTES_COLUMNS):
        notes.set_column(column, column, width)
        notes.write_string(0, column, language.text(heading), bold)
    for row, field in enumerate(taken, start=1):
        cells = (list_view.heading(field, language), field.name, list_view.note(field, language, languages))
        for column, cell in enumerate(cells):
            notes.write_string(row, column, cell, wrapped)
    book.close()


def _new_book(file: IO[bytes], now: Instant) -> Any:
    book = xlsxwriter.Workbook(file, _OPTIONS)
    # Otherwise the library reads the machine's clock.
    book.set_properties({"created": (_EPOCH + timedelta(milliseconds=now)).replace(tzinfo=None)})
    return book


def _prepare(sheet: Any, fields: Sequence[Field[Any]], text: Any) -> None:
    """Make columns wide enough; what somebody types into one of texts is text, also where nothing stood."""
    sheet.freeze_panes(1, 0)
    for column, field in enumerate(fields):
        is_text = field.kind in (Kind.TEXT, Kind.TEXTS, Kind.CODES)
        sheet.set_column(column, column, _WIDTHS[field.kind], text if is_text else None)
