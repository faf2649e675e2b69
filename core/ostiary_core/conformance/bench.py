"""Tools of the checks: new stores to check, comparisons of contents, and the error of a broken store."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.decision import Change
from ostiary_core.model.records import RECORD_TABLES, Record, Table
from ostiary_core.storage.store import Store

__all__ = ["AtOnce", "Bench", "Broken", "CheckedStore", "Contents", "difference", "require"]

S = TypeVar("S", bound="CheckedStore")


class CheckedStore(Store, Protocol):
    """The port, with what a store is written by and looked into."""

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        """The records of `table` under `identifiers`, those that there are."""
        ...

    def write(self, changes: Sequence[Change]) -> None:
        """Make all changes, or raise `LostRace` and make none."""
        ...

    def records(self, table: Table) -> Collection[Record]:
        """Everything in one table."""
        ...

    def audit(self) -> Sequence[AuditEntry]:
        """The whole audit trail, the oldest first."""
        ...


AtOnce = Callable[[Sequence[Callable[[], Any]]], Sequence[Any]]
"""Makes calls at the same time and gives what they returned, in their order: a pool of threads has it."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Makes and reopens stores for the checks; each check gets a new store."""

    make: Callable[[], Any]
    """A new store with nothing in it."""
    reopen: Callable[[Any], Any] | None = None
    """The store again, from nothing but what it kept: as after a crash."""
    at_once: AtOnce | None = None


class Broken(Exception):
    """Raised when a store breaks a rule; the text says what it did and what it should have done."""


def require(is_so: bool, words: str) -> None:
    """Raise `Broken` unless `is_so`."""
    if not is_so:
        raise Broken(words)


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
        if _unnumbered(entry) != _unnumbered(right_entry):
            return f"the audit trail has an entry {entry.kind} wrong or out of order"
    numbers = [entry.number for entry in found.entries]
    if numbers != sorted(set(numbers)):
        return "the numbers of the audit trail do not rise"
    return None


def _unnumbered(entry: AuditEntry) -> tuple[object, ...]:
    return (
        entry.at,
        entry.kind,
        entry.actor_id,
        entry.user_id,
        entry.client_id,
        entry.session_id,
        entry.role_id,
        entry.why,
        entry.scopes,
        entry.trace_id,
        entry.source,
        entry.user_agent,
        entry.earlier_at,
        entry.earlier_user_agent,
    )
