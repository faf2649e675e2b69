"""Write sheets: an export of any length in constant memory, and the template of an import.

Rules, all in this file:

- What is text stays text: no cell becomes a formula or a link, neither when the sheet is opened nor when a
  cell is edited. Text that would be read as a formula has the quote prefix, which is no part of it.
- Times are local to one zone, which their headings name; lists stand line by line.
- The text of a cell is the whole value or, if no cell can hold it, something that no import takes.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, TypeVar
from zoneinfo import ZoneInfo

from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import Instant
from ostiary_core.model.record_type import Kind
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.texts import Language, Languages
from ostiary_web.application.resources.changes import format_changes
from ostiary_web.application.resources.fields import Field, ListView, SheetUse
from ostiary_web.application.resources.queries import EPOCH
from ostiary_web.sheets.book import Book, SheetColumn, Style, boolean_cell, number_cell, text_cell

V = TypeVar("V")

SHEET_MEDIA_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

TOO_LONG: Final = "#too long for a cell"
"""Replacement for a value that no cell can hold; no field of a record can be this text."""

_LONGEST_CELL: Final = 32_767
_ROWS_A_SHEET: Final = 1_048_576
_FORMULA_BEGINS: Final = ("=", "+", "-", "@", "\t", "\r")
_FIRST_DAY: Final = datetime(1899, 12, 30, tzinfo=UTC)
"""Day zero of spreadsheets' dates."""
_NOTES_COLUMNS: Final = (("sheet.column", 28), ("sheet.name", 28), ("sheet.note", 90))
"""Headings of a template's notes, and the widths of their columns."""
_WIDTHS: Final = {
    Kind.TEXT: 24,
    Kind.TEXTS: 44,
    Kind.CODES: 24,
    Kind.INTEGER: 14,
    Kind.BOOLEAN: 12,
    Kind.TIME: 22,
    Kind.CHANGES: 60,
}


class SheetWriter(Generic[V]):
    """Writes items row by row; `take_bytes` returns what is ready to send, `close` completes the file."""

    def __init__(self, list_view: ListView[Any, V], language: Language, zone: ZoneInfo, now: Instant) -> None:
        self._list_view = list_view
        self._fields = [
            field
            for field in list_view.fields
            if field.sheet in (SheetUse.EXPORT_ONLY, SheetUse.IMPORT_EXPORT)
        ]
        self._title = list_view.title(language)
        self._language = language
        self._zone = zone
        self._book = _new_book(now)
        self.take_bytes, self.close = self._book.take_bytes, self._book.close
        self._sheets = 0
        self._begin_sheet()

    def write(self, items: Iterable[V]) -> None:
        """Write the next rows, on a further sheet once one is full."""
        for item in items:
            if self._book.row == _ROWS_A_SHEET or self._book.is_sheet_full:
                self._begin_sheet()
            self._book.write_row([self._make_cell(field.kind, field.read(item)) for field in self._fields])

    def _begin_sheet(self) -> None:
        self._sheets += 1
        title = self._title if self._sheets == 1 else f"{self._title} {self._sheets}"
        self._book.begin_sheet(title, _size_columns(self._fields))
        headings = []
        for field in self._fields:
            heading = self._list_view.heading(field, self._language)
            headings.append(f"{heading} ({self._zone.key})" if field.kind is Kind.TIME else heading)
        self._book.write_row([text_cell(heading, Style.HEADING) for heading in headings])

    def _make_cell(self, kind: Kind, value: object) -> str | None:
        match kind, value:
            case _, None:
                return None
            case Kind.BOOLEAN, bool(truth):
                return boolean_cell(truth)
            case Kind.INTEGER, int(number):
                return number_cell(number)
            case Kind.TIME, int(instant):
                moment = (EPOCH + timedelta(milliseconds=instant)).astimezone(self._zone)
                days = (moment.replace(tzinfo=UTC) - _FIRST_DAY) / timedelta(days=1)
                return number_cell(days, Style.TIME)
            case ((Kind.TEXTS | Kind.CODES), tuple(texts)):
                return _make_text("\n".join(texts), Style.LINES)
            case Kind.CHANGES, ((FactKind() | UnknownWord()) as done, tuple(changes)):
                return _make_text("\n".join(format_changes(done, changes, self._language)), Style.LINES)
            case _:
                return _make_text(str(value), Style.TEXT)


def _make_text(text: str, plain: Style) -> str | None:
    written = text if len(text) <= _LONGEST_CELL else TOO_LONG
    if not written:
        return None
    return text_cell(written, Style.QUOTED if written.startswith(_FORMULA_BEGINS) else plain)


def write_template(
    list_view: ListView[Any, V], language: Language, languages: Languages, now: Instant
) -> bytes:
    """Return an empty sheet with the headings an import takes, and a second one that explains them."""
    taken = [
        field for field in list_view.fields if field.sheet in (SheetUse.IMPORT_EXPORT, SheetUse.IMPORT_ONLY)
    ]
    book = _new_book(now)
    book.begin_sheet(list_view.title(language), _size_columns(taken))
    book.write_row([text_cell(list_view.heading(field, language), Style.HEADING) for field in taken])
    widths = [SheetColumn(width) for _, width in _NOTES_COLUMNS]
    book.begin_sheet(language.text("sheet.notes"), widths)
    book.write_row([text_cell(language.text(heading), Style.HEADING) for heading, _ in _NOTES_COLUMNS])
    for field in taken:
        texts = (list_view.heading(field, language), field.name, list_view.note(field, language, languages))
        book.write_row([text_cell(text, Style.WRAPPED) for text in texts])
    book.close()
    return book.take_bytes()


def _new_book(now: Instant) -> Book:
    return Book(EPOCH + timedelta(milliseconds=now))


def _size_columns(fields: Sequence[Field[Any]]) -> list[SheetColumn]:
    """Return columns wide enough; those of texts keep as text what somebody types into them."""
    texts = (Kind.TEXT, Kind.TEXTS, Kind.CODES)
    return [
        SheetColumn(_WIDTHS[field.kind], Style.TEXT if field.kind in texts else Style.GENERAL)
        for field in fields
    ]
