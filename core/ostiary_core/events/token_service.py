"""What third-party backends ask of the token service and of user-info."""

from dataclasses import field

from ostiary_core.events.callers import ClientCredentials
from ostiary_core.model.arrival import Arrival
from ostiary_core.model.making import immutable
from ostiary_core.model.secret import Entropy, Secret
from ostiary_core.model.why import Why


@immutable(kw_only=True)
class CodeRedeemed:
    """`grant_type=authorization_code` at `/token` (RFC 6749 §4.1.3, RFC 7636 §4.5)."""

    credentials: ClientCredentials
    code: Secret | None
    redirect_uri: str | None
    code_verifier: str | None = field(repr=False)
    user_agent: str | None
    source: str
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class RefreshRequested:
    """`grant_type=refresh_token` at `/token` (RFC 6749 §6)."""

    credentials: ClientCredentials
    refresh_token: Secret | None
    scopes: tuple[str, ...] | None
    user_agent: str | None
    entropy: Entropy = field(repr=False)
    arrival: Arrival | None = None
    """None where it arrives with its turn."""


@immutable(kw_only=True)
class ClientCredentialsRequested:
    """`grant_type=client_credentials` at `/token` (RFC 6749 §4.4)."""

    credentials: ClientCredentials
    scopes: tuple[str, ...] | None
    user_agent: str | None
    source: str
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class GrantUnrecognised:
    """A request at `/token` whose `grant_type` is missing or none of ours.

    It is an event because its client is authenticated before it is refused (READINGS 13).
    """

    credentials: ClientCredentials
    why: Why


@immutable(kw_only=True)
class IntrospectionRequested:
    """A client asks whether a token is good (RFC 7662 §2.1)."""

    credentials: ClientCredentials
    token: Secret | None


@immutable(kw_only=True)
class RevocationRequested:
    """A client gives a token back (RFC 7009 §2.1)."""

    credentials: ClientCredentials
    token: Secret | None


@immutable(kw_only=True)
class ProfileRequested:
    """User-info, by a third party's access token or by a login session's own."""

    access_token: Secret
    by_cookie: bool = False
    """Whether it came in a browser's cookie, which is the place of a login session's token alone."""
