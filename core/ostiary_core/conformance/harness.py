"""Harness of the checks: stores to check, comparisons of contents, and the error of a broken store."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, overload

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Change
from ostiary_core.model.records import RECORD_TABLES, Record, Table
from ostiary_core.storage.store import Store

T = TypeVar("T")


class CheckedStore(Store, Protocol):
    """The port, with methods that write to a store and read all of it."""

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        """Return the records of `table` under `identifiers`, those that exist."""
        ...

    def write(self, changes: Sequence[Change]) -> None:
        """Make all changes, or raise `LostRace` and make none."""
        ...

    def records(self, table: Table) -> Collection[Record]:
        """Return all records of one table."""
        ...

    def audit(self) -> Sequence[AuditEntry]:
        """Return the whole audit trail, the oldest first."""
        ...


AtOnce = Callable[[Sequence[Callable[[], Any]]], Sequence[Any]]
"""Function that makes calls concurrently and returns their results in order, as a pool of threads does."""


@dataclass(frozen=True, slots=True)
class StoreFactory:
    """Makes and reopens stores for the checks; each check gets a new store."""

    make: Callable[[], Any]
    """Maker of a new, empty store."""
    reopen: Callable[[Any], Any] | None = None
    """Opener of a store again from what it kept, as after a crash."""
    at_once: AtOnce | None = None


class Broken(Exception):
    """Raised when a store breaks a rule; the text says what it did and what it should have done."""


def require(is_so: bool, words: str) -> None:
    """Raise `Broken` unless `is_so`."""
    if not is_so:
        raise Broken(words)


class Crash(BaseException):
    """Stands for the end of the program; a store must not swallow it."""


class _WatchedSequence(Sequence[T]):
    """A sequence that acts when its items are read."""

    def __init__(self, items: Sequence[T]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self._items)))]
        item = self._items[place]  # past the end: `IndexError`, as of any sequence
        self._read(place)
        return item

    def __iter__(self) -> Iterator[T]:
        for place, item in enumerate(self._items):
            self._read(place)
            yield item

    def _read(self, place: int) -> None:
        """Act before the item at `place` is given out."""


class CrashingSequence(_WatchedSequence[T]):
    """A sequence that raises `Crash` after so many of its items, counted over all passes through it."""

    def __init__(self, items: Sequence[T], place: int) -> None:
        super().__init__(items)
        self._left = place

    def __iter__(self) -> Iterator[T]:
        yield from super().__iter__()
        if not self._left:
            raise Crash

    def _read(self, place: int) -> None:
        if not self._left:
            raise Crash
        self._left -= 1


class Interrupted(_WatchedSequence[T]):
    """A sequence that calls `interrupt` once, at the pass number `passes`."""

    def __init__(self, items: Sequence[T], passes: int, interrupt: Callable[[], None]) -> None:
        super().__init__(items)
        self._passes_left = passes
        self._interrupt = interrupt

    def _read(self, place: int) -> None:
        self._passes_left -= place == 0
        if place == 0 and self._passes_left == 0:
            self._interrupt()


@dataclass(frozen=True, slots=True)
class Contents:
    """All records and audit entries of a store at one moment."""

    records: tuple[tuple[Table, frozenset[Record]], ...]
    entries: tuple[AuditEntry, ...]

    @classmethod
    def of(cls, store: CheckedStore) -> "Contents":
        """Read all records and audit entries of a store."""
        return cls(
            tuple((table, frozenset(store.records(table))) for table in RECORD_TABLES), tuple(store.audit())
        )


def without_number(entry: AuditEntry) -> AuditEntry:
    """Leave out the number of an entry: a store may number with gaps."""
    return replace(entry, number=0)


def difference(found: Contents, expected: Contents) -> str | None:
    """Describe the first difference between a store's contents and those expected, without any values."""
    for (table, held), (_, right) in zip(found.records, expected.records, strict=True):
        if held == right:
            continue
        by_key = {record.key: record for record in held}
        wanted = {record.key: record for record in right}
        for key, record in wanted.items():
            stored = by_key.get(key)
            if stored is None:
                return f"an insert was lost: a record of table {table.name} is missing"
            if stored.revision < record.revision:
                return (
                    f"an update was lost: a record of table {table.name} stands at revision "
                    f"{stored.revision} where {record.revision} was written"
                )
            if stored != record:
                return f"a record of table {table.name} does not hold what was written under its key"
        if by_key.keys() - wanted.keys():
            return f"a delete was forgotten, or a write was kept that should not be, in table {table.name}"
    if len(found.entries) < len(expected.entries):
        return f"the audit trail dropped {len(expected.entries) - len(found.entries)} entries"
    if len(found.entries) > len(expected.entries):
        return "the audit trail tells of what did not happen, or tells it twice"
    for entry, right_entry in zip(found.entries, expected.entries, strict=True):
        if without_number(entry) != without_number(right_entry):
            return f"the audit trail has an entry {entry.kind} wrong or out of order"
    numbers = [entry.number for entry in found.entries]
    if numbers != sorted(set(numbers)):
        return "the numbers of the audit trail do not rise"
    return None
