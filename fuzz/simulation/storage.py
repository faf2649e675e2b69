"""The shared store of all instances, and the faults that it meets.

Two kinds stand behind the instances: the real SQLite store on a file, each instance with its own
connections, and a store in memory whose turns are taken the way PostgreSQL takes them: a turn decides on what
stood when it began, other instances may commit while it runs, and its guarded writes then find out (snapshot
isolation, first writer wins).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
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


LATER_WORD: Final = UnknownWord("of_the_next_release")
"""A word that only a later release knows."""
_REASONS: Final = {
    Table.USER: "epoch_why",
    Table.CLIENT: "epoch_why",
    Table.SESSION: "ended_why",
    Table.CODE: "voided_why",
}
"""The fields whose words change no answer, by table."""
AWAY_MS: Final = 40_000
"""How long a store is away that comes back behind the grace."""
HALT_MS: Final = 700
"""How long it stands still in the middle of an operation."""


class StoreFault(OSError):
    """What a disk or a database says when it fails; like theirs, its text quotes what it was about."""


class OnFile:
    """SQLite on a file: every instance opens it for itself."""

    def __init__(self, folder: Path, policy: Policy) -> None:
        self.path = folder / "ostiary.db"
        self._policy = policy
        self._own = SQLiteStore(self.path, policy=policy)

    def open_store(self) -> AbstractContextManager[SQLiteStore]:
        """The store as one more instance opens it."""
        return SQLiteStore(self.path, policy=self._policy)

    def run_sync(self, random: Random, witness: Witness) -> RunSync:
        """Where an instance's turns run."""
        return run_inline

    def records(self, table: Table) -> Iterable[Record]:
        """Everything in one table."""
        return self._own.records(table)

    def audit(self) -> Sequence[AuditEntry]:
        """The audit trail, the oldest first."""
        return self._own.audit()

    def write(self, changes: Sequence[Change]) -> None:
        """Make changes past all rules, as another program would."""
        self._own.write(changes)

    def texts(self) -> bytes:
        """All that is stored, as bytes that can be searched."""
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
        """The moment of which the latest turn read; None where it read what stood when it wrote."""

    def open_store(self) -> AbstractContextManager["SharedMemory"]:
        return nullcontext(self)

    def run_sync(self, random: Random, witness: Witness) -> RunSync:
        async def run(sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
            async with limiter:
                stood, at = {table: dict(rows) for table, rows in self._tables.items()}, witness.tick()
                pause = random.choice((0.0, 0.0, 0.001, 0.004))
                if pause:
                    await trio.sleep(pause)
                # The first turn decides on what stood then; one taken again does not.
                self._began, self._began_at = stood, at
                try:
                    return sync_fn()
                finally:
                    self._began = None

        return run

    def fetch(self, table: Table, identifiers: Collection[Any]) -> Iterable[Record]:
        rows = (self._began or self._tables)[table]
        return [rows[identifier] for identifier in identifiers if identifier in rows]

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
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
"""What the instances have in common, in one run."""


def write_later_words(shared: Shared) -> list[Record]:
    """Write the later release's word in place of every reason; return the records as they stand now."""
    changes = [
        Update(record, revise(record, **{field: LATER_WORD}))
        for table, field in _REASONS.items()
        for record in shared.records(table)
        if getattr(record, field) not in (None, LATER_WORD)
    ]
    shared.write(changes)
    return [change.after for change in changes]


class FaultyStore:
    """A store as one instance uses it: watched, and failing where the plan says so."""

    def __init__(
        self,
        inner: Any,
        witness: Witness,
        *,
        crash: Callable[[], None],
        stall: Callable[[int], None],
        committed: Callable[[Sequence[Decision]], None],
        secret: Callable[[], str],
    ) -> None:
        self._inner = inner
        self._witness = witness
        self._crash = crash
        self._stall = stall
        self._committed = committed
        self._secret = secret
        self._unheard = UnheardRefreshes()
        self.armed: dict[int, Fate] = {}
        """Which operations meet which fault at their next turn that writes."""
        self.halting: set[int] = set()
        """Operations after whose first turn it stands still."""
        self.met: Counter[str] = Counter()
        self.is_dead = False
        self.policy: Policy = inner.policy

    def turn(
        self, events: Sequence[Event], now: Instant, origins: Sequence[Origin | None] = ()
    ) -> list[Decision]:
        """One turn, which may fail before it is kept, or be kept without anybody hearing of it."""
        fault = self._due(events)
        if fault in (Fate.STORE_FAILS, Fate.CRASH_BEFORE):
            self._count_fault(fault, events)
        decisions: list[Decision] = self._inner.turn(events, now, origins)
        self._took(events, decisions, now, changed=any(decision.changes for decision in decisions))
        self._committed(decisions)
        if fault is not None:
            self._count_fault(fault, events, decisions)
        if any(map(has_something_to_keep, decisions)):
            self._unheard.begin_grace()
        return decisions

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        """Events that change nothing."""
        self._alive()
        decisions: list[Decision] = self._inner.read(events, now)
        self._took(events, decisions, now, changed=False)
        return decisions

    def write(self, changes: Sequence[Change]) -> None:
        self._inner.write(changes)

    def __getattr__(self, name: str) -> Any:
        """Lists and lives are read as they are."""
        return getattr(self._inner, name)

    def _took(
        self, events: Sequence[Event], decisions: Sequence[Decision], now: int, *, changed: bool
    ) -> None:
        moment = None if changed else getattr(self._inner, "decided_at", None)
        self._witness.took(events, decisions, now, moment, self._unheard)
        halting = self.halting.intersection(self._witness.operations_of(events))
        if halting:
            self.halting -= halting
            self._stall(HALT_MS)

    def _due(self, events: Sequence[Event]) -> Fate | None:
        self._alive()
        found = [self.armed.pop(one) for one in self._witness.operations_of(events) if one in self.armed]
        return found[0] if found else None

    def _alive(self) -> None:
        if self.is_dead:
            raise StoreFault("this instance has died")

    def _count_fault(self, fault: Fate, events: Sequence[Event], decisions: Sequence[Decision] = ()) -> None:
        self.met[fault] += 1
        self._witness.record_failed(events)
        if fault in (Fate.CRASH_BEFORE, Fate.CRASH_AFTER):
            self._crash()
        error = StoreFault(f"disk I/O error near {self._secret()!r}")
        if fault is Fate.STORE_AWAY:
            self._stall(AWAY_MS)
        if fault in (Fate.COMMIT_UNHEARD, Fate.STORE_AWAY):
            self._unheard.record(events, decisions)
            unconfirmed = CommitUnconfirmed("no answer to a commit")
            unconfirmed.decisions = decisions
            raise unconfirmed from error
        raise error
