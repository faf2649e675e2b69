"""What the consent page asks, and what the user decides there."""

from dataclasses import field

from ostiary_core.events.callers import SignedIn
from ostiary_core.model.making import immutable
from ostiary_core.model.secret import Entropy


@immutable(kw_only=True)
class AuthorizationParameters:
    """The query of `/sso` as it came; None where a parameter was not there at all."""

    response_type: str | None = None
    client_id: str | None = None
    redirect_uri: str | None = None
    code_challenge: str | None = field(default=None, repr=False)
    code_challenge_method: str | None = None
    scope: str | None = None
    state: str | None = field(default=None, repr=False)
    undecodable: bool = False
    """Whether nothing could be read of it."""
    repeated: bool = False
    """Whether any parameter came more than once."""


@immutable(kw_only=True)
class AuthorizationChecked:
    """The consent page asks whether a request is in order and what to show."""

    caller: SignedIn
    parameters: AuthorizationParameters


@immutable(kw_only=True)
class ConsentGiven:
    """The user said yes to what the consent page showed."""

    caller: SignedIn
    parameters: AuthorizationParameters
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ConsentRecalled:
    """Nobody was asked, because consent is automatic or remembered; refused when it is neither."""

    caller: SignedIn
    parameters: AuthorizationParameters
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ConsentDenied:
    """The user said no."""

    caller: SignedIn
    parameters: AuthorizationParameters


@immutable(kw_only=True)
class ConsentWithdrawn:
    """The user takes back what a client was allowed; its sessions of this user end (READINGS 26)."""

    caller: SignedIn
    client_id: str
