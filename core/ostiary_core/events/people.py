"""Events of accounts and roles: what administrators do with them."""

from collections.abc import Mapping
from dataclasses import field

from ostiary_core.events.callers import Caller
from ostiary_core.model.decision import FieldFault
from ostiary_core.model.making import immutable
from ostiary_core.model.secret import Entropy


@immutable(kw_only=True)
class PasswordResetByAdministrator:
    """An administrator sets a password that its user must change at the next sign-in."""

    caller: Caller
    user_id: str
    new_password_hash: str = field(repr=False)


@immutable(kw_only=True)
class UserRegistered:
    """An administrator registers an account; `fields` is the JSON object as sent, without the password."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    password_hash: str | None = field(repr=False)
    """None for an account that nobody can sign in to until it is given a password."""
    faults: tuple[FieldFault, ...] = ()
    """What the runtime found wrong that the core cannot judge: the password, the time zone."""
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class UserChanged:
    """An administrator changes some fields of an account."""

    caller: Caller
    user_id: str
    fields: Mapping[str, object] = field(repr=False)
    faults: tuple[FieldFault, ...] = ()
    shown: Mapping[str, object] | None = field(default=None, repr=False)
    """What the caller was shown of these fields, where others are not to be undone (`meanwhile`)."""


@immutable(kw_only=True)
class UserImported:
    """An administrator imports a row of a sheet: a new account or, with `replace`, changes of the one of that
    user name."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    replace: bool
    password_hash: str | None = field(repr=False)
    faults: tuple[FieldFault, ...] = ()
    entropy: Entropy = field(repr=False)


@immutable(kw_only=True)
class UserEnabled:
    """An administrator enables an account; sessions that ended stay ended."""

    caller: Caller
    user_id: str


@immutable(kw_only=True)
class UserDisabled:
    """An administrator disables an account: it may no longer sign in, and all it had open ends."""

    caller: Caller
    user_id: str


@immutable(kw_only=True)
class UserDeleted:
    """An administrator deletes an account; its names are free again, its identifier never."""

    caller: Caller
    user_id: str


@immutable(kw_only=True)
class UserForcedOut:
    """An administrator ends all sessions and codes of a user; the account stays as it is."""

    caller: Caller
    user_id: str


@immutable(kw_only=True)
class UserRequested:
    """An administrator asks to see one account."""

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
    """An administrator registers a role."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)


@immutable(kw_only=True)
class RoleChanged:
    """An administrator changes the name or the permissions of a role."""

    caller: Caller
    role_id: str
    fields: Mapping[str, object] = field(repr=False)
    shown: Mapping[str, object] | None = field(default=None, repr=False)
    """What the caller was shown of these fields, where others are not to be undone (`meanwhile`)."""


@immutable(kw_only=True)
class RoleImported:
    """An administrator imports a row of a sheet: a new role or, with `replace`, changes of the one of that
    code."""

    caller: Caller
    fields: Mapping[str, object] = field(repr=False)
    replace: bool


@immutable(kw_only=True)
class RoleDeleted:
    """An administrator deletes a role that nobody holds any more."""

    caller: Caller
    role_id: str


@immutable(kw_only=True)
class RoleRequested:
    """An administrator asks to see one role."""

    caller: Caller
    role_id: str
