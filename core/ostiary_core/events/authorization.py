"""Events of the consent page: its request, and what the user decides there."""

from dataclasses import field

from ostiary_core.events.event import OwnAccountEvent
from ostiary_core.model.immutable import immutable
from ostiary_core.model.secret import Entropy


@immutable(kw_only=True)
class AuthorizationParameters:
    """The query parameters of `/sso` as they were sent; None for a parameter that was not sent."""

    response_type: str | None = None
    client_id: str | None = None
    redirect_uri: str | None = None
    code_challenge: str | None = field(default=None, repr=False)
    code_challenge_method: str | None = None
    scope: str | None = None
    state: str | None = field(default=None, repr=False)
    undecodable: bool = False
    """Whether the query could not be decoded."""
    repeated: tuple[str, ...] = ()
    """Names of the parameters that came more than once."""


@immutable(kw_only=True)
class AuthorizationEvent(OwnAccountEvent):
    """An event about the authorization request of a consent page."""

    parameters: AuthorizationParameters


@immutable(kw_only=True)
class AuthorizationChecked(AuthorizationEvent):
    """The consent page asks whether a request is valid and what to show."""


@immutable(kw_only=True)
class ConsentGiven(AuthorizationEvent):
    """The user approved the request on the consent page."""

    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class AutomaticConsentRequested(AuthorizationEvent):
    """The consent page asks for a code without asking the user: consent is automatic or remembered."""

    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ConsentDenied(AuthorizationEvent):
    """The user refused the request on the consent page."""


@immutable(kw_only=True)
class ConsentWithdrawn(OwnAccountEvent):
    """The user withdraws a client's consent; the client's sessions of this user end (READINGS 26)."""

    client_id: str
