"""Remembers what the clients of one process did: right and wrong secrets, and refusals by reason.

A request does not wait for a disk to keep this, and the audit trail has neither introspections nor refusals,
as anybody may cause those. So it is counted in memory and flushed now and then (`upkeep/flushing.py`); what
was not flushed is lost if a process dies. A client is named only if the reason proves that it is
registered, so that no stranger fills the memory.
"""

from collections.abc import Mapping
from typing import Final

from ostiary_core import events
from ostiary_core.events.authorization import AuthorizationEvent
from ostiary_core.http.token_service import TokenServiceEvent
from ostiary_core.model.audit import TraceId
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.model.reply import Refused
from ostiary_core.model.secret import Digest
from ostiary_core.model.why import Why
from ostiary_core.oauth.client_authentication import is_authenticated
from ostiary_net.observability.summaries import (
    REFUSALS_KEPT,
    Refusal,
    SummaryKey,
    Tallies,
    Tally,
    count_refusal,
)

_OPERATIONS: Final[Mapping[type[events.Event], str]] = {
    events.CodeRedeemed: "authorization_code",
    events.RefreshRequested: "refresh_token",
    events.ClientCredentialsRequested: "client_credentials",
    events.GrantUnrecognised: "token",
    events.IntrospectionRequested: "introspect",
    events.RevocationRequested: "revoke",
}
"""Names of the token service's requests: the grant, else the operation."""
_AUTHORIZE: Final = "authorize"

_CAUSED_BY_CLIENT: Final = frozenset(
    {Why.REDIRECT_URI_NOT_REGISTERED, Why.RESPONSE_TYPE_UNSUPPORTED, Why.SCOPE_NOT_ALLOWED}
)
"""Reasons that refuse an authorization request of a registered client."""
_MENDED_BY_USER: Final = frozenset({Why.NOT_SIGNED_IN, Why.PASSWORD_MUST_CHANGE, Why.SECOND_FACTOR_REQUIRED})
"""Authorization refusals that the user mends by signing in or setting something up; not counted."""
_CLIENT_UNPROVEN: Final = frozenset(
    {
        *(Why.TWO_AUTHENTICATIONS, Why.AUTHENTICATION_SCHEME_UNKNOWN),
        *(Why.CREDENTIALS_MISSING, Why.CREDENTIALS_MALFORMED, Why.CLIENT_UNKNOWN),
    }
)
"""Reasons by which the token service refuses a client that may not exist."""

_UNKNOWN_CLIENT: Final = "\0"
"""Key of all clients that may not exist: counted too, or time would tell which do; never flushed."""

UseEvent = events.ClientSecretUsed | events.WrongSecretsCounted
"""Event that flushes the use of a client's secret."""


class ClientActivity:
    """Remembers what clients did since it was last taken."""

    def __init__(self) -> None:
        self._uses: dict[tuple[str, Digest], Instant] = {}
        self._wrong: dict[str, tuple[int, Instant]] = {}
        self._tallies: dict[SummaryKey, Tally] = {}
        self._last: dict[str, list[Refusal]] = {}

    def record(self, event: events.Event, decision: Decision, now: Instant, trace_id: TraceId) -> None:
        """Record a decision once: whether the client's secret was right, and a refusal."""
        reply = decision.reply
        if isinstance(event, TokenServiceEvent):
            credentials = event.credentials
            if is_authenticated(reply):
                self._uses[credentials.client_id, credentials.secret.digest] = now
            elif isinstance(reply, Refused):
                is_wrong = reply.why is Why.CLIENT_SECRET_WRONG
                client_id = credentials.client_id if is_wrong else _UNKNOWN_CLIENT
                times, _ = self._wrong.get(client_id, (0, now))
                self._wrong[client_id] = times + 1, now
        if isinstance(reply, Refused):
            self._record_refusal(event, reply.why, now, trace_id)

    def _record_refusal(self, event: events.Event, why: Why, now: Instant, trace_id: TraceId) -> None:
        if isinstance(event, AuthorizationEvent):
            if why in _MENDED_BY_USER:
                return
            client_id = event.parameters.client_id if why in _CAUSED_BY_CLIENT else None
        elif isinstance(event, events.ProfileRequested):
            client_id = None
        elif isinstance(event, TokenServiceEvent):
            client_id = _UNKNOWN_CLIENT if why in _CLIENT_UNPROVEN else event.credentials.client_id
        else:
            return
        count_refusal(self._tallies, now, why, client_id)
        if client_id:
            last = self._last.setdefault(client_id, [])
            last.append(Refusal(client_id, now, str(trace_id), _OPERATIONS.get(type(event), _AUTHORIZE), why))
            del last[:-REFUSALS_KEPT]

    def count_limited(self, now: Instant) -> None:
        """Count a request over a limit."""
        count_refusal(self._tallies, now, Why.TOO_MANY_REQUESTS, None)

    def take_refusals(self) -> tuple[Tallies, list[Refusal]]:
        """Take the counts of refusals and the last refusals of each client, each once."""
        tallies, self._tallies = self._tallies, {}
        last, self._last = self._last, {}
        last.pop(_UNKNOWN_CLIENT, None)
        known = {key: tally for key, tally in tallies.items() if key.client_id != _UNKNOWN_CLIENT}
        return known, [refusal for refusals in last.values() for refusal in refusals]

    def take_uses(self) -> list[UseEvent]:
        """Take the last uses of right secrets, and the counts of wrong ones, each once."""
        uses, self._uses = self._uses, {}
        wrong, self._wrong = self._wrong, {}
        wrong.pop(_UNKNOWN_CLIENT, None)
        return [
            *(
                events.ClientSecretUsed(client_id=client_id, digest=digest, used_at=used_at)
                for (client_id, digest), used_at in uses.items()
            ),
            *(
                events.WrongSecretsCounted(client_id=client_id, times=times, last_at=last_at)
                for client_id, (times, last_at) in wrong.items()
            ),
        ]
