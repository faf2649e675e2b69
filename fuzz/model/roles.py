"""What must be answered to administrators of roles."""

from fuzz.model.permissions import barred, lacks
from fuzz.model.realm import Realm
from fuzz.model.records import DONE, SUPER_ADMINISTRATOR, Verdict, refused
from fuzz.shared.calls import Answer, Call, Said


def role_known(permissions: frozenset[str], clause: str) -> Verdict:
    return Verdict(Answer(said=Said.ROLE, permissions=tuple(sorted(permissions))), clause)


def register_role(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    bar = barred(realm, call, now)
    if bar is not None:
        return bar
    permissions = frozenset(call.permissions or ())
    if lacks(realm, call, now, permissions):
        return refused("A0403", "nobody puts more into a role than they hold")
    role_id = call.role_id or ""
    if role_id in realm.roles or role_id == SUPER_ADMINISTRATOR:
        return refused("A0409", "uniqueness conflict")
    realm.roles[role_id] = permissions
    return role_known(permissions, "a new role")


def target_role(realm: Realm, call: Call, now: int) -> str | Verdict:
    bar = barred(realm, call, now)
    if bar is not None:
        return bar
    if call.role_id == SUPER_ADMINISTRATOR:
        return refused("B1002", "the built-in role cannot be changed")
    if call.role_id is None or call.role_id not in realm.roles:
        return refused("A0404", "no such role")
    return call.role_id


def change_role(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    role_id = target_role(realm, call, now)
    if isinstance(role_id, Verdict):
        return role_id
    permissions = frozenset(call.permissions or ())
    if lacks(realm, call, now, permissions | realm.roles[role_id]):
        return refused("A0403", "nobody puts more into a role than they hold")
    realm.roles[role_id] = permissions
    return role_known(permissions, "a role is changed: whoever holds it may do so at once")


def delete_role(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    role_id = target_role(realm, call, now)
    if isinstance(role_id, Verdict):
        return role_id
    if any(role_id in user.roles and not user.deleted for user in realm.users.values()):
        return refused("A0409", "a role that somebody holds is still referenced")
    del realm.roles[role_id]
    return Verdict(DONE, "a role is deleted, and its code is free again")
