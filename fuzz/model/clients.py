"""Required answers to administrators of clients."""

from dataclasses import replace

from fuzz.model.permissions import SEES_CLIENTS, require_import, require_permission
from fuzz.model.realm import Realm
from fuzz.model.records import BUILT_IN, DONE, SECOND_MS, Client, Refusal, Verdict, refuse, require_fields
from fuzz.shared.calls import Answer, AnswerKind, Call, Verb
from fuzz.shared.initial_states import CLIENT_FIELDS, WRONG_AT_ONCE, ClientSettings
from fuzz.shared.odd_fields import faults_of, is_odd


def register_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    require_permission(realm, call, now)
    require_fields(call)
    client_id = call.client_id or ""
    if client_id in BUILT_IN or client_id in realm.clients:
        return refuse("A0409", "a client identifier is never given out again")
    secret = realm.new(given.secret)
    realm.clients[client_id] = Client(client_id, secret, ClientSettings(**call.settings))
    return Verdict(Answer(AnswerKind.SECRET, client_id=client_id, secret=secret), "a new client")


def answer_of_client(client: Client) -> Answer:
    """Return the answer that shows a client to an administrator."""
    return Answer(AnswerKind.DONE, client_id=client.client_id)


def find_client(realm: Realm, call: Call, now: int) -> Client:
    require_permission(realm, call, now)
    if call.client_id in BUILT_IN:
        raise Refusal(refuse("B4010", "a built-in client is protected"))
    client = realm.clients.get(call.client_id or "")
    if client is None or client.deleted:
        raise Refusal(refuse("A0404", "no such client"))
    return client


def import_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    made = call._replace(verb=Verb.REGISTER_CLIENT)
    client = realm.clients.get(call.client_id or "")
    is_there = call.client_id in BUILT_IN or (client is not None and not client.deleted)
    if not call.replaces or not is_there or is_odd(call, "clientId"):
        return register_client(realm, made, now, given)
    changed = call._replace(verb=Verb.CHANGE_CLIENT)
    require_import(realm, made, changed, now)
    fields = {} if client is None else settings_of(client, call)
    is_same = all(sent is None or sent == stands for stands, sent in fields.values())
    if client is not None and is_same and not faults_of(changed):
        return Verdict(DONE, "an import that equals the record changes nothing")
    return change_client(realm, changed, now, given)


def settings_of(client: Client, call: Call) -> dict[str, tuple[object, object]]:
    """Return for each field its stored value and the value that the call sends."""
    settings = client.settings
    return {field: (getattr(settings, name), getattr(call, name)) for name, field in CLIENT_FIELDS.items()}


def change_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    require_fields(call, **settings_of(client, call))
    if call.seen == "as-sent":
        return Verdict(answer_of_client(client), "a request with the values as shown changes nothing")
    client.settings = replace(client.settings, **call.settings)
    return Verdict(answer_of_client(client), "a client is changed")


def enable_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    client.enabled = True
    return Verdict(answer_of_client(client), "enabling a client brings nothing back")


def disable_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    if client.enabled:
        client.enabled, client.old_secret, client.old_used_at = False, None, None
        realm.end_all_of_client(client)
    return Verdict(answer_of_client(client), "client disabled: all its sessions end")


def delete_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    client.deleted = True
    realm.end_all_of_client(client)
    return Verdict(DONE, "client deleted: all its sessions end")


def force_out_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    realm.end_all_of_client(client)
    return Verdict(answer_of_client(client), "client force-logged-out: all its sessions end, and it goes on")


def show_client(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    require_permission(realm, call, now, *SEES_CLIENTS)
    client = realm.clients.get(call.client_id or "")
    if call.client_id in BUILT_IN:
        noted: tuple[int | None, ...] = (None, None, 0, None)
    elif client is None or client.deleted:
        return refuse("A0404", "no such client")
    else:
        noted = (client.used_at, client.old_used_at, client.wrong, client.wrong_at)
    answer = Answer(AnswerKind.DONE, client_id=call.client_id, noted=noted)
    return Verdict(answer, "a client is shown, with the uses of its secrets")


def note_secret_use(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client, at = realm.clients.get(call.client_id or ""), now - call.waited_ms
    if client is not None and not client.deleted:
        if call.secret == client.secret:
            client.used_at = at if is_minute_later(at, client.used_at) else client.used_at
        elif call.secret == client.old_secret:
            client.old_used_at = at if is_minute_later(at, client.old_used_at) else client.old_used_at
    return Verdict(DONE, "when a secret was used is noted, to the minute")


def is_minute_later(at: int, noted: int | None) -> bool:
    return noted is None or at - noted >= 60 * SECOND_MS


def count_wrong_secrets(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client, at = realm.clients.get(call.client_id or ""), now - call.waited_ms
    if client is not None and not client.deleted:
        client.wrong += WRONG_AT_ONCE
        client.wrong_at = max(at, client.wrong_at or at)
    return Verdict(DONE, "wrong secrets are counted, and no caller is refused for them")


def set_secret(client: Client, secret: str, now: int, keep_seconds: int = 0) -> None:
    replaces_unused = client.used_at is None and client.old_secret is not None and now < client.old_until
    until = now + keep_seconds * SECOND_MS
    if not replaces_unused:
        client.old_secret, client.old_used_at = client.secret, client.used_at
        client.last_until = client.secret_until
    # An old secret never works past the end of its last day, even if a reset keeps it again.
    client.old_until = int(min(until, client.last_until))
    if client.old_until <= now:
        client.old_secret = client.old_used_at = None
    client.secret, client.used_at, client.wrong, client.wrong_at = secret, None, 0, None
    client.settings = replace(client.settings, expires_on="")


def give_secret(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    if client.secret != call.secret:
        set_secret(client, call.secret or "", now)
    return Verdict(answer_of_client(client), "client secret given: issued tokens are unaffected")


def reset_secret(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    require_fields(call)
    keeps = bool(call.keep_seconds)
    set_secret(client, realm.new(given.secret), now, call.keep_seconds or 0)
    answer = Answer(AnswerKind.SECRET, client_id=client.client_id, secret=client.secret)
    if keeps:
        return Verdict(answer, "client secret reset: the old one works until its time is over")
    return Verdict(answer, "client secret reset: issued tokens are unaffected")


def end_old_secret(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = find_client(realm, call, now)
    if now < client.old_until:
        client.old_secret = client.old_used_at = None
    return Verdict(answer_of_client(client), "the old secret ends before its time")
