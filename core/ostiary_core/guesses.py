"""Guessed passwords by where they come from, and guessed names: how long the next try has to wait.

Rules, all in this file (READINGS 23; docs/decisions/0012-guesses-by-address.md):

- Twenty failed sign-ins of one address cost nothing; each further one doubles the wait until the next try,
  from one second to one minute. One failure is forgotten a minute, so no wait outlives its cause for long.
- A guess counts as failed from the moment it is let in until it is known to have been right, so that many
  at once get no further than as many in a row.
- An account that has signed in from an address before does not wait for what others get wrong there. The
  first time it does, it also takes one failure off the address: a crowd behind one address mends its own
  slips, and a guesser with an account of their own gains a single guess by it.
- An IPv6 address counts as its /64 network, all of which one subscriber commands.

Every account is slowed down on its own as well, whatever the address (`account`). So is a name that no
account has, by the same rule: else the first answer that tells a guesser to wait would tell that the account
exists.
"""

import ipaddress
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from ostiary_core.instant import MINUTE_MS, SECOND_MS, Instant
from ostiary_core.policy import SPECIFICATION, Policy

__all__ = ["Guesses", "UnknownNames", "address_of"]

_FREE_FAILURES: Final = 20
_LONGEST_WAIT_SECONDS: Final = 60
_SHARED_COUNTERS: Final = 4_096


@dataclass(slots=True)
class _Standing:
    """What one address has against it."""

    failures: int
    drained_at: Instant
    """Up to when failures were forgotten."""
    last_at: Instant
    """When a guess was last let in that would have had to wait."""

    def drain(self, now: Instant) -> None:
        """Forget one failure for each whole minute."""
        minutes = max(0, now - self.drained_at) // MINUTE_MS
        self.failures = max(0, self.failures - minutes)
        self.drained_at = Instant(self.drained_at + minutes * MINUTE_MS)


class Guesses:
    """The guesses of one process. The caller brings the time and keeps the object.

    Memory is bounded: past `most_addresses`, further ones share a fixed number of counters, which can slow a
    stranger down too early and never lets one through too often; past `most_acquaintances`, the account
    that has not been seen for longest is a stranger again.
    """

    def __init__(
        self, *, scale: float = 1.0, most_addresses: int = 20_000, most_acquaintances: int = 50_000
    ) -> None:
        self._free_failures = max(1, int(_FREE_FAILURES * scale))
        self._most_addresses = most_addresses
        self._most_acquaintances = most_acquaintances
        self._standings: dict[str, _Standing] = {}
        self._shared: dict[int, _Standing] = {}
        self._acquaintances: dict[tuple[str, str], None] = {}
        self._cleared_at = Instant(0)

    def seconds_to_wait(self, source: str, account: str, now: Instant) -> int:
        """0 where a guess may be made, which then counts as failed until `succeeded` says otherwise; else
        the whole seconds to wait, for `Retry-After`.

        `account` is what the guess is about, in one spelling.
        """
        address = address_of(source)
        standing = self._standing(address, now)
        standing.drain(now)
        if (address, account) not in self._acquaintances:
            wait_ms = standing.last_at + self._wait_seconds(standing.failures) * SECOND_MS - now
            if standing.failures >= self._free_failures and wait_ms > 0:
                return -(-wait_ms // SECOND_MS)
            # Not moved by those who do not wait, or one of them could keep everybody else out.
            standing.last_at = now
        standing.failures = min(standing.failures + 1, self._most_failures)
        return 0

    def succeeded(self, source: str, account: str, now: Instant) -> None:
        """The guess that was let in was right: it is taken back, and the account is known here now."""
        address = address_of(source)
        standing = self._standing(address, now)
        is_new = (address, account) not in self._acquaintances
        standing.failures = max(0, standing.failures - (2 if is_new else 1))
        self._acquaintances.pop((address, account), None)
        self._acquaintances[address, account] = None
        if len(self._acquaintances) > self._most_acquaintances:
            del self._acquaintances[next(iter(self._acquaintances))]

    @property
    def _most_failures(self) -> int:
        """Enough for the longest wait; more would only take longer to forget."""
        return self._free_failures + _LONGEST_WAIT_SECONDS.bit_length()

    def _wait_seconds(self, failures: int) -> int:
        return min(int(2 ** (failures - self._free_failures)), _LONGEST_WAIT_SECONDS)

    def _standing(self, address: str, now: Instant) -> _Standing:
        standing = self._standings.get(address)
        if standing is not None:
            return standing
        if len(self._standings) >= self._most_addresses:
            self._clear(now)
        fresh = _Standing(failures=0, drained_at=now, last_at=now)
        if len(self._standings) < self._most_addresses:
            return self._standings.setdefault(address, fresh)
        slot = crc32(address.encode("utf-8", "surrogatepass")) % _SHARED_COUNTERS
        return self._shared.setdefault(slot, fresh)

    def _clear(self, now: Instant) -> None:
        """Forget the addresses with nothing against them; once a minute, as it looks at all of them."""
        if now < self._cleared_at + MINUTE_MS:
            return
        self._cleared_at = now
        for standing in self._standings.values():
            standing.drain(now)
        self._standings = {
            address: standing for address, standing in self._standings.items() if standing.failures
        }


class UnknownNames:
    """Failed sign-ins under names that no account has, slowed down as an account is; the name that was
    not tried for longest is forgotten first."""

    def __init__(self, policy: Policy = SPECIFICATION, *, most_names: int = 20_000) -> None:
        self._policy = policy
        self._most_names = most_names
        self._failures: dict[str, tuple[int, Instant]] = {}

    def seconds_to_wait(self, name: str, now: Instant) -> int:
        """0 where a sign-in may fail, which is then counted; else the whole seconds to wait."""
        failures, last_at = self._failures.get(name, (0, Instant(0)))
        wait_ms = last_at + self._policy.sign_in_wait_seconds(failures) * SECOND_MS - now
        if wait_ms > 0:
            return -(-wait_ms // SECOND_MS)
        self._failures.pop(name, None)
        self._failures[name] = failures + 1, now
        if len(self._failures) > self._most_names:
            del self._failures[next(iter(self._failures))]
        return 0


def address_of(source: str) -> str:
    """What counts as one address.

    >>> address_of("2001:db8:1:2:aaaa::1") == address_of("2001:db8:1:2:bbbb::2")
    True
    >>> address_of("203.0.113.7"), address_of("local")
    ('203.0.113.7', 'local')
    """
    try:
        address = ipaddress.ip_address(source)
    except ValueError:
        return source
    if isinstance(address, ipaddress.IPv4Address):
        return source
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
