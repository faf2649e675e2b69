"""Lists as pages: any list that the interface declares, searched, filtered, sorted and paged."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlencode

from quart import Response, request

from ostiary_core.http.envelope import field_text
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.record_type import Kind
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import Listing, ListingStore, Match, Sort
from ostiary_core.texts import Language
from ostiary_web.api.resources.exports import answer_export
from ostiary_web.api.resources.fields import Field, ListView
from ostiary_web.api.resources.lists import query_arguments
from ostiary_web.api.resources.queries import DEFAULT_PAGE_SIZE, MOST_VALUES, list_parameters, read_query
from ostiary_web.http.context import RequestContext
from ostiary_web.pages.administration.list_return import with_list_query
from ostiary_web.pages.administration.people_search import FOUND, IDENTIFIER, FoundUsers, replace_phone_number
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.moments import day_bounds

T = TypeVar("T")
V = TypeVar("V")

_CONTROLS: Final = ("page", "sort")
_NOTICES: Final = ("done", "erased", FOUND)
"""Query parameters of notices, which the list itself does not read."""
_LONGEST: Final = 300
"""Most characters of a filter in a form; the list refuses shorter ones as too long."""
_NAMES_SAID: Final = 8
"""Most users that are named where several match a filter."""
_NOTHING: Final = "—"
_COUNT: Final = re.compile("[0-9]{1,9}", re.ASCII)
_DAY: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_LONG_WORD: Final = re.compile(r"\S{21}")
"""Words that may break in a narrow table; shorter ones, such as a grant's name, are read as a whole."""
_ADDRESS: Final = "ip"
"""Field that never breaks, as half an IPv6 address reads like another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage(Generic[T, V]):
    """A list as a page: which columns, filters and actions it has."""

    list_view: ListView[T, V]
    place: str
    """Path of the list, and its entry in the menu."""
    heading: str
    """Key of its heading; `<key>_lead` and `<key>_none` go with it."""
    columns: tuple[str, ...]
    """JSON names of the fields that have a column."""
    filters: tuple[str, ...] = ()
    """JSON names of the fields that have a filter."""
    words: Mapping[str, Callable[[str, Language], str]] = field(default_factory=dict)
    """Texts of a field's codes."""
    names: Callable[[RequestContext, Sequence[V]], Awaitable[Mapping[str, str]]] | None = None
    """Finds the names behind identifiers of some items."""
    resolve: Mapping[str, Callable[[RequestContext, str], Awaitable[FoundUsers]]] = field(
        default_factory=dict
    )
    """Turns what is typed into a filter into identifiers."""
    choices: Mapping[str, Callable[[RequestContext], Awaitable[Sequence[tuple[str, str]]]]] = field(
        default_factory=dict
    )
    """Finds the values of a filter, and their texts."""
    user_filter: str | None = None
    """Filter that takes identifiers of users, of a list in which users are searched for."""
    is_exported: bool = False
    """Whether it can be exported as a sheet, at `export` below its place."""
    link: Callable[[V], str] | None = None
    """Address that a row's first cell leads to."""
    below: tuple[str, Callable[[V, Language], Sequence[str]]] | None = None
    """Field shown below all others, line by line, where it is not empty."""
    beneath: Mapping[str, str] = field(default_factory=dict)
    """Fields beneath which another field stands in the same cell."""
    selection: Sequence[tuple[str, str]] = ()
    """Actions on selected rows: addresses, which take the rows' keys as `id`, and keys of texts."""
    actions: Callable[[V], Sequence[tuple[str, str]]] = lambda item: ()
    """Actions on a row: addresses and keys of texts."""


@dataclass(frozen=True, slots=True)
class _Cell:
    label: str
    kind: str
    value: object
    wrapping: str = ""
    """Where it breaks: `long` within words, `whole` nowhere, else between words."""
    name: str | None = None
    """Name behind an identifier, where it is known."""
    beneath: object = None
    """Value of the field beneath it."""

    @property
    def is_empty(self) -> bool:
        """Whether it is empty, and takes no line on a narrow screen."""
        return self.beneath is None and self.value in (_NOTHING, ())

    @property
    def classes(self) -> str:
        """Classes of its element."""
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
    """Values and their texts."""

    @property
    def is_day(self) -> bool:
        """Whether it is the bound of a range of days."""
        return self.name.endswith(("From", "To"))


async def show_list(
    page: PageContext,
    list_page: ListPage[T, V],
    *,
    notice: str | None = None,
    tools: Sequence[tuple[str, str]] = (),
) -> Response:
    """Show the page of the list that the request's query asks for."""
    arguments = _arguments()
    known, left_out, meanings = await _resolve_arguments(page, list_page, arguments)
    asked = read_query(list_page.list_view, known)
    faults: tuple[FieldFault, ...] = asked if isinstance(asked, tuple) else ()
    listing = Listing(resource=list_page.list_view.source) if isinstance(asked, tuple) else asked
    following = listing.page * DEFAULT_PAGE_SIZE
    items, total = await page.request.query(_make_read(list_page, listing)) if not faults else ((), 0)
    pages = max(1, -(-total // DEFAULT_PAGE_SIZE))
    shown = [_field(list_page.list_view, name) for name in list_page.columns]
    names = {} if list_page.names is None else await list_page.names(page.request, items)
    return await render(
        page,
        "administration/list.html",
        refused=Why.FIELDS_INVALID if faults else None,
        place=list_page.place,
        faults=[*left_out, *(f"{fault.path}: {field_text(fault, page.language)}" for fault in faults)],
        notice=notice,
        list_page=list_page,
        query=urlencode(arguments, doseq=True),
        heading=page.text(list_page.heading),
        lead=page.text(f"{list_page.heading}_lead"),
        none=page.text(f"{list_page.heading}_none"),
        columns=[_column(page, list_page, field, listing, arguments) for field in shown],
        below=list_page.below
        and list_page.list_view.heading(_field(list_page.list_view, list_page.below[0]), page.language),
        rows=[_row(page, list_page, shown, item, names, urlencode(arguments, doseq=True)) for item in items],
        total=total,
        filters=await _filters(page, list_page, arguments),
        meanings=meanings,
        searched=bool(list_page.list_view.source.searched),
        search=_first(arguments, "q"),
        sort=_first(arguments, "sort"),
        is_filtered=bool(arguments.keys() - set(_CONTROLS)),
        number=listing.page,
        pages=pages,
        last=_address(list_page, arguments, page=str(pages)) if total else None,
        before=_address(list_page, arguments, page=str(listing.page - 1)) if listing.page > 1 else None,
        after=_address(list_page, arguments, page=str(listing.page + 1)) if following < total else None,
        tools=[*tools, *([_export_tool(page, list_page, arguments)] if list_page.is_exported else [])],
    )


async def export_list(page: PageContext, list_page: ListPage[T, V], permission: Permission) -> Response:
    """Export the whole list that the query asks for as a sheet, in the language of the page."""
    known, _, _ = await _resolve_arguments(page, list_page, _arguments())
    known.pop("page", None)
    sheet = await answer_export(page.request, list_page.list_view, permission, known, page.language)
    return page.keep(sheet)


async def filter_list(page: PageContext, list_page: ListPage[T, V]) -> Response:
    """Redirect to the list with a form's filters, by a URL without a telephone number."""
    assert list_page.user_filter is not None
    asked = {name: page.form.get(name, "")[:_LONGEST] for name in list_parameters(list_page.list_view)}
    given = {name: value for name, value in asked.items() if value}
    return page.redirect(
        _address(list_page, await replace_phone_number(page.request, given, list_page.user_filter))
    )


def _arguments() -> dict[str, list[str]]:
    """Return what the query asks of the list."""
    given = query_arguments().items()
    return {name: values for name, values in given if values != [""] and name not in _NOTICES}


async def _resolve_arguments(
    page: PageContext, list_page: ListPage[T, V], arguments: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Sequence[str]], list[str], list[str]]:
    """Return the query with identifiers of users, where more match than are taken, and what filters mean."""
    known = _with_day_bounds(page, list_page, arguments)
    totals = [int(total) for total in request.args.getlist(FOUND) if _COUNT.fullmatch(total)]
    meanings = []
    for name, resolve in list_page.resolve.items():
        asked = known.get(name, ())[:MOST_VALUES]
        found = [await resolve(page.request, typed) for typed in asked]
        meanings += [
            _meaning(page, list_page, name, *each) for each in zip(asked, found, strict=True) if each[1].names
        ]
        if found:
            known[name] = [value for each in found for value in each.ids]
        totals += [each.total for each in found if each.total > len(each.ids)]
    said = [page.text("page.users_left_out", count=max(totals), most=MOST_VALUES)] if totals else []
    return known, said, meanings


def _meaning(page: PageContext, list_page: ListPage[T, V], name: str, typed: str, found: FoundUsers) -> str:
    """Say whom a filter stands for that several users match."""
    more = found.total - _NAMES_SAID
    return page.text(
        "page.filter_means" if more <= 0 else "page.filter_means_more",
        typed=typed,
        filter=list_page.list_view.heading(_field(list_page.list_view, name), page.language),
        count=found.total,
        names=page.text("change.between").join(found.names[:_NAMES_SAID]),
        more=more,
    )


def _export_tool(
    page: PageContext, list_page: ListPage[T, V], arguments: Mapping[str, Sequence[str]]
) -> tuple[str, str]:
    query = urlencode({name: values for name, values in arguments.items() if name != "page"}, doseq=True)
    return f"{list_page.place}/export{query and '?'}{query}", page.text("page.export")


def _with_day_bounds(
    page: PageContext, list_page: ListPage[T, V], arguments: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Return the query with the bounds of days in the visitor's zone, not in UTC."""
    found = dict(arguments)
    for name in list_page.filters:
        for number, end in enumerate(("From", "To")):
            values = arguments.get(f"{name}{end}", ())
            found[f"{name}{end}"] = [_bound(page, value, number) for value in values]
    return {name: values for name, values in found.items() if values}


def _bound(page: PageContext, text: str, number: int) -> str:
    """Return the beginning (0) or end (1) of a day; anything else as it is, for the list to refuse."""
    try:
        day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        day = None
    return text if day is None else day_bounds(day, page.zone)[number].isoformat()


def _make_read(
    list_page: ListPage[T, V], listing: Listing[T]
) -> Callable[[ListingStore, Instant], tuple[Sequence[V], int]]:
    def read(store: ListingStore, now: Instant) -> tuple[Sequence[V], int]:
        found = store.page(listing, now)
        return list_page.list_view.add_details(store, found.items), found.total

    return read


def _field(list_view: ListView[Any, V], name: str) -> Field[V]:
    return next(field for field in list_view.fields if field.name == name)


def _column(
    page: PageContext,
    list_page: ListPage[T, V],
    field: Field[V],
    listing: Listing[T],
    arguments: Mapping[str, Sequence[str]],
) -> _Column:
    heading = list_page.list_view.heading(field, page.language)
    if field.listing_name is None or field.listing_name not in list_page.list_view.source.sorts:
        return _Column(heading, None, None)
    first: Sort = listing.order[0]
    sorted_by = first.field == field.listing_name
    ascending = sorted_by and not first.descending
    address = _address(list_page, arguments, sort=f"-{field.name}" if ascending else field.name, page=None)
    direction = None if not sorted_by else "ascending" if ascending else "descending"
    return _Column(heading, address, direction)


def _row(
    page: PageContext,
    list_page: ListPage[T, V],
    shown: Sequence[Field[V]],
    item: V,
    names: Mapping[str, str],
    query: str,
) -> dict[str, object]:
    return {
        "cells": [_cell(page, list_page, field, item, names) for field in shown],
        "key": getattr(item, list_page.list_view.source.key, None),
        "link": None if list_page.link is None else with_list_query(list_page.link(item), query),
        "actions": [
            (with_list_query(address, query if address.startswith(list_page.place) else ""), page.text(name))
            for address, name in list_page.actions(item)
        ],
        "below": () if list_page.below is None else list_page.below[1](item, page.language),
    }


def _cell(
    page: PageContext, list_page: ListPage[T, V], field: Field[V], item: V, names: Mapping[str, str]
) -> _Cell:
    value = field.read(item)
    if isinstance(value, str) and field.name in list_page.words:
        value = list_page.words[field.name](value, page.language)
    label = list_page.list_view.heading(field, page.language)
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
    other = list_page.beneath.get(field.name)
    text = None if other is None else _field(list_page.list_view, other).read(item)
    beneath = page.agent(text) if other == "userAgent" and isinstance(text, str) and text else text
    return _Cell(
        label, "text", _NOTHING if value is None or value == "" else value, wrapping, beneath=beneath or None
    )


def _wrapping(text: str) -> str:
    if _LONG_WORD.search(text) is not None:
        return "long"
    # One word with a hyphen would be broken there.
    return "whole" if text.isascii() and " " not in text else ""


async def _filters(
    page: PageContext, list_page: ListPage[T, V], arguments: Mapping[str, Sequence[str]]
) -> list[_Filter]:
    found: list[_Filter] = []
    choices: tuple[tuple[str, str], ...]
    for name in list_page.filters:
        field = _field(list_page.list_view, name)
        label = list_page.list_view.heading(field, page.language)
        assert field.listing_name is not None, name
        match = list_page.list_view.source.filters.get(field.listing_name)
        if match is None:
            for end, text in (("From", "page.from"), ("To", "page.to")):
                bound = f"{name}{end}"
                found.append(_Filter(bound, f"{label} {page.text(text)}", _first(arguments, bound), None))
            continue
        if match is Match.IS:
            choices = (("true", page.text("page.yes")), ("false", page.text("page.no")))
        elif name in list_page.choices:
            choices = tuple(await list_page.choices[name](page.request))
        else:
            said = list_page.words.get(name)
            choices = tuple(
                (each, said(each, page.language) if said else each) for each in field.choices or ()
            )
        found.append(_Filter(name, label, _first(arguments, name), choices or None))
    return found


def _first(arguments: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(arguments.get(name, ())), "")


def _address(
    list_page: ListPage[Any, Any], arguments: Mapping[str, Sequence[str]], **changed: str | None
) -> str:
    """Return the address of the list with some parameters changed."""
    kept = {**arguments, **{name: [value] for name, value in changed.items() if value is not None}}
    for name, value in changed.items():
        if value is None:
            kept.pop(name, None)
    return f"{list_page.place}?{urlencode(kept, doseq=True)}"
