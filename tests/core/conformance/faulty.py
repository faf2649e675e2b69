"""Stores that are wrong on purpose, each in one way, for the kit to find."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ostiary_core import Decision, Instant, MemoryStore, keys, load, take_turn
from ostiary_core.events import Event
from ostiary_core.model.audit import Origin, audit_entries
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.records import Key, Record, Session, Table
from ostiary_core.storage.json_codec import identifier_text
from ostiary_core.storage.listing import GRANTS, GrantedAccess, Listing, Page
from ostiary_core.storage.store import net_changes

T = TypeVar("T")


class LostUpdate(MemoryStore):
    """Of several updates in one write the last is dropped."""

    def write(self, changes: Sequence[Change]) -> None:
        updates = [change for change in changes if isinstance(change, Update)]
        super().write([change for change in changes if len(updates) < 2 or change is not updates[-1]])


class PartialWrite(MemoryStore):
    """Each change on its own, so that what came before a refused one stays."""

    def write(self, changes: Sequence[Change]) -> None:
        for change in changes:
            super().write([change])


class InsertOver(MemoryStore):
    """A record may be made where one stands: `INSERT OR REPLACE`."""

    def write(self, changes: Sequence[Change]) -> None:
        kept = [change for change in changes if not (isinstance(change, Insert) and self._over(change))]
        super().write(kept)
        for change in changes:
            if isinstance(change, Insert):
                self._tables[change.record.table][change.record.key.id] = change.record

    def _over(self, change: Insert) -> bool:
        return change.record.key.id in self._tables[change.record.table]


class Unguarded(MemoryStore):
    """Writes whatever it is told to, whatever stands there: `UPDATE … WHERE id = ?`."""

    def write(self, changes: Sequence[Change]) -> None:
        inserts = [change for change in changes if isinstance(change, Insert)]
        super().write(inserts)
        for change in changes:
            match change:
                case Update(_, after):
                    self._tables[after.table][after.key.id] = after
                case Delete(before):
                    self._tables[before.table].pop(before.key.id, None)


class OlderAccepted(MemoryStore):
    """Whoever has read a later revision than the one that stands may write: `WHERE revision <= ?`."""

    def write(self, changes: Sequence[Change]) -> None:
        super().write([self._let_through(change) for change in changes])

    def _let_through(self, change: Change) -> Change:
        if isinstance(change, Update):
            standing = self._tables[change.before.table].get(change.before.key.id)
            if standing is not None and standing.revision <= change.before.revision:
                return Update(standing, change.after)
        return change


class CutKeys(MemoryStore):
    """A column of 66 characters for the key, and a database that cuts what is longer."""

    def __init__(self) -> None:
        super().__init__()
        self._tables = {table: _Cut(table) for table in Table}


class _Cut(dict[Any, Record]):
    """Records by the beginnings of their keys."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table

    def _cut(self, identifier: Any) -> str:
        return identifier_text(Key(self._table, identifier))[:66]

    def __contains__(self, identifier: object) -> bool:
        return super().__contains__(self._cut(identifier))

    def __getitem__(self, identifier: Any) -> Record:
        return super().__getitem__(self._cut(identifier))

    def __setitem__(self, identifier: Any, record: Record) -> None:
        super().__setitem__(self._cut(identifier), record)

    def __delitem__(self, identifier: Any) -> None:
        super().__delitem__(self._cut(identifier))

    def get(self, identifier: Any, default: Any = None) -> Any:
        return super().get(self._cut(identifier), default)


class StaleRead(MemoryStore):
    """A cache that nobody empties."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[Key, Record] = {}

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        return [self._seen.setdefault(record.key, record) for record in super().fetch(table, identifiers)]


class ForgottenDelete(MemoryStore):
    """Deletes nothing."""

    def write(self, changes: Sequence[Change]) -> None:
        super().write([change for change in changes if not isinstance(change, Delete)])


class DroppedAudit(MemoryStore):
    """What changes nothing is not told: a safe retry leaves no trace."""

    def turn(self, events: Sequence[Event], *more: Any) -> list[Decision]:
        before = len(self._audit)
        decisions = super().turn(events, *more)
        if not any(decision.changes for decision in decisions):
            del self._audit[before:]
        return decisions


class SwappedRecords(MemoryStore):
    """Asked for several at once, it gives neighbours for them: rows zipped to the wrong keys."""

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        found = list(super().fetch(table, identifiers))
        if len(found) < 2:
            return found
        everything = list(self._tables[table].values())
        return [everything[everything.index(record) - 1] for record in found[:1]] + found[1:]


class SpentTokensKept(MemoryStore):
    """An index of access tokens to which is only added."""

    def write(self, changes: Sequence[Change]) -> None:
        spent = [change.before for change in changes if isinstance(change, Update | Delete)]
        super().write(changes)
        for record in spent:
            if isinstance(record, Session):
                self._tables[Table.ACCESS_TOKEN].setdefault(record.access_digest, record)


class AuditBesides(MemoryStore):
    """The trail is written after the records, in no transaction with them."""

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        snapshot = load(map(keys, events), self.fetch)
        decisions = take_turn(events, snapshot, now, self.policy)
        self.write(net_changes(decisions))
        for entry in audit_entries(decisions, origins, now):
            self._audit.append(replace(entry, number=len(self._audit) + 1))
        return decisions


class EachOnItsOwn(MemoryStore):
    """Every event of a turn is a turn: the first are kept where a later one fails."""

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        decisions: list[Decision] = []
        for place, event in enumerate(events):
            decisions += super().turn([event], now, [origins[place]] if origins else ())
        return decisions


class DeletesLast(MemoryStore):
    """Writes a turn way by way, and what was deleted and made again is deleted in the end."""

    def turn(self, events: Sequence[Event], *more: Any) -> list[Decision]:
        made_again: list[Record] = []
        decisions = super().turn(events, *more)
        deleted: set[Key] = set()
        for change in (change for decision in decisions for change in decision.changes):
            if isinstance(change, Delete):
                deleted.add(change.before.key)
            elif isinstance(change, Insert) and change.record.key in deleted:
                made_again.append(change.record)
        for record in made_again:
            self._tables[record.table].pop(record.key.id, None)
        return decisions


class ConsentsAlone(MemoryStore):
    """Of what a user lets clients do, a running session that nobody was asked about is left out."""

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        if listing.resource is not GRANTS:
            return super().page(listing, now)
        every = super().page(replace(listing, page=1, page_size=1_000), now).items
        kept = [item for item in every if not isinstance(item, GrantedAccess) or item.scopes]
        return Page(tuple(kept[listing.offset : listing.offset + listing.page_size]), len(kept))


class Shared(MemoryStore):
    """All stores are one: a connection kept in the class."""

    def __init__(self) -> None:
        super().__init__()
        self._tables = _SHARED_TABLES


_SHARED_TABLES: dict[Table, dict[Any, Record]] = {table: {} for table in Table}


FAULTS: dict[type[MemoryStore], str] = {
    LostUpdate: "an update was lost",
    PartialWrite: "a partial write",
    InsertOver: "an insert over an existing record was accepted",
    Unguarded: "an update of an older revision than the one that stands was accepted",
    OlderAccepted: "an update of a later revision than the one that stands was accepted",
    CutKeys: "keys of table IDENTIFIER are cut",
    StaleRead: "a stale read",
    ForgottenDelete: "a delete was forgotten",
    DroppedAudit: "the audit trail dropped",
    SwappedRecords: "swapped records",
    SpentTokensKept: "a session is found by an access token that it no longer has",
    AuditBesides: "a turn that failed while its audit trail was written left something",
    EachOnItsOwn: "a turn that failed on an event left something",
    DeletesLast: "an insert was lost",
    ConsentsAlone: "grants: more or fewer are counted than there are",
    Shared: "what is written to one store is found in another one",
}
"""Each fault with words that the kit must say of it."""
