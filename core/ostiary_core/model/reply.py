"""The replies to events, before they are HTTP."""

from dataclasses import field

from ostiary_core.model.fact import Fact
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR, Permission
from ostiary_core.model.records import Client, Role, Session, User
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why


@immutable()
class Refused:
    """A refusal with its reason; `ostiary_core.http.meanings` has each reason's meaning in HTTP ("Errors").

    Some refusals come with changes: a wrong verifier voids the code.
    """

    why: Why
    faults: tuple[FieldFault, ...] = ()
    wait_seconds: int | None = None
    """Seconds of `Retry-After`, if waiting helps."""


@immutable()
class Done:
    """Success without data; also the answer to every revocation (RFC 7009 §2.2)."""


@immutable()
class TokensIssued:
    """The tokens of a successful token response (RFC 6749 §5.1)."""

    access_token: Secret
    expires_in_seconds: int
    """Lifetime of the access token, rounded down (READINGS 8)."""
    refresh_token: Secret | None
    """Refresh token; None for client credentials (RFC 6749 §4.4.3)."""
    scopes: tuple[str, ...]


@immutable()
class TokenActive:
    """The data of an introspected token that is active (RFC 7662 §2.2)."""

    client_id: str
    scopes: tuple[str, ...]
    is_access_token: bool
    """Whether it is an access token, not a refresh token."""
    expires_at: Instant
    user_id: str | None
    """User of the session; None, like `username`, for client credentials."""
    username: str | None


@immutable()
class TokenInactive:
    """An introspected token that is inactive, or not the client's own (RFC 7662 §2.2)."""


@immutable(kw_only=True)
class Profile:
    """All that user-info shows of a user ("User profile")."""

    user_id: str
    username: str
    name: str
    avatar_url: str | None
    locale: str | None


@immutable(kw_only=True)
class ScopeOffered:
    """A requested scope, and whether it needs no consent ("GET /sso")."""

    scope: str
    auto_approved: bool


@immutable(kw_only=True)
class AuthorizationOffered:
    """A valid authorization request for the page of "GET /sso": its client, scopes and user."""

    client_id: str
    client_name: str
    scopes: tuple[ScopeOffered, ...]
    username: str
    user_name: str
    consent_required: bool


@immutable()
class CodeIssued:
    """The address to redirect to with a fresh code (RFC 6749 §4.1.2); secret, as it holds the code."""

    redirect_to: Secret


@immutable()
class ConsentRefused:
    """The address to redirect to with `access_denied` (RFC 6749 §4.1.2.1); holds the client's `state`."""

    redirect_to: str = field(repr=False)


@immutable(kw_only=True)
class LoginIssued:
    """A login session's pair of tokens (READINGS 25), and whether the password must be changed first."""

    tokens: TokensIssued
    user_id: str
    must_change_password: bool


@immutable()
class SecondFactorAsked:
    """The ticket of a sign-in whose password was right, and whether a second factor must be set up first."""

    ticket: Secret
    set_up_required: bool


@immutable()
class SecondFactorOffered:
    """The secret of an unconfirmed second factor, in base32, and its recovery codes; shown once."""

    secret: Secret
    recovery_codes: tuple[Secret, ...]


@immutable()
class SecondFactorKnown:
    """A confirmed second factor, by what is left of it."""

    recovery_codes_left: int


@immutable()
class RecoveryCodesDrawn:
    """New recovery codes, shown once; those before are worthless."""

    recovery_codes: tuple[Secret, ...]


@immutable()
class IdentityConfirmed:
    """A login session whose user proved who they are, and until when that counts (READINGS 57)."""

    until: Instant


@immutable()
class PasswordOnFile:
    """The encoded hash to verify a password against; None if there is no such account.

    Verify against some hash then too, so that both take as long.
    """

    password_hash: str | None = field(repr=False)


@immutable(kw_only=True)
class AccountKnown:
    """The caller, with roles and permission codes; without user and session for the operator.

    A personal access token has no roles: it never is a super administrator.
    """

    user: User | None
    roles: tuple[Role, ...]
    permissions: tuple[str, ...]
    session_id: str | None
    must_prove_identity: bool = False
    """Whether a proof of who they are comes before they give power to others (READINGS 57)."""
    must_set_up_second_factor: bool = False
    """Whether a second factor comes before anything else (READINGS 58)."""
    is_use_news: bool = False
    """Whether the use of a personal access token is to be noted (`PersonalTokenUsed`)."""

    @property
    def is_super_administrator(self) -> bool:
        """Whether the caller holds the built-in role."""
        return any(role.role_id == SUPER_ADMINISTRATOR for role in self.roles)


@immutable()
class UserKnown:
    """One account in its present state."""

    user: User
    code_waits_until: Instant | None = None
    """Instant before which no code of its second factor is taken; told when the account is asked for."""
    recovery_codes_left: int | None = None
    """Recovery codes of its second factor that were not used; told when the account is asked for."""
    out_of_reach: tuple[Permission, ...] = ()
    """Permissions that the caller cannot use on it (READINGS 40); told when the account is asked for."""
    invited_until: Instant | None = None
    """Instant until which its invitation is good, if it has one; told when the account is asked for."""
    is_unchanged: bool = False
    """Whether a change found all that it asks for stored already."""


@immutable()
class RoleKnown:
    """One role in its present state."""

    role: Role
    out_of_reach: tuple[Permission, ...] = ()
    """Permissions that the caller cannot use on it (READINGS 40); told when the role is asked for."""


@immutable()
class ClientKnown:
    """One client in its present state."""

    client: Client


@immutable()
class SecretIssued:
    """A client with its new secret, shown once in plain text (READINGS 20)."""

    client: Client
    secret: Secret


@immutable()
class PersonalTokenIssued:
    """A new personal access token, shown once in plain text, and its session."""

    session: Session
    token: Secret


@immutable()
class InvitationIssued:
    """A user and the token of their new invitation, shown once, with the instant until which it is good."""

    user: User
    token: Secret
    expires_at: Instant


@immutable()
class TextCodeDrawn:
    """The code to send, or None to send none, which no visitor can tell apart (READINGS 28)."""

    code: Secret | None
    addressee: User | None = None
    """User in whose language and time zone the message is written."""


@immutable()
class BatchDone:
    """A batch of which no event was refused, with its replies in order."""

    replies: tuple["Reply", ...]


@immutable()
class BatchPreviewed:
    """A batch of which no event would be refused, and nothing was done: the facts that each would make."""

    facts: tuple[tuple[Fact, ...], ...]


@immutable()
class BatchRefused:
    """A refused batch, of which nothing was done: its refusals with their places from 0."""

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
    | SecondFactorAsked
    | SecondFactorOffered
    | SecondFactorKnown
    | RecoveryCodesDrawn
    | IdentityConfirmed
    | PasswordOnFile
    | AccountKnown
    | UserKnown
    | RoleKnown
    | ClientKnown
    | SecretIssued
    | PersonalTokenIssued
    | TextCodeDrawn
    | InvitationIssued
    | BatchDone
    | BatchPreviewed
    | BatchRefused
)
"""A reply to an event."""
