"""What administrators do with accounts and roles."""

from collections.abc import Mapping
from dataclasses import field

from ostiary_core.events.callers import Caller
from ostiary_core.model.decision import FieldFault
from ostiary_core.model.making import immutable
from ostiary_core.model.secret import Entropy


@immutable(kw_only=True)
class PasswordResetByAdministrator:
    """A new password that its user must change at the next sign-in."""

    caller: Caller
    user_id: str
    new_password_hash: str = field(repr=False)


@immutable(kw_only=True)
class UserRegistered:
    """A new account; `fields` is the JSON object as it came, without the password."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    password_hash: str | None = field(repr=False)
    """None for an account that nobody can sign in to until it is given a password."""
    faults: tuple[FieldFault, ...] = ()
    """What the runtime found wrong that the core cannot judge: the password, the time zone."""
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class UserChanged:
    """New values for some of an account's fields."""

    caller: Caller
    user_id: str
    fields: Mapping[str, object] = field(repr=False)
    faults: tuple[FieldFault, ...] = ()
    shown: Mapping[str, object] | None = field(default=None, repr=False)
    """What the caller was shown of these fields, where others are not to be undone (`meanwhile`)."""


@immutable(kw_only=True)
class UserImported:
    """A row of a sheet of accounts, found by its user name: a new account or, with `replace`, new values."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    replace: bool
    password_hash: str | None = field(repr=False)
    faults: tuple[FieldFault, ...] = ()
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class UserEnabled:
    """An account may sign in again; nothing that ended comes back."""

    caller: Caller
    user_id: str


@immutable(kw_only=True)
class UserDisabled:
    """An account may no longer sign in, and all it had open ends."""

    caller: Caller
    user_id: str


@immutable(kw_only=True)
class UserDeleted:
    """An account is gone; its names are free again, its identifier never."""

    caller: Caller
    user_id: str


@immutable(kw_only=True)
class UserForcedOut:
    """All sessions and codes of a user end; the account stays as it is."""

    caller: Caller
    user_id: str


@immutable(kw_only=True)
class UserRequested:
    """One account, to be shown to an administrator."""

    caller: Caller
    user_id: str


@immutable(kw_only=True)
class FirstAdministratorCreated:
    """A store without a super administrator gets one, with the built-in role and clients."""

    username: str
    password_hash: str = field(repr=False)
    must_change_password: bool
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class RoleRegistered:
    """A new role."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)


@immutable(kw_only=True)
class RoleChanged:
    """Another name or other permissions for a role."""

    caller: Caller
    role_id: str
    fields: Mapping[str, object] = field(repr=False)
    shown: Mapping[str, object] | None = field(default=None, repr=False)
    """What the caller was shown of these fields, where others are not to be undone (`meanwhile`)."""


@immutable(kw_only=True)
class RoleImported:
    """A row of a sheet of roles, found by its code: a new role or, with `replace`, new values."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    replace: bool


@immutable(kw_only=True)
class RoleDeleted:
    """A role that nobody holds any more is gone."""

    caller: Caller
    role_id: str


@immutable(kw_only=True)
class RoleRequested:
    """One role, to be shown."""

    caller: Caller
    role_id: str
