"""One turn that writes, in three steps: begin it, decide and write, commit.

Each step is done wherever it suits the caller.

To begin may mean to wait for other writers, to commit means to wait for the disk: both are for a thread. In
between nothing is waited for, so that is for the event loop.
"""

from collections.abc import Sequence
from functools import partial

import apsw

from ostiary_core.decide import keys, take_turn
from ostiary_core.events import Event
from ostiary_core.loading.snapshot import load
from ostiary_core.model.audit import Origin, audit_entries
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.model.policy import Policy
from ostiary_core.storage.store import net_changes
from ostiary_net.sqlite.record_sql import fetch_with_all, index_pending, keep, write
from ostiary_net.sqlite.writer import Writer


class _Step:
    """A step of a turn: nobody else has the writer, until the step hands it on or lets it go."""

    __slots__ = ("_writer",)

    def __init__(self, writer: Writer) -> None:
        self._writer: Writer | None = writer

    def _hand_on(self) -> Writer | None:
        writer, self._writer = self._writer, None
        return writer

    def abandon(self) -> None:
        """Keep nothing that was not committed, and let the next turn begin; a second call does nothing."""
        writer = self._hand_on()
        if writer is not None:
            writer.abandon()


class BegunTurn(_Step):
    """A turn that has begun, and whose events may be named now."""

    __slots__ = ("_connection", "_policy")

    def __init__(self, connection: apsw.Connection, writer: Writer, policy: Policy) -> None:
        super().__init__(writer)
        self._connection = connection
        self._policy = policy

    def open(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> "OpenTurn":
        """Decide `events` in order at `now` and write what they change; raising, keep nothing.

        It is over at once where there is nothing to keep.
        """
        writer = self._hand_on()
        if writer is None:
            raise RuntimeError("this turn was opened or abandoned before")
        try:
            snapshot = load((keys(event) for event in events), partial(fetch_with_all, self._connection))
            decisions = take_turn(events, snapshot, now, self._policy)
            changes = net_changes(decisions)
            entries = audit_entries(decisions, origins, now)
            write(self._connection, changes)
            files = keep(self._connection, entries)
        except BaseException:
            writer.abandon()
            raise
        turn = OpenTurn(decisions, writer, files=files)
        if not changes and not entries:
            turn.abandon()
        return turn


class OpenTurn(_Step):
    """A turn that is decided and written, but neither committed nor given up yet."""

    __slots__ = ("_files", "decisions")

    def __init__(self, decisions: list[Decision], writer: Writer, *, files: bool) -> None:
        """Keep the writer; `files` is whether the commit is to index the pending audit entries."""
        super().__init__(writer)
        self.decisions = decisions
        self._files = files

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do: the turn was ended, or there was nothing to keep."""
        return self._writer is None

    def commit(self) -> None:
        """Commit the turn to disk, in any thread; raising, keep nothing of it."""
        writer = self._hand_on()
        if writer is not None:
            writer.commit(index_pending if self._files else None)
