"""What must be answered to administrators."""

from fuzz.calls import Answer, Call, Said
from fuzz.model.realm import Realm
from fuzz.model.records import BUILT_IN, DONE, NOT_SIGNED_IN, Client, User, Verdict, known, refused


def barred(realm: Realm, call: Call, now: int) -> Verdict | None:
    """Why a caller may not administer; the operator, who has no login, may."""
    if call.login is None:
        return None
    user = realm.signed_in(call.login, now)
    if user is None:
        return NOT_SIGNED_IN
    if user.must_change_password:
        return refused("A1004", "the signed-in account must change its password first")
    if not user.super_administrator:
        return refused("A0403", "no permission")
    return None


def target(realm: Realm, call: Call, now: int) -> User | Verdict:
    bar = barred(realm, call, now)
    if bar is not None:
        return bar
    user = realm.users.get(call.user_id or "")
    if user is None or user.deleted:
        return refused("A0404", "no such user")
    return user


def is_last_administrator(realm: Realm, user: User) -> bool:
    able = [one for one in realm.users.values() if one.super_administrator and one.enabled]
    return able == [user]


def register_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    bar = barred(realm, call, now)
    if bar is not None:
        return bar
    if any(one.username == call.username and not one.deleted for one in realm.users.values()):
        return refused("A0409", "uniqueness conflict")
    user_id = given.sub or ""
    if user_id in realm.users:
        return refused("A0409", "a user id is never used twice")
    realm.users[user_id] = User(user_id, call.username or "", call.password or "")
    return Verdict(Answer(said=Said.USER, sub=user_id, username=call.username), "a new account")


def enable_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = target(realm, call, now)
    if isinstance(user, Verdict):
        return user
    user.enabled = True
    return Verdict(known(user), "enabling brings nothing back")


def disable_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = target(realm, call, now)
    if isinstance(user, Verdict):
        return user
    if is_last_administrator(realm, user):
        return refused("B1001", "the last super administrator stays")
    if user.enabled:
        user.enabled = False
        realm.end_all_of(user)
    return Verdict(known(user), "user is disabled: all OAuth sessions end")


def delete_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = target(realm, call, now)
    if isinstance(user, Verdict):
        return user
    if is_last_administrator(realm, user):
        return refused("B1001", "the last super administrator stays")
    user.deleted, user.enabled = True, False
    realm.end_all_of(user)
    return Verdict(DONE, "user is deleted: all OAuth sessions end")


def reset_password(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = target(realm, call, now)
    if isinstance(user, Verdict):
        return user
    user.password = call.new_password or ""
    user.must_change_password = True
    user.failures = 0
    realm.end_all_of(user)
    return Verdict(DONE, "password reset by administrator: all OAuth sessions end")


def force_out_user(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user = target(realm, call, now)
    if isinstance(user, Verdict):
        return user
    realm.end_all_of(user)
    return Verdict(DONE, "user is force-logged-out: all OAuth sessions end")


def end_session(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    bar = barred(realm, call, now)
    if bar is not None:
        return bar
    session = next((one for one in realm.sessions if one.session_id == call.session_id), None)
    if session is None or session.ended or now >= session.until:
        return refused("A0404", "no such running session")
    session.ended = True
    return Verdict(DONE, "administrator force-logs-out one session: it ends")


def register_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    bar = barred(realm, call, now)
    if bar is not None:
        return bar
    client_id = call.client_id or ""
    if client_id in BUILT_IN or client_id in realm.clients:
        return refused("A0409", "a client identifier is never given out again")
    realm.clients[client_id] = Client(
        client_id=client_id,
        secret=realm.new(given.secret),
        redirect_uris=call.redirect_uris or (),
        grants=call.grants or (),
        scopes=call.scopes or (),
        automatic=call.automatic or (),
        access_seconds=call.access_seconds or 1_800,
        refresh_seconds=call.refresh_seconds or 604_800,
    )
    secret = realm.clients[client_id].secret
    return Verdict(Answer(said=Said.SECRET, client_id=client_id, secret=secret), "a new client")


def target_client(realm: Realm, call: Call, now: int) -> Client | Verdict:
    bar = barred(realm, call, now)
    if bar is not None:
        return bar
    if call.client_id in BUILT_IN:
        return refused("B4010", "a built-in client is protected")
    client = realm.clients.get(call.client_id or "")
    if client is None or client.deleted:
        return refused("A0404", "no such client")
    return client


def change_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = target_client(realm, call, now)
    if isinstance(client, Verdict):
        return client
    client.redirect_uris = client.redirect_uris if call.redirect_uris is None else call.redirect_uris
    client.grants = client.grants if call.grants is None else call.grants
    client.scopes = client.scopes if call.scopes is None else call.scopes
    client.automatic = client.automatic if call.automatic is None else call.automatic
    client.access_seconds = call.access_seconds or client.access_seconds
    client.refresh_seconds = call.refresh_seconds or client.refresh_seconds
    return Verdict(Answer(said=Said.DONE, client_id=client.client_id), "a client is changed")


def enable_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = target_client(realm, call, now)
    if isinstance(client, Verdict):
        return client
    client.enabled = True
    answer = Answer(said=Said.DONE, client_id=client.client_id)
    return Verdict(answer, "enabling a client brings nothing back")


def disable_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = target_client(realm, call, now)
    if isinstance(client, Verdict):
        return client
    if client.enabled:
        client.enabled = False
        realm.end_all_of_client(client)
    return Verdict(
        Answer(said=Said.DONE, client_id=client.client_id), "client disabled: all its sessions end"
    )


def delete_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = target_client(realm, call, now)
    if isinstance(client, Verdict):
        return client
    client.deleted = True
    realm.end_all_of_client(client)
    return Verdict(DONE, "client deleted: all its sessions end")


def reset_secret(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = target_client(realm, call, now)
    if isinstance(client, Verdict):
        return client
    client.secret = realm.new(given.secret)
    answer = Answer(said=Said.SECRET, client_id=client.client_id, secret=client.secret)
    return Verdict(answer, "client secret reset: issued tokens are unaffected")


def sweep(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    return Verdict(DONE, "housekeeping changes no answer")
