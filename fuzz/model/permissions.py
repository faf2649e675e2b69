"""Who may administer what, and that nobody reaches above themselves (READINGS 40)."""

from collections.abc import Iterable, Mapping
from typing import Final

from fuzz.model.realm import Realm
from fuzz.model.records import PROOF_MS, SUPER_ADMINISTRATOR, Refusal, User, refuse
from fuzz.shared.calls import Call, Face, Verb

PERMISSION: Final[Mapping[Verb, str]] = {
    Verb.REGISTER_USER: "iam.user.create",
    Verb.CHANGE_USER: "iam.user.update",
    Verb.ENABLE_USER: "iam.user.update",
    Verb.DISABLE_USER: "iam.user.update",
    Verb.RESET_PASSWORD: "iam.user.update",
    Verb.RESET_FACTOR: "iam.user.update",
    Verb.INVITE_USER: "iam.user.update",
    Verb.FORCE_OUT_USER: "iam.user.update",
    Verb.UNLOCK_USER: "iam.user.update",
    Verb.WITHDRAW_FOR: "iam.user.update",
    Verb.DELETE_USER: "iam.user.delete",
    Verb.REGISTER_ROLE: "iam.role.create",
    Verb.CHANGE_ROLE: "iam.role.update",
    Verb.DELETE_ROLE: "iam.role.delete",
    Verb.END_SESSION: "monitor.online.kill",
    Verb.REGISTER_CLIENT: "oauth.client.create",
    Verb.CHANGE_CLIENT: "oauth.client.update",
    Verb.ENABLE_CLIENT: "oauth.client.update",
    Verb.DISABLE_CLIENT: "oauth.client.update",
    Verb.RESET_SECRET: "oauth.client.update",
    Verb.GIVE_SECRET: "oauth.client.update",
    Verb.FORCE_OUT_CLIENT: "oauth.client.update",
    Verb.END_OLD_SECRET: "oauth.client.update",
    Verb.DELETE_CLIENT: "oauth.client.delete",
}
SEES_CLIENTS: Final = ("oauth.client.list", "oauth.client.update", "oauth.client.delete")
"""Each of these is enough to see a client: who may change or delete it sees what it is."""
_TO_READ: Final = ("oauth.client.list", "iam.user.list", "iam.role.list", "monitor.online.list", "audit.read")
ALL_PERMISSIONS: Final = tuple(sorted({*PERMISSION.values(), *_TO_READ}))


CREDENTIALS: Final = "iam.user.credentials"
ROLES: Final = "iam.role.assign"
POWERS: Final = frozenset({CREDENTIALS, ROLES})
"""What a token gives power over others by, where it was chosen."""


def require_permission(realm: Realm, call: Call, now: int, *permissions: str) -> None:
    """Raises `Refusal` where a caller holds none of these permissions, or not the one that the verb asks for;
    the operator, who has no login, may do everything."""
    if call.login is None:
        return
    realm = realm.before_batch or realm
    realm.require_login(call, now, by_token=True)
    enough = permissions or (PERMISSION[call.verb],)
    if find_allowed(realm, call, now).isdisjoint(enough):
        raise Refusal(refuse("A0403", "no permission"))


def require_import(realm: Realm, made: Call, changed: Call, now: int) -> None:
    """Raises `Refusal` where a caller may not change what an import brings once more; who sends a sheet must
    be one who may make such records, before the sheet is read."""
    if made.face is Face.SHEET:
        require_permission(realm, made, now)
    require_permission(realm, changed, now)


def require_reach(realm: Realm, call: Call, now: int, permissions: frozenset[str], clause: str) -> None:
    """Raises `Refusal` where any of these is one that the caller does not hold."""
    if is_super(realm, call, now):
        return
    if not permissions <= find_allowed(realm.before_batch or realm, call, now):
        raise Refusal(refuse("A0403", clause))


def require_reach_of(realm: Realm, call: Call, now: int, user: User, clause: str) -> None:
    """Raises `Refusal` where somebody may do more than the caller, or is the holder of the caller's token."""
    session = (realm.before_batch or realm).find_session(call.login, now)
    holder = None if session is None or session.allows is None else session.user
    if holder is not None and holder.user_id == user.user_id:
        raise Refusal(refuse("A0403", "a token does not act on its holder"))
    require_reach(realm, call, now, permissions_of(realm, user.roles), clause)


def require_power(realm: Realm, call: Call, now: int, power: str) -> None:
    """Raises `Refusal` where a caller may not give power now: somebody who proved who they are too long ago,
    or a token for which that was not chosen by name. The operator is not asked."""
    session = (realm.before_batch or realm).find_session(call.login, now)
    if session is None:
        return
    if session.allows is None:
        require_proof(session.proved_at, now)
    elif power not in session.allows:
        raise Refusal(refuse("A0403", "a token gives no power that was not chosen for it by name"))


def require_proof(proved_at: int, now: int) -> None:
    """Raises `Refusal` fifteen minutes after somebody proved who they are."""
    if now - proved_at >= PROOF_MS:
        raise Refusal(refuse("A1010", "who gives power proved who they are within fifteen minutes"))


def find_allowed(realm: Realm, call: Call, now: int) -> frozenset[str]:
    """What somebody with a login may do; with a token, of what was chosen what its holder may still do."""
    session = realm.find_session(call.login, now)
    if session is None or session.user is None:
        return frozenset()
    user = session.user
    held = frozenset(ALL_PERMISSIONS) if user.super_administrator else permissions_of(realm, user.roles)
    return held if session.allows is None else held & session.allows


def find_administrator(realm: Realm, call: Call, now: int) -> User | None:
    """Who calls and holds some permission, by a login or by a token."""
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
    """What these roles allow together; being a super administrator is more than every permission there is."""
    own = frozenset({SUPER_ADMINISTRATOR})
    return frozenset().union(*(own if role in own else realm.roles[role] for role in roles))
