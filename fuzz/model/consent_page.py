"""Required answers at the consent page."""

from fuzz.model.realm import Realm
from fuzz.model.records import BASE64URL, DONE, Client, Code, Refusal, User, Verdict, refuse
from fuzz.shared.calls import Answer, AnswerKind, Call

Asked = tuple[User, Client, frozenset[str]]
"""The user of a request, the client, and the requested scope."""


def offer_scope(client: Client, scope: frozenset[str], ask: bool) -> Answer:
    """Return the answer that the consent page is built from."""
    return Answer(AnswerKind.OFFERED, client_id=client.client_id, scope=tuple(sorted(scope)), ask=ask)


def make_redirect(redirect_uri: str, result: str, state: str | None) -> str:
    """Return the redirect address: the registered URI with its own query first, then the result."""
    joint = "&" if "?" in redirect_uri else "?"
    return f"{redirect_uri}{joint}{result}" + (f"&state={state}" if state is not None else "")


def check_request(realm: Realm, call: Call, now: int) -> Asked:
    user = realm.require_login(call, now)
    challenge = call.challenge or ""
    is_s256 = call.method == "S256" and len(challenge) == 43 and BASE64URL.issuperset(challenge)
    if call.garbled or not call.redirect_uri or not is_s256:
        raise Refusal(refuse("A0401", "malformed parameters"))
    client = realm.clients.get(call.client_id or "")
    is_absent = client is None or client.deleted or not client.enabled
    if client is None or is_absent or "authorization_code" not in client.settings.grants:
        raise Refusal(refuse("B4001", "client unknown, disabled, built-in or without the grant"))
    if call.redirect_uri not in client.settings.redirect_uris:
        raise Refusal(refuse("B4001", "redirect_uri is not exactly one of the registered addresses"))
    if call.response_type != "code":
        raise Refusal(refuse("B4002", "response_type is not code"))
    scope = frozenset(client.settings.scopes if call.scope is None else call.scope)
    if not scope or not scope.issubset(client.settings.scopes):
        raise Refusal(refuse("B4002", "scope empty or outside the client's scopes"))
    return user, client, scope


def must_ask(user: User, client: Client, scope: frozenset[str]) -> bool:
    return not scope <= user.consents.get(client.client_id, frozenset()).union(client.settings.automatic)


def check(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user, client, scope = check_request(realm, call, now)
    return Verdict(offer_scope(client, scope, must_ask(user, client, scope)), "the request is in order")


def approve(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user, client, scope = check_request(realm, call, now)
    if must_ask(user, client, scope):
        user.consents[client.client_id] = user.consents.get(client.client_id, frozenset()) | scope
    return issue_code(realm, call, (user, client, scope), now, given, "user approves")


def recall(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    user, client, scope = check_request(realm, call, now)
    if must_ask(user, client, scope):
        return Verdict(offer_scope(client, scope, ask=True), "the user must be asked")
    clause = "auto-approved or remembered: no question"
    return issue_code(realm, call, (user, client, scope), now, given, clause)


def issue_code(realm: Realm, call: Call, asked: Asked, now: int, given: Answer, clause: str) -> Verdict:
    user, client, scope = asked
    user.lets_in.add(client.client_id)
    text = realm.new(given.code)
    realm.codes[text] = Code(client, user, call.redirect_uri or "", call.challenge or "", scope, now)
    redirect = make_redirect(call.redirect_uri or "", "code=CODE", call.state)
    return Verdict(Answer(AnswerKind.CODE, code=text, redirect=redirect), clause)


def deny(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    check_request(realm, call, now)
    redirect = make_redirect(call.redirect_uri or "", "error=access_denied", call.state)
    return Verdict(Answer(AnswerKind.DENIED, redirect=redirect), "user denies")


def withdraw(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    return withdraw_from(realm, realm.require_login(call, now), call)


def withdraw_from(realm: Realm, user: User, call: Call) -> Verdict:
    client = realm.clients.get(call.client_id or "")
    if client is None or client.client_id not in user.lets_in:
        return refuse("A0404", "no such client, or the user gave it no consent")
    user.lets_in.remove(client.client_id)
    user.consents[client.client_id] = frozenset()
    realm.end(session for session in realm.sessions if session.user is user and session.client is client)
    realm.void(code for code in realm.codes.values() if code.user is user and code.client is client)
    return Verdict(DONE, "withdrawing ends the client's sessions of this user")
