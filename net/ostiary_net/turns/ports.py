"""Ports of a store beyond the core's: reading turns, lists, and turns in steps."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from ostiary_core.events import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.storage.listing import ListingStore
from ostiary_core.storage.store import Store
from ostiary_net.observability.summaries import SummaryStore

ChooseEvents = Callable[[], tuple[Sequence[Event], Sequence[Origin | None]]]
"""Returns the events of a turn and their origins; called again, only those whose callers still wait.

A store calls it once the turn has begun, and before each further attempt (READINGS 46)."""


class CommitUnconfirmed(RuntimeError):
    """Raised when a commit got no clear answer, so that the turn may be kept or not; the cause is chained."""


class ListStore(ListingStore, SummaryStore, Protocol):
    """Lists and summaries of a store, read beside all turns."""


class ReadingStore(Store, ListStore, Protocol):
    """A store that decides read-only events, and reads lists, beside the turns that write."""

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        """Decide `events`, all of them `READ_ONLY`."""
        ...


@runtime_checkable
class ChoosingStore(ReadingStore, Protocol):
    """A store that chooses the events of a turn once it has begun: callers may leave while it waits."""

    def turn_of(self, choose_events: ChooseEvents, now: Instant) -> list[Decision]:
        """Decide the events that are chosen once the turn has begun.

        Raises what `turn` raises, and `CommitUnconfirmed`.
        """
        ...


class Turn(Protocol):
    """A writing turn that has begun; no other one begins until it is committed or released."""

    @property
    def is_pending(self) -> bool:
        """Whether something is written that only a commit keeps."""
        ...

    def decide(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        """Decide `events` and write what they change."""
        ...

    def commit(self) -> None:
        """Commit the turn to disk, in any thread; raising, keep nothing of it."""
        ...

    def release(self) -> None:
        """Let the next turn begin, and keep nothing that was not committed; a second call does nothing."""
        ...


@runtime_checkable
class InPlaceStore(ReadingStore, Protocol):
    """A store that may be called in the event loop: only `begin_turn`, `commit` and `checkpoint` wait."""

    def begin_turn(self) -> Turn:
        """Wait until no other turn writes, and begin one; in any thread."""
        ...

    def try_begin_turn(self) -> Turn | None:
        """Begin a turn if no other has to be waited for; else return None and do nothing."""
        ...

    @property
    def needs_checkpoint(self) -> bool:
        """Whether the write-ahead log is long enough for a `checkpoint`; asked after every turn."""
        ...

    def checkpoint(self) -> None:
        """Move the write-ahead log into the database file while turns go on; in any thread."""
        ...
