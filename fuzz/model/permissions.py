"""Permissions of administrators; no administrator reaches above their own (READINGS 40)."""

from collections.abc import Iterable, Mapping
from typing import Final

from fuzz.model.realm import Realm
from fuzz.model.records import SECOND_MS, SUPER_ADMINISTRATOR, Refusal, User, refuse
from fuzz.shared.calls import Call, Face, Verb

PROOF_MS: Final = 15 * 60 * SECOND_MS

_TO_UPDATE_USERS: Final = (
    *(Verb.CHANGE_USER, Verb.ENABLE_USER, Verb.DISABLE_USER, Verb.RESET_PASSWORD, Verb.RESET_FACTOR),
    *(Verb.INVITE_USER, Verb.FORCE_OUT_USER, Verb.UNLOCK_USER, Verb.WITHDRAW_FOR),
)
_TO_UPDATE_CLIENTS: Final = (
    *(Verb.CHANGE_CLIENT, Verb.ENABLE_CLIENT, Verb.DISABLE_CLIENT, Verb.FORCE_OUT_CLIENT),
    *(Verb.RESET_SECRET, Verb.GIVE_SECRET, Verb.END_OLD_SECRET),
)
PERMISSION: Final[Mapping[Verb, str]] = {
    Verb.REGISTER_USER: "iam.user.create",
    **dict.fromkeys(_TO_UPDATE_USERS, "iam.user.update"),
    Verb.DELETE_USER: "iam.user.delete",
    Verb.REGISTER_ROLE: "iam.role.create",
    Verb.CHANGE_ROLE: "iam.role.update",
    Verb.DELETE_ROLE: "iam.role.delete",
    Verb.END_SESSION: "monitor.online.kill",
    Verb.ACKNOWLEDGE: "monitor.online.list",
    Verb.REGISTER_CLIENT: "oauth.client.create",
    **dict.fromkeys(_TO_UPDATE_CLIENTS, "oauth.client.update"),
    Verb.DELETE_CLIENT: "oauth.client.delete",
}
SEES_CLIENTS: Final = ("oauth.client.list", "oauth.client.update", "oauth.client.delete")
"""Permissions that each allow seeing clients: changing or deleting a client includes seeing it."""
_TO_READ: Final = ("oauth.client.list", "iam.user.list", "iam.role.list", "monitor.online.list", "audit.read")
ALL_PERMISSIONS: Final = tuple(sorted({*PERMISSION.values(), *_TO_READ}))


CREDENTIALS: Final = "iam.user.credentials"
ROLES: Final = "iam.role.assign"
POWERS: Final = frozenset({CREDENTIALS, ROLES})
"""Permissions that give power over other users if they were chosen for a token."""


def require_permission(realm: Realm, call: Call, now: int, *permissions: str) -> None:
    """Raise `Refusal` if the caller holds none of these permissions, or lacks the one that the verb needs.

    The operator has no login and may do everything.
    """
    if call.login is None:
        return
    realm = realm.before_batch or realm
    realm.require_login(call, now, by_token=True)
    enough = permissions or (PERMISSION[call.verb],)
    if find_allowed(realm, call, now).isdisjoint(enough):
        raise Refusal(refuse("A0403", "no permission"))


def require_import(realm: Realm, made: Call, changed: Call, now: int) -> None:
    """Raise `Refusal` if the caller may not change what an import brings for an existing record.

    The caller must be allowed to create such records as well; that is checked before the sheet is read.
    """
    if made.face is Face.SHEET:
        require_permission(realm, made, now)
    require_permission(realm, changed, now)


def require_reach(realm: Realm, call: Call, now: int, permissions: frozenset[str], clause: str) -> None:
    """Raise `Refusal` if the caller does not hold all of these permissions."""
    if is_super(realm, call, now):
        return
    if not permissions <= find_allowed(realm.before_batch or realm, call, now):
        raise Refusal(refuse("A0403", clause))


def require_reach_of(realm: Realm, call: Call, now: int, user: User, clause: str) -> None:
    """Raise `Refusal` if the user has more permissions than the caller, or holds the caller's token."""
    session = (realm.before_batch or realm).find_session(call.login, now)
    holder = None if session is None or session.allows is None else session.user
    if holder is not None and holder.user_id == user.user_id:
        raise Refusal(refuse("A0403", "a token does not act on its holder"))
    require_reach(realm, call, now, permissions_of(realm, user.roles), clause)


def require_power(realm: Realm, call: Call, now: int, power: str) -> None:
    """Raise `Refusal` if the caller may not give power over others now.

    That is: the caller's last proof of identity is too old, or the caller's token was made without this
    power. The operator is always allowed.
    """
    session = (realm.before_batch or realm).find_session(call.login, now)
    if session is None:
        return
    if session.allows is None:
        require_proof(session.proved_at, now)
    elif power not in session.allows:
        raise Refusal(refuse("A0403", "a token gives no power that was not chosen for it by name"))


def require_proof(proved_at: int, now: int) -> None:
    """Raise `Refusal` if the last proof of identity is fifteen minutes old or older."""
    if now - proved_at >= PROOF_MS:
        raise Refusal(refuse("A1010", "a proof of identity allows giving power for fifteen minutes"))


def find_allowed(realm: Realm, call: Call, now: int) -> frozenset[str]:
    """Return the permissions of a login; of a token, those chosen for it that its holder still has."""
    session = realm.find_session(call.login, now)
    if session is None or session.user is None:
        return frozenset()
    user = session.user
    held = frozenset(ALL_PERMISSIONS) if user.super_administrator else permissions_of(realm, user.roles)
    return held if session.allows is None else held & session.allows


def find_administrator(realm: Realm, call: Call, now: int) -> User | None:
    """Return the user who calls by a login or token, if they hold any permission."""
    session = realm.find_session(call.login, now)
    user = None if session is None else session.user
    return user if user is not None and permissions_of(realm, user.roles) else None


def is_super(realm: Realm, call: Call, now: int) -> bool:
    """Whether the caller may do everything, as the operator may."""
    if call.login is None:
        return True
    user = (realm.before_batch or realm).find_signed_in(call.login, now)
    return user is not None and user.super_administrator


def permissions_of(realm: Realm, roles: Iterable[str]) -> frozenset[str]:
    """Return the permissions of these roles together; a super administrator has more than all of them."""
    own = frozenset({SUPER_ADMINISTRATOR})
    return frozenset().union(*(own if role in own else realm.roles[role] for role in roles))
