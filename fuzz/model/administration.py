"""Required answers to administrators of accounts and sessions."""

from fuzz.model.consent_page import withdraw_from
from fuzz.model.permissions import (
    CREDENTIALS,
    ROLES,
    is_super,
    permissions_of,
    require_import,
    require_permission,
    require_power,
    require_reach,
    require_reach_of,
)
from fuzz.model.realm import Realm
from fuzz.model.records import DONE, SUPER_ADMINISTRATOR, Refusal, User, Verdict, refuse, require_fields
from fuzz.shared.calls import Answer, AnswerKind, Call, Verb
from fuzz.shared.initial_states import KNOWN_WARNINGS
from fuzz.shared.odd_fields import faults_of, is_odd, read_sent


def answer_of_user(user: User) -> Answer:
    """Return the answer that shows an account to an administrator."""
    return Answer(AnswerKind.USER, sub=user.user_id, username=user.username)


def find_user(realm: Realm, call: Call, now: int) -> User:
    require_permission(realm, call, now)
    user = realm.users.get(call.user_id or "")
    if user is None or user.deleted:
        raise Refusal(refuse("A0404", "no such user"))
    require_reach_of(realm, call, now, user, "an account with more permissions is out of reach")
    return user


def find_another(realm: Realm, call: Call, now: int) -> User:
    user = find_user(realm, call, now)
    if is_caller(realm, call, now, user):
        raise Refusal(refuse("B1003", "administrators change their own password only on their own account"))
    return user


def is_caller(realm: Realm, call: Call, now: int, user: User) -> bool:
    signed_in = (realm.before_batch or realm).find_signed_in(call.login, now)
    return signed_in is not None and signed_in.user_id == user.user_id


def find_able_administrators(realm: Realm) -> list[User]:
    return [one for one in realm.users.values() if one.super_administrator and one.enabled]


def is_last_administrator(realm: Realm, user: User) -> bool:
    """Whether this is the only enabled super administrator; False in a batch, which is judged at its end."""
    return realm.before_batch is None and find_able_administrators(realm) == [user]


def require_roles(realm: Realm, roles: tuple[str, ...]) -> None:
    """Raise `Refusal` if one of these roles does not exist."""
    known = {*realm.roles, SUPER_ADMINISTRATOR}
    unknown = [f"roleIds.{place}" for place, role in enumerate(roles) if role not in known]
    if unknown:
        raise Refusal(refuse("A0401", "no such role", *unknown))


def create_administrator(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    if any(user.super_administrator for user in realm.users.values()):
        return refuse("A0409", "there is a super administrator already")
    if " " in (call.username or ""):
        return refuse("A0401", "no user name", "username")
    if any(one.username == call.username and not one.deleted for one in realm.users.values()):
        return refuse("A0409", "uniqueness conflict")
    user_id = given.sub or ""
    first = User(user_id, call.username or "", call.password or "", roles=frozenset({SUPER_ADMINISTRATOR}))
    realm.users[user_id] = first
    return Verdict(answer_of_user(first), "the first administrator")


def register_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    require_permission(realm, call, now)
    require_fields(call)
    require_roles(realm, call.roles or ())
    roles = frozenset(call.roles or ())
    require_reach(realm, call, now, permissions_of(realm, roles), "callers give only permissions they have")
    if any(one.username == call.username and not one.deleted for one in realm.users.values()):
        return refuse("A0409", "uniqueness conflict")
    user_id = given.sub or f"(nobody was told, {len(realm.users)})"
    if user_id in realm.users:
        return refuse("A0409", "a user id is never used twice")
    if roles:
        require_power(realm, call, now, ROLES)
    user = realm.users[user_id] = User(user_id, call.username or "", call.password or "", roles=roles)
    user.must_change_password, user.locale = bool(call.must_change), read_sent(call, "locale", None)
    return Verdict(Answer(AnswerKind.USER, sub=user_id, username=call.username), "a new account")


def import_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    made = call._replace(verb=Verb.REGISTER_USER)
    stored = (one for one in realm.users.values() if one.username == call.username and not one.deleted)
    user = next(stored, None) if call.replaces and not is_odd(call, "username") else None
    if user is None:
        return register_user(realm, made, now, given)
    changed = call._replace(verb=Verb.CHANGE_USER, user_id=user.user_id)
    require_import(realm, made, changed, now)
    # An import does not replace the password of an existing account.
    name = user.name if is_odd(call, "name") else user.username
    is_same = user.name == name and frozenset(call.roles or user.roles) == user.roles
    if is_same and not faults_of(changed):
        return Verdict(DONE, "an import that equals the record changes nothing")
    verdict = change_user(realm, changed, now, given)
    if verdict.answer.kind is AnswerKind.USER:
        user.name = name
    return verdict


def change_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = find_user(realm, call, now)
    if call.moves is not None and call.roles is None:
        moved = frozenset({call.role_id or ""})
        roles = user.roles | moved if call.moves == "give" else user.roles - moved
        verdict = change_user(realm, call._replace(roles=tuple(sorted(roles)), moves=None), now, given)
        return verdict._replace(answer=DONE) if verdict.answer.kind is AnswerKind.USER else verdict
    require_fields(
        call,
        username=(user.username, call.new_username),
        phone=(user.phone or "", call.phone),
        mustChangePassword=(user.must_change_password, call.must_change),
        roleIds=(user.roles, None if call.roles is None else frozenset(call.roles)),
    )
    if call.seen == "as-sent":
        return Verdict(answer_of_user(user), "a request with the values as shown changes nothing")
    require_roles(realm, call.roles or ())
    roles = user.roles if call.roles is None else frozenset(call.roles)
    moved = roles ^ user.roles
    require_reach(realm, call, now, permissions_of(realm, moved), "callers give only permissions they have")
    if SUPER_ADMINISTRATOR in moved and is_last_administrator(realm, user):
        return refuse("B1001", "the last super administrator stays")
    username = user.username if is_odd(call, "username") else call.new_username or user.username
    phone = user.phone if call.phone is None else call.phone or None
    if phone != user.phone and is_caller(realm, call, now, user):
        return refuse("B1003", "administrators change their own number only on their own account", "phone")
    others = [one for one in realm.users.values() if one is not user and not one.deleted]
    if any(one.username == username or (phone is not None and one.phone == phone) for one in others):
        return refuse("A0409", "uniqueness conflict")
    if phone != user.phone:
        require_power(realm, call, now, CREDENTIALS)
    if not roles <= user.roles:
        require_power(realm, call, now, ROLES)
    user.username, user.roles, user.locale = username, roles, read_sent(call, "locale", user.locale)
    user.must_change_password = user.must_change_password if call.must_change is None else call.must_change
    if phone == user.phone:
        return Verdict(answer_of_user(user), "an account is changed")
    user.phone = phone
    realm.end_all_of(user)
    answer = answer_of_user(user)
    return Verdict(answer, "another telephone number by an administrator: all OAuth sessions end")


def enable_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = find_user(realm, call, now)
    user.enabled = True
    return Verdict(answer_of_user(user), "enabling brings nothing back")


def disable_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = find_user(realm, call, now)
    if is_last_administrator(realm, user):
        return refuse("B1001", "the last super administrator stays")
    if user.enabled:
        user.enabled = False
        realm.end_all_of(user)
    return Verdict(answer_of_user(user), "user is disabled: all OAuth sessions end")


def delete_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = find_user(realm, call, now)
    if is_last_administrator(realm, user):
        return refuse("B1001", "the last super administrator stays")
    user.deleted, user.enabled, user.factor = True, False, None
    realm.end_all_of(user)
    return Verdict(DONE, "user is deleted: all OAuth sessions end")


def reset_password(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = find_another(realm, call, now)
    require_power(realm, call, now, CREDENTIALS)
    user.password = call.new_password or ""
    user.must_change_password = True
    realm.end_all_of(user)
    return Verdict(DONE, "password reset by administrator: all OAuth sessions end")


def force_out_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    realm.end_all_of(find_user(realm, call, now))
    return Verdict(DONE, "user is force-logged-out: all OAuth sessions end")


def unlock_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = find_another(realm, call, now)
    if user.factor is not None:
        user.factor.wrong_at = []
    return Verdict(DONE, "failed sign-ins and wrong codes are forgiven")


def withdraw_for(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    return withdraw_from(realm, find_user(realm, call, now), call)


def force_out_all(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    if call.login is not None and not realm.require_login(call, now).super_administrator:
        return refuse("A0403", "only a super administrator signs all users out")
    realm.end(realm.sessions)
    realm.void(realm.codes.values())
    realm.void(realm.text_codes.values())
    realm.void(realm.invitations)
    realm.void(realm.tickets.values())
    return Verdict(DONE, "all users are force-logged-out: every session ends")


def end_session(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    require_permission(realm, call, now)
    session = next((one for one in realm.sessions if one.session_id == call.session_id), None)
    if session is None or session.ended or now >= session.until:
        return refuse("A0404", "no such running session")
    if session.user is None and not is_super(realm, call, now):
        return refuse("A0404", "client-credentials sessions are a super administrator's to see")
    if session.client is None and session.user is not None:
        require_reach_of(realm, call, now, session.user, "a login with more permissions is out of reach")
    session.ended = True
    return Verdict(DONE, "administrator force-logs-out one session: it ends")


def acknowledge(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    require_permission(realm, call, now)
    if call.choice not in KNOWN_WARNINGS:
        return refuse("A0401", "a warning begins with the name of its kind", "warning")
    return Verdict(DONE, "a caller who may see the overview acknowledges a warning: the trail records it")


def sweep(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    return Verdict(DONE, "the sweeper changes no answer")
