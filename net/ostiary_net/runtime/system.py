"""Wraps what a simulation replaces of the system: clocks, randomness, threads."""

import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import trio

from ostiary_core.model.instant import Instant, Monotonic
from ostiary_core.model.secret import Entropy, make_dated_id

T = TypeVar("T")

_NANOSECONDS_A_MILLISECOND: Final = 1_000_000

# --- time

_nanoseconds_since_start: Final = partial(
    time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
)
"""Reader of the nanoseconds since the machine started, suspended ones too if the system counts them."""


class Clock(Protocol):
    """Tells the time; a simulation has its own."""

    def now(self) -> Instant:
        """Return the present time for what is stored, never earlier than one returned before."""
        ...

    def monotonic(self) -> Monotonic:
        """Return the time of a clock that cannot be set, for what a process remembers (READINGS 42)."""
        ...


class SteadyTime:
    """Follows a clock that may be set back, but neither goes back nor stands still. Threads may share it.

    When the clock is set back, this time goes on at nine tenths of its speed until both agree. Were it to go
    back, a window that was open would open a second time; were it to wait, nothing would expire meanwhile.
    """

    def __init__(self, read_monotonic: Callable[[], Monotonic]) -> None:
        self._read_monotonic = read_monotonic
        self._latest = Instant(0)
        self._led = Instant(0)
        """Latest time at which the clock was not behind this one."""
        self._led_at = Monotonic(0)
        self._lock = threading.Lock()

    def follow(self, present: Instant) -> Instant:
        """Return the time when the clock says `present`, never earlier than one returned before."""
        if present == self._latest:
            return self._latest
        with self._lock:
            monotonic = self._read_monotonic()
            slowed = self._led + (monotonic - self._led_at) * 9 // 10
            if present >= slowed:
                self._led, self._led_at = present, monotonic
            self._latest = Instant(max(self._latest, present, slowed))
            return self._latest


class SystemClock:
    """Tells the time by the machine's clock, but neither goes back nor stands still. Threads may share it."""

    def __init__(
        self,
        read_nanoseconds: Callable[[], int] = time.time_ns,
        read_monotonic_nanoseconds: Callable[[], int] = _nanoseconds_since_start,
    ) -> None:
        self._read_nanoseconds = read_nanoseconds
        self._read_monotonic_nanoseconds = read_monotonic_nanoseconds
        self._time = SteadyTime(self.monotonic)

    def now(self) -> Instant:
        """Return the milliseconds since 1970-01-01T00:00:00Z."""
        return self._time.follow(Instant(self._read_nanoseconds() // _NANOSECONDS_A_MILLISECOND))

    def monotonic(self) -> Monotonic:
        """Return the milliseconds since some moment before the process began."""
        return Monotonic(self._read_monotonic_nanoseconds() // _NANOSECONDS_A_MILLISECOND)


# --- randomness


ENTROPY_BYTES: Final = 32


class EntropySource(Protocol):
    """Draws entropy; a simulation has a seeded source."""

    def draw(self) -> Entropy:
        """Draw 32 random bytes."""
        ...


class SystemEntropy:
    """Draws entropy from the operating system."""

    def draw(self) -> Entropy:
        """Draw 32 random bytes for one event."""
        return Entropy(os.urandom(ENTROPY_BYTES))


def draw_trace_id(source: EntropySource, now: Instant) -> str:
    """Draw the trace id of a request."""
    return make_dated_id(now, source.draw())


# --- processors and blocking work


def count_processors(
    environment: Mapping[str, str] = os.environ,
    affinity: Collection[int] | None = None,
    cgroups: Path = Path("/sys/fs/cgroup"),
    membership: Path = Path("/proc/self/cgroup"),
) -> int:
    """Return how many processors this process may keep busy: 1 or more.

    `PYTHON_CPU_COUNT` decides, as in Python from 3.13 on; else those that the system lets the process run on,
    within a container's share of their time (cgroup v2, `cpu.max`).
    """
    configured = environment.get("PYTHON_CPU_COUNT", "")
    if configured.isascii() and configured.isdigit() and int(configured):
        return int(configured)
    number = len(_read_affinity() if affinity is None else affinity)
    with suppress(OSError):
        lines = membership.read_text(encoding="ascii", errors="replace").splitlines()
        [path] = [line.removeprefix("0::/") for line in lines if line.startswith("0::/")] or [""]
        for group in (cgroups / path, *(cgroups / path).parents):
            number = min(number, _read_cgroup_limit(group))
            if group == cgroups:
                break
    return max(1, number)


def _read_affinity() -> Collection[int]:
    """Return the processors that the system lets this process run on; macOS has no such call."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)


def _read_cgroup_limit(group: Path) -> int:
    """Return how many processors a group of processes may keep busy, rounded up."""
    try:
        quota, period = (group / "cpu.max").read_text(encoding="ascii").split()
        return -(-int(quota) // int(period))
    except (OSError, ValueError, ZeroDivisionError):  # `max`, or the root, which has no such file
        return sys.maxsize


class RunSync(Protocol):
    """Runs a blocking function to its end, as `trio.to_thread.run_sync` does, and returns its result."""

    async def __call__(self, sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T: ...


async def run_in_thread(sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
    """Run `sync_fn` in a worker thread, for which a virtual clock does not wait."""
    work: Any = sync_fn
    result: T = await trio.to_thread.run_sync(work, limiter=limiter)
    return result


def raise_if_cancelled() -> None:
    """Raise `trio.Cancelled` in a worker thread whose caller is cancelled; elsewhere do nothing."""
    with suppress(RuntimeError):  # no thread of Trio
        trio.from_thread.check_cancelled()


async def run_inline(sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
    """Run `sync_fn` in place after a checkpoint: it blocks, and is deterministic."""
    async with limiter:
        return sync_fn()
