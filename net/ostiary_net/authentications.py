"""What a process remembers of the secrets that clients presented: which were wrong, and when which was right.

Wrong ones are slowed down (`ostiary_core.secret_guesses`). When a secret was last right is written down now
and then, beside all requests: not with each of them, as an introspection must not wait for a disk; and not
read from the audit trail, as introspections are not in it.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

import structlog
import trio

from ostiary_core.decision import Decision
from ostiary_core.events import ClientSecretUsed, ProfileRequested
from ostiary_core.http.token_service import TokenServiceEvent
from ostiary_core.instant import Instant
from ostiary_core.secret import Digest
from ostiary_core.secret_guesses import SecretGuesses, is_authenticated
from ostiary_net.turns import TurnFailed, Turns

__all__ = ["Authentications", "keep_uses", "keep_uses_once"]

_log = structlog.get_logger("ostiary")

Asking = TokenServiceEvent | ProfileRequested
"""What the four operations ask; user-info has no client's secret in it."""

_AT_ONCE: Final = 100
"""Uses that may share a turn: few enough that a request in the same one does not notice."""


class Authentications:
    """The authentications of one process."""

    def __init__(self, *, scale: float = 1.0) -> None:
        self._guesses = SecretGuesses(scale=scale)
        self._uses: dict[tuple[str, Digest], Instant] = {}

    def seconds_to_wait(self, event: Asking, source: str, decision: Decision, now: Instant) -> int:
        """0 where `decision` may be answered; else the whole seconds until the next wrong secret may come.
        To be asked once for each decision, as its secret is remembered."""
        if isinstance(event, ProfileRequested):
            return 0
        credentials = event.credentials
        if is_authenticated(decision.reply):
            self._uses[credentials.client_id, credentials.secret.digest] = now
            return 0
        return self._guesses.seconds_to_wait(credentials, decision.reply, source, now)

    def uses(self) -> list[ClientSecretUsed]:
        """The last use of every secret that was right since this was asked before."""
        used, self._uses = self._uses, {}
        return [
            ClientSecretUsed(client_id=client_id, digest=digest, used_at=used_at)
            for (client_id, digest), used_at in used.items()
        ]


async def keep_uses(authentications: Authentications, turns: Turns, every_seconds: float) -> None:
    """Write down uses for ever. What fails is lost: the next use tells more."""
    while True:
        await trio.sleep(every_seconds)
        try:
            await keep_uses_once(authentications, turns)
        except TurnFailed as failure:
            _log.error("uses of secrets not kept", cause=type(failure.__cause__ or failure).__name__)


async def keep_uses_once(authentications: Authentications, turns: Turns) -> None:
    """Write down the uses there are, some at a time. Raises `TurnFailed`."""
    uses = authentications.uses()
    for start in range(0, len(uses), _AT_ONCE):
        await _keep(uses[start : start + _AT_ONCE], turns)


async def _keep(uses: Iterable[ClientSecretUsed], turns: Turns) -> None:
    failures: list[TurnFailed] = []
    async with trio.open_nursery() as nursery:
        for use in uses:
            nursery.start_soon(partial(_told, turns, use, failures))
    if failures:
        raise failures[0]


async def _told(turns: Turns, use: ClientSecretUsed, failures: list[TurnFailed]) -> None:
    try:
        await turns.decide(use)
    except TurnFailed as failure:
        failures.append(failure)
