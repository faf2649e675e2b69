"""Reads the time in one place for the rules: the wall clock, and a clock that nobody can set."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from ostiary_core.model.instant import Instant, Monotonic

__all__ = ["Clock", "SystemClock"]

_NANOSECONDS_A_MILLISECOND = 1_000_000


_nanoseconds_since_start: Final = partial(
    time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)
"""Since the machine started, while it was suspended too, where the system counts that."""


class Clock(Protocol):
    """Where the time comes from; a simulation hands in its own."""

    def now(self) -> Instant:
        """The present time, never earlier than one given before: for what is stored."""
        ...

    def monotonic(self) -> Monotonic:
        """The present time on a clock that nobody can set: for what one process remembers (READINGS 42)."""
        ...


class SystemClock:
    """The wall clock, which may stand still but never goes back within a process.

    When the machine's clock is set back, this one waits for it: a window that was open would otherwise
    open a second time. What must not stand still with it goes by `monotonic`. Threads may share it.
    """

    def __init__(
        self,
        read_nanoseconds: Callable[[], int] = time.time_ns,
        read_monotonic_nanoseconds: Callable[[], int] = _nanoseconds_since_start,
    ) -> None:
        self._read_nanoseconds = read_nanoseconds
        self._read_monotonic_nanoseconds = read_monotonic_nanoseconds
        self._latest = Instant(0)
        self._lock = threading.Lock()

    def now(self) -> Instant:
        """Milliseconds since 1970-01-01T00:00:00Z."""
        present = self._read_nanoseconds() // _NANOSECONDS_A_MILLISECOND
        if present == self._latest:
            return self._latest
        with self._lock:
            self._latest = Instant(max(self._latest, present))
            return self._latest

    def monotonic(self) -> Monotonic:
        """Milliseconds since some moment before the process began."""
        return Monotonic(self._read_monotonic_nanoseconds() // _NANOSECONDS_A_MILLISECOND)
