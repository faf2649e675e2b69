"""A store for the core in Django's ORM: all that the port asks for.

It loads what some events need, lets the rules decide, and writes what they changed, each write guarded by
the revision it replaces, in one transaction. `with_django.py` serves it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from django.db import IntegrityError, models, transaction

import ostiary_core as core
from ostiary_core.events import Event


class StoredRecord(models.Model):  # type: ignore[misc]
    """One record, whole; its revision beside it, as guarded writes ask for it."""

    place = models.CharField(max_length=80, primary_key=True)
    table = models.IntegerField(db_index=True)
    access_token = models.CharField(max_length=64, null=True, unique=True)
    """The digest of a session's access token, by which it is found as well."""
    revision = models.IntegerField()
    content = models.TextField()

    class Meta:
        app_label = "ostiary_example"


class StoredEntry(models.Model):  # type: ignore[misc]
    """One line of the audit trail."""

    content = models.TextField()

    class Meta:
        app_label = "ostiary_example"


def place_of(key: core.Key) -> str:
    """A record's primary key, by digest: the identifier of a name may have thousands of characters."""
    return f"{key.table.value} {sha256(core.identifier_text(key).encode()).hexdigest()}"


def columns_of(record: core.Record) -> dict[str, Any]:
    """What is written anew with every revision."""
    token = record.access_digest.hex() if isinstance(record, core.Session) else None
    return {"revision": record.revision, "access_token": token, "content": core.to_text(record)}


class DjangoStore:
    """The port of the core over the two models, on SQLite, which lets one write at a time. On PostgreSQL a
    turn needs `REPEATABLE READ`, and a serialization failure is a lost race."""

    def turn(
        self, events: Sequence[Event], now: core.Instant, origins: Sequence[core.Origin | None] = ()
    ) -> list[core.Decision]:
        """Decide `events` and keep what they change, all of it or nothing."""
        with transaction.atomic():
            snapshot = core.load(map(core.keys, events), self.fetch)
            decisions = core.take_turn(events, snapshot, now, core.SPECIFICATION)
            self.write(core.net_changes(decisions))
            entries = core.audit_entries(decisions, origins, now)
            StoredEntry.objects.bulk_create([StoredEntry(content=core.to_text(entry)) for entry in entries])
        return decisions

    def fetch(self, table: core.Table, identifiers: Collection[Any]) -> Iterable[core.Record]:
        """The records that there are."""
        if table is core.Table.ACCESS_TOKEN:
            tokens = [digest.hex() for digest in identifiers]
            rows = StoredRecord.objects.filter(access_token__in=tokens)
            return [core.record_from_text(core.Table.SESSION, row.content) for row in rows]
        places = [place_of(core.Key(table, identifier)) for identifier in identifiers]
        rows = StoredRecord.objects.filter(place__in=places)
        return [core.record_from_text(table, row.content) for row in rows]

    def write(self, changes: Sequence[core.Change]) -> None:
        """Make all changes, or raise `LostRace` and make none."""
        with transaction.atomic():
            for change in changes:
                self._write(change)

    def _write(self, change: core.Change) -> None:
        if isinstance(change, core.Insert):
            self._insert(change.record)
            return
        before = change.before
        standing = StoredRecord.objects.filter(place=place_of(before.key), revision=before.revision)
        if isinstance(change, core.Update):
            written = standing.update(**columns_of(change.after))
        else:
            written, _ = standing.delete()
        if not written:
            raise core.LostRace(
                f"a record of table {before.table.name} is not at the revision it was read at"
            )

    def _insert(self, record: core.Record) -> None:
        row = StoredRecord(place=place_of(record.key), table=record.table.value, **columns_of(record))
        try:
            row.save(force_insert=True)
        except IntegrityError:
            raise core.LostRace(f"a record of table {record.table.name} is there already") from None

    def records(self, table: core.Table) -> tuple[core.Record, ...]:
        """Everything in one table."""
        rows = StoredRecord.objects.filter(table=table.value)
        return tuple(core.record_from_text(table, row.content) for row in rows)

    def audit(self) -> tuple[core.AuditEntry, ...]:
        """The whole trail, the oldest first."""
        rows = StoredEntry.objects.order_by("id")
        return tuple(replace(core.entry_from_text(row.content), number=row.id) for row in rows)
