"""Counts what was refused, by reason and client, and remembers the last refusals of each client.

Refusals are not in the audit trail, as anybody may cause them. So they are counted in memory and written down
now and then, as with wrong secrets (`authentications`): what a process has counted is lost where it dies.

A client is named only where the reason proves that it is registered: no stranger fills the memory. Whoever is
not known is noted under one name for all, or time would tell which clients there are.
"""

from collections.abc import Mapping
from typing import Final

import structlog
import trio

from ostiary_core.events import (
    AuthorizationChecked,
    AutomaticConsentRequested,
    ClientCredentialsRequested,
    CodeRedeemed,
    ConsentDenied,
    ConsentGiven,
    Event,
    GrantUnrecognised,
    IntrospectionRequested,
    ProfileRequested,
    RefreshRequested,
    RevocationRequested,
)
from ostiary_core.http.token_service import TokenServiceEvent
from ostiary_core.model.instant import Instant
from ostiary_core.model.why import Why
from ostiary_core.storage.summaries import (
    REFUSALS_KEPT,
    Refusal,
    SummaryKey,
    SummaryStore,
    Tallies,
    Tally,
    count_refusal,
)
from ostiary_net.runtime.system import Clock, RunSync

_log = structlog.get_logger("ostiary")

_OPERATIONS: Final[Mapping[type[Event], str]] = {
    CodeRedeemed: "authorization_code",
    RefreshRequested: "refresh_token",
    ClientCredentialsRequested: "client_credentials",
    GrantUnrecognised: "token",
    IntrospectionRequested: "introspect",
    RevocationRequested: "revoke",
}
"""What was asked for: the grant, else the operation."""
_AUTHORIZE: Final = "authorize"

_AUTHORIZATIONS: Final = (AuthorizationChecked, ConsentGiven, AutomaticConsentRequested, ConsentDenied)
_OF_A_CLIENT: Final = frozenset(
    {Why.REDIRECT_URI_NOT_REGISTERED, Why.RESPONSE_TYPE_UNSUPPORTED, Why.SCOPE_NOT_ALLOWED}
)
"""Why an authorization request of a client that is registered is refused."""
_OF_THE_PERSON: Final = frozenset({Why.NOT_SIGNED_IN, Why.PASSWORD_MUST_CHANGE})
"""Why one is refused for whoever brings it: they sign in, and ask again."""
_OF_NOBODY_KNOWN: Final = frozenset(
    {
        *(Why.TWO_AUTHENTICATIONS, Why.AUTHENTICATION_SCHEME_UNKNOWN),
        *(Why.CREDENTIALS_MISSING, Why.CREDENTIALS_MALFORMED, Why.CLIENT_UNKNOWN),
    }
)
"""Why the token service refuses a client that may not be there."""

UNKNOWN_CLIENT: Final = "\0"
"""In the place of a client that may not be there, which takes the same time; never written down."""


class Refusals:
    """The refusals of one process since they were last written down."""

    def __init__(self) -> None:
        self._tallies: dict[SummaryKey, Tally] = {}
        self._last: dict[str, list[Refusal]] = {}

    def record(self, event: Event, why: Why, now: Instant, trace_id: str) -> None:
        """Count a refusal of what third parties ask for; any other is left alone."""
        if isinstance(event, _AUTHORIZATIONS):
            if why in _OF_THE_PERSON:
                return
            client_id = event.parameters.client_id if why in _OF_A_CLIENT else None
        elif isinstance(event, ProfileRequested):
            client_id = None
        elif isinstance(event, TokenServiceEvent):
            client_id = UNKNOWN_CLIENT if why in _OF_NOBODY_KNOWN else event.credentials.client_id
        else:
            return
        count_refusal(self._tallies, now, why, client_id)
        if client_id:
            last = self._last.setdefault(client_id, [])
            last.append(Refusal(client_id, now, trace_id, _OPERATIONS.get(type(event), _AUTHORIZE), why))
            del last[:-REFUSALS_KEPT]

    def count_limited(self, now: Instant) -> None:
        """Count a request over a limit."""
        count_refusal(self._tallies, now, Why.TOO_MANY_REQUESTS, None)

    def take(self) -> tuple[Tallies, list[Refusal]]:
        """Take what is to be written down; each is given once."""
        tallies, self._tallies = self._tallies, {}
        last, self._last = self._last, {}
        last.pop(UNKNOWN_CLIENT, None)
        known = {key: tally for key, tally in tallies.items() if key.client_id != UNKNOWN_CLIENT}
        return known, [refusal for refusals in last.values() for refusal in refusals]


async def flush_refusals_forever(
    refusals: Refusals, store: SummaryStore, clock: Clock, every_seconds: float, run_sync: RunSync
) -> None:
    """Write refusals down for ever, every so many seconds. What fails is lost."""
    while True:
        await trio.sleep(every_seconds)
        await flush_refusals(refusals, store, clock, run_sync)


async def flush_refusals(refusals: Refusals, store: SummaryStore, clock: Clock, run_sync: RunSync) -> None:
    """Write down what was refused since the last time; a failure is logged."""
    tallies, last = refusals.take()
    if not tallies:
        return
    try:
        await run_sync(lambda: store.add_tallies(tallies, last, clock.now()), limiter=trio.CapacityLimiter(1))
    except Exception as error:
        _log.error("refusals not kept", cause=type(error).__name__)
