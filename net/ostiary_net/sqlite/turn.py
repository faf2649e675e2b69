"""Take one writing turn on the file: begun by the store, then decided, then committed or released.

To begin may wait for other writers, and to commit waits for the disk: both are for a thread. To decide waits
for nothing, so the event loop may do it.
"""

from collections.abc import Sequence
from functools import partial

import apsw

from ostiary_core.decide import keys
from ostiary_core.events import Event
from ostiary_core.loading.snapshot import load
from ostiary_core.model.audit import AuditEntry, Origin
from ostiary_core.model.decision import Change, Decision
from ostiary_core.model.instant import Instant
from ostiary_core.model.policy import Policy
from ostiary_net.sql.store import decide_and_write
from ostiary_net.sqlite.record_sql import fetch_with_all, index_pending, insert_entries, write
from ostiary_net.sqlite.writer import Writer


class SQLiteTurn:
    """A turn that has the writer, until it is committed or released."""

    __slots__ = ("_connection", "_indexes_pending", "_policy", "_writer", "is_pending")

    def __init__(self, connection: apsw.Connection, writer: Writer, policy: Policy) -> None:
        self._connection = connection
        self._writer: Writer | None = writer
        self._policy = policy
        self._indexes_pending = False
        self.is_pending = False
        """Whether something is written that only a commit keeps."""

    def decide(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        """Decide `events` in order at `now` and write what they change; after an error, release the turn."""
        if self._writer is None:
            raise RuntimeError("this turn was committed or released before")
        snapshot = load((keys(event) for event in events), partial(fetch_with_all, self._connection))
        return decide_and_write(events, origins, snapshot, now, self._policy, self._write)

    def _write(self, changes: Sequence[Change], entries: Sequence[AuditEntry]) -> None:
        write(self._connection, changes)
        self._indexes_pending = insert_entries(self._connection, entries)
        self.is_pending = True

    def commit(self) -> None:
        """Commit the turn to disk, in any thread; raising, keep nothing of it."""
        writer, self._writer = self._writer, None
        if writer is not None:
            self.is_pending = False
            writer.commit(index_pending if self._indexes_pending else None)

    def release(self) -> None:
        """Let the next turn begin, and keep nothing that was not committed; a second call does nothing."""
        writer, self._writer = self._writer, None
        if writer is not None:
            self.is_pending = False
            writer.release()
