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

    def require_unchanged(self, store: Any, before: "Contents", what: str) -> Any:
        """Require that a store has `before`, also when it is opened again; return it so if possible."""
        wrong = difference(Contents.of(store), before)
        require(wrong is None, f"a partial write: {what} left something ({wrong})")
        if self.reopen is None:
            return store
        again = self.reopen(store)
        wrong = difference(Contents.of(again), before)
        require(wrong is None, f"a partial write: {what} left something after a crash ({wrong})")
        return again


Check = Callable[[StoreFactory], None]
"""One check of a store, which raises `Broken`."""


class Broken(Exception):
    """Raised when a store breaks a rule; the text says what it did and what it should have done."""


def require(is_so: bool, words: str) -> None:
    """Raise `Broken` unless `is_so`."""
    if not is_so:
        raise Broken(words)


class Crash(BaseException):
    """Stands for the end of the program; a store must not swallow it."""


def crash() -> None:
    """End the program, as far as a store can tell."""
    raise Crash


class WatchedSequence(Sequence[T]):
    """A sequence that acts once, when it is read for the time number `at_read`, counted from 0.

    Each item that is given out counts, and each end of a pass, over all passes.
    """

    def __init__(self, items: Sequence[T], at_read: int, act: Callable[[], None]) -> None:
        self._items = items
        self._reads_left = at_read
        self._act = act

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, int):
            self._read()
            return self._items[place]
        return [self[number] for number in range(*place.indices(len(self._items)))]

    def __iter__(self) -> Iterator[T]:
        for item in self._items:
            self._read()
            yield item
        self._read()

    def _read(self) -> None:
        self._reads_left -= 1
        if self._reads_left == -1:
            self._act()


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
        wrong = record_difference(table, held, right)
        if wrong is not None:
            return wrong
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


def record_difference(table: Table, found: Collection[Record], expected: Collection[Record]) -> str | None:
    """Describe the first difference between the records of one table and those expected."""
    by_key = {record.key: record for record in found}
    for record in expected:
        stored = by_key.pop(record.key, None)
        if stored is None:
            return f"an insert was lost: a record of table {table.name} is missing"
        if stored.revision < record.revision:
            return (
                f"an update was lost: a record of table {table.name} stands at revision "
                f"{stored.revision} where {record.revision} was written"
            )
        if stored != record:
            return f"a record of table {table.name} does not hold what was written under its key"
    if by_key:
        return f"a delete was forgotten, or a write was kept that should not be, in table {table.name}"
    return f"a record of table {table.name} is there twice" if len(found) != len(expected) else None
