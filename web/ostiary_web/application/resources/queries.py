"""Read the query of a list: page, sort, ranges, filters and search; name every bad parameter at once.

Rules, all in this file ("Common conventions", READINGS 35):

- `page` counts from 1; `pageSize` is 1 to 200, 20 if it is not given.
- `sort` names fields, comma-separated, a hyphen first for descending order.
- `<field>From` and `<field>To` are ISO-8601 times, both inclusive; without an offset they are in UTC, and a
  date alone is the whole day.
- A filter has the name of its field. One that compares for equality may be given several times.
- An empty sort, range, filter or search says nothing. A parameter that is not known is refused, as a filter
  that was mistyped would otherwise list everything.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, Generic, TypeVar

from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import Instant
from ostiary_core.storage.listing import FilterValue, Listing, Match, Sort, TimeRange
from ostiary_web.application.resources.fields import Field, ListView

T = TypeVar("T")

DEFAULT_PAGE_SIZE: Final = 20
LARGEST_PAGE_SIZE: Final = 200
_LONGEST_TEXT: Final = 256
MOST_VALUES: Final = 50
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Arguments = Mapping[str, Sequence[str]]
"""The parameters of a query string, each with all its values."""


def read_query(list_view: ListView[T, Any], arguments: Arguments) -> Listing[T] | tuple[FieldFault, ...]:
    """Return the page that is asked for, else every bad parameter."""
    reader = _Reader(list_view, arguments)
    page = reader.read_number("page", 1, 999_999_999, 1, FieldRule.PAGE)
    page_size = reader.read_number("pageSize", 1, LARGEST_PAGE_SIZE, DEFAULT_PAGE_SIZE, FieldRule.PAGE_SIZE)
    return reader.read_listing(page, page_size)


def read_filters(
    list_view: ListView[T, Any], arguments: Arguments, page_size: int
) -> Listing[T] | tuple[FieldFault, ...]:
    """Return the first `page_size` of all matching items, without pages; else every bad parameter."""
    return _Reader(list_view, arguments).read_listing(1, page_size)


def read_times(arguments: Arguments, start: str, end: str) -> TimeRange | tuple[FieldFault, ...]:
    """Return the bounds of a query that has only two times; else every bad parameter."""
    found: dict[str, Instant | None] = {}
    faults = []
    for name, values in arguments.items():
        of_a_day = {start: time.min, end: time.max}.get(name)
        if of_a_day is None:
            faults.append(FieldFault(name, FieldRule.PARAMETER))
        elif len(values) > 1:
            faults.append(FieldFault(name, FieldRule.DUPLICATE))
        elif values[0]:
            found[name] = _parse_instant(values[0], of_a_day)
            if found[name] is None:
                faults.append(FieldFault(name, FieldRule.TIME))
    return tuple(faults) or TimeRange(field="at", start=found.get(start), end=found.get(end))


def list_parameters(list_view: ListView[Any, Any]) -> tuple[str, ...]:
    """Return the parameters of a list's query besides `page` and `pageSize`."""
    reader = _Reader(list_view, {})
    return (
        "sort",
        *(f"{name}{end}" for name in reader.ranges for end in ("From", "To")),
        *reader.filters,
        *(("q",) if list_view.source.searched else ()),
    )


def sort_fields(list_view: ListView[Any, Any]) -> tuple[str, ...]:
    """Return the fields by which a list is sorted."""
    return (*_Reader(list_view, {}).sorts,)


class _Reader(Generic[T]):
    """Takes parameters out of a query and collects their faults."""

    def __init__(self, list_view: ListView[T, Any], arguments: Arguments) -> None:
        resource = list_view.source
        fields = {field.listing_name: field for field in list_view.fields if field.listing_name is not None}
        self._resource = resource
        self._arguments = dict(arguments)
        for other, name in list_view.other_names.items():
            if values := self._arguments.pop(other, ()):
                self._arguments[name] = (*self._arguments.get(name, ()), *values)
        self._known: set[str] = set()
        self._faults: dict[str, FieldRule] = {}
        self.sorts = {fields[name].name: name for name in resource.sorts}
        self.ranges = {fields[name].name: name for name in resource.ranges}
        self.filters: dict[str, tuple[str, Field[Any]]] = {
            fields[name].name: (name, fields[name]) for name in resource.filters if name in fields
        }

    def read_listing(self, page: int, page_size: int) -> Listing[T] | tuple[FieldFault, ...]:
        """Return the listing, or every fault; call it after the other readers."""
        sort = self._read_sort()
        ranges = tuple(bounds for name in self.ranges if (bounds := self._read_range(name)) is not None)
        filters = {
            listing_name: value
            for name, (listing_name, field) in self.filters.items()
            if (value := self._read_filter(name, field, self._resource.filters[listing_name])) is not None
        }
        search = self._read_text("q") if self._resource.searched else None
        for name in self._arguments:
            if name not in self._known:
                self._add_fault(name, FieldRule.PARAMETER)
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

    def read_number(self, name: str, least: int, most: int, default: int, rule: FieldRule) -> int:
        """Return an integer within bounds; unlike a text it must not be empty."""
        self._known.add(name)
        if name not in self._arguments:
            return default
        value = self._read_single(name)
        if value is None or _NUMBER.fullmatch(value) is None or not least <= int(value) <= most:
            self._add_fault(name, rule)
            return default
        return int(value)

    def _read_sort(self) -> tuple[Sort, ...]:
        asked = self._read_text("sort")
        if asked is None:
            return ()
        found = []
        for part in asked.split(","):
            name = part.removeprefix("-")
            if name not in self.sorts:
                self._add_fault("sort", FieldRule.SORT)
                return ()
            found.append(Sort(self.sorts[name], descending=part.startswith("-")))
        if len({sort.field for sort in found}) < len(found):
            self._add_fault("sort", FieldRule.SORT)
        return tuple(found)

    def _read_range(self, name: str) -> TimeRange | None:
        start = self._read_time(f"{name}From", time.min)
        end = self._read_time(f"{name}To", time.max)
        if start is None and end is None:
            return None
        if start is not None and end is not None and start > end:
            self._add_fault(f"{name}From", FieldRule.TIME_ORDER)
        return TimeRange(field=self.ranges[name], start=start, end=end)

    def _read_time(self, name: str, of_a_day: time) -> Instant | None:
        text = self._read_text(name)
        if text is None:
            return None
        at = _parse_instant(text, of_a_day)
        if at is None:
            self._add_fault(name, FieldRule.TIME)
        return at

    def _read_filter(self, name: str, field: Field[Any], match: Match) -> FilterValue | None:
        match match:
            case Match.CONTAINS | Match.HAS:
                return self._read_text(name)
            case Match.IS:
                text = self._read_text(name)
                if text is not None and text not in ("true", "false"):
                    self._add_fault(name, FieldRule.BOOLEAN)
                return None if text is None else text == "true"
            case Match.EQUALS:
                return self._read_values(name, field)

    def _read_values(self, name: str, field: Field[Any]) -> tuple[str, ...] | None:
        self._known.add(name)
        given = [value for value in self._arguments.get(name, ()) if value]
        if not given:
            return None
        if len(given) > MOST_VALUES or not all(_is_plain(value) for value in given):
            self._add_fault(name, FieldRule.TOO_LONG if len(given) > MOST_VALUES else FieldRule.STRING)
        if field.choices is None:
            return tuple(given)
        accepted = {**field.choices, **field.groups}
        if any(value not in accepted for value in given):
            self._add_fault(name, FieldRule.CHOICE)
            return None
        return tuple(dict.fromkeys(stored for value in given for stored in accepted[value]))

    def _read_text(self, name: str) -> str | None:
        """Return a parameter's only value; None if empty."""
        self._known.add(name)
        value = self._read_single(name)
        if value and not _is_plain(value):
            self._add_fault(name, FieldRule.TOO_LONG if len(value) > _LONGEST_TEXT else FieldRule.STRING)
            return None
        return value or None

    def _read_single(self, name: str) -> str | None:
        values = self._arguments.get(name, ())
        if len(values) > 1:
            self._add_fault(name, FieldRule.DUPLICATE)
        return values[0] if len(values) == 1 else None

    def _add_fault(self, path: str, rule: FieldRule) -> None:
        self._faults.setdefault(path, rule)


def _parse_instant(text: str, of_a_day: time) -> Instant | None:
    try:
        moment = datetime.combine(date.fromisoformat(text), of_a_day)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Instant((moment - EPOCH) // timedelta(milliseconds=1))


def _is_plain(text: str) -> bool:
    """Whether every store can search for the text."""
    return len(text) <= _LONGEST_TEXT and "\x00" not in text
