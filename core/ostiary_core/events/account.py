"""Events of users and their own account: sign-in, password, second factor, telephone, preferences."""

from dataclasses import field
from typing import ClassVar

from ostiary_core.events.event import Caller, Event, OwnAccountEvent, SignedIn
from ostiary_core.model.fields import FieldFault, Fields
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Arrival
from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.records import TextCodePurpose
from ostiary_core.model.secret import Entropy, Secret
from ostiary_core.model.sign_in_ticket import Ticket


@immutable(kw_only=True)
class PasswordHashRequested(Event):
    """The runtime needs the hash of a password to verify it: of a user name, or of the signed-in user."""

    of: str | SignedIn


@immutable(kw_only=True)
class SignInAttempted(Event):
    """A visitor tries to sign in; the runtime verified the password against `verified_against`."""

    username: str
    verified_against: str | None = field(repr=False)
    """The hash that `PasswordHashRequested` gave; None when it gave none."""
    password_matches: bool
    new_password_hash: str | None = field(default=None, repr=False)
    """A fresh hash of the password, if the one on file has outdated parameters; stored on success."""
    user_agent: str | None
    source: str
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class TicketPresented(Event):
    """A visitor comes with the ticket of a sign-in and a code, before the runtime counts a guess."""

    ticket: Ticket


@immutable(kw_only=True)
class SecondFactorEntered(Event):
    """A visitor whose password was right enters a code, which finishes the sign-in.

    It also confirms a second factor that they set up with the ticket.
    """

    ticket: Ticket
    code: Secret
    user_agent: str | None
    source: str
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class SecondFactorBegunAtSignIn(Event):
    """A visitor whose password was right, and who must have a second factor, begins to set one up."""

    ticket: Ticket
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class OwnSecondFactorEvent(OwnAccountEvent):
    """An event of a signed-in user about their own second factor."""

    user_id: str
    """User of the login session, as the runtime knows; another one is refused."""


@immutable(kw_only=True)
class SecondFactorRequested(OwnSecondFactorEvent):
    """A user asks how many recovery codes are left."""


@immutable(kw_only=True)
class SecondFactorBegun(OwnSecondFactorEvent):
    """A user begins to set up a second factor, having entered the current password."""

    verified_against: str | None = field(repr=False)
    password_matches: bool
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class SecondFactorConfirmed(OwnSecondFactorEvent):
    """A user proves by a first code that the authenticator has the secret."""

    code: Secret


@immutable(kw_only=True)
class RecoveryCodesRenewed(OwnSecondFactorEvent):
    """A user replaces the recovery codes, having entered the current password and a code."""

    verified_against: str | None = field(repr=False)
    password_matches: bool
    code: Secret
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class SecondFactorRemoved(OwnSecondFactorEvent):
    """A user removes the second factor, having entered the current password and a code."""

    verified_against: str | None = field(repr=False)
    password_matches: bool
    code: Secret


@immutable(kw_only=True)
class IdentityProved(OwnSecondFactorEvent):
    """A user proves once more who they are: by a code of the second factor, else by the password."""

    verified_against: str | None = field(default=None, repr=False)
    password_matches: bool = False
    code: Secret | None = None


@immutable(kw_only=True)
class LoginRefreshed(Event):
    """A login session presents its refresh token for the next pair (READINGS 25)."""

    scopes: ClassVar[None] = None
    """Placeholder: a login session has no scopes to narrow."""

    refresh_token: Secret
    user_agent: str | None
    entropy: Entropy = field(repr=False)
    arrival: Arrival | None = None
    """Arrival of the request; None for the instant of its turn."""


@immutable(kw_only=True)
class SignedOut(OwnAccountEvent):
    """A user signs out: the login session of the token ends."""


@immutable(kw_only=True)
class OwnSessionEnded(OwnAccountEvent):
    """A user ends one of their own sessions: another browser's, an application's, or an access token."""

    session_id: str


@immutable(kw_only=True)
class OtherSessionsEnded(OwnAccountEvent):
    """A user signs out everywhere else: all sessions and codes of the user end but this login session."""


@immutable(kw_only=True)
class PersonalTokenCreated(OwnAccountEvent):
    """A user makes a personal access token, with a name, permissions and a number of days."""

    fields: Fields = field(repr=False)
    user_agent: str | None
    source: str
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class PersonalTokenUsed(OwnAccountEvent):
    """A personal access token was accepted."""


@immutable(kw_only=True)
class AccountRequested(Event):
    """A caller asks who they are and what they may do; one who may not do what is asked for is refused."""

    caller: Caller
    permission: Permission | None = None
    """Permission that they must hold."""
    as_super_administrator: bool = False
    """Whether they must be super administrator."""
    power: TokenPower | None = None
    """Power that they must be able to give now."""


@immutable(kw_only=True)
class PasswordChanged(OwnAccountEvent):
    """A user replaces the password, having entered the current one."""

    verified_against: str | None = field(repr=False)
    password_matches: bool
    new_password_hash: str = field(repr=False)


@immutable(kw_only=True)
class TextCodeRequested(Event):
    """A user or visitor asks for a code by text message, for a new number or a password recovery."""

    caller: SignedIn | None
    purpose: TextCodePurpose
    phone: str
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class PhoneChanged(OwnAccountEvent):
    """A user takes a new telephone number, proved by a code and the current password (READINGS 41)."""

    verified_against: str | None = field(repr=False)
    password_matches: bool
    phone: str
    code: Secret


@immutable(kw_only=True)
class TextCodePresented(Event):
    """A visitor comes with a code and a new password, before the runtime hashes it; a wrong code counts."""

    phone: str
    code: Secret


@immutable(kw_only=True)
class PasswordResetByTextMessage(Event):
    """A visitor resets a password with the code sent to the account's telephone."""

    phone: str
    code: Secret
    new_password_hash: str = field(repr=False)


@immutable(kw_only=True)
class InvitationPresented(Event):
    """A visitor comes with an invitation and a new password, before the runtime hashes it."""

    token: Secret


@immutable(kw_only=True)
class InvitationAccepted(Event):
    """A visitor sets a password by an invitation."""

    token: Secret
    new_password_hash: str = field(repr=False)


@immutable(kw_only=True)
class LocaleChosen(OwnAccountEvent):
    """A user chooses a language."""

    locale: str


@immutable(kw_only=True)
class TimezoneChosen(OwnAccountEvent):
    """A user chooses the time zone that times are shown in."""

    timezone: str
    faults: tuple[FieldFault, ...] = ()
    """Faults that the runtime found: the core has no table of time zones."""


@immutable(kw_only=True)
class AvatarChosen(OwnAccountEvent):
    """A user chooses a stored picture by its address; None removes the picture."""

    avatar_url: str | None
