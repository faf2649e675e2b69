"""Lists as pages: any list that the interface declares, searched, narrowed, sorted and paged."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlencode

from quart import Response

from ostiary_core.http.envelope import field_text
from ostiary_core.http.language import Language
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.instant import Instant
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import Listing, ListingStore, Match, Sort
from ostiary_web.api.resources.fields import Field, Kind, ListView
from ostiary_web.api.resources.lists import query_arguments
from ostiary_web.api.resources.queries import DEFAULT_PAGE_SIZE, read_query
from ostiary_web.http.context import RequestContext
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.moments import day_bounds

T = TypeVar("T")
V = TypeVar("V")

_CONTROLS: Final = ("page", "sort")
_NOTICES: Final = ("done", "erased")
"""What an address may say of what was done, and a list has no use for."""
IDENTIFIER: Final = re.compile("[0-9a-f]{32}")
"""What the rules draw as identifiers: shown by its beginning, whole on pointing at it."""

_DAY: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_LONG_WORD: Final = re.compile(r"\S{21}")
"""What may be broken where a table is narrow; a shorter word, as the name of a grant, is read as a whole."""
_ADDRESS: Final = "ip"
"""The field that is never broken, as half an address of IPv6 reads like another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[T, V]):
    """A list and which of it the page shows."""

    list_view: ListView[T, V]
    place: str
    """Its path, which is also its place in the menu."""
    heading: str
    """The name of its heading among the texts; `<name>_lead` and `<name>_none` stand with it."""
    columns: tuple[str, ...]
    """The fields shown, by JSON name."""
    filters: tuple[str, ...] = ()
    """The fields that can be narrowed by."""
    words: Mapping[str, Callable[[str, Language], str]] = field(default_factory=dict)
    """How the codes of a field are said."""
    names: Callable[[RequestContext, Sequence[V]], Awaitable[Mapping[str, str]]] | None = None
    """Finds what identifiers of some items stand for, for those who cannot read identifiers."""
    meant: Mapping[str, Callable[[RequestContext, str], Awaitable[Sequence[str]]]] = field(
        default_factory=dict
    )
    """What is typed into a filter, as the list knows it."""
    link: Callable[[V], str] | None = None
    """Where a row's first cell leads."""
    actions: Callable[[V], Sequence[tuple[str, str]]] = lambda item: ()
    """What can be done with a row: addresses and the names of texts."""


@dataclass(frozen=True, slots=True)
class _Cell:
    label: str
    kind: str
    value: object
    wrapping: str = ""
    """How it is broken: `long` within words, `whole` nowhere, else between words."""
    name: str | None = None
    """What an identifier stands for, where that is known."""


@dataclass(frozen=True, slots=True)
class _Column:
    heading: str
    address: str | None
    direction: str | None


@dataclass(frozen=True, slots=True)
class _Filter:
    name: str
    label: str
    value: str
    choices: tuple[tuple[str, str], ...] | None
    """Values and how they are said."""


async def show_table(
    page: PageContext,
    table: Table[T, V],
    *,
    notice: str | None = None,
    tools: Sequence[tuple[str, str]] = (),
) -> Response:
    """The page of the list that the request's query asks for."""
    arguments = {name: values for name, values in query_arguments().items() if values != [""]}
    for name in _NOTICES:
        arguments.pop(name, None)
    known = _days_of_the_visitor(page, table, arguments)
    for name, meant in table.meant.items():
        if name in known:
            known[name] = [value for typed in known[name] for value in await meant(page.request, typed)]
    asked = read_query(table.list_view, known)
    faults: tuple[FieldFault, ...] = asked if isinstance(asked, tuple) else ()
    listing = Listing(resource=table.list_view.source) if isinstance(asked, tuple) else asked
    following = listing.page * DEFAULT_PAGE_SIZE
    items, total = await page.request.look(_question(table, listing)) if not faults else ((), 0)
    pages = max(1, -(-total // DEFAULT_PAGE_SIZE))
    shown = [_field(table.list_view, name) for name in table.columns]
    names = {} if table.names is None else await table.names(page.request, items)
    return await render(
        page,
        "administration/list.html",
        refused=Why.FIELDS_INVALID if faults else None,
        place=table.place,
        faults=[f"{fault.path}: {field_text(fault, page.language)}" for fault in faults],
        notice=notice,
        table=table,
        columns=[_column(page, table, field, listing, arguments) for field in shown],
        rows=[_row(page, table, shown, item, names) for item in items],
        total=total,
        filters=_filters(page, table, arguments),
        searched=bool(table.list_view.source.searched),
        search=_first(arguments, "q"),
        sort=_first(arguments, "sort"),
        narrowed=bool(arguments.keys() - set(_CONTROLS)),
        number=listing.page,
        pages=pages,
        last=_address(table, arguments, page=str(pages)) if total else None,
        before=_address(table, arguments, page=str(listing.page - 1)) if listing.page > 1 else None,
        after=_address(table, arguments, page=str(listing.page + 1)) if following < total else None,
        tools=tools,
    )


def _days_of_the_visitor(
    page: PageContext, table: Table[T, V], arguments: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """The query with the bounds of days in the zone in which the page tells its times, not in UTC."""
    found = dict(arguments)
    for name in table.filters:
        for number, end in enumerate(("From", "To")):
            values = arguments.get(f"{name}{end}", ())
            found[f"{name}{end}"] = [_bound(page, value, number) for value in values]
    return {name: values for name, values in found.items() if values}


def _bound(page: PageContext, text: str, number: int) -> str:
    """The beginning (0) or end (1) of a day; what is no day is left for the list to judge."""
    try:
        day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        day = None
    return text if day is None else day_bounds(day, page.zone)[number].isoformat()


def _question(
    table: Table[T, V], listing: Listing[T]
) -> Callable[[ListingStore, Instant], tuple[Sequence[V], int]]:
    def look(store: ListingStore, now: Instant) -> tuple[Sequence[V], int]:
        found = store.page(listing, now)
        return table.list_view.shown(store, found.items), found.total

    return look


def _field(list_view: ListView[Any, V], name: str) -> Field[V]:
    return next(field for field in list_view.fields if field.name == name)


def _column(
    page: PageContext,
    table: Table[T, V],
    field: Field[V],
    listing: Listing[T],
    arguments: Mapping[str, Sequence[str]],
) -> _Column:
    heading = field.heading.in_language(page.language)
    if field.listing_name is None or field.listing_name not in table.list_view.source.sorts:
        return _Column(heading, None, None)
    first: Sort = listing.order[0]
    sorted_by = first.field == field.listing_name
    ascending = sorted_by and not first.descending
    address = _address(table, arguments, sort=f"-{field.name}" if ascending else field.name, page=None)
    direction = None if not sorted_by else "ascending" if ascending else "descending"
    return _Column(heading, address, direction)


def _row(
    page: PageContext, table: Table[T, V], shown: Sequence[Field[V]], item: V, names: Mapping[str, str]
) -> dict[str, object]:
    return {
        "cells": [_cell(page, table, field, item, names) for field in shown],
        "link": None if table.link is None else table.link(item),
        "actions": [(address, page.text(name)) for address, name in table.actions(item)],
    }


def _cell(page: PageContext, table: Table[T, V], field: Field[V], item: V, names: Mapping[str, str]) -> _Cell:
    value = field.read(item)
    if isinstance(value, str) and field.name in table.words:
        value = table.words[field.name](value, page.language)
    label = field.heading.in_language(page.language)
    if field.kind is Kind.TIME:
        return _Cell(label, "text", page.moment(Instant(value)) if isinstance(value, int) else "—", "whole")
    if isinstance(value, str) and IDENTIFIER.fullmatch(value):
        name = names.get(value)
        return _Cell(label, "identifier", value, "" if name is None else _wrapping(name), name)
    if field.kind is Kind.BOOLEAN:
        return _Cell(label, "boolean", bool(value))
    if field.kind in (Kind.TEXTS, Kind.CODES):
        values = value if isinstance(value, tuple) else ()
        return _Cell(label, "texts", values, _wrapping(" ".join(map(str, values))))
    wrapping = "whole" if field.name == _ADDRESS else _wrapping(str(value))
    return _Cell(label, "text", "—" if value is None or value == "" else value, wrapping)


def _wrapping(text: str) -> str:
    if _LONG_WORD.search(text) is not None:
        return "long"
    # One word with a hyphen would be broken there.
    return "whole" if text.isascii() and " " not in text else ""


def _filters(page: PageContext, table: Table[T, V], arguments: Mapping[str, Sequence[str]]) -> list[_Filter]:
    found: list[_Filter] = []
    choices: tuple[tuple[str, str], ...]
    for name in table.filters:
        field = _field(table.list_view, name)
        label = field.heading.in_language(page.language)
        assert field.listing_name is not None, name
        match = table.list_view.source.filters.get(field.listing_name)
        if match is None:
            for end, text in (("From", "from"), ("To", "to")):
                bound = f"{name}{end}"
                found.append(_Filter(bound, f"{label} {page.text(text)}", _first(arguments, bound), None))
            continue
        if match is Match.IS:
            choices = (("true", page.text("yes")), ("false", page.text("no")))
        else:
            said = table.words.get(name, _as_it_is)
            choices = tuple((value, said(value, page.language)) for value in field.choices or ())
        found.append(_Filter(name, label, _first(arguments, name), choices or None))
    return found


def _as_it_is(value: str, language: Language) -> str:
    return value


def _first(arguments: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(arguments.get(name, ())), "")


def _address(table: Table[Any, Any], arguments: Mapping[str, Sequence[str]], **changed: str | None) -> str:
    """The same list with other parameters."""
    kept = {**arguments, **{name: [value] for name, value in changed.items() if value is not None}}
    for name, value in changed.items():
        if value is None:
            kept.pop(name, None)
    return f"{table.place}?{urlencode(kept, doseq=True)}"
