"""What an event needs loaded before it can be decided.

An event names its roots; whatever a loaded record refers to is loaded with it (`records.references`), so
token → session → user, client and consent follow by themselves. A snapshot refuses every other key.
"""

from collections.abc import Mapping
from typing import assert_never

from ostiary_core import events as e
from ostiary_core.identifiers import phone_key, text_code_key, username_key
from ostiary_core.making import immutable
from ostiary_core.permissions import SUPER_ADMINISTRATOR
from ostiary_core.records import Place, Table, TextCodePurpose
from ostiary_core.secret import Digest, Secret

__all__ = ["BACKEND_CLIENT", "BUILT_IN_CLIENTS", "Keys", "keys"]

BACKEND_CLIENT = "console"
"""The built-in client whose sessions are the backend's own login sessions."""

BUILT_IN_CLIENTS = (BACKEND_CLIENT, "mobile")


@immutable()
class Keys:
    """Records to load, and the one key that only the records themselves can complete."""

    roots: tuple[Place, ...]
    consent: tuple[Digest, str] | None = None
    """A login token's digest and a client: load what that token's user allowed this client."""


def _client(client_id: str) -> Place:
    return (Table.CLIENT, client_id)


def _user(user_id: str) -> Place:
    return (Table.USER, user_id)


def _refresh_token(token: Secret | None) -> tuple[Place, ...]:
    return () if token is None else ((Table.REFRESH_TOKEN, token.digest),)


def _access_token(token: Secret) -> tuple[Place, ...]:
    return ((Table.ACCESS_TOKEN, token.digest),)


def _either_token(token: Secret | None) -> tuple[Place, ...]:
    """Whoever asks does not say which kind it is."""
    return () if token is None else (*_access_token(token), *_refresh_token(token))


def _caller(caller: e.Caller | None) -> tuple[Place, ...]:
    return _access_token(caller.access_token) if isinstance(caller, e.SignedIn) else ()


def _named(table: Table, fields: Mapping[str, object], name: str) -> tuple[Place, ...]:
    """The record that a field names, where it names any."""
    value = fields.get(name)
    return ((table, value),) if isinstance(value, str) else ()


def _named_user(fields: Mapping[str, object]) -> tuple[Place, ...]:
    """The names that an account takes, and the roles it is given."""
    username, phone, role_ids = fields.get("username"), fields.get("phone"), fields.get("roleIds")
    return (
        *((username_key(username),) if isinstance(username, str) else ()),
        *((phone_key(phone),) if isinstance(phone, str) else ()),
        *(
            (Table.ROLE, role_id)
            for role_id in (role_ids if isinstance(role_ids, list | tuple) else ())
            if isinstance(role_id, str)
        ),
    )


def keys(event: e.Event) -> Keys:
    """The keys of `event`, in the same few tables whatever the state of the store."""
    match event:
        # What comes most comes first, as in `decide`.
        case e.RefreshRequested():
            return Keys((_client(event.credentials.client_id), *_refresh_token(event.refresh_token)))
        case e.IntrospectionRequested() | e.RevocationRequested():
            return Keys((_client(event.credentials.client_id), *_either_token(event.token)))
        case e.ClientCredentialsRequested() | e.GrantUnrecognised():
            return Keys((_client(event.credentials.client_id),))
        case e.CodeRedeemed():
            code = () if event.code is None else ((Table.CODE, event.code.digest),)
            return Keys((_client(event.credentials.client_id), *code))
        case e.ProfileRequested():
            return Keys(_access_token(event.access_token))
        case e.GraceLapsed():
            return Keys(((Table.SESSION, event.session_id),))
        case e.RecordLapsed():
            return Keys((event.key,))
        case e.AuthorizationChecked() | e.ConsentGiven() | e.ConsentRecalled() | e.ConsentDenied():
            client_id = event.parameters.client_id or ""
            return Keys(
                (*_caller(event.caller), _client(client_id)), (event.caller.access_token.digest, client_id)
            )
        case e.ConsentWithdrawn():
            return Keys(
                (*_caller(event.caller), _client(event.client_id)),
                (event.caller.access_token.digest, event.client_id),
            )
        case e.PasswordHashRequested():
            return Keys((username_key(event.of),) if isinstance(event.of, str) else _caller(event.of))
        case e.SignInAttempted():
            return Keys((username_key(event.username), _client(BACKEND_CLIENT)))
        case e.LoginRefreshed():
            return Keys(_refresh_token(event.refresh_token))
        case (
            e.SignedOut()
            | e.AccountRequested()
            | e.PasswordChanged()
            | e.LocaleChosen()
            | e.TimezoneChosen()
            | e.AvatarChosen()
        ):
            return Keys(_caller(event.caller))
        case e.TextCodeRequested():
            return Keys(
                (*_caller(event.caller), phone_key(event.phone), text_code_key(event.purpose, event.phone))
            )
        case e.PhoneChanged():
            purpose = TextCodePurpose.CHANGE_PHONE
            return Keys((*_caller(event.caller), phone_key(event.phone), text_code_key(purpose, event.phone)))
        case e.PasswordResetByTextMessage():
            purpose = TextCodePurpose.RESET_PASSWORD
            return Keys((phone_key(event.phone), text_code_key(purpose, event.phone)))
        case e.UserRegistered() | e.UserImported():
            return Keys((*_caller(event.caller), *_named_user(event.fields)))
        case e.UserChanged():
            return Keys((*_caller(event.caller), _user(event.user_id), *_named_user(event.fields)))
        case (
            e.PasswordResetByAdministrator()
            | e.UserEnabled()
            | e.UserDisabled()
            | e.UserDeleted()
            | e.UserForcedOut()
            | e.UserRequested()
        ):
            return Keys((*_caller(event.caller), _user(event.user_id)))
        case e.OwnSessionEnded():
            return Keys((*_caller(event.caller), (Table.SESSION, event.session_id)))
        case e.RoleRegistered() | e.RoleImported():
            return Keys((*_caller(event.caller), *_named(Table.ROLE, event.fields, "code")))
        case e.RoleChanged() | e.RoleDeleted() | e.RoleRequested():
            return Keys((*_caller(event.caller), (Table.ROLE, event.role_id)))
        case e.SessionForcedOut():
            return Keys((*_caller(event.caller), (Table.SESSION, event.session_id)))
        case e.FirstAdministratorCreated():
            built_in = tuple(_client(client_id) for client_id in BUILT_IN_CLIENTS)
            return Keys(((Table.ROLE, SUPER_ADMINISTRATOR), username_key(event.username), *built_in))
        case e.ClientRegistered() | e.ClientImported():
            return Keys((*_caller(event.caller), *_named(Table.CLIENT, event.fields, "clientId")))
        case (
            e.ClientChanged()
            | e.ClientEnabled()
            | e.ClientDisabled()
            | e.ClientDeleted()
            | e.ClientSecretReset()
            | e.OldSecretEnded()
            | e.ClientRequested()
        ):
            return Keys((*_caller(event.caller), _client(event.client_id)))
        case e.ClientSecretUsed() | e.WrongSecretsCounted():
            return Keys((_client(event.client_id),))
        case e.AllOrNothing():
            # No event of a batch names a consent.
            return Keys(tuple(key for part in event.events for key in keys(part).roots))
        case _:
            assert_never(event)
