"""The events that the rules decide: one immutable class for each kind.

An event is complete in itself. One that may mint anything carries 32 bytes of entropy, and deciding it with
fewer or more raises `ValueError`, a fault of the program; one that needs a password checked carries the
outcome of the check and the hash it was made against, because hashing is not the core's to do. What an event
holds in secret never shows in its printed form, nor does an object of JSON, which may hold anything.
"""

from dataclasses import replace

from ostiary_core.events.account import (
    AccountRequested,
    AvatarChosen,
    LocaleChosen,
    LoginRefreshed,
    OwnSessionEnded,
    PasswordChanged,
    PasswordHashRequested,
    PasswordResetByTextMessage,
    PhoneChanged,
    SignedOut,
    SignInAttempted,
    TextCodeRequested,
    TimezoneChosen,
)
from ostiary_core.events.administration import (
    BatchRequested,
    ClientChanged,
    ClientDeleted,
    ClientDisabled,
    ClientEnabled,
    ClientForcedOut,
    ClientImported,
    ClientRegistered,
    ClientRequested,
    ClientSecretReplaced,
    ClientSecretReset,
    ClientSecretUsed,
    ConsentWithdrawnByAdministrator,
    EverybodyForcedOut,
    FirstAdministratorCreated,
    GraceExpired,
    OldSecretEnded,
    PasswordResetByAdministrator,
    RecordExpired,
    RoleChanged,
    RoleDeleted,
    RoleImported,
    RoleRegistered,
    RoleRequested,
    SessionForcedOut,
    UserChanged,
    UserDeleted,
    UserDisabled,
    UserEnabled,
    UserForcedOut,
    UserImported,
    UserRegistered,
    UserRequested,
    WrongSecretsCounted,
)
from ostiary_core.events.authorization import (
    AuthorizationChecked,
    AuthorizationParameters,
    AutomaticConsentRequested,
    ConsentDenied,
    ConsentGiven,
    ConsentWithdrawn,
)
from ostiary_core.events.event import (
    AdministrationEvent,
    AuthenticationMethod,
    Caller,
    ClientCredentials,
    Event,
    Operator,
    SignedIn,
)
from ostiary_core.events.token_service import (
    ClientCredentialsRequested,
    CodeRedeemed,
    GrantUnrecognised,
    IntrospectionRequested,
    ProfileRequested,
    RefreshRequested,
    RevocationRequested,
)
from ostiary_core.model.instant import Arrival, Instant

__all__ = [
    "AccountRequested",
    "AdministrationEvent",
    "AuthenticationMethod",
    "AuthorizationChecked",
    "AuthorizationParameters",
    "AutomaticConsentRequested",
    "AvatarChosen",
    "BatchRequested",
    "Caller",
    "ClientChanged",
    "ClientCredentials",
    "ClientCredentialsRequested",
    "ClientDeleted",
    "ClientDisabled",
    "ClientEnabled",
    "ClientForcedOut",
    "ClientImported",
    "ClientRegistered",
    "ClientRequested",
    "ClientSecretReplaced",
    "ClientSecretReset",
    "ClientSecretUsed",
    "CodeRedeemed",
    "ConsentDenied",
    "ConsentGiven",
    "ConsentWithdrawn",
    "ConsentWithdrawnByAdministrator",
    "Event",
    "EverybodyForcedOut",
    "FirstAdministratorCreated",
    "GraceExpired",
    "GrantUnrecognised",
    "IntrospectionRequested",
    "LocaleChosen",
    "LoginRefreshed",
    "OldSecretEnded",
    "Operator",
    "OwnSessionEnded",
    "PasswordChanged",
    "PasswordHashRequested",
    "PasswordResetByAdministrator",
    "PasswordResetByTextMessage",
    "PhoneChanged",
    "ProfileRequested",
    "RecordExpired",
    "RefreshRequested",
    "RevocationRequested",
    "RoleChanged",
    "RoleDeleted",
    "RoleImported",
    "RoleRegistered",
    "RoleRequested",
    "SessionForcedOut",
    "SignInAttempted",
    "SignedIn",
    "SignedOut",
    "TextCodeRequested",
    "TimezoneChosen",
    "UserChanged",
    "UserDeleted",
    "UserDisabled",
    "UserEnabled",
    "UserForcedOut",
    "UserImported",
    "UserRegistered",
    "UserRequested",
    "WrongSecretsCounted",
    "with_clock_ahead",
]


def with_clock_ahead(event: Event, by_ms: int) -> Event:
    """Return the event with its arrival moved by so many milliseconds, to the clock of another turn."""
    if isinstance(event, RefreshRequested | LoginRefreshed) and event.arrival is not None:
        earliest, latest = event.arrival
        arrival = Arrival(Instant(earliest + by_ms), Instant(latest + by_ms))
        return replace(event, arrival=arrival)
    return event
