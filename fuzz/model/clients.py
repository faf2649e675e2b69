"""What must be answered to administrators of clients."""

from fuzz.model.permissions import require_permission
from fuzz.model.realm import Realm
from fuzz.model.records import BUILT_IN, DONE, SECOND_MS, Client, Refusal, Verdict, refused
from fuzz.shared.calls import Answer, AnswerKind, Call


def register_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    require_permission(realm, call, now)
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
    return Verdict(Answer(kind=AnswerKind.SECRET, client_id=client_id, secret=secret), "a new client")


def shown(client: Client) -> Answer:
    """A client as an administrator is shown it."""
    return Answer(kind=AnswerKind.DONE, client_id=client.client_id)


def find_client(realm: Realm, call: Call, now: int) -> Client:
    require_permission(realm, call, now)
    if call.client_id in BUILT_IN:
        raise Refusal(refused("B4010", "a built-in client is protected"))
    client = realm.clients.get(call.client_id or "")
    if client is None or client.deleted:
        raise Refusal(refused("A0404", "no such client"))
    return client


def change_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    client.redirect_uris = client.redirect_uris if call.redirect_uris is None else call.redirect_uris
    client.grants = client.grants if call.grants is None else call.grants
    client.scopes = client.scopes if call.scopes is None else call.scopes
    client.automatic = client.automatic if call.automatic is None else call.automatic
    client.access_seconds = call.access_seconds or client.access_seconds
    client.refresh_seconds = call.refresh_seconds or client.refresh_seconds
    return Verdict(shown(client), "a client is changed")


def enable_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    client.enabled = True
    return Verdict(shown(client), "enabling a client brings nothing back")


def disable_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    if client.enabled:
        client.enabled, client.old_secret = False, None
        realm.end_all_of_client(client)
    return Verdict(shown(client), "client disabled: all its sessions end")


def delete_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    client.deleted = True
    realm.end_all_of_client(client)
    return Verdict(DONE, "client deleted: all its sessions end")


def force_out_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    realm.end_all_of_client(client)
    return Verdict(shown(client), "client force-logged-out: all its sessions end, and it goes on")


def give_secret(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    if client.secret != call.secret:
        client.secret, client.old_secret = call.secret or "", None
    return Verdict(shown(client), "client secret given: issued tokens are unaffected")


def reset_secret(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    keeps = bool(call.keep_seconds)
    client.old_secret = client.secret if keeps else None
    client.old_until = now + (call.keep_seconds or 0) * SECOND_MS
    client.secret = realm.new(given.secret)
    answer = Answer(kind=AnswerKind.SECRET, client_id=client.client_id, secret=client.secret)
    if keeps:
        return Verdict(answer, "client secret reset: the old one works until its time is over")
    return Verdict(answer, "client secret reset: issued tokens are unaffected")


def end_old_secret(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    client.old_secret = None
    return Verdict(shown(client), "the old secret ends before its time")
