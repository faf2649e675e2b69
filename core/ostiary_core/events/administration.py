"""Events of accounts, roles, clients and sessions that administrators, the sweeper or the runtime send."""

from collections.abc import Mapping
from dataclasses import field

from ostiary_core.events.event import AccountEvent, AdministrationEvent, Caller, ClientEvent, Event, RoleEvent
from ostiary_core.model.fact import Acting
from ostiary_core.model.fields import FieldFault
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Key
from ostiary_core.model.secret import Digest, Entropy
from ostiary_core.model.why import Why

# --- accounts and roles


@immutable(kw_only=True)
class PasswordResetByAdministrator(AccountEvent):
    """An administrator sets a password that its user must change at the next sign-in."""

    new_password_hash: str = field(repr=False)


@immutable(kw_only=True)
class InvitationMade(AccountEvent, AdministrationEvent):
    """An administrator invites a user to set a password."""

    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class SecondFactorReset(AccountEvent):
    """An administrator takes the second factor away from a user who lost it."""


@immutable(kw_only=True)
class UserRegistered(AdministrationEvent):
    """An administrator registers an account; `fields` is the JSON object as sent, without the password."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    password_hash: str | None = field(repr=False)
    """Hash of the password; None for an account without one, which cannot sign in yet."""
    faults: tuple[FieldFault, ...] = ()
    """Faults that the runtime found and the core cannot: of the password, of the time zone."""
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class UserChanged(AccountEvent, AdministrationEvent):
    """An administrator changes some fields of an account."""

    fields: Mapping[str, object] = field(repr=False)
    faults: tuple[FieldFault, ...] = ()
    shown: Mapping[str, object] | None = field(default=None, repr=False)
    """The fields as the caller saw them, so that changes made meanwhile are kept (`merge_edits`)."""


@immutable(kw_only=True)
class UserImported(AdministrationEvent):
    """An administrator imports a row: a new account or, with `replace`, changes of the named one."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    replace: bool
    password_hash: str | None = field(repr=False)
    foreign_hash: str | None = field(default=None, repr=False)
    """A password hash that another system made, in a form that the runtime can verify."""
    faults: tuple[FieldFault, ...] = ()
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class UserEnabled(AccountEvent, AdministrationEvent):
    """An administrator enables an account; sessions that ended stay ended."""


@immutable(kw_only=True)
class UserDisabled(AccountEvent, AdministrationEvent):
    """An administrator disables an account: it may no longer sign in, and all it had open ends."""


@immutable(kw_only=True)
class UserDeleted(AccountEvent, AdministrationEvent):
    """An administrator deletes an account; its names are free again, its identifier never."""


@immutable(kw_only=True)
class UserForcedOut(AccountEvent):
    """An administrator ends all sessions and codes of a user; the account stays as it is."""


@immutable(kw_only=True)
class UserUnlocked(AccountEvent):
    """An administrator takes back the waits that failed sign-ins and wrong codes cost a user.

    Failed sign-ins are counted by each process: all learn of the unlock by its entry in the trail.
    """


@immutable(kw_only=True)
class ConsentWithdrawnByAdministrator(AccountEvent):
    """An administrator withdraws on a user's behalf what the user lets one client do."""

    client_id: str


@immutable(kw_only=True)
class UserRequested(AccountEvent):
    """An administrator asks to see one account."""


@immutable(kw_only=True)
class FirstAdministratorCreated(Event):
    """A store without a super administrator gets one, with the built-in role and clients."""

    username: str
    password_hash: str = field(repr=False)
    must_change_password: bool
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class RoleRegistered(AdministrationEvent):
    """An administrator registers a role."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)


@immutable(kw_only=True)
class RoleChanged(RoleEvent, AdministrationEvent):
    """An administrator changes the name or the permissions of a role."""

    fields: Mapping[str, object] = field(repr=False)
    shown: Mapping[str, object] | None = field(default=None, repr=False)
    """The fields as the caller saw them, so that changes made meanwhile are kept (`merge_edits`)."""


@immutable(kw_only=True)
class RoleImported(AdministrationEvent):
    """An administrator imports a row: a new role or, with `replace`, changes of the named one."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    replace: bool


@immutable(kw_only=True)
class RoleDeleted(RoleEvent, AdministrationEvent):
    """An administrator deletes a role that nobody holds any more."""


@immutable(kw_only=True)
class RoleRequested(RoleEvent):
    """An administrator asks to see one role."""


# --- clients and their secrets


@immutable(kw_only=True)
class ClientRegistered(AdministrationEvent):
    """An administrator registers a client; `fields` is the JSON object as sent, checked by the rules."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    secret_digest: Digest | None = field(default=None, repr=False)
    """Digest of a secret from another server; None to draw one."""
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ClientChanged(ClientEvent, AdministrationEvent):
    """An administrator changes some fields of a client."""

    fields: Mapping[str, object] = field(repr=False)
    shown: Mapping[str, object] | None = field(default=None, repr=False)
    """The fields as the caller saw them, so that changes made meanwhile are kept (`merge_edits`)."""


@immutable(kw_only=True)
class ClientImported(AdministrationEvent):
    """An administrator imports a row: a new client or, with `replace`, changes of the named one."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    replace: bool
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ClientRequested(ClientEvent):
    """An administrator asks to see one client."""


@immutable(kw_only=True)
class ClientEnabled(ClientEvent, AdministrationEvent):
    """An administrator enables a client; sessions that ended stay ended."""


@immutable(kw_only=True)
class ClientDisabled(ClientEvent, AdministrationEvent):
    """An administrator disables a client: it may no longer authenticate, and all its sessions end."""


@immutable(kw_only=True)
class ClientDeleted(ClientEvent, AdministrationEvent):
    """An administrator deletes a client for good; its identifier is never given out again."""


@immutable(kw_only=True)
class ClientForcedOut(ClientEvent):
    """An administrator ends all sessions and codes of a client; the client stays as it is."""


@immutable(kw_only=True)
class ClientSecretReset(ClientEvent):
    """An administrator resets a client's secret; issued tokens stay valid.

    `fields` is the JSON object as it was sent: with `keepOldForSeconds` the old one works on for so long.
    """

    fields: Mapping[str, object] = field(default_factory=dict, repr=False)
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class ClientSecretReplaced(ClientEvent, AdministrationEvent):
    """An administrator sets the digest of a secret made elsewhere; issued tokens stay valid.

    `fields` is as for a reset.
    """

    digest: Digest = field(repr=False)
    fields: Mapping[str, object] = field(default_factory=dict, repr=False)


@immutable(kw_only=True)
class OldSecretEnded(ClientEvent):
    """An administrator ends the old secret that a reset kept working, before its time."""


@immutable(kw_only=True)
class ClientSecretUsed(Event):
    """A runtime reports, now and then, when a secret last authenticated."""

    client_id: str
    digest: Digest = field(repr=False)
    used_at: Instant


@immutable(kw_only=True)
class WrongSecretsCounted(Event):
    """A runtime reports, now and then, how many wrong secrets of a client came since the last report."""

    client_id: str
    times: int
    last_at: Instant


# --- refusals, sessions, expired records, batches


@immutable(kw_only=True)
class AdministratorRefused(Event):
    """A runtime reports that an administrator was refused, once or several times for the same reason."""

    actor_id: str
    why: Why
    permission: Permission | None
    """Permission that was asked for; None if one must be super administrator."""
    user_id: str | None
    client_id: str | None
    role_id: str | None
    """Record that it was about, if there is one."""
    times: int
    acting: Acting
    """Session or token that was refused."""


@immutable(kw_only=True)
class SessionForcedOut(Event):
    """An administrator ends one session from the online-users monitor."""

    caller: Caller
    session_id: str


@immutable(kw_only=True)
class EverybodyForcedOut(Event):
    """A super administrator ends every session and code there is.

    Each belongs to a client, so the runtime names all clients, `console` and `mobile` included, and repeats
    the event for those registered meanwhile.
    """

    caller: Caller
    client_ids: tuple[str, ...]


@immutable(kw_only=True)
class WarningAcknowledged(Event):
    """An administrator has seen a warning of the overview, which need not show it for some days."""

    caller: Caller
    warning: str
    """Identifier of the warning: its kind, and after a space what it is about."""


@immutable(kw_only=True)
class GraceExpired(Event):
    """The sweeper found a session whose salt may have outlived its use (READINGS 1)."""

    session_id: str


@immutable(kw_only=True)
class RecordExpired(Event):
    """The sweeper found a record that may have outlived its use (`ostiary_core.retention`)."""

    key: Key = field(repr=False)


@immutable(kw_only=True)
class BatchRequested(Event):
    """A batch of events: each sees what the ones before it changed, and one refusal undoes them all."""

    events: tuple[AdministrationEvent, ...]
    is_preview: bool = False
    """Whether only to say what would be done."""
