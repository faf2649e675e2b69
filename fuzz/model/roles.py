"""Required answers to administrators of roles."""

from fuzz.model.permissions import ROLES, require_import, require_permission, require_power, require_reach
from fuzz.model.realm import Realm
from fuzz.model.records import DONE, STILL_HELD, SUPER_ADMINISTRATOR, Refusal, Verdict, refuse, require_fields
from fuzz.shared.calls import Answer, AnswerKind, Call, Verb
from fuzz.shared.odd_fields import faults_of, is_odd


def role_known(permissions: frozenset[str], clause: str) -> Verdict:
    return Verdict(Answer(AnswerKind.ROLE, permissions=tuple(sorted(permissions))), clause)


def register_role(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    require_permission(realm, call, now)
    require_fields(call)
    permissions = frozenset(call.permissions or ())
    require_reach(realm, call, now, permissions, "callers put only permissions they have into a role")
    role_id = call.role_id or ""
    if role_id in realm.roles or role_id == SUPER_ADMINISTRATOR:
        return refuse("A0409", "uniqueness conflict")
    realm.roles[role_id] = permissions
    return role_known(permissions, "a new role")


def find_role(realm: Realm, call: Call, now: int) -> str:
    require_permission(realm, call, now)
    if call.role_id == SUPER_ADMINISTRATOR:
        raise Refusal(refuse("B1002", "the built-in role cannot be changed"))
    if call.role_id is None or call.role_id not in realm.roles:
        raise Refusal(refuse("A0404", "no such role"))
    return call.role_id


def change_role(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    role_id = find_role(realm, call, now)
    permissions = frozenset(call.permissions or ())
    require_fields(call, permissions=(realm.roles[role_id], permissions))
    if call.seen == "as-sent":
        permissions = realm.roles[role_id]
    concerned = permissions | realm.roles[role_id]
    require_reach(realm, call, now, concerned, "callers put only permissions they have into a role")
    if permissions != realm.roles[role_id]:
        require_power(realm, call, now, ROLES)
    realm.roles[role_id] = permissions
    return role_known(permissions, "a role is changed: its holders have the new permissions at once")


def import_role(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    made = call._replace(verb=Verb.REGISTER_ROLE)
    stands = realm.roles.get(call.role_id or "")
    if not call.replaces or stands is None or is_odd(call, "code"):
        return register_role(realm, made, now, given)
    changed = call._replace(verb=Verb.CHANGE_ROLE)
    require_import(realm, made, changed, now)
    if stands == frozenset(call.permissions or ()) and not faults_of(changed):
        return Verdict(DONE, "an import that equals the record changes nothing")
    return change_role(realm, changed, now, given)


def delete_role(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    role_id = find_role(realm, call, now)
    if any(role_id in user.roles and not user.deleted for user in realm.users.values()):
        return STILL_HELD
    del realm.roles[role_id]
    return Verdict(DONE, "a role is deleted, and its code is free again")
