"""Read pages of lists, over any SQL store.

To count a list costs as much as it is long, so the total of one with more than `EXACT_TOTAL_MAX` items is
remembered for a minute. A page is walked to from the nearer end of its list
(docs/decisions/0048-deep-pages-are-walked-to.md), in one table by its keys alone (decision 0076).
"""

# ruff: noqa: S608 (what goes into a statement's text comes from `sources` and from declared fields)

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from ostiary_core.model.instant import MINUTE_MS, Instant
from ostiary_core.model.records import SessionKind
from ostiary_core.storage.listing import (
    ONLINE_SESSIONS,
    FilterValue,
    Listing,
    Match,
    Page,
    Sort,
    contained_text,
)
from ostiary_net.sql.columns import Row, SQLValue
from ostiary_net.sql.sources import SOURCES, Source

T = TypeVar("T")

EXACT_TOTAL_MAX: Final = 5_000
"""Longest list, in items, that is counted each time it is read."""
_COUNTS_REMEMBERED: Final = 64

_COUNTED_BY: Final = re.compile(r"\[\[(\w+)\|(\w*)\]\]")
_SEEN_BY: Final = re.compile(r"\(\((\w+)\)\)")
_BOUND: Final = re.compile(r"<(\w+)>")

Execute = Callable[[str, Sequence[SQLValue]], list[Any]]
"""Executes a statement, its values bound to `?`, and returns all its rows; one page is one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """SQL in which the databases differ; `{}` stands for an expression."""

    count: str
    """Template of the statement that counts the rows of `FROM … WHERE …`."""
    contains: str
    """Template of the condition that a text contains the bound one, which is in ASCII lower case."""
    sorted_afterwards: str
    """Template of a sort expression that keeps the planner off an index."""
    of_few_users: str
    """Template of the condition that a session is of a user whom a statement finds, before the session."""
    index_hint: str = ""
    """Clause that names an index, for a database without statistics, which would guess."""
    no_index_hint: str = ""
    """Clause by which such a database reads a table in the order of its rows."""
    narrowed_audit: Mapping[str, str] = field(default_factory=dict)
    """Replacement for the audit table by filter, the most selective first."""
    can_hold: Callable[[SQLValue], bool]
    """Whether the database can hold a value."""


_Statement = tuple[str, tuple[SQLValue, ...]]
_Order = tuple[Sort, ...]


@dataclass(frozen=True, slots=True)
class _ListSQL:
    """A listing as SQL, without its page."""

    source: Source
    dialect: Dialect
    conditions: tuple[str, ...]
    conditions_by_users: tuple[str, ...]
    """Conditions that find users before their sessions; slow in the order of a list of many."""
    bindings: tuple[SQLValue, ...]
    filtered: Mapping[str, FilterValue]
    ranged: frozenset[str]
    is_whole: bool
    """Whether no filter that has an index of its own narrows the list."""
    is_read_whole: bool
    """Whether nothing narrows the list, and a filter compares what the index to count by lacks."""
    key: str
    order: _Order
    now: Instant

    def count(self, *, limit: int | None = None) -> _Statement:
        """Return the statement that counts the items, up to `limit`."""
        condition, bindings = self._where(self.order, None, by_users=limit is not None)
        tables = self._tables(finding=True, reading=False)
        matching = f"FROM {tables} WHERE {condition}"
        if limit is None:
            return self.dialect.count.format(matching), bindings
        return f"SELECT count(*) FROM (SELECT 1 {matching} LIMIT ?) AS found", (*bindings, limit)

    def items(self, order: _Order, after: Row | None, *, limit: int, offset: int, total: int) -> _Statement:
        """Return the statement that reads items in `order`, from the first or behind those sort values."""
        is_short, is_near = total <= EXACT_TOTAL_MAX, offset <= EXACT_TOTAL_MAX
        # A range that leaves little is better followed by its own index and sorted afterwards.
        by_range = is_short and not self.ranged <= {order[0].field}
        is_sorted_afterwards = by_range or (is_short and self.conditions_by_users != self.conditions)
        condition, bindings = self._where(order, after, by_users=is_short)
        sorts = []
        for sort in order:
            expression = self.source.expression(sort.field)
            sorts.append(
                f"{self.dialect.sorted_afterwards.format(expression) if is_sorted_afterwards else expression}"
                f"{' DESC' if sort.descending else ''}"
            )
        columns = ", ".join(self.source.expression(column) for column in self.source.item.columns)
        tables = self._tables(finding=is_short and self.is_read_whole, reading=is_near)
        matching, ordered = f"FROM {tables} WHERE {condition}", f"ORDER BY {', '.join(sorts)}"
        if not is_near and self.source.is_one_table:
            # Rows that are passed over are not read: an index has the sort values and the key.
            walked = ", ".join(dict.fromkeys((self.key, *(sort.field for sort in order))))
            page = f"SELECT {walked} {matching} {ordered} LIMIT ? OFFSET ?"
            matching = f"FROM {tables} WHERE {self.key} IN (SELECT {self.key} FROM ({page}) AS walked)"
            return f"SELECT {columns} {matching} {ordered}", (*bindings, limit, offset)
        return f"SELECT {columns} {matching} {ordered} LIMIT ? OFFSET ?", (*bindings, limit, offset)

    def items_of_few(self, *, limit: int, offset: int) -> _Statement:
        """Return the statement that reads items and their number, in one pass over rows that are all read."""
        condition, bindings = self._where(self.order, None, by_users=True)
        columns = self.source.item.columns
        found = ", ".join(f"{self.source.expression(column)} AS {column}" for column in columns)
        sorts = ", ".join(f"{sort.field}{' DESC' if sort.descending else ''}" for sort in self.order)
        statement = (
            f"SELECT {', '.join(columns)}, count(*) OVER () FROM (SELECT {found}"
            f" FROM {self._tables(finding=True, reading=True)} WHERE {condition} LIMIT ?) AS found"
            f" ORDER BY {sorts} LIMIT ? OFFSET ?"
        )
        return statement, (*bindings, EXACT_TOTAL_MAX + 1, limit, offset)

    def count_kinds(self) -> _Statement:
        """Return the statement that counts sessions of each kind, in one pass over all."""
        condition, bindings = self._where(self.order, None, by_users=False)
        of_kind = f"count(*) FILTER (WHERE {self.source.expression('kind')} = ?)"
        tables = self._tables(finding=True, reading=False)
        statement = f"SELECT {', '.join([of_kind] * len(SessionKind))} FROM {tables} WHERE {condition}"
        return statement, (*(kind.value for kind in SessionKind), *bindings)

    @property
    def signature(self) -> object:
        """Key of the remembered total, which outlives the present instant."""
        return self.source.tables, self.source.base_condition, self.conditions, self.bindings

    def _tables(self, *, finding: bool, reading: bool) -> str:
        """Return the tables: for finding items in any order, for reading rows, or for passing over them."""
        tables, hint = self.source.tables, self.dialect.index_hint
        if tables == "audit":
            narrowed = self.dialect.narrowed_audit
            return next((narrowed[name] for name in narrowed if name in self.filtered), tables)
        found_by = (lambda found: self._hint(*found.groups())) if finding else ""
        tables = _COUNTED_BY.sub(found_by, _BOUND.sub("?", tables))
        return _SEEN_BY.sub("" if reading else hint, tables)

    def _hint(self, to_count: str, to_read: str) -> str:
        """Return the clause for one of two indexes, the second of which may be none."""
        if self.is_read_whole:
            return self.dialect.index_hint.replace(r"\1", to_read) if to_read else self.dialect.no_index_hint
        return self.dialect.index_hint.replace(r"\1", to_count) if self.is_whole else ""

    def _where(self, order: _Order, after: Row | None, *, by_users: bool) -> tuple[str, tuple[SQLValue, ...]]:
        own = self.conditions_by_users if by_users else self.conditions
        conditions = (_BOUND.sub("?", self.source.base_condition), *own)
        bindings = (*self._bindings_of_source(), *self.bindings)
        if after is not None:
            first = order[0]
            bound = "<=" if first.descending else ">="
            beyond, beyond_bindings = self._beyond(order, after)
            # An index can start from the first condition; the second is exact.
            conditions = (*conditions, f"{self.source.expression(first.field)} {bound} ?", beyond)
            bindings = (*bindings, after[0], *beyond_bindings)
        return " AND ".join(conditions), bindings

    def _bindings_of_source(self) -> Iterator[SQLValue]:
        for name in _BOUND.findall(f"{self.source.tables} {self.source.base_condition}"):
            yield self.now if name == "now" else str(self.filtered[name])

    def _beyond(self, order: _Order, after: Row) -> tuple[str, tuple[SQLValue, ...]]:
        """Return the condition that an item comes after the one with these sort values.

        Written out, as SQLite compares row values in one direction only.
        """
        expression = self.source.expression(order[0].field)
        comes_after = f"{expression} {'<' if order[0].descending else '>'} ?"
        if len(order) == 1:
            return comes_after, (after[0],)
        rest, bindings = self._beyond(order[1:], after[1:])
        return f"({comes_after} OR ({expression} = ? AND {rest}))", (after[0], after[0], *bindings)


@dataclass(slots=True)
class _ListCount:
    """Totals, and when they were counted."""

    counted_at: Instant
    totals: Sequence[int]
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by the caller who counts anew."""

    def is_fresh(self, now: Instant) -> bool:
        return self.counted_at <= now < self.counted_at + MINUTE_MS


class Pager:
    """Reads listings from a store's tables; any thread may call it."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._counts: OrderedDict[object, _ListCount] = OrderedDict()
        self._lock = threading.Lock()

    def page(self, execute: Execute, listing: Listing[T], now: Instant) -> Page[T]:
        """Read the page that `listing` asks for, by statements of one transaction."""
        sql = self._to_sql(listing, now)
        if sql is None:
            return Page((), 0)
        few = self._find_few(execute, sql, listing)
        if few is not None:
            return few
        total, offset = self._find_total(execute, sql), listing.offset
        size = min(listing.page_size, total - offset)
        if size <= 0:
            return Page((), total)
        order = sql.order
        # Rows before an offset are read and dropped, so the nearer end is half the way.
        is_backwards = offset > total // 2 and total > EXACT_TOTAL_MAX
        if is_backwards:
            order = tuple(Sort(sort.field, not sort.descending) for sort in order)
            offset = total - offset - size
        rows = execute(*sql.items(order, None, limit=size, offset=offset, total=total))
        items = tuple(map(sql.source.item.from_row, rows))
        return Page(items[::-1] if is_backwards else items, total)

    def items_after(
        self, execute: Execute, listing: Listing[T], last: T | None, now: Instant
    ) -> tuple[T, ...]:
        """Read the `page_size` items behind `last`, the first ones for None, without counting any."""
        sql = self._to_sql(listing, now)
        if sql is None:
            return ()
        after = None if last is None else tuple(getattr(last, sort.field) for sort in sql.order)
        statement = sql.items(sql.order, after, limit=listing.page_size, offset=0, total=EXACT_TOTAL_MAX + 1)
        return tuple(map(sql.source.item.from_row, execute(*statement)))

    def count_running(self, execute: Execute, now: Instant) -> dict[SessionKind, int]:
        """Return the number of running sessions of each kind."""
        sql = self._to_sql(Listing(resource=ONLINE_SESSIONS), now)
        assert sql is not None  # it has no filter that no session could meet
        totals = self._find_totals((sql.signature, "kinds"), now, lambda: execute(*sql.count_kinds())[0])
        return dict(zip(SessionKind, totals, strict=True))

    def _find_few(self, execute: Execute, sql: _ListSQL, listing: Listing[T]) -> Page[T] | None:
        """Read and count in one pass if all rows are read and few match; None for another list."""
        with self._lock:
            is_long = sql.signature in self._counts
        if is_long or not sql.is_read_whole:
            return None
        rows = execute(*sql.items_of_few(limit=listing.page_size, offset=listing.offset))
        total = int(rows[0][-1]) if rows else 0
        if total > EXACT_TOTAL_MAX or (not rows and listing.offset):
            return None
        return Page(tuple(sql.source.item.from_row(row[:-1]) for row in rows), total)

    def _find_total(self, execute: Execute, sql: _ListSQL) -> int:
        def count() -> Sequence[int]:
            [[total]] = execute(*sql.count(limit=EXACT_TOTAL_MAX + 1))
            if total > EXACT_TOTAL_MAX:
                [[total]] = execute(*sql.count())
            return (total,)

        return self._find_totals(sql.signature, sql.now, count)[0]

    def _find_totals(
        self, signature: object, now: Instant, count: Callable[[], Sequence[int]]
    ) -> Sequence[int]:
        """Return remembered totals, or count; others get the old totals while one caller counts."""
        with self._lock:
            known = self._counts.get(signature)
            if known is not None:
                self._counts.move_to_end(signature)
        if known is None:
            return self._count_anew(signature, now, count)
        if known.is_fresh(now) or not known.lock.acquire(blocking=False):
            return known.totals
        try:
            return self._count_anew(signature, now, count)
        finally:
            known.lock.release()

    def _count_anew(
        self, signature: object, now: Instant, count: Callable[[], Sequence[int]]
    ) -> Sequence[int]:
        totals = tuple(map(int, count()))
        if sum(totals) > EXACT_TOTAL_MAX:
            with self._lock:
                self._counts[signature] = _ListCount(now, totals)
                while len(self._counts) > _COUNTS_REMEMBERED:
                    self._counts.popitem(last=False)
        return totals

    # --- from a listing to SQL

    def _to_sql(self, listing: Listing[Any], now: Instant) -> _ListSQL | None:
        """Return the listing as SQL; None if no item can match it."""
        source = SOURCES[listing.resource.name]
        conditions: list[str] = []
        by_users: dict[str, str] = {}
        bindings: list[SQLValue] = []
        for name, value in listing.filters.items():
            condition, bound = self._filter(source, name, value, listing.resource.filters[name])
            conditions.append(condition)
            bindings += bound
            if name in source.of_users:
                of_user = self._dialect.contains.format(name)
                users = _SEEN_BY.sub(self._dialect.index_hint, f"users ((users_by_{name}))")
                few = f"SELECT user_id FROM {users} WHERE deleted_at IS NULL AND {of_user}"
                by_users[condition] = self._dialect.of_few_users.format(few)
        for bounds in listing.ranges:
            expression = source.expression(bounds.field)
            for comparison, bound_to in ((">=", bounds.start), ("<=", bounds.end)):
                if bound_to is not None:
                    conditions.append(f"{expression} {comparison} ?")
                    bindings.append(bound_to)
        if listing.search:
            searched = [source.expression(name) for name in listing.resource.searched]
            conditions.append(f"({' OR '.join(self._dialect.contains.format(text) for text in searched)})")
            bindings += [contained_text(name, listing.search) for name in listing.resource.searched]
        if not all(map(self._dialect.can_hold, bindings)):
            return None
        return _ListSQL(
            source=source,
            dialect=self._dialect,
            conditions=tuple(conditions),
            conditions_by_users=tuple(by_users.get(each, each) for each in conditions),
            bindings=tuple(bindings),
            filtered=listing.filters,
            ranged=frozenset(bounds.field for bounds in listing.ranges),
            is_whole=not listing.ranges
            and not (source.found_by - source.counted_with) & listing.filters.keys(),
            is_read_whole=not listing.ranges
            and not source.found_by & listing.filters.keys()
            and bool(listing.search or listing.filters.keys() - source.counted_with),
            key=listing.resource.key,
            order=listing.order,
            now=now,
        )

    def _filter(
        self, source: Source, name: str, value: FilterValue, match: Match
    ) -> tuple[str, list[SQLValue]]:
        expression = source.expression(name)
        if match is Match.CONTAINS:
            return self._dialect.contains.format(expression), [contained_text(name, str(value))]
        if match is Match.HAS:
            has = self._dialect.contains.format(expression)
            among_few = _SEEN_BY.sub(self._dialect.index_hint, source.codes[name])
            # Codes are in lower case and kept as JSON.
            return among_few.format(has), [json.dumps(value)]
        if isinstance(value, tuple):
            possible = [each for each in value if self._dialect.can_hold(each)]
            one_of = f"{expression} IN ({', '.join('?' * len(possible))})"
            return one_of if possible else "1 = 0", [*possible]
        return f"{expression} = ?", [value]
