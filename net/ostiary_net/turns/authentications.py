"""Remembers when each client secret was last right and how often a wrong one came, and writes it down.

When a secret was last right, and how often one of a client was wrong, is written down now and then, beside
all requests: not with each of them, as an introspection must not wait for a disk; and not read from the audit
trail, as neither introspections nor refusals are in it.
"""

from typing import Final

import structlog
import trio

from ostiary_core.events import ClientSecretUsed, ProfileRequested, WrongSecretsCounted
from ostiary_core.http.token_service import TokenServiceEvent
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.model.reply import Refused
from ostiary_core.model.secret import Digest
from ostiary_core.model.why import Why
from ostiary_core.oauth.authentication import is_authenticated
from ostiary_net.turns.refusals import UNKNOWN_CLIENT
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_net.turns.turns import Turns

_log = structlog.get_logger("ostiary")

OperationEvent = TokenServiceEvent | ProfileRequested
"""What the four operations ask; user-info has no client's secret in it."""

UseEvent = ClientSecretUsed | WrongSecretsCounted
"""What is written down of them."""

_AT_ONCE: Final = 100
"""Events that may share a turn: few enough that a request in the same one does not notice."""


class Authentications:
    """Remembers the authentications of one process, by registered client.

    So no stranger fills its memory.
    """

    def __init__(self) -> None:
        self._uses: dict[tuple[str, Digest], Instant] = {}
        self._wrong: dict[str, tuple[int, Instant]] = {}

    def record(self, event: OperationEvent, decision: Decision, now: Instant) -> None:
        """Remember whether the secret of a request was right; once for each decision."""
        if isinstance(event, ProfileRequested):
            return
        credentials, reply = event.credentials, decision.reply
        if is_authenticated(reply):
            self._uses[credentials.client_id, credentials.secret.digest] = now
        elif isinstance(reply, Refused):
            client_id = credentials.client_id if reply.why is Why.CLIENT_SECRET_WRONG else UNKNOWN_CLIENT
            times, _ = self._wrong.get(client_id, (0, now))
            self._wrong[client_id] = times + 1, now

    def take_events(self) -> list[UseEvent]:
        """Take the events to write down: last uses of right secrets, and counts of wrong ones.

        Each is given once: what was taken before is not in them.
        """
        uses, self._uses = self._uses, {}
        wrong, self._wrong = self._wrong, {}
        wrong.pop(UNKNOWN_CLIENT, None)
        return [
            *(
                ClientSecretUsed(client_id=client_id, digest=digest, used_at=used_at)
                for (client_id, digest), used_at in uses.items()
            ),
            *(
                WrongSecretsCounted(client_id=client_id, times=times, last_at=last_at)
                for client_id, (times, last_at) in wrong.items()
            ),
        ]


async def flush_uses_forever(authentications: Authentications, turns: Turns, every_seconds: float) -> None:
    """Write down for ever, every so many seconds, what `authentications` remembers.

    What fails is lost: the next use tells more.
    """
    while True:
        await trio.sleep(every_seconds)
        try:
            await flush_uses(authentications, turns)
        except TurnFailed as failure:
            _log.error("uses of secrets not kept", cause=type(failure.__cause__ or failure).__name__)


async def flush_uses(authentications: Authentications, turns: Turns) -> None:
    """Write down what `authentications` remembers, some events at a time. Raises `TurnFailed`."""
    events = authentications.take_events()
    for start in range(0, len(events), _AT_ONCE):
        await turns.decide_all(events[start : start + _AT_ONCE])
