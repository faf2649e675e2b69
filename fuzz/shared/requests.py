"""Translate calls into HTTP requests."""

from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from fuzz.shared.calls import AT_THE_CONSENT_PAGE, AT_THE_TOKEN_SERVICE, Call, Face, Verb, moves_roles
from fuzz.shared.http_client import Fields, Request, basic, form_request, json_request
from fuzz.shared.initial_states import CHOICES, NUMBERS
from fuzz.shared.routes import ROUTES, SENT, fill_path
from fuzz.shared.sheets import import_request


def request_of(call: Call, *, by_form: bool) -> Request:
    """Return the request that makes `call`; clients authenticate by Basic or by form fields."""
    if call.face is Face.SHEET:
        request = import_request(call)
    elif call.verb in AT_THE_TOKEN_SERVICE:
        request = _at_the_token_service(call, by_form=by_form)
    elif call.verb in AT_THE_CONSENT_PAGE:
        request = _at_the_consent_page(call)
    else:
        request = _of_the_backend(call)
    return replace(request, fields=[*request.fields, *user_agent_fields(call)])


def user_agent_fields(call: Call) -> Fields:
    """Return the caller's User-Agent field, if the caller sends one."""
    return [] if call.user_agent is None else [("User-Agent", call.user_agent)]


def authorization_parameters(call: Call) -> dict[str, str]:
    """Return the parameters of an authorization request, without those that the call leaves out."""
    parameters = {
        "response_type": call.response_type,
        "client_id": call.client_id,
        "redirect_uri": call.redirect_uri,
        "code_challenge": call.challenge,
        "code_challenge_method": call.method,
        "scope": _join_scope(call.scope),
        "state": call.state,
    }
    return {name: value for name, value in parameters.items() if value is not None}


def with_cookies_of_https(request: Request) -> Request:
    """Return the request with its cookies named as over https."""
    fields = [
        (name, value.replace("ostiary_", "__Host-ostiary_") if name == "Cookie" else value)
        for name, value in request.fields
    ]
    return replace(request, fields=fields)


def _at_the_token_service(call: Call, *, by_form: bool) -> Request:
    client_id, secret = call.client_id or "", call.secret or ""
    form: dict[str, str | None] = {}
    fields: Fields = []
    if by_form:
        form = {"client_id": client_id, "client_secret": secret}
    else:
        fields = [basic(client_id, secret)]
    path = "/api/oauth2/token"
    match call.verb:
        case Verb.REDEEM:
            form |= {"grant_type": "authorization_code", "code": call.token}
            form |= {"redirect_uri": call.redirect_uri, "code_verifier": call.verifier}
        case Verb.REFRESH:
            form |= {"grant_type": "refresh_token", "refresh_token": call.token}
            form |= {"scope": _join_scope(call.scope)}
        case Verb.CLIENT_CREDENTIALS:
            form |= {"grant_type": "client_credentials", "scope": _join_scope(call.scope)}
        case verb:
            path = f"/api/oauth2/{verb.value}"
            form |= {"token": call.token}
    return form_request(path, fields, form)


def _at_the_consent_page(call: Call) -> Request:
    parameters = authorization_parameters(call)
    if call.verb is Verb.RECALL:
        cookie = [("Cookie", f"ostiary_access={call.login or ''}"), ("Accept", "text/html")]
        return Request("GET", f"/sso?{urlencode(parameters)}", cookie)
    if call.verb is Verb.CHECK:
        return json_request("GET", f"/api/oauth2/authorize?{urlencode(parameters)}", call.login)
    content = {**parameters, "approve": call.verb is Verb.APPROVE}
    return json_request("POST", "/api/oauth2/authorize", call.login, content)


def _of_the_backend(call: Call) -> Request:
    if call.verb is Verb.USER_INFO:
        return json_request("GET", "/api/oauth2/userinfo", call.token)
    if call.verb is Verb.CHOOSE and call.choice == "no-picture":
        return json_request("DELETE", "/api/auth/avatar", call.login)
    if call.verb is Verb.CHOOSE:
        field, value, _ = CHOICES[call.choice or ""]
        return json_request("PUT", f"/api/auth/{field}", call.login, {field: value})
    if moves_roles(call):
        part = call.parts[0]
        given = {"add" if part.moves == "give" else "remove": [part.role_id]}
        named = [each.user_id for each in call.parts]
        return json_request("POST", "/api/iam/users/batch-roles", call.login, {"ids": named, **given})
    if call.verb is Verb.BATCH:
        path, ids = _find_batch(call)
        return json_request("POST", path, call.login, {"ids": ids})
    method, _, path = ROUTES[call.verb][0].partition(" ")
    content = SENT[call.verb](call) if call.verb in SENT else None
    return json_request(method, f"/api/{fill_path(path, call)}", call.login, content)


_BATCHES: Final = {
    Verb.DELETE_USER: ("/api/iam/users/batch-delete", "user_id"),
    Verb.DELETE_ROLE: ("/api/iam/roles/batch-delete", "role_id"),
    Verb.DELETE_CLIENT: ("/api/oauth/clients/batch-delete", "client_id"),
    Verb.INVITE_USER: ("/api/iam/users/batch-invitation", "user_id"),
}


def _find_batch(call: Call) -> tuple[str, list[str]]:
    """Return the path of a batch, and the identifiers of its records."""
    path, name = _BATCHES[call.parts[0].verb]
    return path, [str(getattr(part, name)) for part in call.parts]


def may_be_asked(call: Call) -> bool:
    """Whether the interface offers this call."""
    match call.verb:
        case Verb.GIVE_SECRET:
            return False
        case Verb.BATCH:
            return _is_batch_of_records(call) or _is_batch_of_moves(call)
        case Verb.CHANGE_PHONE | Verb.RECOVER_PASSWORD:
            # a malformed number is refused before the sender's login is checked
            return call.phone != NUMBERS["malformed"]
        case Verb.CHOOSE:
            return not (call.choice or "").endswith("picture") or call.choice == "no-picture"
        case Verb.SHOW_ACCOUNT:
            return call.login is not None and call.choice is None
        case _:
            return True


def _is_batch_of_records(call: Call) -> bool:
    """Whether a batch does one thing with records of one resource, each named once."""
    verbs = {part.verb for part in call.parts}
    return len(verbs) == 1 and verbs <= set(_BATCHES) and len(set(_find_batch(call)[1])) == len(call.parts)


def _is_batch_of_moves(call: Call) -> bool:
    """Whether a batch gives a role to users, or takes it from them, each named once."""
    named = {part.user_id for part in call.parts}
    return all(part.moves is not None for part in call.parts) and len(named) == len(call.parts)


def _join_scope(scope: tuple[str, ...] | None) -> str | None:
    return None if scope is None else " ".join(scope)
