"""Guessed client secrets by client and address: how long the next try has to wait.

Rules, all in this file:

- Ten failed authentications as one client from one address cost nothing; each further one doubles the wait
  until the next try, from one second to one minute. One failure is forgotten a minute.
- A try counts as failed from the moment it is let in until it is known to have been right, so that many at
  once get no further than as many in a row.
- A secret that was right before never waits, not even where somebody else guesses from the same address;
  and what happens at one address is nothing to another. So nobody can lock a client out.
- An unknown client is slowed down as one that exists, or the answer would tell which is which.

No secret can be guessed: it has 256 random bits (READINGS 20). What this keeps away from the store is the
load of those who try, and of a client that was left with a secret that no longer works.
"""

from dataclasses import dataclass
from typing import Final
from zlib import crc32

from ostiary_core.decision import Refused, Reply
from ostiary_core.events import ClientCredentials
from ostiary_core.guesses import address_of
from ostiary_core.instant import MINUTE_MS, SECOND_MS, Instant
from ostiary_core.secret import Digest
from ostiary_core.why import Why

__all__ = ["SecretGuesses"]

_FAILED_AUTHENTICATIONS: Final = frozenset(
    {
        Why.CLIENT_UNKNOWN,
        Why.CLIENT_BUILT_IN,
        Why.CLIENT_DELETED,
        Why.CLIENT_DISABLED,
        Why.CLIENT_SECRET_WRONG,
    }
)
"""What is held against whoever presented the credentials ("Authentication", rule 1)."""

_FREE_FAILURES: Final = 10
_LONGEST_WAIT_SECONDS: Final = 60
_MOST_DOUBLINGS: Final = _LONGEST_WAIT_SECONDS.bit_length()
_SHARED_COUNTERS: Final = 4_096


@dataclass(slots=True)
class _Standing:
    """What counts against one address trying to be one client."""

    failures: int
    drained_at: Instant
    """Up to when failures were forgotten."""
    last_at: Instant
    """When a try last failed, or was let in after waiting."""

    def drain(self, now: Instant) -> None:
        """Forget one failure for each whole minute."""
        minutes = max(0, now - self.drained_at) // MINUTE_MS
        self.failures = max(0, self.failures - minutes)
        self.drained_at = Instant(self.drained_at + minutes * MINUTE_MS)


class SecretGuesses:
    """The failed authentications of one process. The caller brings the time and keeps the object.

    Memory is bounded: past `most_standings`, further pairs of client and address share a fixed number of
    counters, which can slow a stranger down too early and never lets one through too often; past
    `most_proven`, the secret that was first right longest ago is a stranger again.
    """

    def __init__(
        self, *, scale: float = 1.0, most_standings: int = 20_000, most_proven: int = 50_000
    ) -> None:
        self._free_failures = max(1, int(_FREE_FAILURES * scale))
        self._most_standings = most_standings
        self._most_proven = most_proven
        self._standings: dict[tuple[str, str], _Standing] = {}
        self._shared: dict[int, _Standing] = {}
        self._proven: dict[tuple[str, Digest], None] = {}
        self._cleared_at = Instant(0)

    def seconds_to_wait(self, credentials: ClientCredentials, source: str, now: Instant) -> int:
        """0 where the try may be made; else the whole seconds to wait, for `Retry-After`. Nothing is held
        against a try before it was `wrong`: a client may begin with many requests at once."""
        if (credentials.client_id, credentials.secret.digest) in self._proven:
            return 0
        standing = self._standing(credentials.client_id, source, now)
        standing.drain(now)
        over = standing.failures - self._free_failures
        if over >= 0:
            wait_seconds = min(1 << over, _LONGEST_WAIT_SECONDS)
            wait_ms = standing.last_at + wait_seconds * SECOND_MS - now
            if wait_ms > 0:
                return int(-(-wait_ms // SECOND_MS))
            standing.last_at = now
        return 0

    def decided(self, credentials: ClientCredentials, reply: Reply, source: str, now: Instant) -> bool:
        """Remember whether the secret that was let in was right, as the reply tells; and say so."""
        if isinstance(reply, Refused) and reply.why in _FAILED_AUTHENTICATIONS:
            self.wrong(credentials, source, now)
            return False
        self.right(credentials)
        return True

    def right(self, credentials: ClientCredentials) -> None:
        """The secret that was let in was right, and is known now."""
        key = (credentials.client_id, credentials.secret.digest)
        if key in self._proven:
            return
        self._proven[key] = None
        if len(self._proven) > self._most_proven:
            del self._proven[next(iter(self._proven))]

    def wrong(self, credentials: ClientCredentials, source: str, now: Instant) -> None:
        """The try failed; a secret that was right before no longer is."""
        self._proven.pop((credentials.client_id, credentials.secret.digest), None)
        standing = self._standing(credentials.client_id, source, now)
        standing.drain(now)
        standing.last_at = now
        standing.failures = min(standing.failures + 1, self._free_failures + _MOST_DOUBLINGS)

    def _standing(self, client_id: str, source: str, now: Instant) -> _Standing:
        key = (client_id, address_of(source))
        standing = self._standings.get(key)
        if standing is not None:
            return standing
        if len(self._standings) >= self._most_standings:
            self._clear(now)
        fresh = _Standing(failures=0, drained_at=now, last_at=now)
        if len(self._standings) < self._most_standings:
            return self._standings.setdefault(key, fresh)
        slot = crc32("\x00".join(key).encode("utf-8", "surrogatepass")) % _SHARED_COUNTERS
        return self._shared.setdefault(slot, fresh)

    def _clear(self, now: Instant) -> None:
        """Forget the pairs with nothing against them; once a minute, as it looks at all of them."""
        if now < self._cleared_at + MINUTE_MS:
            return
        self._cleared_at = now
        for standing in self._standings.values():
            standing.drain(now)
        self._standings = {key: standing for key, standing in self._standings.items() if standing.failures}
