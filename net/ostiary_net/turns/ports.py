"""Ports of a store beyond the core's: what a server asks of one, and turns in steps."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ostiary_core.events import Event
from ostiary_core.model.audit import AuditEntry, Origin
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import Record, Table
from ostiary_core.retention import Expirable, ExpiredBatch
from ostiary_core.storage.listing import ListingStore
from ostiary_core.storage.store import Store
from ostiary_net.observability.summaries import SummaryStore

ChooseEvents = Callable[[], tuple[Sequence[Event], Sequence[Origin | None]]]
"""Returns the events of a turn and their origins; called again, only those whose callers still wait.

A store calls it once the turn has begun, and before each further attempt (READINGS 46)."""


class CommitUnconfirmed(RuntimeError):
    """Raised when a commit got no clear answer, so that the turn may be kept or not; the cause is chained."""

    decisions: Sequence[Decision] = ()
    """Decisions of the turn, in the order of its events."""


class ReadingStore(Store, ListingStore, SummaryStore, Protocol):
    """A store that decides read-only events, and reads lists and summaries, beside the turns that write."""

    policy: Policy

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        """Decide `events`, all of them `READ_ONLY`."""
        ...


class TrailEnd(NamedTuple):
    """End of the audit trail at one moment.

    In PostgreSQL a number is drawn in a transaction and visible once it commits, so a higher one can be
    visible before a lower one. A reader asks for the trail's end and for the transactions that were adding
    entries, waits until these are through, and reads up to that end: so it passes over no entry.
    """

    number: int
    """Number of the last visible entry; 0 without any."""
    writers: frozenset[str]
    """Transactions that were adding entries, which may have lower numbers."""


class ServerStore(ReadingStore, Protocol):
    """A store as a server, its upkeep and the command line need it."""

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        """Return the records of `table` under `identifiers`, as far as they exist."""
        ...

    def records(self, table: Table) -> tuple[Record, ...]:
        """Return everything in one table."""
        ...

    def has_password_hash_unlike(self, prefix: str) -> bool:
        """Whether any user has a password hash that does not begin with `prefix`."""
        ...

    def trail_end(self) -> TrailEnd:
        """Return the trail's end, and the transactions that are adding entries."""
        ...

    def entries_between(self, after: int, last: int, most: int) -> tuple[AuditEntry, ...]:
        """Return up to `most` entries with numbers behind `after` and not behind `last`, in order."""
        ...

    def sessions_past_grace(self, now: Instant, grace_seconds: int, limit: int) -> Sequence[str]:
        """Find sessions that still have a salt though no retry may ask for it, the oldest first."""
        ...

    def find_expired(self, kind: Expirable, after: bytes, now: Instant, limit: int) -> ExpiredBatch:
        """Find up to `limit` identifiers of one kind that the rules may delete at `now`."""
        ...

    def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        """Erase up to `limit` of the oldest entries of the audit trail; return how many were erased."""
        ...

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        """Take or keep the lease `name` for so many seconds; False if another holder has it."""
        ...

    def present(self, now: Instant) -> Instant:
        """Return the instant of its turns, given this machine's."""
        ...

    def check_ready(self) -> None:
        """Raise unless a change would be stored now, on the schema of this release."""
        ...

    def close(self) -> None:
        """Release the file or the connections."""
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
