"""The events that the rules decide: one frozen class for each kind.

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
from ostiary_core.events.authorization import (
    AuthorizationChecked,
    AuthorizationParameters,
    ConsentDenied,
    ConsentGiven,
    ConsentRecalled,
    ConsentWithdrawn,
)
from ostiary_core.events.callers import (
    AuthenticationMethod,
    Caller,
    ClientCredentials,
    Operator,
    SignedIn,
)
from ostiary_core.events.clients import (
    ClientChanged,
    ClientDeleted,
    ClientDisabled,
    ClientEnabled,
    ClientImported,
    ClientRegistered,
    ClientRequested,
    ClientSecretReset,
    ClientSecretUsed,
    OldSecretEnded,
    WrongSecretsCounted,
)
from ostiary_core.events.people import (
    FirstAdministratorCreated,
    PasswordResetByAdministrator,
    RoleChanged,
    RoleDeleted,
    RoleImported,
    RoleRegistered,
    RoleRequested,
    UserChanged,
    UserDeleted,
    UserDisabled,
    UserEnabled,
    UserForcedOut,
    UserImported,
    UserRegistered,
    UserRequested,
)
from ostiary_core.events.sessions import (
    GraceLapsed,
    RecordLapsed,
    SessionForcedOut,
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
from ostiary_core.model.arrival import Arrival
from ostiary_core.model.instant import Instant
from ostiary_core.model.making import immutable

__all__ = [
    "AccountRequested",
    "AdministrationEvent",
    "AllOrNothing",
    "AuthenticationMethod",
    "AuthorizationChecked",
    "AuthorizationParameters",
    "AvatarChosen",
    "Caller",
    "ClientChanged",
    "ClientCredentials",
    "ClientCredentialsRequested",
    "ClientDeleted",
    "ClientDisabled",
    "ClientEnabled",
    "ClientImported",
    "ClientRegistered",
    "ClientRequested",
    "ClientSecretReset",
    "ClientSecretUsed",
    "CodeRedeemed",
    "ConsentDenied",
    "ConsentGiven",
    "ConsentRecalled",
    "ConsentWithdrawn",
    "Event",
    "FirstAdministratorCreated",
    "GraceLapsed",
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
    "RecordLapsed",
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

AdministrationEvent = (
    UserRegistered
    | UserChanged
    | UserImported
    | UserDeleted
    | RoleRegistered
    | RoleImported
    | RoleDeleted
    | ClientRegistered
    | ClientImported
    | ClientDeleted
)
"""Events of which a batch may be made."""


@immutable(kw_only=True)
class AllOrNothing:
    """A batch of events: each sees what the ones before it changed, and one refusal undoes them all."""

    events: tuple[AdministrationEvent, ...]


Event = (
    CodeRedeemed
    | RefreshRequested
    | ClientCredentialsRequested
    | GrantUnrecognised
    | IntrospectionRequested
    | RevocationRequested
    | ProfileRequested
    | AuthorizationChecked
    | ConsentGiven
    | ConsentRecalled
    | ConsentDenied
    | ConsentWithdrawn
    | PasswordHashRequested
    | SignInAttempted
    | LoginRefreshed
    | SignedOut
    | OwnSessionEnded
    | AccountRequested
    | PasswordChanged
    | TextCodeRequested
    | PhoneChanged
    | PasswordResetByTextMessage
    | LocaleChosen
    | TimezoneChosen
    | AvatarChosen
    | PasswordResetByAdministrator
    | UserRegistered
    | UserChanged
    | UserImported
    | UserEnabled
    | UserDisabled
    | UserDeleted
    | UserForcedOut
    | UserRequested
    | FirstAdministratorCreated
    | RoleRegistered
    | RoleChanged
    | RoleImported
    | RoleDeleted
    | RoleRequested
    | ClientRegistered
    | ClientChanged
    | ClientImported
    | ClientRequested
    | ClientEnabled
    | ClientDisabled
    | ClientDeleted
    | ClientSecretReset
    | OldSecretEnded
    | ClientSecretUsed
    | WrongSecretsCounted
    | SessionForcedOut
    | GraceLapsed
    | RecordLapsed
    | AllOrNothing
)
"""Everything that `decide` decides."""


def with_clock_ahead(event: Event, by_ms: int) -> Event:
    """Return the event with its arrival moved by so many milliseconds, to the clock of another turn."""
    if isinstance(event, RefreshRequested | LoginRefreshed) and event.arrival is not None:
        earliest, latest = event.arrival
        arrival = Arrival(Instant(earliest + by_ms), Instant(latest + by_ms))
        return replace(event, arrival=arrival)
    return event
