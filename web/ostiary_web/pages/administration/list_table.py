"""Make the table of a list's page: its headings, and a row of cells for each item."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from urllib.parse import urlencode

from ostiary_core.model.instant import Instant
from ostiary_core.model.record_type import Kind
from ostiary_core.storage.listing import Listing
from ostiary_web.application.resources.fields import Field
from ostiary_web.pages.administration.asked_list import AskedList
from ostiary_web.pages.administration.list_return import with_list_query
from ostiary_web.pages.administration.people_search import IDENTIFIER

T = TypeVar("T")
V = TypeVar("V")

_NOTHING: Final = "—"
_LONG_WORD: Final = re.compile(r"\S{21}")
"""Words that may break in a narrow table; shorter ones, such as a grant's name, are read as a whole."""
_ADDRESS: Final = "ip"
"""Field that never breaks, as half an IPv6 address reads like another."""


@dataclass(frozen=True, slots=True)
class _Column:
    heading: str
    address: str | None = None
    direction: str | None = None


@dataclass(frozen=True, slots=True)
class _Cell:
    label: str
    kind: str
    value: object
    wrapping: str = ""
    """Where it breaks: `long` within words, `whole` nowhere, else between words; `cut` ends with its line."""
    beneath: object = None
    """Value of the field beneath it."""

    @property
    def is_empty(self) -> bool:
        """Whether it is empty, and takes no line on a narrow screen."""
        return self.beneath is None and self.value == _NOTHING

    @property
    def classes(self) -> str:
        """Classes of its element."""
        return f"{self.wrapping} {'none' if self.is_empty else ''}".strip()


class ListTable(Generic[T, V]):
    """The table of a list; `names` are those behind identifiers of its items."""

    def __init__(self, asked: AskedList[T, V], names: Mapping[str, str]) -> None:
        self._asked = asked
        self._page = asked.page
        self._list_page = asked.list_page
        self._names = names
        self._query = urlencode(asked.arguments, doseq=True)

    def column(self, name: str, listing: Listing[T]) -> _Column:
        """Return the heading of a field, and the address that sorts by it."""
        field, heading = self._asked.fields[name], self._asked.heading(name)
        if field.listing_name not in self._list_page.list_view.source.sorts:
            return _Column(heading)
        first = listing.order[0]
        is_sorted = first.field == field.listing_name
        is_ascending = is_sorted and not first.descending
        order = f"-{name}" if is_ascending else name
        address = self._asked.address(keeps_selection=True, sort=order, page=None)
        return _Column(
            heading, address, ("ascending" if is_ascending else "descending") if is_sorted else None
        )

    def row(self, key: str, item: V) -> dict[str, object]:
        """Return the cells of an item, its actions, and the address of its page."""
        place, link, below = self._list_page.place, self._list_page.link, self._list_page.below
        return {
            "cells": [self._cell(self._asked.fields[name], item) for name in self._list_page.columns],
            "key": key,
            "link": None if link is None else with_list_query(link(item), self._query),
            "actions": [
                (
                    with_list_query(address, self._query if address.startswith(place) else ""),
                    self._page.text(name),
                )
                for address, name in self._list_page.actions(item)
            ],
            "below": () if below is None else below[1](item, self._page.language),
        }

    def _cell(self, field: Field[V], item: V) -> _Cell:
        value, label = field.read(item), self._asked.heading(field.name)
        say = self._list_page.sentences.get(field.name)
        sentence = None if say is None else say(item, self._page.language)
        if sentence is not None:
            value = sentence
        elif isinstance(value, str) and field.name in self._list_page.words:
            value = self._list_page.words[field.name](value, self._page.language)
        if field.kind is Kind.TIME:
            seconds = self._list_page.has_seconds
            if not isinstance(value, int):
                return _Cell(label, "text", _NOTHING)
            return _Cell(label, "text", self._page.moment(Instant(value), seconds=seconds))
        if isinstance(value, str) and IDENTIFIER.fullmatch(value):
            return _Cell(label, "identifier", value, beneath=self._beneath(field, item))
        if field.kind is Kind.BOOLEAN:
            return _Cell(label, "boolean", bool(value))
        if field.kind in (Kind.TEXTS, Kind.CODES):
            values = value if isinstance(value, tuple) else ()
            texts = [self._names.get(each, str(each)) for each in values]
            return _Cell(label, "texts", self._page.text("change.between").join(texts) or _NOTHING, "cut")
        wrapping = "whole" if field.name == _ADDRESS else _wrapping(str(value))
        shown = _NOTHING if value is None or value == "" else value
        return _Cell(label, "text", shown, wrapping, beneath=self._beneath(field, item))

    def _beneath(self, field: Field[V], item: V) -> object:
        """Return what stands beneath the field in its cell; None for nothing."""
        other = self._list_page.beneath.get(field.name)
        text = None if other is None else self._asked.fields[other].read(item)
        is_agent = other == "userAgent" and isinstance(text, str) and text
        return self._page.agent(str(text)) if is_agent else text or None


def _wrapping(text: str) -> str:
    if _LONG_WORD.search(text) is not None:
        return "long"
    # One word with a hyphen would be broken there.
    return "whole" if text.isascii() and " " not in text else ""
