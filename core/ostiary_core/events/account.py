"""What people do with their own account: signing in and out, password, telephone, recovery, preferences."""

from dataclasses import field

from ostiary_core.events.callers import Caller, SignedIn
from ostiary_core.model.arrival import Arrival
from ostiary_core.model.decision import FieldFault
from ostiary_core.model.making import immutable
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import TextCodePurpose
from ostiary_core.model.secret import Entropy, Secret


@immutable(kw_only=True)
class PasswordHashRequested:
    """What a password is to be verified against: of a user name, or of whoever is signed in."""

    of: str | SignedIn


@immutable(kw_only=True)
class SignInAttempted:
    """A user name and a password that was verified, outside, against `verified_against`."""

    username: str
    verified_against: str | None = field(repr=False)
    """The hash that `PasswordHashRequested` gave; None when it gave none."""
    password_matches: bool
    user_agent: str | None
    source: str
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class LoginRefreshed:
    """The refresh token of a login session, presented for its successor pair (READINGS 25)."""

    refresh_token: Secret
    user_agent: str | None
    entropy: Entropy = field(repr=False)
    arrival: Arrival | None = None
    """None where it arrives with its turn."""


@immutable(kw_only=True)
class SignedOut:
    """The end of a login session, by its own token."""

    caller: SignedIn


@immutable(kw_only=True)
class OwnSessionEnded:
    """A user ends one of their own sessions: another browser's, or an application's."""

    caller: SignedIn
    session_id: str


@immutable(kw_only=True)
class AccountRequested:
    """Who is calling, and what they may do; with a permission, refused to whoever does not hold it."""

    caller: Caller
    permission: Permission | None = None


@immutable(kw_only=True)
class PasswordChanged:
    """A user replaces the password, having entered the current one."""

    caller: SignedIn
    verified_against: str | None = field(repr=False)
    password_matches: bool
    new_password_hash: str = field(repr=False)


@immutable(kw_only=True)
class TextCodeRequested:
    """A code is to be sent to a telephone, to change a number or to recover a password."""

    caller: SignedIn | None
    purpose: TextCodePurpose
    phone: str
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class PhoneChanged:
    """A user takes a new telephone number, proved by the code sent there, having entered the current password
    (READINGS 41)."""

    caller: SignedIn
    verified_against: str | None = field(repr=False)
    password_matches: bool
    phone: str
    code: Secret


@immutable(kw_only=True)
class PasswordResetByTextMessage:
    """A new password for whoever holds the telephone the code was sent to."""

    phone: str
    code: Secret
    new_password_hash: str = field(repr=False)


@immutable(kw_only=True)
class LocaleChosen:
    """The language a user wants to be addressed in."""

    caller: SignedIn
    locale: str


@immutable(kw_only=True)
class TimezoneChosen:
    """The zone a user's times are given in."""

    caller: SignedIn
    timezone: str
    faults: tuple[FieldFault, ...] = ()
    """A zone that the runtime does not know: the core has no table of them."""


@immutable(kw_only=True)
class AvatarChosen:
    """A picture that was stored, by its address; None takes it away."""

    caller: SignedIn
    avatar_url: str | None
