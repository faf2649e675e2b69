"""Guessed client secrets by client and address: how long the next try has to wait.

Rules, all in this file:

- Ten failed authentications as one client from one address cost nothing; from then on it waits (`standings`).
- A try counts as failed from the moment it is let in until it is known to have been right, so that many at
  once get no further than as many in a row.
- A secret that was right before never waits, not even where somebody else guesses from the same address;
  and what happens at one address is nothing to another. So nobody can lock a client out.
- An unknown client is slowed down as one that exists, or the answer would tell which is which.

No secret can be guessed: it has 256 random bits (READINGS 20). What this keeps away from the store is the
load of those who try, and of a client that was left with a secret that no longer works.
"""

from typing import Final

from ostiary_core.decision import Refused, Reply
from ostiary_core.events import ClientCredentials
from ostiary_core.instant import Instant
from ostiary_core.secret import Digest
from ostiary_core.standings import Standing, Standings, address_of
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


class SecretGuesses:
    """The failed authentications of one process. The caller brings the time and keeps the object.

    Memory is bounded: past `most_standings`, further pairs of client and address share counters
    (`Standings`); past `most_proven`, the secret that was first right longest ago is a stranger again.
    """

    def __init__(
        self, *, scale: float = 1.0, most_standings: int = 20_000, most_proven: int = 50_000
    ) -> None:
        free_failures = max(1, int(_FREE_FAILURES * scale))
        self._standings = Standings(free_failures=free_failures, most=most_standings)
        self._most_proven = most_proven
        self._proven: dict[tuple[str, Digest], None] = {}

    def seconds_to_wait(self, credentials: ClientCredentials, source: str, now: Instant) -> int:
        """0 where the try may be made; else the whole seconds to wait, for `Retry-After`. Nothing is held
        against a try before it was `wrong`: a client may begin with many requests at once."""
        if (credentials.client_id, credentials.secret.digest) in self._proven:
            return 0
        standing = self._standing(credentials, source, now)
        wait_seconds = self._standings.seconds_to_wait(standing, now)
        if not wait_seconds:
            # Or, once a wait is over, many at once would be let in.
            standing.last_at = now
        return wait_seconds

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
        standing = self._standing(credentials, source, now)
        standing.last_at = now
        self._standings.count(standing)

    def _standing(self, credentials: ClientCredentials, source: str, now: Instant) -> Standing:
        return self._standings.of((credentials.client_id, address_of(source)), now)
