"""Slows down guessed passwords by source address, and sign-ins under unknown names.

Rules, all in this file (READINGS 23; docs/decisions/0012-guesses-by-address.md):

- Twenty failed sign-ins of one address cost nothing; each further one doubles the wait until the next try,
  from one second to one minute. One failure is forgotten a minute, so no wait outlives its cause for long.
- A guess counts as failed from the moment it is let in until it is known to have been right, so that many
  at once get no further than as many in a row.
- An account that has signed in from an address before does not wait for what others get wrong there. The
  first time it does, it also takes one failure off the address: a crowd behind one address mends its own
  slips, and a guesser with an account of their own gains a single guess by it.

Every account is slowed down on its own as well, whatever the address (`account`). So is a name that no
account has, by the same rule: else the first answer that tells a guesser to wait would tell that the account
exists.
"""

from dataclasses import dataclass
from typing import Final
from zlib import crc32

from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Monotonic, seconds_until
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.throttling.rate_windows import SHARED_COUNTERS, address_of

_FREE_FAILURES: Final = 20
_LONGEST_WAIT_SECONDS: Final = 60
_MOST_DOUBLINGS: Final = _LONGEST_WAIT_SECONDS.bit_length()
"""Enough for the longest wait; more failures would only take longer to forget."""


@dataclass(slots=True)
class Failures:
    """The recent failures of one address."""

    failures: int
    drained_at: Monotonic
    """Up to when failures were forgotten."""
    last_at: Monotonic
    """From when a wait is counted."""

    def drain(self, now: Monotonic) -> None:
        """Forget one failure for each whole minute; there are never fewer than none."""
        minutes = (now - self.drained_at) // MINUTE_MS
        self.failures = max(0, self.failures - minutes)
        self.drained_at = Monotonic(self.drained_at + minutes * MINUTE_MS)


class FailureBackoff:
    """The failures of all addresses that one process counts.

    Past `most`, further addresses share a fixed number of counters, which can slow a stranger down too early
    and never lets one through too often.
    """

    def __init__(self, *, free_failures: int, most: int) -> None:
        self._free_failures = free_failures
        self._most = most
        self._counters: dict[str, Failures] = {}
        self._shared: dict[int, Failures] = {}
        self._cleared_at = Monotonic(0)

    def counter_of(self, address: str, now: Monotonic) -> Failures:
        """The failures of an address, without those forgotten by `now`."""
        counter = self._counters.get(address)
        if counter is None:
            counter = self._add_counter(address, now)
        counter.drain(now)
        return counter

    def seconds_to_wait(self, counter: Failures, now: Monotonic) -> int:
        """The whole seconds until the next try, for `Retry-After`; 0 where there is nothing to wait for."""
        over = counter.failures - self._free_failures
        if over < 0:
            return 0
        wait_seconds = min(1 << over, _LONGEST_WAIT_SECONDS)
        return seconds_until(counter.last_at + wait_seconds * SECOND_MS - now)

    def count_failure(self, counter: Failures) -> None:
        """Count one more failure of an address."""
        counter.failures = min(counter.failures + 1, self._free_failures + _MOST_DOUBLINGS)

    def _add_counter(self, address: str, now: Monotonic) -> Failures:
        self._clear(now)
        fresh = Failures(failures=0, drained_at=now, last_at=now)
        if len(self._counters) < self._most:
            return self._counters.setdefault(address, fresh)
        slot = crc32(address.encode("utf-8", "surrogatepass")) % SHARED_COUNTERS
        return self._shared.setdefault(slot, fresh)

    def _clear(self, now: Monotonic) -> None:
        """Forget the addresses without failures; at most once a minute, as it looks at all of them."""
        if now < self._cleared_at + MINUTE_MS:
            return
        self._cleared_at = now
        for counter in self._counters.values():
            counter.drain(now)
        self._counters = {address: each for address, each in self._counters.items() if each.failures}


class SignInThrottle:
    """The password guesses that one process counts, by source address. The caller brings the time.

    Memory is bounded: past `most_addresses`, further ones share counters (`FailureBackoff`); past
    `most_acquaintances`, the account that has not been seen for longest is a stranger again.
    """

    def __init__(
        self, *, scale: float = 1.0, most_addresses: int = 20_000, most_acquaintances: int = 50_000
    ) -> None:
        free_failures = max(1, int(_FREE_FAILURES * scale))
        self._backoff = FailureBackoff(free_failures=free_failures, most=most_addresses)
        self._most_acquaintances = most_acquaintances
        self._acquaintances: dict[tuple[str, str], None] = {}

    def seconds_to_wait(self, source: str, account: str, now: Monotonic) -> int:
        """Admit a guess and return 0; it counts as failed until `forgive`. Else return the seconds to wait,
        for `Retry-After`.

        `account` is what the guess is about, in one spelling.
        """
        address = address_of(source)
        counter = self._backoff.counter_of(address, now)
        if (address, account) not in self._acquaintances:
            wait_seconds = self._backoff.seconds_to_wait(counter, now)
            if wait_seconds:
                return wait_seconds
            # Not moved by those who do not wait, or one of them could keep everybody else out.
            counter.last_at = now
        self._backoff.count_failure(counter)
        return 0

    def forgive(self, source: str, account: str, now: Monotonic) -> None:
        """Take back an admitted guess that was right; the account is known at this address from now on."""
        address = address_of(source)
        counter = self._backoff.counter_of(address, now)
        is_new = (address, account) not in self._acquaintances
        counter.failures -= 2 if is_new else 1
        self._acquaintances.pop((address, account), None)
        self._acquaintances[address, account] = None
        if len(self._acquaintances) > self._most_acquaintances:
            del self._acquaintances[next(iter(self._acquaintances))]


class UnknownNameThrottle:
    """Slows down sign-ins under names that no account has, by the rule of accounts. The name not tried for
    longest is forgotten first."""

    def __init__(self, policy: Policy = SPECIFICATION, *, most_names: int = 20_000) -> None:
        self._policy = policy
        self._most_names = most_names
        self._failures: dict[str, tuple[int, Monotonic]] = {}

    def seconds_to_wait(self, name: str, now: Monotonic) -> int:
        """Count a failed sign-in and return 0; else return the whole seconds to wait."""
        failures, last_at = self._failures.get(name, (0, now))
        wait_ms = self._policy.sign_in_wait_seconds(failures) * SECOND_MS
        wait_seconds = seconds_until(last_at + wait_ms - now)
        if wait_seconds:
            return wait_seconds
        self._failures.pop(name, None)
        self._failures[name] = failures + 1, now
        if len(self._failures) > self._most_names:
            del self._failures[next(iter(self._failures))]
        return 0
