"""Stores that are wrong on purpose, each in one way, for the kit to find."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ostiary_core import Decision, Instant, LostRace, MemoryStore, keys, load, take_turn
from ostiary_core.events import Event
from ostiary_core.model.audit import AuditEntry, Origin, audit_entries
from ostiary_core.model.decision import Change, Delete, Insert, Update
from ostiary_core.model.records import Key, Record, Role, Session, Table
from ostiary_core.storage.json_codec import identifier_text
from ostiary_core.storage.store import before_and_after, net_changes

Events = Sequence[Event]
Origins = Sequence[Origin | None]


class LostUpdate(MemoryStore):
    """Drops the last of several updates in one write."""

    def write(self, changes: Sequence[Change]) -> None:
        updates = [change for change in changes if isinstance(change, Update)]
        super().write([change for change in changes if len(updates) < 2 or change is not updates[-1]])


class PartialWrite(MemoryStore):
    """Writes each change on its own, so that the changes before a refused one stay."""

    def write(self, changes: Sequence[Change]) -> None:
        for change in changes:
            super().write([change])


class InsertOver(MemoryStore):
    """Lets a record be made over another: `INSERT OR REPLACE`."""

    def write(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if isinstance(change, Insert):
                self._tables[change.record.table].pop(change.record.key.id, None)
        super().write(changes)


class Unguarded(MemoryStore):
    """Writes every change without a look at the record that stands: `UPDATE … WHERE id = ?`."""

    def write(self, changes: Sequence[Change]) -> None:
        super().write([change for change in changes if isinstance(change, Insert)])
        for change in changes:
            match change:
                case Update(_, after):
                    self._tables[after.table][after.key.id] = after
                case Delete(before):
                    self._tables[before.table].pop(before.key.id, None)


class OlderAccepted(MemoryStore):
    """Accepts an update from a later revision than the one that stands: `WHERE revision <= ?`."""

    def write(self, changes: Sequence[Change]) -> None:
        super().write([self._let_through(change) for change in changes])

    def _let_through(self, change: Change) -> Change:
        if isinstance(change, Update):
            standing = self._tables[change.before.table].get(change.before.key.id)
            if standing is not None and standing.revision <= change.before.revision:
                return Update(standing, change.after)
        return change


class CutKeys(MemoryStore):
    """Cuts keys to 66 characters, as a database may do with texts that are longer than their column."""

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        if table is not Table.IDENTIFIER:
            return super().fetch(table, identifiers)
        by_cut_key = {identifier_text(record.key)[:66]: record for record in self.records(table)}
        cut = [identifier_text(Key(table, identifier))[:66] for identifier in identifiers]
        return [by_cut_key[key] for key in cut if key in by_cut_key]


class StaleRead(MemoryStore):
    """Reads from a cache that is never emptied."""

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
    """Keeps no audit entry of a turn that changes nothing, such as a safe retry."""

    def turn(self, events: Events, *more: Any) -> list[Decision]:
        before = len(self._audit)
        decisions = super().turn(events, *more)
        if not any(decision.changes for decision in decisions):
            del self._audit[before:]
        return decisions


class SwappedRecords(MemoryStore):
    """Returns a neighbour for the first of several records: rows zipped to the wrong keys."""

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        found = list(super().fetch(table, identifiers))
        if len(found) < 2:
            return found
        everything = list(self._tables[table].values())
        return [everything[everything.index(record) - 1] for record in found[:1]] + found[1:]


class SpentTokensKept(MemoryStore):
    """Never removes an access token from its index."""

    def write(self, changes: Sequence[Change]) -> None:
        spent = [change.before for change in changes if isinstance(change, Update | Delete)]
        super().write(changes)
        for record in spent:
            if isinstance(record, Session):
                self._tables[Table.ACCESS_TOKEN].setdefault(record.access_digest, record)


class InSteps(MemoryStore):
    """Takes a turn in steps of its own, which the faults below take in another order."""

    def decide(self, events: Events, now: Instant) -> list[Decision]:
        """Load, and decide."""
        return take_turn(events, load(map(keys, events), self.fetch), now, self.policy)

    def append(self, entries: Iterable[AuditEntry]) -> None:
        """Add to the trail, one by one."""
        for entry in entries:
            self._entries_kept += 1
            self._audit.append(replace(entry, number=self._entries_kept))


class AuditBesides(InSteps):
    """Writes the trail after the records, in no transaction with them."""

    def turn(self, events: Events, now: Instant, origins: Origins = ()) -> list[Decision]:
        decisions = self.decide(events, now)
        self.write(net_changes(decisions))
        self.append(audit_entries(decisions, origins, now))
        return decisions


class EachOnItsOwn(MemoryStore):
    """Takes each event as a turn of its own: the first are kept if a later one fails."""

    def turn(self, events: Events, now: Instant, origins: Origins = ()) -> list[Decision]:
        decisions: list[Decision] = []
        for place, event in enumerate(events):
            decisions += super().turn([event], now, [origins[place]] if origins else ())
        return decisions


class DeletesLast(MemoryStore):
    """Writes deletes last: a record that a turn deletes and makes again is gone."""

    def turn(self, events: Events, *more: Any) -> list[Decision]:
        decisions = super().turn(events, *more)
        changes = [change for decision in decisions for change in decision.changes]
        deleted = {change.before.key for change in changes if isinstance(change, Delete)}
        for change in changes:
            if isinstance(change, Insert) and change.record.key in deleted:
                self._tables[change.record.table].pop(change.record.key.id, None)
        return decisions


class LooksFirst(MemoryStore):
    """Looks at all guards first, and then commits change by change."""

    def write(self, changes: Sequence[Change]) -> None:
        for change in changes:
            before, after = before_and_after(change)
            [key] = {record.key for record in (before, after) if record is not None}
            if list(self.fetch(key.table, [key.id])) != ([] if before is None else [before]):
                raise LostRace
        for change in changes:
            super().write([change])


class EntriesOfLostRaces(InSteps):
    """Writes the trail before the records, and keeps it if they lose their race."""

    def turn(self, events: Events, now: Instant, origins: Origins = ()) -> list[Decision]:
        decisions = self.decide(events, now)
        self.append(audit_entries(decisions, origins, now))
        self.write(net_changes(decisions))
        return decisions


class LostRaceAnswered(InSteps):
    """Answers a turn that lost its race as if it had been kept."""

    def turn(self, events: Events, now: Instant, origins: Origins = ()) -> list[Decision]:
        try:
            return super().turn(events, now, origins)
        except LostRace:
            return self.decide(events, now)


class EmptyFetchIsAll(MemoryStore):
    """Returns all records when none is asked for: an empty condition is left out."""

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        return super().fetch(table, identifiers) if identifiers else self.records(table)


MISREAD_ROLES: dict[str, Callable[[Role], Role]] = {
    # An empty text is none, as in Oracle's database.
    "EmptyIsNull": lambda role: replace(role, name=role.name or "NULL"),
    # Blanks at the end of a text are lost: a column of type `CHAR`.
    "PaddedTexts": lambda role: replace(role, name=role.name.rstrip()),
    # Several values of one field are a set: they come back in another order.
    "SortedValues": lambda role: replace(role, permissions=tuple(sorted(role.permissions))),
}


def _misreading(named: tuple[str, Callable[[Role], Role]]) -> type[MemoryStore]:
    """Make a store that returns another role than the stored one."""
    name, misread = named

    class Misread(MemoryStore):
        def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
            found = super().fetch(table, identifiers)
            return [misread(one) if isinstance(one, Role) else one for one in found]

    Misread.__name__ = name
    return Misread


class OneOriginForAll(MemoryStore):
    """Records the request behind a turn's first event in all entries of the turn."""

    def turn(self, events: Events, now: Instant, origins: Origins = ()) -> list[Decision]:
        return super().turn(events, now, [origins[0]] * len(events) if origins else ())


class WholeSeconds(MemoryStore):
    """Instants are kept in seconds."""

    def turn(self, events: Events, now: Instant, origins: Origins = ()) -> list[Decision]:
        return super().turn(events, Instant(now // 1000 * 1000), origins)


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
    SpentTokensKept: "keys of table ACCESS_TOKEN there is found what is not stored under them",
    AuditBesides: "a turn that failed while its audit trail was written left something",
    EachOnItsOwn: "a turn that failed on an event left something",
    DeletesLast: "an insert was lost",
    LooksFirst: "a partial write: an error between 3 writes",
    EntriesOfLostRaces: "a turn that lost its race left something",
    LostRaceAnswered: "a turn that lost its race was answered",
    EmptyFetchIsAll: "under 0 keys of table ROLE there is found what is not stored under them",
    **dict.fromkeys(map(_misreading, MISREAD_ROLES.items()), "swapped records"),
    OneOriginForAll: "the audit trail has an entry",
    WholeSeconds: "was not decided on what is kept",
    Shared: "what is written to one store is found in another one",
}
"""Each fault with words that the kit must say of it."""
