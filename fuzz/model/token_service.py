"""Required answers at `/token`, `/introspect`, `/revoke` and user-info."""

import hashlib
from base64 import urlsafe_b64encode

from fuzz.model.realm import Realm
from fuzz.model.records import BASE64URL, DONE, SECOND_MS, Client, Code, Verdict, refuse
from fuzz.shared.calls import Answer, AnswerKind, Call

CODE_MS = 300 * SECOND_MS
VERIFIER = BASE64URL | frozenset(".~")
INACTIVE = Answer(AnswerKind.INACTIVE)
NOT_REGISTERED = refuse("unauthorized_client", "the client does not register the requested grant")


def redeem(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = realm.authenticate(call, now)
    if "authorization_code" not in client.settings.grants:
        return NOT_REGISTERED
    code = realm.codes.get(call.token or "")
    if call.token is None:
        return refuse("invalid_request", "a required parameter is missing: code")
    if call.redirect_uri is None:
        exchange_failed(realm, code, client)
        return refuse("invalid_request", "a required parameter is missing: redirect_uri")
    if code is None:
        return refuse("invalid_grant", "code wrong")
    if code.client is not client:
        exchange_failed(realm, code, client)
        return refuse("invalid_grant", "code of another client")
    if code.session is not None:
        exchange_failed(realm, code, client)
        return refuse("invalid_grant", "code already used")
    if code.void:
        return refuse("invalid_grant", "code void")
    fault = fault_of_exchange(call, code, client, now)
    if fault is not None:
        exchange_failed(realm, code, client)
        return fault
    code.session = realm.begin(client, code.user, code.scope, call, now, given)
    return Verdict(realm.answer_of_session(code.session, now), "valid code, verifier, client, redirect URI")


def exchange_failed(realm: Realm, code: Code | None, client: Client) -> None:
    """Void the code of a failed exchange; a used code stays used and may end its session, by the setting."""
    if code is None:
        return
    if code.session is None:
        code.void = True
    elif realm.settings.code_replay_ends_session and code.client is client:
        code.session.ended = True


def fault_of_exchange(call: Call, code: Code, client: Client, now: int) -> Verdict | None:
    if now - code.issued_at >= CODE_MS:
        return refuse("invalid_grant", "300 seconds elapsed")
    if call.redirect_uri != code.redirect_uri:
        return refuse("invalid_request", "redirect_uri different from the authorization request")
    if call.verifier is None:
        return refuse("invalid_grant", "code_verifier missing")
    if not 43 <= len(call.verifier) <= 128 or not VERIFIER.issuperset(call.verifier):
        return refuse("invalid_grant", "code_verifier wrong")
    digest = hashlib.sha256(call.verifier.encode()).digest()
    if urlsafe_b64encode(digest).decode().rstrip("=") != code.challenge:
        return refuse("invalid_grant", "code_verifier wrong")
    if code.redirect_uri not in client.settings.redirect_uris:
        return refuse("invalid_grant", "the client no longer registers the redirect URI")
    if not code.scope.issubset(client.settings.scopes):
        return refuse("invalid_scope", "the scope in the code is no longer registered")
    return None


def refresh(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    """Judge the client and the owner of the token; `Realm.refresh` judges the rest."""
    client = realm.authenticate(call, now)
    if "refresh_token" not in client.settings.grants:
        return NOT_REGISTERED
    if call.token is None:
        return refuse("invalid_request", "a required parameter is missing: refresh_token")
    held = realm.tokens.get(call.token)
    if held is None or held.is_access or held.session.client is None:
        return refuse("invalid_grant", "refresh token invalid")
    if held.session.client is not client:
        return refuse("invalid_grant", "refresh token of another client: the session is unaffected")
    return realm.refresh(held, call, now, given)


def client_credentials(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = realm.authenticate(call, now)
    if "client_credentials" not in client.settings.grants:
        return NOT_REGISTERED
    if not client.settings.scopes:
        return refuse("invalid_scope", "the client has no registered scope")
    wanted = frozenset(call.scope or client.settings.scopes)
    if not wanted.issubset(client.settings.scopes):
        return refuse("invalid_scope", "client_credentials scope beyond the registered ones")
    session = realm.begin(client, None, wanted, call, now, given)
    return Verdict(realm.answer_of_session(session, now), "client_credentials: no refresh token, no user")


def introspect(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = realm.authenticate(call, now)
    if call.token is None:
        return refuse("invalid_request", "token missing at introspect")
    held = realm.tokens.get(call.token)
    if held is None or held.session.client is None:
        return Verdict(INACTIVE, "a non-existent token or one of a backend login session is inactive")
    if held.session.client is not client:
        return Verdict(INACTIVE, "a token of another client is inactive")
    if not realm.live(held, now):
        return Verdict(INACTIVE, "an expired, spent or revoked token is inactive")
    session, pair = held.session, held.session.pairs[held.generation]
    active = Answer(
        AnswerKind.ACTIVE,
        client_id=client.client_id,
        scope=tuple(sorted(pair.scope if held.is_access else session.scope)),
        bearer=held.is_access,
        exp=(pair.access_until if held.is_access else session.until) // SECOND_MS,
        sub=session.user.user_id if session.user else None,
        username=session.user.username if session.user else None,
    )
    return Verdict(active, "a still-valid token issued to the calling client is active")


def revoke(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    client = realm.authenticate(call, now)
    if call.token is None:
        return refuse("invalid_request", "token missing at revoke")
    held = realm.tokens.get(call.token)
    if held is None or held.session.client is not client:
        return Verdict(DONE, "a non-existent token or one of another client: 200, nothing changes")
    if held.is_access and held.generation < len(held.session.pairs) - 1:
        return Verdict(DONE, "a spent access token is forgotten: 200, nothing changes")
    held.session.ended = True
    return Verdict(DONE, "revoke: the whole session ends")


def user_info(realm: Realm, call: Call, now: int, given: Answer) -> Verdict:
    held = realm.tokens.get(call.token or "")
    if held is None or not held.is_access or not realm.live(held, now):
        return refuse("A1001", "user-info: token invalid, expired or revoked")
    session = held.session
    if session.user is None:
        return refuse("B4003", "user-info: the token came from client_credentials")
    if session.client is not None and "user.read" not in session.pairs[held.generation].scope:
        return refuse("A0430", "user-info: the token lacks user.read")
    user = session.user
    fields = (user.name, user.picture, user.locale)
    profile = Answer(AnswerKind.PROFILE, sub=user.user_id, username=user.username, profile=fields)
    return Verdict(profile, "user-info: the profile")
