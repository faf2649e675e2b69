"""What the server asks of a store beyond the core's port: reading turns, lists, and turns in two steps."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from ostiary_core.events import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.storage.listing import ListingStore
from ostiary_core.storage.store import Store
from ostiary_core.storage.summaries import SummaryStore

ChooseEvents = Callable[[], tuple[Sequence[Event], Sequence[Origin | None]]]
"""Says which events a turn is to decide, and where they came from. Asked again, it says which of them
somebody still waits for: so it is asked when the turn has begun, and before each further attempt (READINGS
46)."""


class CommitUnconfirmed(RuntimeError):
    """Nobody can know whether a turn was kept: the store was asked to commit and gave no answer.

    The cause is chained.
    """


class ListStore(ListingStore, SummaryStore, Protocol):
    """What can be looked up in a store beside all turns: lists and summaries."""


class ReadingStore(Store, ListStore, Protocol):
    """A store that decides read-only events, and can be looked up in, beside the turns that write."""

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        """Decide `events`, all of them `READ_ONLY`."""
        ...


@runtime_checkable
class ChoosingStore(ReadingStore, Protocol):
    """A store that asks for the events of a turn only once the turn has begun.

    Before that it may have to wait, and meanwhile some who sent events may have gone.
    """

    def turn_of(self, choose_events: ChooseEvents, now: Instant) -> list[Decision]:
        """Decide the events that are chosen once the turn has begun; no decisions for no events.

        Raises what `turn` raises, and `CommitUnconfirmed`.
        """
        ...


class OpenTurn(Protocol):
    """A turn that is decided and written, but not on disk yet."""

    decisions: list[Decision]

    @property
    def is_over(self) -> bool:
        """Whether the turn is over already, because there was nothing to keep."""
        ...

    def commit(self) -> None:
        """Commit the turn to disk, in any thread; raising, keep nothing of it."""
        ...

    def abandon(self) -> None:
        """Keep nothing of the turn, unless it was committed."""
        ...


class BegunTurn(Protocol):
    """A turn that has begun, so that nobody else writes, and whose events are not known yet."""

    def open(self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()) -> OpenTurn:
        """Decide `events` and write what they change; raising, keep nothing."""
        ...

    def abandon(self) -> None:
        """End the turn and let the next one begin, unless this one was opened."""
        ...


@runtime_checkable
class InPlaceStore(ReadingStore, Protocol):
    """A store that may be called in the event loop, as only few of its steps wait.

    No writer holds a reader up, the pages that are read most are in memory, and a turn waits for others only
    before it begins, for the disk only when it is committed.
    """

    def begin_turn(self) -> BegunTurn:
        """Wait until nobody else writes, and begin a turn; in any thread."""
        ...

    def try_begin_turn(self) -> BegunTurn | None:
        """Begin a turn if nobody has to be waited for; else return None and do nothing."""
        ...

    @property
    def needs_checkpoint(self) -> bool:
        """Whether the write-ahead log is long enough for a `checkpoint`; asked after every turn."""
        ...

    def checkpoint(self) -> None:
        """Move the write-ahead log into the database file while turns go on; in any thread."""
        ...
