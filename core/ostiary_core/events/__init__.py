"""The events that the rules decide: one immutable class for each kind.

An event is complete in itself. One that may mint anything carries 32 bytes of entropy, and deciding it with
fewer or more raises `ValueError`, a fault of the program; one that needs a password checked carries the
outcome of the check and the hash it was made against, because hashing is not the core's to do. What an event
holds in secret never shows in its printed form, nor does an object of JSON, which may hold anything.
"""

from ostiary_core.events.account import (
    AccountRequested as AccountRequested,
    AvatarChosen as AvatarChosen,
    LocaleChosen as LocaleChosen,
    LoginRefreshed as LoginRefreshed,
    OtherSessionsEnded as OtherSessionsEnded,
    OwnSessionEnded as OwnSessionEnded,
    PasswordChanged as PasswordChanged,
    PasswordHashRequested as PasswordHashRequested,
    PasswordResetByTextMessage as PasswordResetByTextMessage,
    PersonalTokenCreated as PersonalTokenCreated,
    PersonalTokenUsed as PersonalTokenUsed,
    PhoneChanged as PhoneChanged,
    RecoveryCodesRenewed as RecoveryCodesRenewed,
    SecondFactorBegun as SecondFactorBegun,
    SecondFactorBegunAtSignIn as SecondFactorBegunAtSignIn,
    SecondFactorConfirmed as SecondFactorConfirmed,
    SecondFactorEntered as SecondFactorEntered,
    SecondFactorRemoved as SecondFactorRemoved,
    SignedOut as SignedOut,
    SignInAttempted as SignInAttempted,
    TextCodeRequested as TextCodeRequested,
    TimezoneChosen as TimezoneChosen,
)
from ostiary_core.events.administration import (
    AdministratorRefused as AdministratorRefused,
    BatchRequested as BatchRequested,
    ClientChanged as ClientChanged,
    ClientDeleted as ClientDeleted,
    ClientDisabled as ClientDisabled,
    ClientEnabled as ClientEnabled,
    ClientForcedOut as ClientForcedOut,
    ClientImported as ClientImported,
    ClientRegistered as ClientRegistered,
    ClientRequested as ClientRequested,
    ClientSecretReplaced as ClientSecretReplaced,
    ClientSecretReset as ClientSecretReset,
    ClientSecretUsed as ClientSecretUsed,
    ConsentWithdrawnByAdministrator as ConsentWithdrawnByAdministrator,
    EverybodyForcedOut as EverybodyForcedOut,
    FirstAdministratorCreated as FirstAdministratorCreated,
    GraceExpired as GraceExpired,
    OldSecretEnded as OldSecretEnded,
    PasswordResetByAdministrator as PasswordResetByAdministrator,
    RecordExpired as RecordExpired,
    RoleChanged as RoleChanged,
    RoleDeleted as RoleDeleted,
    RoleImported as RoleImported,
    RoleRegistered as RoleRegistered,
    RoleRequested as RoleRequested,
    SecondFactorReset as SecondFactorReset,
    SessionForcedOut as SessionForcedOut,
    UserChanged as UserChanged,
    UserDeleted as UserDeleted,
    UserDisabled as UserDisabled,
    UserEnabled as UserEnabled,
    UserForcedOut as UserForcedOut,
    UserImported as UserImported,
    UserRegistered as UserRegistered,
    UserRequested as UserRequested,
    UserUnlocked as UserUnlocked,
    WrongSecretsCounted as WrongSecretsCounted,
)
from ostiary_core.events.arrival import with_clock_ahead as with_clock_ahead
from ostiary_core.events.authorization import (
    AuthorizationChecked as AuthorizationChecked,
    AuthorizationParameters as AuthorizationParameters,
    AutomaticConsentRequested as AutomaticConsentRequested,
    ConsentDenied as ConsentDenied,
    ConsentGiven as ConsentGiven,
    ConsentWithdrawn as ConsentWithdrawn,
)
from ostiary_core.events.event import (
    AdministrationEvent as AdministrationEvent,
    AuthenticationMethod as AuthenticationMethod,
    Caller as Caller,
    ClientCredentials as ClientCredentials,
    Event as Event,
    Operator as Operator,
    SignedIn as SignedIn,
)
from ostiary_core.events.token_service import (
    ClientCredentialsRequested as ClientCredentialsRequested,
    CodeRedeemed as CodeRedeemed,
    GrantUnrecognised as GrantUnrecognised,
    IntrospectionRequested as IntrospectionRequested,
    ProfileRequested as ProfileRequested,
    RefreshRequested as RefreshRequested,
    RevocationRequested as RevocationRequested,
)
