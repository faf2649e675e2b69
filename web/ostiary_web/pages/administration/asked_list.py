"""Describe lists as pages, and read what a request asks of one."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final, Generic, TypeVar
from urllib.parse import urlencode

from quart import request

from ostiary_core.storage.listing import Match
from ostiary_core.texts import Language
from ostiary_web.application.resources.fields import Field, ListView
from ostiary_web.application.resources.queries import MOST_VALUES
from ostiary_web.http.context import RequestContext
from ostiary_web.pages.administration.list_return import list_arguments
from ostiary_web.pages.administration.people_search import FOUND, FoundUsers
from ostiary_web.pages.context import PageContext
from ostiary_web.pages.moments import day_bounds

T = TypeVar("T")
V = TypeVar("V")

SELECTED: Final = "selected"
"""Query parameter with the key of each selected item."""
ALL: Final = "all"
"""Query parameter that selects all items that match."""
TICK: Final = "tick"
"""Query parameter with the number of a page, in place of `page`, whose items are selected."""
_BESIDE: Final = ("erased", FOUND, SELECTED, ALL, TICK)
"""Query parameters that the list itself does not read."""
MOST_SELECTED: Final = 200
"""Most items that are selected one by one: their keys stand in addresses."""
_NAMES_SAID: Final = 8
"""Most users that are named if several match a filter."""
_COUNT: Final = re.compile("[0-9]{1,9}", re.ASCII)


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
    conditions: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    """Filters that are set or not: keys of their texts, and the parameters that each stands for."""
    words: Mapping[str, Callable[[str, Language], str]] = field(default_factory=dict)
    """Texts of a field's codes."""
    sentences: Mapping[str, Callable[[V, Language], str | None]] = field(default_factory=dict)
    """Texts of fields that take more than the field; None if the field alone says it."""
    has_seconds: bool = False
    """Whether times are shown to the second."""
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
    """Field shown below all others, line by line, if it is not empty."""
    beneath: Mapping[str, str] = field(default_factory=dict)
    """Fields beneath which another field stands in the same cell."""
    selection: Sequence[tuple[str, str]] = ()
    """Actions on selected rows: addresses, which take the rows' keys as `id`, and keys of texts."""
    actions: Callable[[V], Sequence[tuple[str, str]]] = lambda item: ()
    """Actions on a row: addresses and keys of texts."""


@dataclass(frozen=True, slots=True)
class _Filter:
    name: str
    label: str
    value: str
    choices: Sequence[tuple[str, str]] = ()
    """Values and their texts; none for any text."""

    @property
    def is_day(self) -> bool:
        """Whether it is the bound of a range of days."""
        return self.name.endswith(("From", "To"))


class AskedList(Generic[T, V]):
    """A list as a request asks for it."""

    def __init__(self, page: PageContext, list_page: ListPage[T, V]) -> None:
        self.page = page
        self.list_page = list_page
        self.fields = {field.name: field for field in list_page.list_view.fields}
        given = list_arguments()
        self.arguments = {
            name: values for name, values in given.items() if values != [""] and name not in _BESIDE
        }
        """What the query asks."""
        tick = given.get(TICK, [""])[0]
        self.is_ticked = bool(_COUNT.fullmatch(tick))
        """Whether every item of the page is selected by it."""
        if self.is_ticked:
            self.arguments["page"] = [tick]
        self.is_all_selected = given.get(ALL) == ["1"]
        selected = list(dict.fromkeys(key for key in request.args.getlist(SELECTED) if key))
        self.selected = selected[:MOST_SELECTED]
        """Keys of the items selected before."""
        self.is_selection_cut = len(selected) > MOST_SELECTED
        """Whether more are selected than are taken."""
        self._found = given.get(FOUND, ())
        self.known: dict[str, Sequence[str]] = {}
        """Arguments with days as moments of the visitor's zone, and users as identifiers (`resolve`)."""
        self.left_out: list[str] = []
        """What to say if more users match than are taken."""
        self.meanings: list[str] = []
        """Whom the filters stand for that several users match."""

    async def resolve(self) -> None:
        """Find out what the query means."""
        self.known = {**self.arguments}
        for name, (_, parameters) in self.list_page.conditions.items():
            if self.known.get(name) == ["true"]:
                del self.known[name]
                self.known |= {parameter: [value] for parameter, value in parameters.items()}
        for name in (f"{each}{end}" for each in self.list_page.filters for end in ("From", "To")):
            if name in self.arguments:
                self.known[name] = [self._bound(value, name) for value in self.known[name]]
        for name, resolve in self.list_page.resolve.items():
            typed = self.known.get(name, ())[:MOST_VALUES]
            found = [await resolve(self.page.request, each) for each in typed]
            self.meanings += [
                self._meaning(name, *each) for each in zip(typed, found, strict=True) if each[1].names
            ]
            self.known[name] = [value for each in found for value in each.ids]
        if totals := [int(total) for total in self._found if _COUNT.fullmatch(total)]:
            text = self.page.text("page.users_left_out", count=max(totals), most=MOST_VALUES)
            self.left_out.append(text)

    def _meaning(self, name: str, typed: str, found: FoundUsers) -> str:
        more = found.total - _NAMES_SAID
        key = "page.filter_means" if more <= 0 else "page.filter_means_more"
        return self.page.text(
            key if found.total <= len(found.ids) else "page.filter_means_first",
            typed=typed,
            filter=self.heading(name),
            count=found.total,
            most=len(found.ids),
            names=self.page.text("change.between").join(found.names[:_NAMES_SAID]),
            more=more,
        )

    def _bound(self, text: str, name: str) -> str:
        """Return the beginning or end of a day; anything else as it is, for the list to refuse."""
        try:
            day = date.fromisoformat(text)
        except ValueError:
            return text
        return day_bounds(day, self.page.zone)[name.endswith("To")].isoformat()

    def heading(self, name: str) -> str:
        """Return the heading of a field."""
        return self.list_page.list_view.heading(self.fields[name], self.page.language)

    def first(self, name: str) -> str:
        """Return the first value of a parameter, or nothing."""
        return next(iter(self.arguments.get(name, ())), "")

    def address(self, end: str = "", *, keeps_selection: bool = False, **changed: str | None) -> str:
        """Return the address of the list with some parameters changed."""
        return self._write_address({**self.arguments, **changed}, end, keeps_selection=keeps_selection)

    def _write_address(
        self,
        arguments: Mapping[str, Sequence[str] | str | None],
        end: str = "",
        *,
        keeps_selection: bool,
    ) -> str:
        asked = dict(arguments)
        if keeps_selection:
            asked |= {SELECTED: self.selected or None, ALL: "1" if self.is_all_selected else None}
        query = urlencode({name: value for name, value in asked.items() if value is not None}, doseq=True)
        return f"{self.list_page.place}{end}?{query}" if query else f"{self.list_page.place}{end}"

    async def filters(self) -> list[_Filter]:
        """Return the filters of the form."""
        found: list[_Filter] = []
        for name in self.list_page.filters:
            if name in self.list_page.conditions:
                label = self.page.text(self.list_page.conditions[name][0])
                found.append(_Filter(name, label, self.first(name), [("true", self.page.text("page.yes"))]))
                continue
            field, label = self.fields[name], self.heading(name)
            assert field.listing_name is not None, name
            match = self.list_page.list_view.source.filters.get(field.listing_name)
            if match is None:
                for bound, text in ((f"{name}From", "page.from"), (f"{name}To", "page.to")):
                    found.append(_Filter(bound, f"{label} {self.page.text(text)}", self.first(bound)))
                continue
            found.append(_Filter(name, label, self.first(name), await self._choices(field, match)))
        return found

    def chips(self, filters: Sequence[_Filter]) -> list[tuple[str, str]]:
        """Return what the list is filtered by in words, each with the address of the list without it."""
        search = _Filter("q", self.page.text("page.search"), self.first("q"))
        found = []
        for each in (search, *filters):
            if each.name in self.arguments:
                said = self._say(each, self.arguments[each.name])
                without = {**self.arguments, "page": None, each.name: None}
                found.append((said, self._write_address(without, keeps_selection=True)))
        return found

    def _say(self, asked: _Filter, values: Sequence[str]) -> str:
        texts = dict(asked.choices)
        value = self.page.text("change.between").join(texts.get(each, each) for each in values)
        return self.page.text("change.value", field=asked.label, value=value)

    async def _choices(self, field: Field[V], match: Match) -> Sequence[tuple[str, str]]:
        if match is Match.IS:
            return ("true", self.page.text("page.yes")), ("false", self.page.text("page.no"))
        if field.name in self.list_page.choices:
            return await self.list_page.choices[field.name](self.page.request)
        said = self.list_page.words.get(field.name)
        codes = field.choices or ()
        return [(code, code if said is None else said(code, self.page.language)) for code in codes]
