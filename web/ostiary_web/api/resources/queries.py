"""The query of a list: page, sort, ranges, filters and free search, every bad parameter named at once.

Rules, all in this file ("Common conventions", READINGS 35):

- `page` counts from 1; `pageSize` is 1 to 200, 20 where it is not given.
- `sort` names fields, comma-separated, a hyphen first for descending order.
- `<field>From` and `<field>To` are ISO-8601 times, both inclusive; without an offset they are in UTC, and a
  date alone is the whole day.
- A filter has the name of its field. One that compares for equality may be given several times.
- An empty sort, range, filter or search says nothing. A parameter that is not known is refused, as a filter
  that was mistyped would otherwise list everything.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, Generic, TypeVar

from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import Instant
from ostiary_core.storage.listing import FilterValue, Listing, Match, Range, Sort
from ostiary_web.api.resources.fields import Field, ListView

T = TypeVar("T")

DEFAULT_PAGE_SIZE: Final = 20
LARGEST_PAGE_SIZE: Final = 200
_LONGEST_TEXT: Final = 256
MOST_VALUES: Final = 50
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Arguments = Mapping[str, Sequence[str]]
"""The parameters of a query string, each with all its values."""


def read_query(list_view: ListView[T, Any], arguments: Arguments) -> Listing[T] | tuple[FieldFault, ...]:
    """The page that is asked for; else every bad parameter."""
    reader = _Reader(list_view, arguments)
    page = reader.number("page", 1, 999_999_999, 1, FieldRule.PAGE)
    page_size = reader.number("pageSize", 1, LARGEST_PAGE_SIZE, DEFAULT_PAGE_SIZE, FieldRule.PAGE_SIZE)
    return reader.listing(page, page_size)


def read_filters(
    list_view: ListView[T, Any], arguments: Arguments, page_size: int
) -> Listing[T] | tuple[FieldFault, ...]:
    """The first `page_size` of all items that are asked for: a query that knows no pages."""
    return _Reader(list_view, arguments).listing(1, page_size)


def read_times(arguments: Arguments, start: str, end: str) -> Range | tuple[FieldFault, ...]:
    """The bounds of a query that knows nothing but two times; else every bad parameter."""
    found: dict[str, Instant | None] = {}
    faults = []
    for name, values in arguments.items():
        of_a_day = {start: time.min, end: time.max}.get(name)
        if of_a_day is None:
            faults.append(FieldFault(name, FieldRule.PARAMETER))
        elif len(values) > 1:
            faults.append(FieldFault(name, FieldRule.DUPLICATE))
        elif values[0]:
            found[name] = _instant(values[0], of_a_day)
            if found[name] is None:
                faults.append(FieldFault(name, FieldRule.TIME))
    return tuple(faults) or Range(field="at", start=found.get(start), end=found.get(end))


def parameters_of(list_view: ListView[Any, Any]) -> tuple[str, ...]:
    """What a query of the list may hold beside `page` and `pageSize`."""
    reader = _Reader(list_view, {})
    return (
        "sort",
        *(f"{name}{end}" for name in reader.ranges for end in ("From", "To")),
        *reader.filters,
        *(("q",) if list_view.source.searched else ()),
    )


class _Reader(Generic[T]):
    """Takes parameters out of a query and collects what is wrong with them."""

    def __init__(self, list_view: ListView[T, Any], arguments: Arguments) -> None:
        resource = list_view.source
        fields = {field.listing_name: field for field in list_view.fields if field.listing_name is not None}
        self._resource = resource
        self._arguments = arguments
        self._known: set[str] = set()
        self._faults: dict[str, FieldRule] = {}
        self.sorts = {fields[name].name: name for name in resource.sorts}
        self.ranges = {fields[name].name: name for name in resource.ranges}
        self.filters: dict[str, tuple[str, Field[Any]]] = {
            fields[name].name: (name, fields[name]) for name in resource.filters if name in fields
        }

    def listing(self, page: int, page_size: int) -> Listing[T] | tuple[FieldFault, ...]:
        """The listing, once everything else was taken out; else every fault."""
        sort = self._sort()
        ranges = tuple(bounds for name in self.ranges if (bounds := self._range(name)) is not None)
        filters = {
            listing_name: value
            for name, (listing_name, field) in self.filters.items()
            if (value := self._filter(name, field, self._resource.filters[listing_name])) is not None
        }
        search = self._text("q") if self._resource.searched else None
        for name in self._arguments:
            if name not in self._known:
                self._fault(name, FieldRule.PARAMETER)
        if self._faults:
            return tuple(FieldFault(path, rule) for path, rule in self._faults.items())
        return Listing(
            resource=self._resource,
            filters=filters,
            ranges=ranges,
            search=search,
            sort=sort,
            page=page,
            page_size=page_size,
        )

    def number(self, name: str, least: int, most: int, default: int, rule: FieldRule) -> int:
        """A whole number of a range. Unlike a text it cannot be given and empty."""
        self._known.add(name)
        if name not in self._arguments:
            return default
        value = self._single(name)
        if value is None or _NUMBER.fullmatch(value) is None or not least <= int(value) <= most:
            self._fault(name, rule)
            return default
        return int(value)

    def _sort(self) -> tuple[Sort, ...]:
        asked = self._text("sort")
        if asked is None:
            return ()
        found = []
        for part in asked.split(","):
            name = part.removeprefix("-")
            if name not in self.sorts:
                self._fault("sort", FieldRule.SORT)
                return ()
            found.append(Sort(self.sorts[name], descending=part.startswith("-")))
        if len({sort.field for sort in found}) < len(found):
            self._fault("sort", FieldRule.SORT)
        return tuple(found)

    def _range(self, name: str) -> Range | None:
        start = self._time(f"{name}From", time.min)
        end = self._time(f"{name}To", time.max)
        if start is None and end is None:
            return None
        if start is not None and end is not None and start > end:
            self._fault(f"{name}From", FieldRule.TIME_ORDER)
        return Range(field=self.ranges[name], start=start, end=end)

    def _time(self, name: str, of_a_day: time) -> Instant | None:
        text = self._text(name)
        if text is None:
            return None
        at = _instant(text, of_a_day)
        if at is None:
            self._fault(name, FieldRule.TIME)
        return at

    def _filter(self, name: str, field: Field[Any], match: Match) -> FilterValue | None:
        match match:
            case Match.CONTAINS:
                return self._text(name)
            case Match.IS:
                text = self._text(name)
                if text is not None and text not in ("true", "false"):
                    self._fault(name, FieldRule.BOOLEAN)
                return None if text is None else text == "true"
            case Match.EQUALS:
                return self._values(name, field)

    def _values(self, name: str, field: Field[Any]) -> tuple[str, ...] | None:
        self._known.add(name)
        given = [value for value in self._arguments.get(name, ()) if value]
        if not given:
            return None
        if len(given) > MOST_VALUES or not all(_is_plain(value) for value in given):
            self._fault(name, FieldRule.TOO_LONG if len(given) > MOST_VALUES else FieldRule.STRING)
        if field.choices is None:
            return tuple(given)
        if any(value not in field.choices for value in given):
            self._fault(name, FieldRule.CHOICE)
            return None
        return _flat(field.choices[value] for value in given)

    def _text(self, name: str) -> str | None:
        """The one value of a parameter, where it says anything."""
        self._known.add(name)
        value = self._single(name)
        if value and not _is_plain(value):
            self._fault(name, FieldRule.TOO_LONG if len(value) > _LONGEST_TEXT else FieldRule.STRING)
            return None
        return value or None

    def _single(self, name: str) -> str | None:
        values = self._arguments.get(name, ())
        if len(values) > 1:
            self._fault(name, FieldRule.DUPLICATE)
        return values[0] if len(values) == 1 else None

    def _fault(self, path: str, rule: FieldRule) -> None:
        self._faults.setdefault(path, rule)


def _instant(text: str, of_a_day: time) -> Instant | None:
    try:
        moment = datetime.combine(date.fromisoformat(text), of_a_day)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Instant((moment - _EPOCH) // timedelta(milliseconds=1))


def _is_plain(text: str) -> bool:
    """Text that every store can look for."""
    return len(text) <= _LONGEST_TEXT and "\x00" not in text


def _flat(values: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for several in values for value in several))
