"""Lists as pages: any list that the interface declares, searched, narrowed, sorted and paged."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlencode

from markupsafe import Markup
from quart import Response, request

from ostiary_core.http.envelope import field_text
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import Listing, ListingStore, Match, Sort
from ostiary_core.texts import Language
from ostiary_web.api.resources.exports import answer_export
from ostiary_web.api.resources.fields import Field, Kind, ListView
from ostiary_web.api.resources.lists import query_arguments
from ostiary_web.api.resources.queries import DEFAULT_PAGE_SIZE, MOST_VALUES, parameters_of, read_query
from ostiary_web.http.context import RequestContext
from ostiary_web.pages.administration.finding_people import FOUND, IDENTIFIER, FoundPeople, without_number
from ostiary_web.pages.administration.way_back import with_way_back
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.moments import day_bounds

T = TypeVar("T")
V = TypeVar("V")

_CONTROLS: Final = ("page", "sort")
_NOTICES: Final = ("done", "erased", FOUND)
"""What an address may say of what was done, and a list has no use for."""
_LONGEST: Final = 300
"""Characters of what a form asks for; a list says of less that it is too long."""
_NOTHING: Final = "—"
_COUNT: Final = re.compile("[0-9]{1,9}", re.ASCII)
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
    """The key of its heading; `<key>_lead` and `<key>_none` stand with it."""
    columns: tuple[str, ...]
    """The fields shown, by JSON name."""
    filters: tuple[str, ...] = ()
    """The fields that can be narrowed by."""
    words: Mapping[str, Callable[[str, Language], str]] = field(default_factory=dict)
    """How the codes of a field are said."""
    names: Callable[[RequestContext, Sequence[V]], Awaitable[Mapping[str, str]]] | None = None
    """Finds what identifiers of some items stand for, for those who cannot read identifiers."""
    meant: Mapping[str, Callable[[RequestContext, str], Awaitable[FoundPeople]]] = field(default_factory=dict)
    """What is typed into a filter, as the list knows it."""
    people: str | None = None
    """The filter that takes identifiers of people, of a list in which people are looked for."""
    is_exported: bool = False
    """Whether it may be had as a sheet, at `export` below its place."""
    link: Callable[[V], str] | None = None
    """Where a row's first cell leads."""
    below: tuple[str, Callable[[V, Language], Sequence[str]]] | None = None
    """A field that is said below all others, line by line, where it says anything."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """Under which field stands the browser that another field names."""
    actions: Callable[[V], Sequence[tuple[str, str]]] = lambda item: ()
    """What can be done with a row: addresses and the keys of texts."""


@dataclass(frozen=True, slots=True)
class _Cell:
    label: str
    kind: str
    value: object
    wrapping: str = ""
    """How it is broken: `long` within words, `whole` nowhere, else between words."""
    name: str | None = None
    """What an identifier stands for, where that is known."""
    agent: Markup | None = None
    """What stands under it."""

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing: on a narrow screen it takes no line."""
        return self.agent is None and self.value in (_NOTHING, ())

    @property
    def classes(self) -> str:
        """How it is drawn."""
        return f"{self.wrapping} {'none' if self.is_empty else ''}".strip()


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

    @property
    def is_day(self) -> bool:
        """Whether it bounds a range of days."""
        return self.name.endswith(("From", "To"))


async def show_table(
    page: PageContext,
    table: Table[T, V],
    *,
    notice: str | None = None,
    tools: Sequence[tuple[str, str]] = (),
) -> Response:
    """The page of the list that the request's query asks for."""
    arguments = _arguments()
    known, people_left_out = await _known_arguments(page, table, arguments)
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
        faults=[*people_left_out, *(f"{fault.path}: {field_text(fault, page.language)}" for fault in faults)],
        notice=notice,
        table=table,
        heading=page.text(table.heading),
        lead=page.text(f"{table.heading}_lead"),
        none=page.text(f"{table.heading}_none"),
        columns=[_column(page, table, field, listing, arguments) for field in shown],
        below=table.below and table.list_view.heading(_field(table.list_view, table.below[0]), page.language),
        rows=[_row(page, table, shown, item, names, urlencode(arguments, doseq=True)) for item in items],
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
        tools=[*tools, *([_export_tool(page, table, arguments)] if table.is_exported else [])],
    )


async def export_table(page: PageContext, table: Table[T, V], permission: Permission) -> Response:
    """The list that the request's query asks for as a sheet, whole, and in the language of the page."""
    known, _ = await _known_arguments(page, table, _arguments())
    known.pop("page", None)
    sheet = await answer_export(page.request, table.list_view, permission, known, page.language)
    return page.keep(sheet)


async def narrow_table(page: PageContext, table: Table[T, V]) -> Response:
    """On to the list that a form asks for, by an address without anybody's telephone number."""
    assert table.people is not None
    asked = {name: page.form.get(name, "")[:_LONGEST] for name in parameters_of(table.list_view)}
    given = {name: value for name, value in asked.items() if value}
    return page.redirect(_address(table, await without_number(page.request, given, table.people)))


def _arguments() -> dict[str, list[str]]:
    """What the address asks for of the list."""
    given = query_arguments().items()
    return {name: values for name, values in given if values != [""] and name not in _NOTICES}


async def _known_arguments(
    page: PageContext, table: Table[T, V], arguments: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Sequence[str]], list[str]]:
    """The query as the interface knows it, and a word where more people are meant than are taken."""
    known = _days_of_the_visitor(page, table, arguments)
    totals = [int(total) for total in request.args.getlist(FOUND) if _COUNT.fullmatch(total)]
    for name, meant in table.meant.items():
        found = [await meant(page.request, typed) for typed in known.get(name, ())[:MOST_VALUES]]
        if found:
            known[name] = [value for each in found for value in each.ids]
        totals += [each.total for each in found if each.total > len(each.ids)]
    said = [page.text("page.people_left_out", count=max(totals), most=MOST_VALUES)] if totals else []
    return known, said


def _export_tool(
    page: PageContext, table: Table[T, V], arguments: Mapping[str, Sequence[str]]
) -> tuple[str, str]:
    query = urlencode({name: values for name, values in arguments.items() if name != "page"}, doseq=True)
    return f"{table.place}/export{query and '?'}{query}", page.text("page.export")


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
    heading = table.list_view.heading(field, page.language)
    if field.listing_name is None or field.listing_name not in table.list_view.source.sorts:
        return _Column(heading, None, None)
    first: Sort = listing.order[0]
    sorted_by = first.field == field.listing_name
    ascending = sorted_by and not first.descending
    address = _address(table, arguments, sort=f"-{field.name}" if ascending else field.name, page=None)
    direction = None if not sorted_by else "ascending" if ascending else "descending"
    return _Column(heading, address, direction)


def _row(
    page: PageContext,
    table: Table[T, V],
    shown: Sequence[Field[V]],
    item: V,
    names: Mapping[str, str],
    query: str,
) -> dict[str, object]:
    return {
        "cells": [_cell(page, table, field, item, names) for field in shown],
        "link": None if table.link is None else with_way_back(table.link(item), query),
        "actions": [
            (with_way_back(address, query if address.startswith(table.place) else ""), page.text(name))
            for address, name in table.actions(item)
        ],
        "below": () if table.below is None else table.below[1](item, page.language),
    }


def _cell(page: PageContext, table: Table[T, V], field: Field[V], item: V, names: Mapping[str, str]) -> _Cell:
    value = field.read(item)
    if isinstance(value, str) and field.name in table.words:
        value = table.words[field.name](value, page.language)
    label = table.list_view.heading(field, page.language)
    if field.kind is Kind.TIME:
        return _Cell(label, "text", page.moment(Instant(value)) if isinstance(value, int) else _NOTHING)
    if isinstance(value, str) and IDENTIFIER.fullmatch(value):
        name = names.get(value)
        return _Cell(label, "identifier", value, "" if name is None else _wrapping(name), name)
    if field.kind is Kind.BOOLEAN:
        return _Cell(label, "boolean", bool(value))
    if field.kind in (Kind.TEXTS, Kind.CODES):
        values = value if isinstance(value, tuple) else ()
        return _Cell(label, "texts", values, _wrapping(" ".join(map(str, values))))
    wrapping = "whole" if field.name == _ADDRESS else _wrapping(str(value))
    under = table.agents.get(field.name)
    user_agent = None if under is None else _field(table.list_view, under).read(item)
    agent = page.agent(user_agent) if isinstance(user_agent, str) and user_agent else None
    return _Cell(label, "text", _NOTHING if value is None or value == "" else value, wrapping, agent=agent)


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
        label = table.list_view.heading(field, page.language)
        assert field.listing_name is not None, name
        match = table.list_view.source.filters.get(field.listing_name)
        if match is None:
            for end, text in (("From", "page.from"), ("To", "page.to")):
                bound = f"{name}{end}"
                found.append(_Filter(bound, f"{label} {page.text(text)}", _first(arguments, bound), None))
            continue
        if match is Match.IS:
            choices = (("true", page.text("page.yes")), ("false", page.text("page.no")))
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
