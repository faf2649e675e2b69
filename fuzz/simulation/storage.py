"""The shared store of all instances, and its faults.

There are two kinds: the real SQLite store on a file, with connections of its own for each instance, and a
store in memory whose turns work as on PostgreSQL: a turn decides on the state at its beginning, other
instances may commit while it runs, and its guarded writes then detect the conflict (snapshot isolation, first
writer wins).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

import trio

from fuzz.shared.memory_store import ServerMemoryStore
from fuzz.simulation.plan import Fate
from fuzz.simulation.witness import UnheardRefreshes, Witness
from ostiary_core.events import Event
from ostiary_core.model.audit import AuditEntry, Origin
from ostiary_core.model.decision import Change, Decision, Update
from ostiary_core.model.instant import Instant
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import RECORD_TABLES, Record, Table, revise
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_net.runtime.system import RunSync, run_inline
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.turns.ports import CommitUnconfirmed
from ostiary_net.turns.turn_taking import has_something_to_keep

T = TypeVar("T")
Origins = Sequence[Origin | None]


LATER_WORD: Final = UnknownWord("of_the_next_release")
"""A word that only a later release knows."""
_REASONS: Final = {
    Table.USER: "epoch_why",
    Table.CLIENT: "epoch_why",
    Table.SESSION: "ended_why",
    Table.CODE: "voided_why",
}
"""Fields whose words change no answer, by table."""
AWAY_MS: Final = 40_000
"""Milliseconds for which a store is away that returns after the grace."""
HALT_MS: Final = 700
"""Milliseconds for which it stands still in the middle of an operation."""


class StoreFault(OSError):
    """An error of a disk or a database; as in real ones, its text quotes the data."""


class OnFile:
    """SQLite on a file, which every instance opens for itself."""

    def __init__(self, folder: Path, policy: Policy) -> None:
        self.path = folder / "ostiary.db"
        self._policy = policy
        self._own = SQLiteStore(self.path, policy=policy)

    def open_store(self) -> AbstractContextManager[SQLiteStore]:
        """Open the store for one more instance."""
        return SQLiteStore(self.path, policy=self._policy)

    def run_sync(self, random: Random, witness: Witness) -> RunSync:
        """Return the executor of an instance's turns."""
        return run_inline

    def records(self, table: Table) -> Iterable[Record]:
        """Return every record of a table."""
        return self._own.records(table)

    def audit(self) -> Sequence[AuditEntry]:
        """Return the audit trail, the oldest entry first."""
        return self._own.audit()

    def write(self, changes: Sequence[Change]) -> None:
        """Write changes without any rule, as another program would."""
        self._own.write(changes)

    def texts(self) -> bytes:
        """Return all stored data as bytes that can be searched."""
        self._own.close()
        return b"".join(path.read_bytes() for path in sorted(self.path.parent.glob("ostiary.db*")))


Tables = dict[Table, dict[Any, Record]]


class SharedMemory(ServerMemoryStore):
    """The reference store, one for all instances, whose turns can begin before other turns end."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self._began: Tables | None = None
        self._began_at: int | None = None
        self.decided_at: int | None = None
        """Moment of the latest turn's snapshot; None if the turn read the state at its write."""

    def open_store(self) -> AbstractContextManager["SharedMemory"]:
        return nullcontext(self)

    def run_sync(self, random: Random, witness: Witness) -> RunSync:
        async def run(sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
            async with limiter:
                stood, at = {table: dict(rows) for table, rows in self._tables.items()}, witness.tick()
                pause = random.choice((0.0, 0.0, 0.001, 0.004))
                if pause:
                    await trio.sleep(pause)
                # The first attempt of a turn decides on the state at its beginning; a repeated one does not.
                self._began, self._began_at = stood, at
                try:
                    return sync_fn()
                finally:
                    self._began = None

        return run

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        rows = (self._began or self._tables)[table]
        return [rows[identifier] for identifier in identifiers if identifier in rows]

    def turn(self, events: Sequence[Event], now: Instant, origins: Origins = ()) -> list[Decision]:
        self.decided_at, self._began_at = self._began_at, None
        try:
            return super().turn(events, now, origins)
        finally:
            self._began = None

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        return self.turn(events, now)

    def texts(self) -> bytes:
        stored = [*(self.records(table) for table in RECORD_TABLES), self.audit()]
        return repr(stored).encode()


Shared = OnFile | SharedMemory
"""Store that the instances of one run share."""


def write_later_words(shared: Shared) -> list[Record]:
    """Replace every stored reason with a later release's word; return the changed records."""
    changes = [
        Update(record, revise(record, **{field: LATER_WORD}))
        for table, field in _REASONS.items()
        for record in shared.records(table)
        if getattr(record, field) not in (None, LATER_WORD)
    ]
    shared.write(changes)
    return [change.after for change in changes]


@dataclass
class FaultyStore:
    """A store as one instance uses it: observed, and failing if the plan says so."""

    inner: Any
    witness: Witness
    crash: Callable[[], None]
    stall: Callable[[int], None]
    committed: Callable[[Sequence[Decision]], None]
    secret: Callable[[], str]
    met: Counter[str]
    armed: dict[int, Fate] = field(default_factory=dict)
    """Fault of an operation's next turn that writes."""
    halting: set[int] = field(default_factory=set)
    """Operations after whose first turn the store stands still."""
    is_dead: bool = False
    policy: Policy = field(init=False)
    _unheard: UnheardRefreshes = field(default_factory=UnheardRefreshes)

    def __post_init__(self) -> None:
        self.policy = self.inner.policy

    def turn(self, events: Sequence[Event], now: Instant, origins: Origins = ()) -> list[Decision]:
        """Take a turn, which may fail before its commit, or commit and lose its answer."""
        fault = self._due(events)
        if fault in (Fate.STORE_FAILS, Fate.CRASH_BEFORE):
            self._count_fault(fault, events)
        decisions: list[Decision] = self.inner.turn(events, now, origins)
        self._took(events, decisions, now, wrote=any(decision.changes for decision in decisions))
        self.committed(decisions)
        if fault is not None:
            self._count_fault(fault, events, decisions)
        if any(map(has_something_to_keep, decisions)):
            self._unheard.begin_grace()
        return decisions

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        """Read with events that change nothing."""
        self._alive()
        decisions: list[Decision] = self.inner.read(events, now)
        self._took(events, decisions, now, wrote=False)
        return decisions

    def write(self, changes: Sequence[Change]) -> None:
        self.inner.write(changes)

    def __getattr__(self, name: str) -> Any:
        """Pass on all other reads, such as lists and histories."""
        return getattr(self.inner, name)

    def _took(self, events: Sequence[Event], decisions: Sequence[Decision], now: int, *, wrote: bool) -> None:
        moment = None if wrote else getattr(self.inner, "decided_at", None)
        self.witness.record_turn(events, decisions, now, moment, self._unheard)
        halting = self.halting.intersection(self.witness.operations_of(events))
        if halting:
            self.halting -= halting
            self.stall(HALT_MS)

    def _due(self, events: Sequence[Event]) -> Fate | None:
        self._alive()
        fates = [self.armed.pop(one) for one in self.witness.operations_of(events) if one in self.armed]
        return fates[0] if fates else None

    def _alive(self) -> None:
        if self.is_dead:
            raise StoreFault("this instance has died")

    def _count_fault(self, fault: Fate, events: Sequence[Event], decisions: Sequence[Decision] = ()) -> None:
        self.met[fault] += 1
        self.witness.record_failed(events)
        if fault in (Fate.CRASH_BEFORE, Fate.CRASH_AFTER):
            self.crash()
        error = StoreFault(f"disk I/O error near {self.secret()!r}")
        if fault is Fate.STORE_AWAY:
            self.stall(AWAY_MS)
        if fault in (Fate.COMMIT_UNHEARD, Fate.STORE_AWAY):
            self._unheard.record(events, decisions)
            unconfirmed = CommitUnconfirmed("no answer to a commit")
            unconfirmed.decisions = decisions
            raise unconfirmed from error
        raise error
