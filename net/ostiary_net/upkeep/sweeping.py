"""Erase salts after their grace (READINGS 1), and purge what has expired.

Without its salt no rotation can be derived again, and a store under constant load stops growing.
"""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any, Final

import trio

from ostiary_core.events import GraceExpired, RecordExpired
from ostiary_core.model.records import Key
from ostiary_core.retention import Expirable, ExpiredBatch
from ostiary_net.observability.metrics import Metrics
from ostiary_net.observability.summaries import Milestone
from ostiary_net.runtime.system import Clock, RunSync, run_in_thread
from ostiary_net.turns.ports import ServerStore
from ostiary_net.turns.turns import Turns
from ostiary_net.upkeep.repeating import Lease

_SESSIONS_A_BATCH: Final = 100
"""Most sessions of a batch: a request that shares its turn must not notice."""
_RECORDS_A_BATCH: Final = 100
_TOKENS_A_BATCH: Final = 500
"""Tokens examined in one statement."""
_ALL_TOKENS_SECONDS: Final = 7 * 24 * 60 * 60
"""Time for one pass over all tokens, and so the longest that tokens of deleted sessions stay."""
_ENTRIES: Final = "audit entries"
_LEASE: Final = "sweeper"


async def erase_salts(
    turns: Turns, store: ServerStore, clock: Clock, run_sync: RunSync = run_in_thread
) -> int:
    """Erase every salt that is due, batch by batch; return the number of sessions. Raises `TurnFailed`."""
    limiter = trio.CapacityLimiter(1)
    swept = 0
    while True:
        due = await run_sync(
            partial(store.sessions_past_grace, clock.now(), store.policy.salt_seconds, _SESSIONS_A_BATCH),
            limiter=limiter,
        )
        decisions = await turns.decide_all([GraceExpired(session_id=session_id) for session_id in due])
        erased = sum(bool(decision.changes) for decision in decisions)
        swept += erased
        # A store whose clock is behind erases none of them yet: they wait for the next time.
        if len(due) < _SESSIONS_A_BATCH or not erased:
            return swept


# --- purge


_Batch = Callable[[], Awaitable[tuple[int, bool]]]
"""Purges one batch; returns how many, and whether none are left."""


@dataclass(slots=True, eq=False)
class Purge:
    """Purges what has expired, in small batches.

    Each batch is followed by a rest as long, so that requests have half of the store at least. The rules
    decide about every record once more, in the turn that deletes it.
    """

    turns: Turns
    store: ServerStore
    clock: Clock
    audit_seconds: int = field(default=0, kw_only=True)
    """Time that the audit trail is kept; 0 keeps it for ever."""
    run_sync: RunSync = field(default=run_in_thread, kw_only=True)
    metrics: Metrics = field(default_factory=Metrics, kw_only=True)
    _limiter: trio.CapacityLimiter = field(default_factory=partial(trio.CapacityLimiter, 1), init=False)
    _tokens_after: bytes = field(default=b"", init=False)

    async def purge_once(self) -> dict[str, int]:
        """Purge everything once; return what was purged. Raises `TurnFailed`, or what the store raises."""
        self._tokens_after = b""
        return await self._purge_kinds(math.inf, share_of_tokens=1.0)

    async def run(self, holder: str, every_seconds: float) -> None:
        """Purge until cancelled, on one instance at a time; log a failure and try again."""
        # Anywhere among them: from the first, instances that are replaced daily never reach the last.
        self._tokens_after = sha256(holder.encode()).digest()
        share = every_seconds / _ALL_TOKENS_SECONDS
        lease = Lease(_LEASE, holder, self.store, self.clock, self.run_sync)
        await trio.sleep(every_seconds)
        await lease.repeat(
            partial(self._purge_kinds, share_of_tokens=share), every_seconds, "clearing failed"
        )

    async def _purge_kinds(self, until: float, *, share_of_tokens: float) -> dict[str, int]:
        """Purge all kinds for half of the time, and for the rest of it a share of all tokens."""
        kinds = [kind for kind in Expirable if kind is not Expirable.TOKENS]
        batches: dict[str, _Batch] = {kind.value: partial(self._purge_some, kind) for kind in kinds}
        cleared = dict.fromkeys((*batches, Expirable.TOKENS.value, _ENTRIES), 0)
        if self.audit_seconds:
            batches[_ENTRIES] = self._purge_entries
        for what in cleared:
            self._count(what, 0)
        half = (trio.current_time() + until) / 2
        while batches:
            for what, clear_some in tuple(batches.items()):
                began = trio.current_time()
                number, is_last = await clear_some()
                self._count(what, number)
                cleared[what] += number
                if is_last:
                    del batches[what]
                else:
                    await self._rest(began)
            if trio.current_time() >= half:
                break
        if not batches:  # a purge that falls behind has not swept to the end
            done = partial(self.store.record_milestone, Milestone.SWEPT, self.clock.now())
            await self.run_sync(done, limiter=self._limiter)
        cleared[Expirable.TOKENS.value] = await self._purge_tokens(until, share_of_tokens)
        return cleared

    def _count(self, what: str, number: int) -> None:
        """Count what was purged now, as a later batch may fail."""
        self.metrics.count_swept(what.replace(" ", "_"), number)

    async def _purge_some(self, kind: Expirable) -> tuple[int, bool]:
        """Purge one batch of a kind; return how many went, and whether there are no more."""
        found = await self._find(kind, b"", _RECORDS_A_BATCH)
        gone = await self._delete(kind, found.identifiers)
        return gone, not gone or len(found.identifiers) < _RECORDS_A_BATCH

    async def _purge_tokens(self, until: float, share: float) -> int:
        """Continue over the tokens, by one batch at least and by this share of them all at most.

        Digests are spread evenly, so a place among them tells what share of them is passed.
        """
        gone, begin = 0, _place(self._tokens_after)
        while True:
            began = trio.current_time()
            found = await self._find(Expirable.TOKENS, self._tokens_after, _TOKENS_A_BATCH)
            for start in range(0, len(found.identifiers), _RECORDS_A_BATCH):
                batch = found.identifiers[start : start + _RECORDS_A_BATCH]
                number = await self._delete(Expirable.TOKENS, batch)
                self._count(Expirable.TOKENS.value, number)
                gone += number
                await self._rest(began)
                began = trio.current_time()
            self._tokens_after = found.next_after or b""
            is_end = found.next_after is None and len(found.identifiers) < _TOKENS_A_BATCH
            is_far_enough = _place(self._tokens_after) - begin >= share
            if is_end or is_far_enough or trio.current_time() >= until:
                return gone
            await self._rest(began)

    async def _purge_entries(self) -> tuple[int, bool]:
        """Purge one batch of the audit trail; return how many went, and whether there are no more."""
        forget = partial(self.store.forget_entries, self.clock.now(), self.audit_seconds, _RECORDS_A_BATCH)
        number = await self.run_sync(forget, limiter=self._limiter)
        return number, number < _RECORDS_A_BATCH

    async def _find(self, kind: Expirable, after: bytes, limit: int) -> ExpiredBatch:
        find = partial(self.store.find_expired, kind, after, self.clock.now(), limit)
        return await self.run_sync(find, limiter=self._limiter)

    async def _delete(self, kind: Expirable, identifiers: Sequence[Any]) -> int:
        decisions = await self.turns.decide_all(
            [RecordExpired(key=Key(kind.table, each)) for each in identifiers]
        )
        return sum(bool(decision.changes) for decision in decisions)

    async def _rest(self, began: float) -> None:
        await trio.sleep(trio.current_time() - began)


def _place(digest: bytes) -> float:
    """Return the place of a digest among all possible ones, from 0 to 1.

    >>> _place(b""), _place(bytes.fromhex("c0") + bytes(31))
    (0.0, 0.75)
    """
    return int.from_bytes(digest[:8].ljust(8, b"\x00")) / 2**64
