"""Wrong client secrets by client and address: how long the next wrong one has to wait.

Rules, all in this file:

- Ten wrong secrets of one client from one address cost nothing. From then on the next one has to wait
  (`standings`), and one that comes before is told so in place of `invalid_client`.
- Nothing is held against a secret before it was compared, so the right one never waits, wherever and however
  much others guess: nobody can lock a client out.
- A client that was disabled or deleted is told so each time it presents its secret ("Session and tokens").
- An unknown client is slowed down as one that exists, or the answer would tell which is which.

No secret can be guessed: it has 256 random bits (READINGS 20), and how often an address may ask at all is the
business of `rate`. This is for the backend that was left with a secret that no longer works: it is told to
ask less often, and the operator finds it in the metrics.
"""

from typing import Final

from ostiary_core.decision import Refused, Reply
from ostiary_core.events import ClientCredentials
from ostiary_core.instant import Instant
from ostiary_core.standings import Standings, address_of
from ostiary_core.why import Why

__all__ = ["SecretGuesses", "is_authenticated"]

_WRONG: Final = frozenset({Why.CLIENT_UNKNOWN, Why.CLIENT_BUILT_IN, Why.CLIENT_SECRET_WRONG})
"""What whoever does not have the secret is told."""

_FAILED_AUTHENTICATIONS: Final = _WRONG | {Why.CLIENT_DELETED, Why.CLIENT_DISABLED}
"""What is `invalid_client` ("Authentication", rule 1)."""

_FREE_FAILURES: Final = 10


def is_authenticated(reply: Reply) -> bool:
    """Whether the client proved itself, whatever else was wrong with what it asked."""
    return not (isinstance(reply, Refused) and reply.why in _FAILED_AUTHENTICATIONS)


class SecretGuesses:
    """The wrong secrets of one process. The caller brings the time and keeps the object.

    Memory is bounded: past `most_standings`, further pairs of client and address share counters
    (`Standings`).
    """

    def __init__(self, *, scale: float = 1.0, most_standings: int = 20_000) -> None:
        free_failures = max(1, int(_FREE_FAILURES * scale))
        self._standings = Standings(free_failures=free_failures, most=most_standings)

    def seconds_to_wait(self, credentials: ClientCredentials, reply: Reply, source: str, now: Instant) -> int:
        """0 where `reply` may be sent; else it is of a wrong secret that came too early, and these are the
        whole seconds until the next may, for `Retry-After`.

        To be asked once for each reply: a wrong secret counts, unless it came too early.
        """
        if not (isinstance(reply, Refused) and reply.why in _WRONG):
            return 0
        standing = self._standings.of((credentials.client_id, address_of(source)), now)
        wait_seconds = self._standings.seconds_to_wait(standing, now)
        if not wait_seconds:
            standing.last_at = now
            self._standings.count(standing)
        return wait_seconds
