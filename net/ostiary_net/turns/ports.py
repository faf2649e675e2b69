"""What the server asks of a store beyond the core's port: reading turns, lists, and turns in two steps."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from ostiary_core.events import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.storage.listing import ListingStore
from ostiary_core.storage.store import Store

__all__ = [
    "BegunTurn",
    "ChooseEvents",
    "ChoosingStore",
    "CommitUnknown",
    "InPlaceStore",
    "OpenTurn",
    "ReadingStore",
]

ChooseEvents = Callable[[], tuple[Sequence[Event], Sequence[Origin | None]]]
"""Says which events a turn is to decide, and where they came from. Asked again, it says which of them
somebody still waits for: so it is asked when the turn has begun, and before each further attempt (READINGS
46)."""


class CommitUnknown(RuntimeError):
    """Nobody can know whether a turn was kept: the store was asked to commit and gave no answer. The cause is
    chained."""


class ReadingStore(Store, ListingStore, Protocol):
    """A store that decides events which change nothing, and gives lists, beside the turns that write."""

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        """Decide `events`, all of them `READ_ONLY`."""
        ...


@runtime_checkable
class ChoosingStore(ReadingStore, Protocol):
    """A store that may stand still before a turn has begun, and asks then who is still waiting."""

    def turn_of(self, choose_events: ChooseEvents, now: Instant) -> list[Decision]:
        """As `turn`, of the events that are chosen once it has begun; none for no events.

        Raises `CommitUnknown` besides.
        """
        ...


class OpenTurn(Protocol):
    """A turn that is decided and written, and not on disk yet."""

    decisions: list[Decision]

    @property
    def is_over(self) -> bool:
        """Whether there was nothing to keep."""
        ...

    def commit(self) -> None:
        """Have it on disk; raising, keep nothing of it. In any thread."""
        ...

    def abandon(self) -> None:
        """Keep nothing of it, unless it was committed."""
        ...


class BegunTurn(Protocol):
    """A turn that nobody can take from whoever has it, before its events are known."""

    def open(self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()) -> OpenTurn:
        """Decide and write; raising, keep nothing."""
        ...

    def abandon(self) -> None:
        """Let the next one have it, unless it was opened."""
        ...


@runtime_checkable
class InPlaceStore(ReadingStore, Protocol):
    """A store that can be asked where the event loop runs: no writer holds a reader up, the pages that are
    read most are in memory, and a turn waits for others only before it begins, for the disk only when it is
    committed."""

    def begin_turn(self) -> BegunTurn:
        """Wait until nobody else writes. In any thread."""
        ...

    def begin_turn_at_once(self) -> BegunTurn | None:
        """The same where nobody has to be waited for; else None, and nothing is done."""
        ...

    @property
    def needs_checkpoint(self) -> bool:
        """Whether it is time to `checkpoint`; asked after every turn."""
        ...

    def checkpoint(self) -> None:
        """Put what turns wrote ahead into its place, while they go on. In any thread."""
        ...
