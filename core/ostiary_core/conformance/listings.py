"""Listings to ask a store for: by every sort, filter, range and search that a resource declares.

Values come from stored items, so that each condition finds some and leaves others out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Table
from ostiary_core.storage.listing import (
    AUDIT,
    CLIENTS,
    DELETED_USERS,
    GRANTS,
    ONLINE_SESSIONS,
    ONLINE_USERS,
    ROLES,
    USERS,
    FilterValue,
    Listable,
    Listing,
    Match,
    Sort,
    TimeRange,
)
from ostiary_core.storage.store import MemoryStore

PAGE_SIZE: Final = 17

_RESOURCES: Final[tuple[Listable[Any], ...]] = (
    *(CLIENTS, USERS, DELETED_USERS, ROLES),
    *(ONLINE_USERS, ONLINE_SESSIONS, AUDIT),
)
_TEXTS: Final = ("%", "_", "\\", "är", "+1 (555) 00-0", "nothing has this")
"""More texts to look for: wildcards of SQL, a letter beyond ASCII, a telephone number as people write it."""

Asked = tuple[str, Listing[Any]]
"""A description without any value of a record, and the listing."""


def make_listings(reference: MemoryStore, now: Instant) -> Iterator[Asked]:
    """Make listings of every resource, with values from the items that the reference store has."""
    for resource in _RESOURCES:
        yield from _listings(Listing(resource=resource, page_size=PAGE_SIZE), reference, now)
    for user in reference.records(Table.USER):
        of_one = {"user_id": str(user.key.id)}
        yield from _listings(Listing(resource=GRANTS, filters=of_one, page_size=PAGE_SIZE), reference, now)


def _listings(whole: Listing[Any], reference: MemoryStore, now: Instant) -> Iterator[Asked]:
    items = reference.page(replace(whole, page_size=10_000), now).items
    yield whole.resource.name, whole
    if items:
        yield from _vary_sort(whole)
        yield from _vary_filters(whole, items)
        yield from _vary_ranges(whole, items)
        yield from _vary_search(whole, items)


def _vary_sort(whole: Listing[Any]) -> Iterator[Asked]:
    fields = whole.resource.sorts
    orders = [(field,) for field in fields] + [
        (fields[place - 1], field) for place, field in enumerate(fields) if len(fields) > 1
    ]
    for order in orders:
        for descending in (False, True):
            sort = tuple(Sort(field, descending ^ (place > 0)) for place, field in enumerate(order))
            yield f"{whole.resource.name} sorted by {' and '.join(order)}", replace(whole, sort=sort)


def _vary_filters(whole: Listing[Any], items: Sequence[Any]) -> Iterator[Asked]:
    filters = [(name, match) for name, match in whole.resource.filters.items() if name not in whole.filters]
    for name, match in filters:
        for value in _values(name, match, items):
            yield _filter(whole, {name: value})
    for place, (name, match) in enumerate(filters if len(filters) > 1 else ()):
        other, other_match = filters[place - 1]
        for item in items[:: len(items) // 3 + 1]:
            both = {name: _value(item, name, match), other: _value(item, other, other_match)}
            filters_of_item = {field: value for field, value in both.items() if value is not None}
            if len(filters_of_item) > 1:
                yield _filter(whole, filters_of_item)


def _filter(whole: Listing[Any], filters: dict[str, FilterValue]) -> Asked:
    what = f"{whole.resource.name} filtered by {' and '.join(filters)}"
    return what, replace(whole, filters={**whole.filters, **filters})


def _values(name: str, match: Match, items: Sequence[Any]) -> Sequence[FilterValue]:
    if match is Match.IS:
        return (True, False)
    if match is Match.HAS:
        held = sorted({code for item in items for code in getattr(item, name)})
        return (*held, *map(str.swapcase, held), *_TEXTS)
    found = {value for value in (_value(item, name, match) for item in items) if isinstance(value, str)}
    values = sorted(found)[:: len(found) // 3 + 1]
    if match is Match.CONTAINS:
        return (*values, *_TEXTS)
    return (*values, tuple(values), *map(str.swapcase, values))


def _value(item: Any, name: str, match: Match) -> FilterValue | None:
    """Return the value by which a filter finds this item; None if it has none."""
    held = getattr(item, name)
    if match is Match.HAS:
        return held[0] if held else None
    if isinstance(held, str) and match is Match.CONTAINS:
        return _part(held) or None
    return held.value if isinstance(held, StrEnum) else held


def _part(text: str) -> str:
    """Return a part of a text, with its letters of ASCII in the other case."""
    return "".join(letter.swapcase() if letter.isascii() else letter for letter in text[1:] or text)


def _vary_ranges(whole: Listing[Any], items: Sequence[Any]) -> Iterator[Asked]:
    both: list[TimeRange] = []
    for field in whole.resource.ranges:
        instants = sorted(getattr(item, field) for item in items)
        start, end = instants[len(instants) // 4], instants[len(instants) * 3 // 4]
        both.append(TimeRange(field=field, start=start, end=end))
        for bounds in (both[-1], TimeRange(field=field, start=start), TimeRange(field=field, end=end)):
            yield f"{whole.resource.name} within a range of {field}", replace(whole, ranges=(bounds,))
    if len(both) > 1:
        yield f"{whole.resource.name} within two ranges", replace(whole, ranges=tuple(both))


def _vary_search(whole: Listing[Any], items: Sequence[Any]) -> Iterator[Asked]:
    searched = whole.resource.searched
    for field in searched:
        texts = {text for item in items for text in _texts(getattr(item, field))} - {""}
        for text in sorted(texts)[:: len(texts) // 3 + 1]:
            yield f"{whole.resource.name} searched in {field}", replace(whole, search=_part(text))
    for text in _TEXTS if searched else ():
        yield f"{whole.resource.name} searched", replace(whole, search=text)


def _texts(held: Any) -> Iterator[str]:
    """Return the texts that a search finds in the value of a field."""
    match held:
        case str():
            yield held
        case tuple():
            for part in held:
                yield from _texts(part)
