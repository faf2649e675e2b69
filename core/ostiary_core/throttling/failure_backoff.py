"""Counts the recent failures of each caller in bounded memory, to slow down guesses.

So many failures cost nothing; each further one doubles the wait until the next try, from one second to one
minute. One failure is forgotten a minute, so no wait outlives its cause for long.
"""

import ipaddress
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Monotonic, seconds_until

__all__ = ["FailureBackoff", "Failures", "address_of"]

_LONGEST_WAIT_SECONDS: Final = 60
_MOST_DOUBLINGS: Final = _LONGEST_WAIT_SECONDS.bit_length()
"""Enough for the longest wait; more failures would only take longer to forget."""
_SHARED_COUNTERS: Final = 4_096


@dataclass(slots=True)
class Failures:
    """The recent failures of one caller."""

    failures: int
    drained_at: Monotonic
    """Up to when failures were forgotten."""
    last_at: Monotonic
    """From when a wait is counted."""

    def drain(self, now: Monotonic) -> None:
        """Forget one failure for each whole minute."""
        minutes = (now - self.drained_at) // MINUTE_MS
        self.failures = max(0, self.failures - minutes)
        self.drained_at = Monotonic(self.drained_at + minutes * MINUTE_MS)


class FailureBackoff:
    """The failures of all callers of one process.

    Past `most`, further callers share a fixed number of counters, which can slow a stranger down too early
    and never lets one through too often.
    """

    def __init__(self, *, free_failures: int, most: int) -> None:
        self._free_failures = free_failures
        self._most = most
        self._counters: dict[tuple[str, ...], Failures] = {}
        self._shared: dict[int, Failures] = {}
        self._cleared_at = Monotonic(0)

    def of(self, caller: tuple[str, ...], now: Monotonic) -> Failures:
        """The failures of a caller, without those forgotten by `now`."""
        counter = self._counters.get(caller)
        if counter is None:
            counter = self._add_caller(caller, now)
        counter.drain(now)
        return counter

    def seconds_to_wait(self, counter: Failures, now: Monotonic) -> int:
        """The whole seconds until the next try, for `Retry-After`; 0 where there is nothing to wait for."""
        over = counter.failures - self._free_failures
        if over < 0:
            return 0
        wait_seconds = min(1 << over, _LONGEST_WAIT_SECONDS)
        return seconds_until(counter.last_at + wait_seconds * SECOND_MS - now)

    def count(self, counter: Failures) -> None:
        """Count one more failure of a caller."""
        counter.failures = min(counter.failures + 1, self._free_failures + _MOST_DOUBLINGS)

    def __len__(self) -> int:
        """The number of callers with a counter of their own."""
        return len(self._counters)

    def _add_caller(self, caller: tuple[str, ...], now: Monotonic) -> Failures:
        if len(self._counters) >= self._most:
            self._clear(now)
        fresh = Failures(failures=0, drained_at=now, last_at=now)
        if len(self._counters) < self._most:
            return self._counters.setdefault(caller, fresh)
        slot = crc32("\x00".join(caller).encode("utf-8", "surrogatepass")) % _SHARED_COUNTERS
        return self._shared.setdefault(slot, fresh)

    def _clear(self, now: Monotonic) -> None:
        """Forget the callers without failures; at most once a minute, as it looks at all of them."""
        if now < self._cleared_at + MINUTE_MS:
            return
        self._cleared_at = now
        for counter in self._counters.values():
            counter.drain(now)
        self._counters = {caller: each for caller, each in self._counters.items() if each.failures}


def address_of(source: str) -> str:
    """Return what counts as one address for every limit (READINGS 39).

    An IPv6 address counts as its /64, all of which one subscriber commands; an IPv4-mapped one as the IPv4
    address; anything else as itself.

    >>> address_of("2001:db8:1:2:aaaa::1") == address_of("2001:db8:1:2:bbbb::2")
    True
    >>> address_of("203.0.113.7"), address_of("local")
    ('203.0.113.7', 'local')
    """
    if ":" not in source:  # most of them: to read one would cost every request
        return source
    try:
        address = ipaddress.IPv6Address(source)
    except ValueError:
        return source
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{int(address) >> 64:x}/64"
