"""The replies to events: what whoever asked is told, before it is anything in HTTP."""

from dataclasses import field

from ostiary_core.model.fields import FieldFault
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR
from ostiary_core.model.records import Client, Role, User
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why


@immutable()
class Refused:
    """The answer no, and why; `ostiary_core.http.meanings` says what each reason is in HTTP ("Errors").

    It may come with changes: some refusals commit, as a wrong verifier voids the code.
    """

    why: Why
    faults: tuple[FieldFault, ...] = ()
    wait_seconds: int | None = None
    """How long to wait before asking again, where waiting helps: for `Retry-After`."""


@immutable()
class Done:
    """Success without data; also the answer to every revocation, whatever its token was (RFC 7009 §2.2)."""


@immutable()
class TokensIssued:
    """The tokens of a successful token response (RFC 6749 §5.1)."""

    access_token: Secret
    expires_in_seconds: int
    """Of the access token, rounded down (READINGS 8)."""
    refresh_token: Secret | None
    """None for client credentials (RFC 6749 §4.4.3)."""
    scopes: tuple[str, ...]


@immutable()
class TokenActive:
    """The data of an introspected token that is active (RFC 7662 §2.2)."""

    client_id: str
    scopes: tuple[str, ...]
    is_access_token: bool
    """Else it is a refresh token."""
    expires_at: Instant
    user_id: str | None
    """None, like `username`, for a session of client credentials."""
    username: str | None


@immutable()
class TokenInactive:
    """An introspected token that is not good, or none of the caller's business (RFC 7662 §2.2)."""


@immutable(kw_only=True)
class Profile:
    """What user-info shows, and no more ("User profile")."""

    user_id: str
    username: str
    name: str
    avatar_url: str | None
    locale: str | None


@immutable(kw_only=True)
class ScopeOffered:
    """A scope the client asks for, and whether it needs nobody's yes ("GET /sso")."""

    scope: str
    auto_approved: bool


@immutable(kw_only=True)
class AuthorizationOffered:
    """An authorization request that is in order: who asks, for what, and whether to ask the user.

    The page of "GET /sso" shows it. `client_name` and `user_name` are for people; `username` is what the user
    signs in with.
    """

    client_id: str
    client_name: str
    scopes: tuple[ScopeOffered, ...]
    username: str
    user_name: str
    consent_required: bool


@immutable()
class CodeIssued:
    """Where to send the browser with a fresh code (RFC 6749 §4.1.2); secret, as the code is in it."""

    redirect_to: Secret


@immutable()
class ConsentRefused:
    """Where to send the browser with `access_denied` (RFC 6749 §4.1.2.1).

    It is not printed, as it holds the client's `state`.
    """

    redirect_to: str = field(repr=False)


@immutable(kw_only=True)
class LoginIssued:
    """A login session's pair of tokens (READINGS 25), and whether its password must be changed first."""

    tokens: TokensIssued
    user_id: str
    must_change_password: bool


@immutable()
class PasswordOnFile:
    """The hash to verify a password against, in its encoded form; None where there is no such account.

    Verify against some hash then too, so that both take as long.
    """

    password_hash: str | None = field(repr=False)


@immutable(kw_only=True)
class AccountKnown:
    """Who is calling, with roles and the codes of all they may do; no user and session for the operator."""

    user: User | None
    roles: tuple[Role, ...]
    permissions: tuple[str, ...]
    session_id: str | None

    @property
    def is_super_administrator(self) -> bool:
        """Whether somebody is calling who holds every permission by the built-in role."""
        return any(role.role_id == SUPER_ADMINISTRATOR for role in self.roles)


@immutable()
class UserKnown:
    """One account in its present state."""

    user: User


@immutable()
class RoleKnown:
    """One role in its present state."""

    role: Role


@immutable()
class ClientKnown:
    """One client in its present state."""

    client: Client


@immutable()
class SecretIssued:
    """A client with its new secret, in plain text for this once (READINGS 20)."""

    client: Client
    secret: Secret


@immutable()
class TextCodeDrawn:
    """The code to send, or None where nothing is to be sent; outside, both look the same (READINGS 28)."""

    code: Secret | None
    addressee: User | None = None
    """The user in whose language and time zone the message is written."""


@immutable()
class BatchDone:
    """Every event of a batch (`BatchRequested`) was decided with a yes; their replies in order."""

    replies: tuple["Reply", ...]


@immutable()
class BatchRefused:
    """Nothing of a batch was done: the events that were refused, by their place in it from 0, and why."""

    refusals: tuple[tuple[int, Refused], ...]


Reply = (
    Refused
    | Done
    | TokensIssued
    | TokenActive
    | TokenInactive
    | Profile
    | AuthorizationOffered
    | CodeIssued
    | ConsentRefused
    | LoginIssued
    | PasswordOnFile
    | AccountKnown
    | UserKnown
    | RoleKnown
    | ClientKnown
    | SecretIssued
    | TextCodeDrawn
    | BatchDone
    | BatchRefused
)
"""What is answered to an event; which of these, the rules of each event say."""
