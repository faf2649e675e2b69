"""The keys of the records that an event needs loaded before it can be decided.

An event names its roots; what a loaded record refers to (its `references`) is loaded with it, so token →
session → user, client and consent follow. A snapshot refuses every other key.
"""

from collections.abc import Mapping

from ostiary_core.events import Caller, ClientCredentials, SignedIn
from ostiary_core.model.identifiers import CONSOLE_CLIENT, phone_key, text_code_key, username_key
from ostiary_core.model.immutable import immutable
from ostiary_core.model.records import RawKey, Table, TextCodePurpose
from ostiary_core.model.secret import Digest, Secret, user_of_invitation
from ostiary_core.model.sign_in_ticket import Ticket


@immutable()
class Keys:
    """Records to load, and the one key that only loaded records can complete."""

    roots: tuple[RawKey, ...]
    consent: tuple[Digest, str] | None = None
    """A login token's digest and a client, for the consent between the token's user and the client."""


# --- all that an event needs


def roots(*places: RawKey) -> Keys:
    """Return the keys of these records and nothing else."""
    return Keys(places)


def by_client(credentials: ClientCredentials, places: tuple[RawKey, ...] = ()) -> Keys:
    """Return the keys of the client that authenticates, and of these records."""
    return Keys(((Table.CLIENT, credentials.client_id), *places))


def by_caller(caller: Caller | None, *places: RawKey) -> Keys:
    """Return the keys of the caller's session, and of these records."""
    signed_in = access_token_keys(caller.access_token) if isinstance(caller, SignedIn) else ()
    return Keys((*signed_in, *places))


def of_consent(caller: SignedIn, client_id: str | None) -> Keys:
    """Return the keys of the caller's session, a client, and the consent between the two."""
    named = client_id or ""
    return Keys(
        (*access_token_keys(caller.access_token), client_key(named)), (caller.access_token.digest, named)
    )


def of_ticket(ticket: Ticket) -> Keys:
    """Return the keys of the user who signs in, and of their second factor."""
    user_id = ticket.user_id
    return Keys((user_key(user_id), second_factor_key(user_id), client_key(CONSOLE_CLIENT)))


def of_invitation(token: Secret) -> Keys:
    """Return the keys of the user whom an invitation says it is for, and of their invitation."""
    user_id = user_of_invitation(token)
    return Keys((user_key(user_id), invitation_key(user_id), client_key(CONSOLE_CLIENT)))


# --- a part of it


def client_key(client_id: str) -> RawKey:
    return (Table.CLIENT, client_id)


def user_key(user_id: str) -> RawKey:
    return (Table.USER, user_id)


def role_key(role_id: str) -> RawKey:
    return (Table.ROLE, role_id)


def second_factor_key(user_id: str) -> RawKey:
    return (Table.SECOND_FACTOR, user_id)


def invitation_key(user_id: str) -> RawKey:
    return (Table.INVITATION, user_id)


def session_key(session_id: str) -> RawKey:
    return (Table.SESSION, session_id)


def refresh_token_keys(token: Secret | None) -> tuple[RawKey, ...]:
    return () if token is None else ((Table.REFRESH_TOKEN, token.digest),)


def code_keys(code: Secret | None) -> tuple[RawKey, ...]:
    return () if code is None else ((Table.CODE, code.digest),)


def access_token_keys(token: Secret) -> tuple[RawKey, ...]:
    return ((Table.ACCESS_TOKEN, token.digest),)


def token_keys(token: Secret | None) -> tuple[RawKey, ...]:
    """Return the keys of a token that may be an access token or a refresh token."""
    if token is None:
        return ()
    return (Table.ACCESS_TOKEN, token.digest), (Table.REFRESH_TOKEN, token.digest)


def telephone_keys(phone: str, purpose: TextCodePurpose) -> tuple[RawKey, ...]:
    """Return the keys of a number's owner, of the code sent to it, and of the client whose epoch it has."""
    return (phone_key(phone), text_code_key(purpose, phone), client_key(CONSOLE_CLIENT))


def named_keys(table: Table, fields: Mapping[str, object], name: str) -> tuple[RawKey, ...]:
    """Return the key of the record that the field `name` names, if it names one."""
    value = fields.get(name)
    return ((table, value),) if isinstance(value, str) else ()


def account_keys(fields: Mapping[str, object]) -> tuple[RawKey, ...]:
    """Return the keys of the names and roles in the fields of an account."""
    username, phone, role_ids = fields.get("username"), fields.get("phone"), fields.get("roleIds")
    return (
        *((username_key(username),) if isinstance(username, str) else ()),
        *((phone_key(phone),) if isinstance(phone, str) else ()),
        *(
            role_key(role_id)
            for role_id in (role_ids if isinstance(role_ids, list | tuple) else ())
            if isinstance(role_id, str)
        ),
    )
