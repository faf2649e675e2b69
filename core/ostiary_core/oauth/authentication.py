"""Authentication of callers: clients by their secrets, users by the token of a login session."""

import hmac
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from ostiary_core.events import Caller, ClientCredentials, Operator, SignedIn
from ostiary_core.events.event import AccountEvent, ClientEvent, RoleEvent
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, refuse
from ostiary_core.model.permissions import ALL_PERMISSIONS, SUPER_ADMINISTRATOR, Permission
from ostiary_core.model.records import Client, GrantType, Role, Session, SessionKind, User
from ostiary_core.model.reply import Refused, Reply
from ostiary_core.model.secret import Digest, digest_of
from ostiary_core.model.why import Why
from ostiary_core.oauth.session import SessionState, state_of

_NOT_AUTHENTICATED: Final = frozenset(
    {
        *(Why.CLIENT_UNKNOWN, Why.CLIENT_BUILT_IN, Why.CLIENT_SECRET_WRONG),
        *(Why.CLIENT_DELETED, Why.CLIENT_DISABLED),
    }
)
"""Reasons answered with `invalid_client` ("Authentication", rule 1)."""

_NO_SECRET: Final = digest_of("")
"""Stand-in that is compared where there is no secret."""


def authenticate_client(credentials: ClientCredentials, snapshot: Snapshot) -> Client | Why:
    """Return the client whose secret is right, or why there is none ("Authentication", rule 1)."""
    client = snapshot.client(credentials.client_id)
    if client is None or client.secret_digest is None:
        # An unknown client takes as long as a wrong secret: timing tells neither from the other.
        _is_one_of(credentials, _NO_SECRET, None)
        return Why.CLIENT_UNKNOWN if client is None else Why.CLIENT_BUILT_IN
    old_stands = client.old_secret_until is not None and snapshot.now < client.old_secret_until
    old = client.old_secret_digest if old_stands else None
    # The secret first: only a caller who has it learns that a client is deleted or disabled.
    if not _is_one_of(credentials, client.secret_digest, old):
        return Why.CLIENT_SECRET_WRONG
    if client.deleted_at is not None:
        return Why.CLIENT_DELETED
    return client if client.enabled else Why.CLIENT_DISABLED


def is_authenticated(reply: Reply) -> bool:
    """Whether the client authenticated, even where its request was refused for another reason."""
    return not (isinstance(reply, Refused) and reply.why in _NOT_AUTHENTICATED)


def _is_one_of(credentials: ClientCredentials, present: Digest, old: Digest | None) -> bool:
    """Whether the presented secret is the present or the old one.

    Digests are compared, in a time that tells neither which of the two it was nor whether there are two
    (READINGS 20).
    """
    presented = credentials.secret.digest
    return bool(
        hmac.compare_digest(present, presented)
        | hmac.compare_digest(present if old is None else old, presented)
    )


def authenticate_for_grant(
    grant: GrantType, credentials: ClientCredentials, snapshot: Snapshot
) -> Client | Why:
    """Authenticate the client and check that it registers `grant`; else say why not."""
    client = authenticate_client(credentials, snapshot)
    if isinstance(client, Client) and grant not in client.grant_types:
        return Why.GRANT_NOT_REGISTERED
    return client


@dataclass(frozen=True, slots=True)
class Person:
    """A signed-in user with the login session of the request."""

    user: User
    session: Session


Actor = Person | Operator
"""Who acts on what is not their own: a signed-in user, or the operator on the command line."""


def find_person(caller: SignedIn, snapshot: Snapshot) -> Person | Why:
    """Return the user of a login session's access token; third-party tokens are not accepted here."""
    snapshot = snapshot.of_callers
    session = snapshot.session_by_access_token(caller.access_token.digest)
    if session is None or session.kind is not SessionKind.LOGIN or session.user_id is None:
        return Why.NOT_SIGNED_IN
    if state_of(session, snapshot) is not SessionState.ACTIVE or snapshot.now >= session.access_expires_at:
        return Why.NOT_SIGNED_IN
    user = snapshot.user(session.user_id)
    return Why.NOT_SIGNED_IN if user is None else Person(user, session)


def find_active_person(caller: SignedIn, snapshot: Snapshot) -> Person | Why:
    """Return the signed-in user, unless a forced password change comes first."""
    who = find_person(caller, snapshot)
    must_change_password = isinstance(who, Person) and who.user.must_change_password
    return Why.PASSWORD_MUST_CHANGE if must_change_password else who


def find_roles(role_ids: Iterable[str], snapshot: Snapshot) -> tuple[Role, ...]:
    """Return those of the named roles that exist."""
    found = (snapshot.role(role_id) for role_id in role_ids)
    return tuple(role for role in found if role is not None)


def roles_of(user: User, snapshot: Snapshot) -> tuple[Role, ...]:
    """Return the roles of `user` that exist."""
    return find_roles(user.role_ids, snapshot)


def permissions_of(user: User, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the permissions of `user`; the super administrator has all of them."""
    if SUPER_ADMINISTRATOR in user.role_ids:
        return ALL_PERMISSIONS
    held = {permission for role in roles_of(user, snapshot) for permission in role.permissions}
    return tuple(permission for permission in ALL_PERMISSIONS if permission in held)


def is_super_administrator(who: Actor) -> bool:
    """Whether `who` may act on super administrators and see sessions that represent no user."""
    return isinstance(who, Operator) or SUPER_ADMINISTRATOR in who.user.role_ids


def actor_id_of(who: Actor) -> str | None:
    """Return the actor's user identifier for the audit trail; None for the operator of the command line."""
    return None if isinstance(who, Operator) else who.user.user_id


def exceeds_permissions_of(roles: tuple[Role, ...], who: Actor, snapshot: Snapshot) -> bool:
    """Whether any of `roles` has a permission that `who` lacks (READINGS 40)."""
    if isinstance(who, Operator) or SUPER_ADMINISTRATOR in who.user.role_ids:
        return False
    held = set(permissions_of(who.user, snapshot.of_callers))
    return any(role.role_id == SUPER_ADMINISTRATOR or not set(role.permissions) <= held for role in roles)


def has_more_permissions(user: User, who: Actor, snapshot: Snapshot) -> bool:
    """Whether `user` has a permission that `who` lacks.

    An administrator who sets a user's password can sign in as that user (READINGS 40).
    """
    return exceeds_permissions_of(roles_of(user, snapshot), who, snapshot)


def check_permission(caller: Caller, permission: Permission, snapshot: Snapshot) -> Actor | Why:
    """Return the caller if signed in, past a forced password change, with `permission`; else why not."""
    return check_any_permission(caller, (permission,), snapshot)


def check_any_permission(
    caller: Caller, permissions: Collection[Permission], snapshot: Snapshot
) -> Actor | Why:
    """Return the caller if signed in, past a forced password change, with one of these; else why not."""
    if isinstance(caller, Operator):
        return caller
    who = find_active_person(caller, snapshot)
    if isinstance(who, Why):
        return who
    held = permissions_of(who.user, snapshot.of_callers)
    is_allowed = not {each.value for each in permissions}.isdisjoint(held)
    return who if is_allowed else Why.PERMISSION_MISSING


def check_super_administrator(caller: Caller, snapshot: Snapshot) -> Actor | Why:
    """Return the caller if it is the operator, or a super administrator who is free to act; else why not."""
    if isinstance(caller, Operator):
        return caller
    who = find_active_person(caller, snapshot)
    if isinstance(who, Why):
        return who
    return who if is_super_administrator(who) else Why.PERMISSION_MISSING


E = TypeVar("E", bound=AccountEvent | RoleEvent | ClientEvent)
R = TypeVar("R", User, Role, Client)
Handler = Callable[[E, Snapshot], Decision]
GuardedHandler = Callable[[E, Actor, R, Snapshot], Decision]


def require_permission(
    *permissions: Permission, find: Callable[[Any, Actor, Snapshot], R | Why]
) -> Callable[[GuardedHandler[E, R]], Handler[E]]:
    """Refuse callers without one of `permissions`, then those for whom `find` finds no record.

    The rule is given the actor and the record. The permission is checked before any record is looked up.
    """

    def guard(handler: GuardedHandler[E, R]) -> Handler[E]:
        def decide(event: E, snapshot: Snapshot, /) -> Decision:
            who = check_any_permission(event.caller, permissions, snapshot)
            if isinstance(who, Why):
                return refuse(who)
            found = find(event, who, snapshot)
            if isinstance(found, Why):
                return refuse(found)
            return handler(event, who, found, snapshot)

        return decide

    return guard
