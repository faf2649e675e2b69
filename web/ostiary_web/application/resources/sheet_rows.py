"""Turn the cells of a sheet into the JSON objects that say the same, or name their faults.

Rules, all in this file ("Generic list/record convention"):

- Columns go by their headings, in any language of the server, or by the names of the fields; their order is
  free. Yes and no may be said in each of them too.
- A column that is not there says nothing. An empty cell says that there is nothing, but of numbers, booleans,
  passwords and their hashes it says nothing. A cell with an error, or with a formula that has no result, is
  not empty: it is refused, in whatever column.
- A number in a column of text is what its cell shows, and refused if that cannot be known: programs keep
  15 digits of it.
- A cell with a value and no heading is refused: a comma too many moves what follows it out of its column.
- A fault is at `rows.<number>.<field>`, the number being the one beside the row in the sheet; a person is
  told it by the heading.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, TypeVar

from ostiary_core.model.fields import FieldFault, FieldRule, Fields
from ostiary_core.model.record_type import Kind
from ostiary_core.texts import Language, Languages
from ostiary_web.application.resources.fields import Field, ListView, SheetUse
from ostiary_web.sheets.cells import BadCell, Cell, Number, Row, Sheet, is_empty, is_error

T = TypeVar("T")
V = TypeVar("V")

_BOOLEANS_OF_PROGRAMS: Final = {
    **dict.fromkeys(("true", "y", "1"), True),
    **dict.fromkeys(("false", "n", "0"), False),
}
"""Booleans of programs and hasty people, besides yes and no in each language."""
_BETWEEN_CODES: Final = re.compile(r"[\s,;，；、]+")
_DIGITS_KEPT: Final = 15
"""Digits of a number that spreadsheet programs keep."""
_MOST_FAULTS: Final = 1_000
"""Most faults reported of one file."""
_IMPORTED: Final = (SheetUse.IMPORT_EXPORT, SheetUse.IMPORT_ONLY)
MOST_FAULTS_SHOWN: Final = 20
"""Most faults of a file that people are shown at once; programs are shown all."""
_LONGEST_SHOWN: Final = 60
"""Most characters of an unknown heading that are repeated."""
_IN_BRACKETS: Final = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
"""Pattern of the zone in the heading of a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetRows:
    """The rows of a file, or its faults."""

    by_number: Mapping[int, Fields]
    """Rows as JSON objects, by the row numbers that a spreadsheet shows."""
    faults: tuple[FieldFault, ...]
    """Faults; with any of them nothing is imported."""
    headings: Mapping[str, str]
    """Headings of the file, by field."""


def read_rows(list_view: ListView[T, V], sheet: Sheet, languages: Languages) -> SheetRows:
    """Return the rows of a sheet, and every fault that shows before the rules judge them."""
    if isinstance(sheet, FieldRule):
        return _refuse_sheet(FieldFault("file", sheet))
    columns, unknown = _match_columns(list_view, languages, sheet[0])
    if unknown:
        return _refuse_sheet(*unknown)
    if len(sheet) == 1:
        return _refuse_sheet(FieldFault("file", FieldRule.SHEET_EMPTY))
    booleans = map_booleans(languages)
    return SheetRows(
        by_number={row.number: _decode_row(columns, row, booleans) for row in sheet[1:]},
        faults=tuple(
            islice((fault for row in sheet[1:] for fault in _find_bad_cells(columns, row)), _MOST_FAULTS)
        ),
        headings={
            known.name: _read_text(cell).strip()
            for known, cell in zip(columns, sheet[0].cells, strict=False)
            if known is not None
        },
    )


def read_objects(objects: Mapping[int, Fields]) -> SheetRows:
    """Return rows that came as JSON objects; a converted sheet may have left errors in them too."""
    faults = (
        FieldFault(f"rows.{number}.{name}", FieldRule.CELL_ERROR, (text.strip(),))
        for number, fields in objects.items()
        for name, value in fields.items()
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str) and is_error(text)
    )
    return SheetRows(by_number=objects, faults=tuple(islice(faults, _MOST_FAULTS)), headings={})


def describe_place(
    path: str, headings: Mapping[str, str], list_view: ListView[Any, Any], language: Language
) -> str:
    """Return where in the file a fault is, in the file's own headings."""
    match path.split("."):
        case ["rows", number]:
            return language.text("sheet.place.row", row=number)
        case ["rows", number, name, *_]:
            own = {each.name: list_view.heading(each, language) for each in list_view.fields}
            heading = headings.get(name) or own.get(name, name)
            return language.text("sheet.place.cell", row=number, heading=heading)
        case ["columns", letters]:
            return language.text("sheet.place.column", letters=letters)
        case ["file"]:
            return language.text("sheet.place.file")
        case _:
            return path


def translate_headings(
    faults: Iterable[FieldFault], list_view: ListView[Any, Any], language: Language
) -> tuple[FieldFault, ...]:
    """Return faults with the headings that are allowed in a language, in place of the names of the fields."""
    headings = tuple(list_view.heading(field, language) for field in _imported_fields(list_view))
    return tuple(
        replace(fault, choices=headings) if fault.rule is FieldRule.HEADINGS else fault for fault in faults
    )


def _refuse_sheet(*faults: FieldFault) -> SheetRows:
    return SheetRows(by_number={}, faults=faults, headings={})


def _match_columns(
    list_view: ListView[Any, V], languages: Languages, headings: Row
) -> tuple[list[Field[V] | None], list[FieldFault]]:
    """Return the field of each column; a fault for each heading that is unknown or repeated."""
    known = _map_headings(list_view, languages)
    found: list[Field[V] | None] = []
    faults = []
    for place, heading in enumerate(headings.cells):
        text = _normalize_heading(heading)
        field = known.get(text) or known.get(_normalize_heading(_IN_BRACKETS.sub("", text)))
        if text and (field is None or field in found):
            rule = FieldRule.COLUMN if field is None else FieldRule.COLUMN_TWICE
            shown = _read_text(heading).strip()[:_LONGEST_SHOWN]
            faults.append(FieldFault(f"columns.{_column_letters(place)}", rule, found=shown))
        found.append(field)
    if any(fault.rule is FieldRule.COLUMN for fault in faults):
        allowed = tuple(field.name for field in _imported_fields(list_view))
        faults.insert(0, FieldFault("file", FieldRule.HEADINGS, allowed))
    return found, faults


def _imported_fields(list_view: ListView[Any, V]) -> list[Field[V]]:
    return [field for field in list_view.fields if field.sheet in _IMPORTED]


def _map_headings(list_view: ListView[Any, V], languages: Languages) -> Mapping[str, Field[V]]:
    return {
        _normalize_heading(name): field
        for field in list_view.fields
        if field.sheet is not SheetUse.NONE
        for name in (
            field.name,
            *(list_view.heading(field, language) for language in languages),
        )
    }


def map_booleans(languages: Languages) -> Mapping[str, bool]:
    """Return true and false by what people and programs call them, in lower case."""
    said = {
        language.text(key).casefold(): value
        for language in languages
        for key, value in (("page.yes", True), ("page.no", False))
    }
    return {**said, **_BOOLEANS_OF_PROGRAMS}


def _normalize_heading(cell: Cell) -> str:
    return " ".join(_read_text(cell).casefold().split())


def _column_letters(place: int) -> str:
    """Return a spreadsheet's name of a column.

    >>> _column_letters(0), _column_letters(25), _column_letters(26)
    ('A', 'Z', 'AA')
    """
    first, second = divmod(place, 26)
    return (chr(64 + first) if first else "") + chr(65 + second)


def _find_bad_cells(columns: Sequence[Field[Any] | None], row: Row) -> Iterator[FieldFault]:
    """Yield a fault for each cell of a row that no rule could accept."""
    for place, cell in enumerate(row.cells):
        field = columns[place] if place < len(columns) else None
        rule = _judge_cell(field, cell)
        if rule is None:
            continue
        holds = (cell.holds if isinstance(cell, BadCell) else str(cell).strip(),)
        named = _column_letters(place) if field is None else field.name
        choices = holds if rule is FieldRule.CELL_ERROR else ()
        yield FieldFault(f"rows.{row.number}.{named}", rule, choices)


def _judge_cell(field: Field[Any] | None, cell: Cell) -> FieldRule | None:
    """Return what is wrong with a cell whatever its field's rules are."""
    match cell:
        case _ if field is None:
            return None if is_empty(cell) else FieldRule.CELL_WITHOUT_HEADING
        case BadCell(rule=FieldRule.CELL_ERROR | FieldRule.CELL_FORMULA as rule):
            return rule
        case str() if is_error(cell):
            return FieldRule.CELL_ERROR
        case _ if field.sheet is SheetUse.EXPORT_ONLY:
            return None
        case BadCell(rule=rule):
            return rule
        case Number(value=value, shown=shown) if field.kind not in (Kind.INTEGER, Kind.BOOLEAN):
            if len(value.removeprefix("-").partition(".")[0]) > _DIGITS_KEPT:
                return FieldRule.CELL_NUMBER
            return FieldRule.CELL_FORMAT if shown is None else None
        case _:
            return None


def _decode_row(
    columns: Sequence[Field[Any] | None], row: Row, booleans: Mapping[str, bool]
) -> dict[str, object]:
    """Return a row as the JSON object that says the same."""
    fields: dict[str, object] = {}
    for field, cell in zip(columns, row.cells, strict=False):
        if field is None:
            continue
        match field.kind:
            case Kind.BOOLEAN | Kind.INTEGER if is_empty(cell):
                pass
            case Kind.BOOLEAN:
                fields[field.name] = _read_boolean(cell, booleans)
            case Kind.INTEGER:
                fields[field.name] = _read_integer(cell)
            case Kind.TEXTS:
                fields[field.name] = _read_text(cell).split()
            case Kind.CODES:
                fields[field.name] = [code for code in _BETWEEN_CODES.split(_read_text(cell)) if code]
            case _ if field.sheet is SheetUse.IMPORT_ONLY and is_empty(cell):
                pass
            case _:
                fields[field.name] = None if is_empty(cell) else _read_text(cell)
    return fields


def _read_text(cell: Cell) -> str:
    """Return what a person sees in a cell: programs make numbers of texts that look like one."""
    match cell:
        case str():
            return cell
        case bool():
            return str(cell).lower()
        case Number(value=value, shown=shown):
            return value if shown is None else shown
        case BadCell(holds=holds):
            return holds


def _read_boolean(cell: Cell, booleans: Mapping[str, bool]) -> object:
    """Return true or false; anything else unchanged, for the rules to refuse."""
    text = cell.value if isinstance(cell, Number) else _read_text(cell)
    return booleans.get(text.strip().casefold(), text)


def _read_integer(cell: Cell) -> object:
    """Return an integer; anything else unchanged, for the rules to refuse."""
    text = cell.value if isinstance(cell, Number) else _read_text(cell).strip()
    return int(text) if re.fullmatch("[0-9]{1,18}", text, re.ASCII) else text
