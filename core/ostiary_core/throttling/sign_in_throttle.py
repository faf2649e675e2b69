"""Slow down guessed passwords: by source address, by name at an address, and by name.

Rules, all in this file (READINGS 23; docs/decisions/0012-guesses-by-address.md):

- Twenty failed sign-ins of one address cost nothing, five of them under one name, and a hundred under one
  name from all addresses together. Past each of these bounds, each further one doubles the wait until the
  next try, from one second to one minute. One failure is forgotten a minute, so no wait outlives its cause
  for long.
- So guesses from one address make nobody wait at another.
- A guess counts as failed from its admission until it is known to be right, so that many at once get no
  further than as many in a row.
- A name that has signed in from an address before waits there for nothing but its own failures at that
  address. The first time it does, it also takes one failure off the address: a crowd behind one address
  mends its own slips, and a guesser with an account of their own gains a single guess by it.
- An administrator may take the waits of a name back: its failures are forgotten, at every address and from
  all of them together. What an address did under other names still counts.

A name that no account has is slowed like any other, or the first wait would tell that an account exists.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Monotonic, seconds_until
from ostiary_core.throttling.rate_windows import SHARED_COUNTERS, address_of

FREE_BY_ADDRESS: Final = 20
FREE_BY_NAME_AND_ADDRESS: Final = 5
FREE_BY_NAME: Final = 100
"""Free failures of one name from all addresses; one address alone never reaches them."""
_LONGEST_WAIT_SECONDS: Final = 60
_MOST_DOUBLINGS: Final = _LONGEST_WAIT_SECONDS.bit_length()
"""Doublings up to the longest wait; more failures would only take longer to forget."""


@dataclass(slots=True)
class Failures:
    """The recent failures of one address, of one name, or of one name at one address."""

    failures: int
    decayed_at: Monotonic
    """Instant up to which failures were forgotten."""
    last_at: Monotonic
    """Instant from which a wait is counted."""

    def decay(self, now: Monotonic) -> None:
        """Forget one failure for each whole minute."""
        minutes = (now - self.decayed_at) // MINUTE_MS
        self.failures = max(0, self.failures - minutes)
        self.decayed_at = Monotonic(self.decayed_at + minutes * MINUTE_MS)


@dataclass(frozen=True, slots=True)
class FailuresAt:
    """What one process counts against a name at an address."""

    address: str
    """As the limits have it (`address_of`)."""
    failures: int
    wait_seconds: int
    """Whole seconds until the next try there; 0 if none."""


@dataclass(frozen=True, slots=True)
class FailuresOfName:
    """What one process counts against a name."""

    failures: int
    """From all addresses together."""
    wait_seconds: int
    """Whole seconds until the next try, wherever it comes from; 0 if none."""
    by_address: tuple[FailuresAt, ...]
    """Addresses at which it failed, the longest wait first."""


class FailureBackoff:
    """The failures of all addresses, or of all names, that one process counts.

    Past `most`, further ones share a fixed number of counters, which can slow one down too early but never
    admits one too often.
    """

    def __init__(self, *, free_failures: int, most: int) -> None:
        self._free_failures = free_failures
        self._most = most
        self._counters: dict[str, Failures] = {}
        self._shared: dict[int, Failures] = {}
        self._cleared_at = Monotonic(0)

    def counter_of(self, key: str, now: Monotonic) -> Failures:
        """Return the counter of an address or name, decayed up to `now`."""
        counter = self._counters.get(key)
        if counter is None:
            counter = self._add_counter(key, now)
        counter.decay(now)
        return counter

    def seconds_to_wait(self, counter: Failures, now: Monotonic) -> int:
        """Return the whole seconds until the next try, for `Retry-After`; 0 if none."""
        over = counter.failures - self._free_failures
        if over < 0:
            return 0
        wait_seconds = min(1 << over, _LONGEST_WAIT_SECONDS)
        return seconds_until(counter.last_at + wait_seconds * SECOND_MS - now)

    def count_failure(self, counter: Failures) -> None:
        """Count one more failure."""
        counter.failures = min(counter.failures + 1, self._free_failures + _MOST_DOUBLINGS)

    def iterate_failures(self, now: Monotonic) -> Iterator[tuple[str, Failures]]:
        """Yield the counters with failures that are not shared, decayed up to `now`, and their keys."""
        for key, counter in self._counters.items():
            counter.decay(now)
            if counter.failures:
                yield key, counter

    def _add_counter(self, key: str, now: Monotonic) -> Failures:
        self._clear(now)
        fresh = Failures(failures=0, decayed_at=now, last_at=now)
        if len(self._counters) < self._most:
            return self._counters.setdefault(key, fresh)
        slot = crc32(key.encode("utf-8", "surrogatepass")) % SHARED_COUNTERS
        return self._shared.setdefault(slot, fresh)

    def _clear(self, now: Monotonic) -> None:
        """Drop counters without failures; at most once a minute, as it reads all of them."""
        if now < self._cleared_at + MINUTE_MS:
            return
        self._cleared_at = now
        for counter in self._counters.values():
            counter.decay(now)
        self._counters = {key: each for key, each in self._counters.items() if each.failures}


class SignInThrottle:
    """The password guesses that one process counts. The caller brings the time.

    Memory is bounded: past `most_addresses`, further addresses, and as many names, share counters
    (`FailureBackoff`); past `most_known_pairs`, the pair of address and name seen longest ago is forgotten.
    """

    def __init__(
        self, *, scale: float = 1.0, most_addresses: int = 20_000, most_known_pairs: int = 50_000
    ) -> None:
        self._by_address, self._by_name, self._by_both = (
            FailureBackoff(free_failures=max(1, int(free * scale)), most=most_addresses)
            for free in (FREE_BY_ADDRESS, FREE_BY_NAME, FREE_BY_NAME_AND_ADDRESS)
        )
        self._most_known_pairs = most_known_pairs
        self._known_pairs: dict[tuple[str, str], None] = {}

    def admit(self, source: str, name: str, now: Monotonic) -> int:
        """Admit a guess at the canonical `name` and return 0, or return the seconds of `Retry-After`.

        An admitted guess counts as failed until `forgive`.
        """
        address = address_of(source)
        counted = self._find_counters(address, name, now)
        judged = counted[:1] if (address, name) in self._known_pairs else counted
        wait_seconds = max(backoff.seconds_to_wait(counter, now) for backoff, counter in judged)
        if wait_seconds:
            return wait_seconds
        for _, counter in judged:
            # Only of admitted guesses: an impatient guesser would keep everybody else out.
            counter.last_at = now
        for backoff, counter in counted:
            backoff.count_failure(counter)
        return 0

    def count_doubts(self, source: str, name: str, now: Monotonic) -> int:
        """Return what speaks against an admitted guess at the canonical `name`, from 0 to 3.

        None for a name that signed in at this address before and has not failed there since; else one, and
        one more for other failures of the address and of the name.
        """
        address = address_of(source)
        (_, own), (_, of_address), (_, of_name) = self._find_counters(address, name, now)
        if (address, name) in self._known_pairs and own.failures <= 1:
            return 0
        return 1 + (of_address.failures > 1) + (of_name.failures > 1)

    def take_back(self, source: str, name: str, now: Monotonic) -> None:
        """Take back an admitted guess that was not checked, or was right with a second factor still to come.

        The name does not become known at this address.
        """
        for _, counter in self._find_counters(address_of(source), name, now):
            counter.failures -= 1

    def forgive(self, source: str, name: str, now: Monotonic) -> None:
        """Take back an admitted guess that was right; the name is known at this address from now on."""
        address = address_of(source)
        (_, own), (_, of_address), (_, of_name) = self._find_counters(address, name, now)
        is_new = (address, name) not in self._known_pairs
        own.failures = 0
        of_address.failures -= 2 if is_new else 1
        of_name.failures -= 1
        self._known_pairs.pop((address, name), None)
        self._known_pairs[address, name] = None
        if len(self._known_pairs) > self._most_known_pairs:
            del self._known_pairs[next(iter(self._known_pairs))]

    def failures_of(self, name: str, now: Monotonic) -> FailuresOfName:
        """Return what is counted against the canonical `name`."""
        counter = self._by_name.counter_of(name, now)
        places = [
            FailuresAt(key.removesuffix(f" {name}"), each.failures, self._by_both.seconds_to_wait(each, now))
            for key, each in self._counters_at_addresses(name, now)
        ]
        return FailuresOfName(
            counter.failures,
            self._by_name.seconds_to_wait(counter, now),
            tuple(sorted(places, key=lambda each: (-each.wait_seconds, -each.failures, each.address))),
        )

    def unlock(self, name: str, now: Monotonic) -> None:
        """Forget the failures of the canonical `name`, at every address and from all of them."""
        for _, counter in self._counters_at_addresses(name, now):
            counter.failures = 0
        self._by_name.counter_of(name, now).failures = 0

    def _counters_at_addresses(self, name: str, now: Monotonic) -> list[tuple[str, Failures]]:
        # An address has no space.
        return [each for each in self._by_both.iterate_failures(now) if each[0].partition(" ")[2] == name]

    def _find_counters(
        self, address: str, name: str, now: Monotonic
    ) -> tuple[tuple[FailureBackoff, Failures], ...]:
        """Return the counters of a guess with their limits: of its name at its address, and of either."""
        counted = ((self._by_both, f"{address} {name}"), (self._by_address, address), (self._by_name, name))
        return tuple((backoff, backoff.counter_of(key, now)) for backoff, key in counted)
