"""Learn which users an administrator unlocked, on whatever instance (docs/decisions/0053-unlocking.md).

Failed sign-ins are counted in the memory of each process; an unlock is an entry of the audit trail. An
instance looks for entries when a guess has to wait, whoever's it is, so that no answer takes longer for a
name that has an account; and when it is asked what it counts.
"""

from typing import Final, NamedTuple

from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Instant, Monotonic
from ostiary_core.storage.listing import AUDIT, USERS, Listing, ListingStore, TimeRange
from ostiary_core.throttling.sign_in_throttle import SignInThrottle
from ostiary_net.runtime.system import Clock
from ostiary_net.turns.turns import Turns

_WINDOW_MS: Final = 10 * MINUTE_MS
"""Age in milliseconds of the oldest unlock that matters: without new failures every wait is over by then."""
_MOST: Final = 200
"""Most unlocks that are read at a time, the latest first."""
_LOOK_AGAIN_MS: Final = SECOND_MS
"""Shortest time in milliseconds between looks that waiting guesses cause."""


class Unlocks:
    """The unlocks that one process has applied to its throttle, each once."""

    def __init__(self) -> None:
        self._applied: frozenset[int] = frozenset()
        self._looked_at: Monotonic | None = None

    def may_look(self, now: Monotonic) -> bool:
        """Whether a guess that has to wait may make the process look again."""
        return self._looked_at is None or now >= self._looked_at + _LOOK_AGAIN_MS

    async def look(self, turns: Turns, throttle: SignInThrottle, clock: Clock) -> None:
        """Apply the unlocks that are new to this process. Raises `TurnFailed`."""
        self._looked_at = clock.monotonic()
        applied = self._applied
        found = await turns.query(lambda store, now: _find_unlocks(store, now, applied))
        for name in found.names:
            throttle.unlock(name, clock.monotonic())
        self._applied = found.numbers


class _Found(NamedTuple):
    """Unlocks of the last minutes, and the names of those that are not applied yet."""

    numbers: frozenset[int]
    names: tuple[str, ...]


def _find_unlocks(store: ListingStore, now: Instant, applied: frozenset[int]) -> _Found:
    recent = TimeRange(field="at", start=Instant(now - _WINDOW_MS))
    kind = {"kind": FactKind.USER_UNLOCKED.value}
    entries = store.items_after(
        Listing(resource=AUDIT, filters=kind, ranges=(recent,), page_size=_MOST), None, now
    )
    new = tuple({entry.user_id for entry in entries if entry.number not in applied and entry.user_id})
    users = (
        store.items_after(Listing(resource=USERS, filters={"user_id": new}, page_size=_MOST), None, now)
        if new
        else ()
    )
    names = tuple(canonical_username(user.username) for user in users)
    return _Found(frozenset(entry.number for entry in entries), names)
