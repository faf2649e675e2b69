"""Events of the consent page: its request, and what the user decides there."""

from dataclasses import field

from ostiary_core.events.event import Event, SignedIn
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
class AuthorizationChecked(Event):
    """The consent page asks whether a request is valid and what to show."""

    caller: SignedIn
    parameters: AuthorizationParameters


@immutable(kw_only=True)
class ConsentGiven(Event):
    """The user approved the request on the consent page."""

    caller: SignedIn
    parameters: AuthorizationParameters
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class AutomaticConsentRequested(Event):
    """The consent page asks for a code without asking the user: consent is automatic or remembered."""

    caller: SignedIn
    parameters: AuthorizationParameters
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ConsentDenied(Event):
    """The user refused the request on the consent page."""

    caller: SignedIn
    parameters: AuthorizationParameters


@immutable(kw_only=True)
class ConsentWithdrawn(Event):
    """The user withdraws a client's consent; the client's sessions of this user end (READINGS 26)."""

    caller: SignedIn
    client_id: str
