"""Base classes of events, and who may cause one."""

from enum import StrEnum

from ostiary_core.model.identifiers import COMMAND_LINE
from ostiary_core.model.immutable import immutable
from ostiary_core.model.secret import Secret


class Event:
    """An event that `decide` decides; each class has a row in its table."""

    __slots__ = ()


class AdministrationEvent(Event):
    """An event of which a batch may be made (`BatchRequested`)."""

    __slots__ = ()


class AuthenticationMethod(StrEnum):
    """How a client presented its secret (RFC 6749 §2.3.1); it decides the status of `invalid_client`."""

    BASIC = "client_secret_basic"
    FORM = "client_secret_post"


@immutable(kw_only=True)
class ClientCredentials:
    """A client identifier and the secret presented with it (RFC 6749 §2.3.1)."""

    client_id: str
    secret: Secret
    method: AuthenticationMethod


@immutable(kw_only=True)
class SignedIn:
    """A user, known by the access token of a login session or by a personal access token."""

    access_token: Secret


@immutable()
class Operator:
    """The operator on the command line: has every permission, and is bound by every other rule."""

    name: str | None = None
    """User of the operating system, for the audit trail."""
    actor_id: str = COMMAND_LINE
    """Administrator in whose name the server goes on, if it is not the command line."""


Caller = SignedIn | Operator
"""The caller of the backend's own interface."""


@immutable()
class AuthenticatedEvent(Event):
    """An event of a third party's backend, which authenticates first."""

    credentials: ClientCredentials


@immutable(kw_only=True)
class OwnAccountEvent(Event):
    """An event of a signed-in user about their own account."""

    caller: SignedIn


@immutable(kw_only=True)
class AccountEvent(Event):
    """An event about a stored account."""

    caller: Caller
    user_id: str


@immutable(kw_only=True)
class RoleEvent(Event):
    """An event about a stored role."""

    caller: Caller
    role_id: str


@immutable(kw_only=True)
class ClientEvent(Event):
    """An event about a stored client."""

    caller: Caller
    client_id: str
