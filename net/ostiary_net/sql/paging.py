"""Pages of long lists at the price of short ones, over any SQL store.

Counting a list and walking to a page deep in it both cost as much as the list is long. So the total of a
list of more than `STEP` items is remembered for a minute, together with marks: the sort values of every
`STEP`th item, from whichever end is nearer, as far as somebody has asked. A page is reached from the mark
before it. Shorter lists are counted each time and are never behind.
See docs/decisions/0009-totals-and-deep-pages.md.
"""

# ruff: noqa: S608 (what goes into a statement's text comes from `sources` and from declared fields)

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from ostiary_core.model.instant import MINUTE_MS, Instant
from ostiary_core.storage.listing import FilterValue, Listing, Match, Page, Sort, contained_text
from ostiary_net.sql.columns import Row, SQLValue
from ostiary_net.sql.sources import SOURCES, Source

T = TypeVar("T")

STEP: Final = 5_000
"""Items from one mark to the next, and the length up to which a list is counted each time."""
_SURVEYS_KEPT: Final = 64

_COUNTED_BY: Final = re.compile(r"\[\[(\w+)\]\]")
_SEEN_BY: Final = re.compile(r"\(\((\w+)\)\)")
_BOUND: Final = re.compile(r"<(\w+)>")

Execute = Callable[[str, Sequence[SQLValue]], list[Any]]
"""Runs a statement, its values bound to `?`, and gives all its rows; in one transaction for one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The SQL in which the databases differ; `{}` stands for what it is about."""

    count: str
    """The statement that counts all rows of `FROM … WHERE …`."""
    contains: str
    """The condition that a text contains the bound one, which is in ASCII lower case."""
    sorted_afterwards: str
    """An expression to sort by, in a form that makes the database follow no index for it."""
    index_hint: str = ""
    """Names the index to follow, for a database without statistics, which would guess."""
    narrowed_audit: Mapping[str, str] = field(default_factory=dict)
    """What to read of the audit trail where it is narrowed by one of these; what leaves the least first."""
    can_hold: Callable[[str], bool]
    """Whether the store can hold a text at all."""


_Statement = tuple[str, tuple[SQLValue, ...]]
_Order = tuple[Sort, ...]


@dataclass(frozen=True, slots=True)
class _Question:
    """A listing as SQL, without its page."""

    source: Source
    dialect: Dialect
    conditions: tuple[str, ...]
    bindings: tuple[SQLValue, ...]
    filtered: Mapping[str, FilterValue]
    ranged: frozenset[str]
    is_whole: bool
    """Whether nothing that an index of its own is for narrows the list."""
    order: _Order
    now: Instant

    def count(self, *, limit: int | None = None) -> _Statement:
        """The statement that counts the items, up to `limit`."""
        condition, bindings = self._where(self.order, None)
        tables = self._tables(counting=self.is_whole, reading=False)
        matching = f"FROM {tables} WHERE {condition}"
        if limit is None:
            return self.dialect.count.format(matching), bindings
        return f"SELECT count(*) FROM (SELECT 1 {matching} LIMIT ?) AS found", (*bindings, limit)

    def items(
        self, order: _Order, after: Row | None, *, limit: int, offset: int, is_short: bool
    ) -> _Statement:
        """The statement that reads items in `order`, from the first or behind those sort values."""
        columns = [self.source.expression(column) for column in self.source.item.columns]
        # A range that leaves little is better followed by its own index and sorted afterwards.
        by_range = is_short and not self.ranged <= {order[0].field}
        return self._select(columns, order, after, limit, offset, by_range=by_range, reading=True)

    def sort_values(self, order: _Order, after: Row | None, *, offset: int) -> _Statement:
        """The statement that reads the sort values of one item, `offset` behind."""
        values = [self.source.expression(sort.field) for sort in order]
        return self._select(values, order, after, 1, offset, by_range=False, reading=False)

    @property
    def signature(self) -> object:
        """A value that is equal for two questions with the same total.

        The present is not in it, as a total outlives that.
        """
        return self.source.tables, self.source.standing, self.conditions, self.bindings

    def _select(
        self,
        what: list[str],
        order: _Order,
        after: Row | None,
        limit: int,
        offset: int,
        *,
        by_range: bool,
        reading: bool,
    ) -> _Statement:
        condition, bindings = self._where(order, after)
        tables = self._tables(counting=False, reading=reading)
        sorts = []
        for sort in order:
            expression = self.source.expression(sort.field)
            sorts.append(
                f"{self.dialect.sorted_afterwards.format(expression) if by_range else expression}"
                f"{' DESC' if sort.descending else ''}"
            )
        statement = (
            f"SELECT {', '.join(what)} FROM {tables} WHERE {condition} "
            f"ORDER BY {', '.join(sorts)} LIMIT ? OFFSET ?"
        )
        return statement, (*bindings, limit, offset)

    def _tables(self, *, counting: bool, reading: bool) -> str:
        """The tables, for counting all items, for reading some, or for neither."""
        tables, hint = self.source.tables, self.dialect.index_hint
        if tables == "audit":
            narrowed = self.dialect.narrowed_audit
            return next((narrowed[name] for name in narrowed if name in self.filtered), tables)
        tables = _COUNTED_BY.sub(hint if counting else "", _BOUND.sub("?", tables))
        return _SEEN_BY.sub("" if reading else hint, tables)

    def _where(self, order: _Order, after: Row | None) -> tuple[str, tuple[SQLValue, ...]]:
        conditions = (_BOUND.sub("?", self.source.standing), *self.conditions)
        bindings = (*self._bindings_of_source(), *self.bindings)
        if after is not None:
            first = order[0]
            bound = "<=" if first.descending else ">="
            beyond, beyond_bindings = self._beyond(order, after)
            # The first condition is what an index can start from, the second is what is meant.
            conditions = (*conditions, f"{self.source.expression(first.field)} {bound} ?", beyond)
            bindings = (*bindings, after[0], *beyond_bindings)
        return " AND ".join(conditions), bindings

    def _bindings_of_source(self) -> Iterator[SQLValue]:
        for name in _BOUND.findall(f"{self.source.tables} {self.source.standing}"):
            yield self.now if name == "now" else str(self.filtered[name])

    def _beyond(self, order: _Order, after: Row) -> tuple[str, tuple[SQLValue, ...]]:
        """The SQL condition that an item comes after the one with these sort values."""
        expression = self.source.expression(order[0].field)
        comes_after = f"{expression} {'<' if order[0].descending else '>'} ?"
        if len(order) == 1:
            return comes_after, (after[0],)
        rest, bindings = self._beyond(order[1:], after[1:])
        return f"({comes_after} OR ({expression} = ? AND {rest}))", (after[0], after[0], *bindings)


@dataclass(slots=True)
class _Survey:
    """What is remembered of a long list: its total, and marks from either end in any order."""

    counted_at: Instant
    total: int
    marks: dict[_Order, list[Row]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    """For whoever counts or walks. What is there already is read without it."""

    def is_fresh(self, now: Instant) -> bool:
        return self.counted_at <= now < self.counted_at + MINUTE_MS


class Pager:
    """Answers listings over a store's tables. Any thread may call it."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._surveys: OrderedDict[object, _Survey] = OrderedDict()
        self._lock = threading.Lock()

    def page(self, execute: Execute, listing: Listing[T], now: Instant) -> Page[T]:
        """Read the page that `listing` asks for, by statements of one transaction."""
        question = self._question(listing, now)
        if question is None:
            return Page((), 0)
        survey = self._survey(execute, question)
        total, offset = survey.total, listing.offset
        size = min(listing.page_size, total - offset)
        if size <= 0:
            return Page((), total)
        order, before = question.order, offset
        is_backwards = offset > total // 2 and total > STEP
        if is_backwards:
            order, before = _reversed(order), total - offset - size
        after = _mark(execute, question, survey, order, before // STEP)
        rows = execute(
            *question.items(order, after, limit=size, offset=before % STEP, is_short=total <= STEP)
        )
        from_row = question.source.item.from_row
        items = tuple(from_row(row) for row in rows)
        return Page(items[::-1] if is_backwards else items, total)

    def items_after(
        self, execute: Execute, listing: Listing[T], last: T | None, now: Instant
    ) -> tuple[T, ...]:
        """Read the `page_size` items behind `last`, the first ones for None, without counting any."""
        question = self._question(listing, now)
        if question is None:
            return ()
        order = question.order
        after = None if last is None else tuple(getattr(last, sort.field) for sort in order)
        rows = execute(*question.items(order, after, limit=listing.page_size, offset=0, is_short=False))
        return tuple(map(question.source.item.from_row, rows))

    def _survey(self, execute: Execute, question: _Question) -> _Survey:
        """Find or count the total; while a long list is counted anew, others go by the total before."""
        with self._lock:
            known = self._surveys.get(question.signature)
            if known is not None:
                self._surveys.move_to_end(question.signature)
        if known is not None and known.is_fresh(question.now):
            return known
        if known is None or known.lock.acquire(blocking=False):
            try:
                return self._count_anew(execute, question)
            finally:
                if known is not None:
                    known.lock.release()
        return known

    def _count_anew(self, execute: Execute, question: _Question) -> _Survey:
        [[total]] = execute(*question.count(limit=STEP + 1))
        if total <= STEP:
            return _Survey(question.now, total)
        [[total]] = execute(*question.count())
        made = _Survey(question.now, total)
        with self._lock:
            self._surveys[question.signature] = made
            while len(self._surveys) > _SURVEYS_KEPT:
                self._surveys.popitem(last=False)
        return made

    # --- from a listing to a question

    def _question(self, listing: Listing[Any], now: Instant) -> _Question | None:
        """The listing as SQL; None where no item can match it."""
        source = SOURCES[listing.resource.name]
        conditions: list[str] = []
        bindings: list[SQLValue] = []
        for name, value in listing.filters.items():
            condition, bound = self._filter(source, name, value, listing.resource.filters[name])
            conditions.append(condition)
            bindings += bound
        for bounds in listing.ranges:
            expression = source.expression(bounds.field)
            for comparison, bound_to in ((">=", bounds.start), ("<=", bounds.end)):
                if bound_to is not None:
                    conditions.append(f"{expression} {comparison} ?")
                    bindings.append(bound_to)
        if listing.search:
            looked_into = [source.expression(name) for name in listing.resource.searched]
            conditions.append(f"({' OR '.join(self._dialect.contains.format(text) for text in looked_into)})")
            bindings += [contained_text(name, listing.search) for name in listing.resource.searched]
        if not all(self._dialect.can_hold(value) for value in bindings if isinstance(value, str)):
            return None
        return _Question(
            source=source,
            dialect=self._dialect,
            conditions=tuple(conditions),
            bindings=tuple(bindings),
            filtered=listing.filters,
            ranged=frozenset(bounds.field for bounds in listing.ranges),
            is_whole=not listing.ranges and not {"client_id", "session_id"} & listing.filters.keys(),
            order=listing.order,
            now=now,
        )

    def _filter(
        self, source: Source, name: str, value: FilterValue, match: Match
    ) -> tuple[str, list[SQLValue]]:
        expression = source.expression(name)
        if match is Match.CONTAINS:
            return self._dialect.contains.format(expression), [contained_text(name, str(value))]
        if isinstance(value, tuple):
            possible = [str(each) for each in value if self._dialect.can_hold(each)]
            one_of = f"{expression} IN ({', '.join('?' * len(possible))})"
            return one_of if possible else "1 = 0", [*possible]
        return f"{expression} = ?", [value if isinstance(value, bool) else str(value)]


def _mark(execute: Execute, question: _Question, survey: _Survey, order: _Order, place: int) -> Row | None:
    """The sort values of the item before the one `place` steps into the list, found by walking if need be.

    A list that has become too short for it since it was counted is walked as far as it goes.
    """
    marks = survey.marks.setdefault(order, [])
    if len(marks) < place:
        with survey.lock:
            while len(marks) < place:
                after = marks[-1] if marks else None
                found = execute(*question.sort_values(order, after, offset=STEP - 1))
                if not found:
                    break
                marks.append(tuple(found[0]))
    reached = min(place, len(marks))
    return marks[reached - 1] if reached else None


def _reversed(order: _Order) -> _Order:
    return tuple(Sort(sort.field, not sort.descending) for sort in order)
