"""The sweeper: forgets what a rotation was derived with, once no retry may ask for it (READINGS 1), and
clears away what has lapsed, so that a store under a constant load stays as large as it is (`lapsing`)."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Protocol

import structlog
import trio

from ostiary_core.decision import Decision
from ostiary_core.events import GraceLapsed, RecordLapsed
from ostiary_core.instant import Instant
from ostiary_core.lapsing import Lapsed, Lapses
from ostiary_core.policy import Policy
from ostiary_core.records import Key
from ostiary_net.clock import Clock
from ostiary_net.metrics import Metrics
from ostiary_net.threads import RunSync
from ostiary_net.turns import TurnFailed, Turns

__all__ = ["ClearedStore", "Clearing", "SweptStore", "sweep", "sweep_once"]

_log = structlog.get_logger("ostiary")

_SESSIONS_A_BATCH: Final = 100
"""Few enough that a request which shares their turn does not notice."""
_RECORDS_A_BATCH: Final = 100
_BATCHES_A_ROUND: Final = 50
_LEASE: Final = "sweeper"


class SweptStore(Protocol):
    """What the sweeper asks a store."""

    policy: Policy

    def sessions_past_grace(self, now: Instant, grace_seconds: int, limit: int) -> Sequence[str]:
        """Sessions that still have a salt though no retry may ask for it, the oldest first."""
        ...


async def sweep(
    turns: Turns, store: SweptStore, clock: Clock, every_seconds: float, run_sync: RunSync | None = None
) -> None:
    """Sweep for ever; a failure is told to the log and tried again next time."""
    while True:
        await trio.sleep(every_seconds)
        try:
            await sweep_once(turns, store, clock, run_sync)
        except Exception as error:
            _log.error("sweep failed", cause=type(error.__cause__ or error).__name__)


async def sweep_once(turns: Turns, store: SweptStore, clock: Clock, run_sync: RunSync | None = None) -> int:
    """Erase every salt that is due, batch by batch; the number of sessions. Raises `TurnFailed`."""
    thread: Any = trio.to_thread.run_sync
    limiter = trio.CapacityLimiter(1)
    swept = 0
    while True:
        due = await (run_sync or thread)(
            partial(store.sessions_past_grace, clock.now(), store.policy.salt_seconds, _SESSIONS_A_BATCH),
            limiter=limiter,
        )
        erased = await _changed(turns, [GraceLapsed(session_id=session_id) for session_id in due])
        swept += erased
        # A store whose clock is behind the one that found them erases none yet: they wait for the next time.
        if len(due) < _SESSIONS_A_BATCH or not erased:
            return swept


async def _changed(turns: Turns, events: Sequence[GraceLapsed | RecordLapsed]) -> int:
    """Have the rules decide about each, in as few turns as there may be; how many changed something.

    Raises `TurnFailed` once all are through.
    """
    decisions: list[Decision] = []
    failures: list[TurnFailed] = []

    async def decide(event: GraceLapsed | RecordLapsed) -> None:
        try:
            decisions.append(await turns.decide(event))
        except TurnFailed as failure:
            failures.append(failure)

    async with trio.open_nursery() as nursery:
        for event in events:
            nursery.start_soon(decide, event)
    if failures:
        raise failures[0]
    return sum(bool(decision.changes) for decision in decisions)


# --- what has lapsed


class ClearedStore(SweptStore, Protocol):
    """What is asked of a store to clear away what has lapsed."""

    def lapsed(self, lapses: Lapses, after: bytes, now: Instant, limit: int) -> Lapsed:
        """Up to `limit` identifiers of one kind that the rules may let go of at `now`."""
        ...

    def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        """Erase up to `limit` of the oldest entries of the audit trail; how many there were."""
        ...

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        """Whether `holder` may do what is called `name` for so many seconds: nobody else does."""
        ...


class Clearing:
    """Clears away what has lapsed, in small batches, each of which is followed by a rest as long as itself:
    so it never has more than half of a store that others wait for.

    The rules decide about every record once more, in the turn that deletes it; what is found by then to be
    needed stays.
    """

    def __init__(
        self,
        turns: Turns,
        store: ClearedStore,
        clock: Clock,
        *,
        audit_seconds: int = 0,
        run_sync: RunSync | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """`audit_seconds` is how long the audit trail is kept; 0 keeps it for ever."""
        thread: Any = trio.to_thread.run_sync
        self._turns = turns
        self._store = store
        self._clock = clock
        self._audit_seconds = audit_seconds
        self._run_sync: RunSync = run_sync or thread
        self._metrics = metrics or Metrics()
        self._limiter = trio.CapacityLimiter(1)
        self._tokens_after = b""

    async def once(self, most_batches: int | None = None) -> dict[str, int]:
        """Once through everything, or through so many batches of each kind; what was cleared away.

        Raises `TurnFailed`, or what the store raises.
        """
        cleared = {lapses.value: await self._clear(lapses, most_batches) for lapses in Lapses}
        cleared["audit entries"] = await self._forget(most_batches) if self._audit_seconds else 0
        for what, number in cleared.items():
            self._metrics.swept(what.replace(" ", "_"), number)
        return cleared

    async def run(self, holder: str, every_seconds: float) -> None:
        """Clear for ever, on one instance at a time; a failure is told to the log and tried again."""
        while True:
            await trio.sleep(every_seconds)
            try:
                take = partial(self._store.take_lease, _LEASE, holder, 2 * every_seconds, self._clock.now())
                if await self._run_sync(take, limiter=self._limiter):
                    await self.once(_BATCHES_A_ROUND)
            except Exception as error:
                _log.error("clearing failed", cause=type(error.__cause__ or error).__name__)

    async def _clear(self, lapses: Lapses, most_batches: int | None) -> int:
        cleared, batches = 0, 0
        after = self._tokens_after if most_batches is not None else b""
        while most_batches is None or batches < most_batches:
            began = trio.current_time()
            find = partial(self._store.lapsed, lapses, after, self._clock.now(), _RECORDS_A_BATCH)
            found: Lapsed = await self._run_sync(find, limiter=self._limiter)
            gone = await _changed(
                self._turns, [RecordLapsed(key=Key(lapses.table, each)) for each in found.identifiers]
            )
            cleared, batches = cleared + gone, batches + 1
            after = found.onward or b""
            if found.onward is None and (not gone or len(found.identifiers) < _RECORDS_A_BATCH):
                break
            await trio.sleep(trio.current_time() - began)
        if lapses is Lapses.TOKENS and most_batches is not None:
            self._tokens_after = after
        return cleared

    async def _forget(self, most_batches: int | None) -> int:
        forgotten, batches = 0, 0
        while most_batches is None or batches < most_batches:
            began = trio.current_time()
            forget = partial(
                self._store.forget_entries, self._clock.now(), self._audit_seconds, _RECORDS_A_BATCH
            )
            number = await self._run_sync(forget, limiter=self._limiter)
            forgotten, batches = forgotten + number, batches + 1
            if number < _RECORDS_A_BATCH:
                break
            await trio.sleep(trio.current_time() - began)
        return forgotten
