"""The machine room in tests: a clock set by hand, seeded entropy, a store that tells of its turns."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import trio
from argon2 import PasswordHasher, Type

from fuzz.shared.memory_store import ServerMemoryStore
from fuzz.shared.seeds import SeededEntropy
from ostiary_core import Decision, Instant
from ostiary_core.decide import READ_ONLY
from ostiary_core.events import Event, Operator, UserRegistered
from ostiary_core.model.audit import Origin
from ostiary_core.model.instant import SECOND_MS
from ostiary_core.model.records import Table, User
from ostiary_net.runtime.system import SystemClock
from ostiary_net.sql.store import SQLStore
from tests.core.story import START

T = TypeVar("T")

NANOSECONDS_A_MILLISECOND: Final = 1_000_000
_RUNNING_MS: Final = 3_600_123
"""Uptime of the machine at `START`: an hour, and no whole second."""

CHEAP: Final = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1, type=Type.ID)
"""Argon2id that costs nothing; what it costs in earnest is `passwords.OWASP`."""


class HandClock(SystemClock):
    """The server's clock over a machine's that stands still until it is set on."""

    def __init__(self, start: Instant = START) -> None:
        self._wall_ms, self._monotonic_ms = int(start), _RUNNING_MS
        super().__init__(
            lambda: self._wall_ms * NANOSECONDS_A_MILLISECOND,
            lambda: self._monotonic_ms * NANOSECONDS_A_MILLISECOND,
        )

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._wall_ms += round(seconds * SECOND_MS)
        self._monotonic_ms += round(seconds * SECOND_MS)

    def set_back(self, seconds: float) -> None:
        """Set what the machine's clock on the wall shows; no time passes by it."""
        self._wall_ms -= round(seconds * SECOND_MS)


class PlainStore(ServerMemoryStore):
    """The reference store with what a server asks of one, telling what its turns were made of."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[list[Event]] = []

    def turn(self, events: Sequence[Event], *more: Any) -> list[Decision]:
        self.turns.append(list(events))
        return super().turn(events, *more)

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        assert all(type(event) in READ_ONLY for event in events)
        return super().turn(events, now)

    def check_ready(self) -> None:
        """Accept any state as ready."""

    def present(self, now: Instant) -> Instant:
        """Return the caller's time."""
        return now

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        """Grant every lease: one process shares with no other."""
        return True


def usernames(store: PlainStore | SQLStore) -> set[str]:
    """Return the usernames in a store."""
    return {record.username for record in store.records(Table.USER) if isinstance(record, User)}


class BreakingStore(PlainStore):
    """Works until it is broken. Its errors quote what they were about, as errors of storage do."""

    def __init__(self, quoting: str = "secret detail") -> None:
        super().__init__()
        self.broken = False
        self.quoting = quoting

    def turn(self, events: Sequence[Event], *more: Any) -> list[Decision]:
        self._break()
        return super().turn(events, *more)

    def read(self, events: Sequence[Event], now: Instant) -> list[Decision]:
        self._break()
        return super().read(events, now)

    def _break(self) -> None:
        if self.broken:
            raise OSError(f"disk I/O error near {self.quoting!r}")


class Gate:
    """A `RunSync` in place, which holds whatever began until it is opened."""

    def __init__(self) -> None:
        self._opened = trio.Event()
        self.running = 0
        self.most_running = 0

    def open(self) -> None:
        self._opened.set()

    async def __call__(self, sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
        async with limiter:
            self.running += 1
            self.most_running = max(self.most_running, self.running)
            try:
                await self._opened.wait()
                return sync_fn()
            finally:
                self.running -= 1


def origin(trace_id: str = "0123456789abcdef0123456789abcdef") -> Origin:
    """Return the origin of a request of the tests."""
    return Origin(trace_id=trace_id, source="203.0.113.7", user_agent="app-backend/1.0")


_for_users = SeededEntropy("users")


def registration_of(username: str, password_hash: str = "some hash", *roles: str) -> UserRegistered:
    """Return an event that registers a user, who shows by name that it was kept."""
    return UserRegistered(
        caller=Operator(),
        fields={
            "username": username,
            "name": username.capitalize(),
            "mustChangePassword": False,
            "roleIds": list(roles),
        },
        password_hash=password_hash,
        entropy=_for_users.draw(),
    )
