"""`POST /x/import`: a sheet of records, all of it or nothing.

Rules, all in this file ("Generic list/record convention"):

- `mode=insert` makes a new record of every row; `upsert` also changes those that are there, found by the
  field that names them. A row that says what stands changes nothing.
- Columns go by their headings, in any language of the server, or by the names of the fields; their order is
  free. Yes and no may be said in each of them too.
- A column that is not there says nothing. An empty cell says that there is nothing, but of numbers, booleans,
  passwords and their hashes it says nothing. A cell with an error, or with a formula that has no result, is
  not empty: it is refused, in whatever column.
- A number in a column of text is what its cell shows, and refused where that cannot be known: programs keep
  15 digits of it.
- A fault is at `rows.<number>.<field>`, the number being the one beside the row in the sheet.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import trio
from msgspec import UNSET, UnsetType
from quart import request

from ostiary_core.events import AllOrNothing
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.reply import BatchDone, BatchRefused, SecretIssued
from ostiary_core.model.why import Why
from ostiary_core.texts import Languages
from ostiary_web.api.answer_data import AnswerData, Count
from ostiary_web.api.resources.fields import Column, Field, Kind, ListView
from ostiary_web.api.resources.records import batch_refusal
from ostiary_web.api.resources.resource import Fields, ImportContext, Resource
from ostiary_web.http.context import RequestContext
from ostiary_web.sheets.cells import BadCell, Cell, Number, Row, Sheet, is_empty, is_error
from ostiary_web.sheets.reader import MOST_READING_SECONDS

T = TypeVar("T")
V = TypeVar("V")

LONGEST_IMPORT: Final = 8 * 1024 * 1024 + 64 * 1024
"""Bytes of a request: the file and what is around it."""

_MULTIPART: Final = "multipart/form-data"
REPLACES: Final = {"insert": False, "upsert": True}
"""Whether a row may change what stands, by the mode of an import."""
_BOOLEANS: Final = {**dict.fromkeys(("true", "y", "1"), True), **dict.fromkeys(("false", "n", "0"), False)}
"""What programs and hasty people write; besides these, yes and no in each language."""
_BETWEEN_CODES: Final = re.compile(r"[\s,;，；、]+")
_DIGITS_KEPT: Final = 15
"""Of a number, by spreadsheet programs."""
_IN_BRACKETS: Final = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
"""The zone in the heading of a time."""


class ImportedSecret(AnswerData):
    """The secret of a new client, shown this once."""

    client_id: str
    secret: str


class Imported(AnswerData):
    """How many records a sheet made, changed and left as they were."""

    created: Count
    updated: Count
    unchanged: Count
    secrets: list[ImportedSecret] | UnsetType = UNSET


async def take_sheet(context: RequestContext, resource: Resource[T, V]) -> Imported:
    """Import the sheet that the request brings: how many records it made and changed; for new clients also
    their secrets, this once. Raises `RequestRefused` with everything that is wrong with it."""
    if request.mimetype != _MULTIPART:
        context.refuse(Why.NOT_MULTIPART)
    content, mode = await _uploaded()
    faults = [
        *([FieldFault("file", FieldRule.REQUIRED)] if content is None else []),
        *([FieldFault("mode", FieldRule.IMPORT_MODE)] if mode not in REPLACES else []),
    ]
    if content is None or faults:
        context.refuse(Why.FIELDS_INVALID, faults)
    try:
        sheet = await context.backing.read_sheet(content)
    except trio.TooSlowError:
        context.refuse(Why.TOO_MANY_REQUESTS, wait_seconds=MOST_READING_SECONDS)
    rows = read_rows(resource.list_view, sheet, context.languages)
    if rows.faults:
        context.refuse(Why.FIELDS_INVALID, rows.faults)
    own = context.user.username
    return await import_rows(context, resource, rows.by_number, replace=REPLACES[mode], own_username=own)


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetRows:
    """What the rows of a file say, or what is wrong with them."""

    by_number: Mapping[int, Fields]
    """The rows below the headings as JSON objects that say the same, by the numbers that a person sees."""
    faults: tuple[FieldFault, ...] = ()
    """With any of them nothing of the file is imported."""


def read_rows(list_view: ListView[T, V], sheet: Sheet, languages: Languages) -> SheetRows:
    """The rows of a sheet, and every fault that is seen before the rules look at them."""
    if isinstance(sheet, FieldRule):
        return _unfit(FieldFault("file", sheet))
    columns, unknown = _columns(_known_headings(list_view, languages), sheet[0])
    if unknown:
        return _unfit(*unknown)
    if len(sheet) == 1:
        return _unfit(FieldFault("file", FieldRule.SHEET_EMPTY))
    booleans = _booleans(languages)
    return SheetRows(
        by_number={row.number: _fields(columns, row, booleans) for row in sheet[1:]},
        faults=tuple(fault for row in sheet[1:] for fault in _bad_cells(columns, row)),
    )


def read_objects(objects: Mapping[int, Fields]) -> SheetRows:
    """Rows that came as JSON objects: of a sheet that somebody turned into them, they may have errors too."""
    faults = (
        FieldFault(f"rows.{number}.{name}", FieldRule.CELL_ERROR, (text.strip(),))
        for number, fields in objects.items()
        for name, value in fields.items()
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str) and is_error(text)
    )
    return SheetRows(by_number=objects, faults=tuple(faults))


def _unfit(*faults: FieldFault) -> SheetRows:
    return SheetRows(by_number={}, faults=faults)


async def import_rows(
    context: ImportContext,
    resource: Resource[T, V],
    rows: Mapping[int, Fields],
    *,
    replace: bool,
    own_username: str | None = None,
) -> Imported:
    """Import rows by their numbers, all of them or none; raises `RequestRefused` with every fault of each."""
    # A row may end the caller's own sessions, or take a permission away: the others come before it.
    in_order = sorted(
        rows, key=lambda number: own_username is not None and resource.is_own(own_username, rows[number])
    )
    events = [await resource.import_row(context, rows[number], replace) for number in in_order]
    reply = await context.decide(AllOrNothing(events=tuple(events)))
    if isinstance(reply, BatchRefused):
        raise batch_refusal(reply, [f"rows.{number}" for number in in_order])
    assert isinstance(reply, BatchDone)
    items = [resource.known(each) for each in reply.replies]
    revisions = [resource.revision(item) for item in items if item is not None]
    made = revisions.count(1)
    secrets = [
        ImportedSecret(client_id=each.client.client_id, secret=each.secret.reveal())
        for each in reply.replies
        if isinstance(each, SecretIssued)
    ]
    return Imported(
        created=made,
        updated=len(revisions) - made,
        unchanged=len(items) - len(revisions),
        secrets=secrets or UNSET,
    )


async def _uploaded() -> tuple[bytes | None, str]:
    """The one file and the mode that were sent."""
    form, files = await request.form, await request.files
    sent, modes = files.getlist("file"), form.getlist("mode")
    content = sent[0].read() if len(sent) == 1 else None
    for file in (file for several in files.listvalues() for file in several):
        file.close()
    return content, modes[0] if len(modes) == 1 else ""


# --- from cells to fields


def _columns(known: Mapping[str, Field[V]], headings: Row) -> tuple[list[Field[V] | None], list[FieldFault]]:
    """Which field each column of the sheet is; every heading that is none, or is there twice."""
    found: list[Field[V] | None] = []
    faults = []
    for place, heading in enumerate(headings.cells):
        text = _heading(heading)
        field = known.get(text) or known.get(_heading(_IN_BRACKETS.sub("", text)))
        if text and (field is None or field in found):
            faults.append(FieldFault(f"columns.{_letters(place)}", FieldRule.COLUMN))
        found.append(field)
    return found, faults


def _known_headings(list_view: ListView[Any, V], languages: Languages) -> Mapping[str, Field[V]]:
    return {
        _heading(name): field
        for field in list_view.fields
        if field.column is not Column.NONE
        for name in (field.name, *(list_view.heading(field, language) for language in languages))
    }


def _booleans(languages: Languages) -> Mapping[str, bool]:
    said = {
        language.text(key).casefold(): value
        for language in languages
        for key, value in (("page.yes", True), ("page.no", False))
    }
    return {**said, **_BOOLEANS}


def _heading(cell: Cell) -> str:
    return " ".join(_text(cell).casefold().split())


def _letters(place: int) -> str:
    """What a sheet calls its columns.

    >>> _letters(0), _letters(25), _letters(26)
    ('A', 'Z', 'AA')
    """
    first, second = divmod(place, 26)
    return (chr(64 + first) if first else "") + chr(65 + second)


def _bad_cells(columns: Sequence[Field[Any] | None], row: Row) -> Iterator[FieldFault]:
    """The cells of a row that hold nothing that could be meant."""
    for place, cell in enumerate(row.cells):
        field = columns[place] if place < len(columns) else None
        rule = _cell_rule(field, cell)
        if rule is None:
            continue
        holds = (cell.holds if isinstance(cell, BadCell) else str(cell).strip(),)
        named = _letters(place) if field is None else field.name
        choices = holds if rule is FieldRule.CELL_ERROR else ()
        yield FieldFault(f"rows.{row.number}.{named}", rule, choices)


def _cell_rule(field: Field[Any] | None, cell: Cell) -> FieldRule | None:
    """What is wrong with a cell, whatever the rules for its field. Beside the table anybody may note
    anything."""
    match cell:
        case BadCell(rule=FieldRule.CELL_WITHOUT_HEADING as rule):
            return rule
        case _ if field is None:
            return None
        case BadCell(rule=FieldRule.CELL_ERROR | FieldRule.CELL_FORMULA as rule):
            return rule
        case str() if is_error(cell):
            return FieldRule.CELL_ERROR
        case _ if field.column is Column.EXPORT_ONLY:
            return None
        case BadCell(rule=rule):
            return rule
        case Number(value=value, shown=shown) if field.kind not in (Kind.INTEGER, Kind.BOOLEAN):
            if len(value.removeprefix("-").partition(".")[0]) > _DIGITS_KEPT:
                return FieldRule.CELL_NUMBER
            return FieldRule.CELL_FORMAT if shown is None else None
        case _:
            return None


def _fields(
    columns: Sequence[Field[Any] | None], row: Row, booleans: Mapping[str, bool]
) -> dict[str, object]:
    """A row as the JSON object that says the same."""
    fields: dict[str, object] = {}
    for field, cell in zip(columns, row.cells, strict=False):
        if field is None or field.column is Column.EXPORT_ONLY:
            continue
        match field.kind:
            case Kind.BOOLEAN | Kind.INTEGER if is_empty(cell):
                pass
            case Kind.BOOLEAN:
                fields[field.name] = _boolean(cell, booleans)
            case Kind.INTEGER:
                fields[field.name] = _whole_number(cell)
            case Kind.TEXTS:
                fields[field.name] = _text(cell).split()
            case Kind.CODES:
                fields[field.name] = [code for code in _BETWEEN_CODES.split(_text(cell)) if code]
            case _ if field.column is Column.IMPORT_ONLY and is_empty(cell):
                pass
            case _:
                fields[field.name] = None if is_empty(cell) else _text(cell)
    return fields


def _text(cell: Cell) -> str:
    """What a person sees in a cell: programs make numbers of what looks like one."""
    match cell:
        case str():
            return cell
        case bool():
            return str(cell).lower()
        case Number(value=value, shown=shown):
            return value if shown is None else shown
        case BadCell(holds=holds):
            return holds


def _boolean(cell: Cell, booleans: Mapping[str, bool]) -> object:
    """True or false; anything else as it is, for the rules to refuse."""
    text = cell.value if isinstance(cell, Number) else _text(cell)
    return booleans.get(text.strip().casefold(), text)


def _whole_number(cell: Cell) -> object:
    """A whole number; anything else as it is, for the rules to refuse."""
    text = cell.value if isinstance(cell, Number) else _text(cell).strip()
    return int(text) if re.fullmatch("[0-9]{1,18}", text, re.ASCII) else text
