"""Events of the token service and of user-info: what third-party backends ask for."""

from dataclasses import field, replace

from ostiary_core.events.account import LoginRefreshed
from ostiary_core.events.event import AuthenticatedEvent, Event
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Arrival, Instant
from ostiary_core.model.secret import Entropy, Secret
from ostiary_core.model.why import Why


@immutable(kw_only=True)
class CodeRedeemed(AuthenticatedEvent):
    """A client redeems a code at `/token` (RFC 6749 §4.1.3, RFC 7636 §4.5)."""

    code: Secret | None
    redirect_uri: str | None
    code_verifier: str | None = field(repr=False)
    user_agent: str | None
    source: str
    entropy: Entropy = field(repr=False)


@immutable()
class RefreshRequested(AuthenticatedEvent):
    """A client presents a refresh token at `/token` (RFC 6749 §6)."""

    refresh_token: Secret | None
    scopes: tuple[str, ...] | None
    user_agent: str | None
    entropy: Entropy = field(repr=False)
    arrival: Arrival | None = None
    """Arrival of the request; None for the instant of its turn."""


@immutable()
class ClientCredentialsRequested(AuthenticatedEvent):
    """A client asks for a token of its own at `/token`, by client credentials (RFC 6749 §4.4)."""

    scopes: tuple[str, ...] | None
    user_agent: str | None
    source: str
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class GrantUnrecognised(AuthenticatedEvent):
    """A client sends a missing or unknown `grant_type` to `/token`.

    It is an event because its client is authenticated before it is refused (READINGS 13).
    """

    why: Why


@immutable()
class IntrospectionRequested(AuthenticatedEvent):
    """A client asks whether a token is good (RFC 7662 §2.1)."""

    token: Secret | None


@immutable()
class RevocationRequested(AuthenticatedEvent):
    """A client gives a token back (RFC 7009 §2.1)."""

    token: Secret | None


@immutable(kw_only=True)
class ProfileRequested(Event):
    """A third party or a login session asks for the user's profile by its access token."""

    access_token: Secret
    by_cookie: bool = False
    """Whether the token came in a cookie, if only a login session's is accepted."""


def with_clock_ahead(event: Event, by_ms: int) -> Event:
    """Return the event with its arrival moved by so many milliseconds, to the clock of another turn."""
    if isinstance(event, RefreshRequested | LoginRefreshed) and event.arrival is not None:
        earliest, latest = event.arrival
        arrival = Arrival(Instant(earliest + by_ms), Instant(latest + by_ms))
        return replace(event, arrival=arrival)
    return event
