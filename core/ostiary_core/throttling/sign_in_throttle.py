"""Slows down guessed passwords by source address, and sign-ins under unknown names.

Rules, all in this file (READINGS 23; docs/decisions/0012-guesses-by-address.md):

- Twenty failed sign-ins of one address cost nothing; from then on it waits (`failure_backoff`).
- A guess counts as failed from the moment it is let in until it is known to have been right, so that many
  at once get no further than as many in a row.
- An account that has signed in from an address before does not wait for what others get wrong there. The
  first time it does, it also takes one failure off the address: a crowd behind one address mends its own
  slips, and a guesser with an account of their own gains a single guess by it.

Every account is slowed down on its own as well, whatever the address (`account`). So is a name that no
account has, by the same rule: else the first answer that tells a guesser to wait would tell that the account
exists.
"""

from typing import Final

from ostiary_core.model.instant import SECOND_MS, Monotonic, seconds_until
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.throttling.failure_backoff import FailureBackoff, address_of

__all__ = ["SignInThrottle", "UnknownNameThrottle"]

_FREE_FAILURES: Final = 20


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
        """Admit a guess and return 0; it counts as failed until `succeeded`. Else return the seconds to wait,
        for `Retry-After`.

        `account` is what the guess is about, in one spelling.
        """
        address = address_of(source)
        counter = self._backoff.of((address,), now)
        if (address, account) not in self._acquaintances:
            wait_seconds = self._backoff.seconds_to_wait(counter, now)
            if wait_seconds:
                return wait_seconds
            # Not moved by those who do not wait, or one of them could keep everybody else out.
            counter.last_at = now
        self._backoff.count(counter)
        return 0

    def succeeded(self, source: str, account: str, now: Monotonic) -> None:
        """Take back an admitted guess that was right; the account is known at this address from now on."""
        address = address_of(source)
        counter = self._backoff.of((address,), now)
        is_new = (address, account) not in self._acquaintances
        counter.failures = max(0, counter.failures - (2 if is_new else 1))
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
