"""Calls as the HTTP requests that everybody makes."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urlencode

from fuzz.shared.calls import ADMINISTRATION, AT_THE_CONSENT_PAGE, AT_THE_TOKEN_SERVICE, Call, Verb
from fuzz.shared.core_events import fields_of_new_user, settings_of, user_fields
from fuzz.shared.seeds import nonsense

__all__ = ["FORM", "HOST", "Request", "is_batch_of_deletions", "request_of", "text_code_request"]

HOST: Final = "id.example"

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"

Fields = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Request:
    """One request before it is bytes."""

    method: str
    target: str
    fields: Fields = field(default_factory=list)
    body: bytes = b""


def request_of(call: Call, *, by_form: bool) -> Request:
    """The request that makes `call`; clients authenticate by Basic or by form fields."""
    if call.verb in AT_THE_TOKEN_SERVICE:
        request = _at_the_token_service(call, by_form=by_form)
    elif call.verb in AT_THE_CONSENT_PAGE:
        request = _at_the_consent_page(call)
    elif call.verb in ADMINISTRATION:
        request = _of_an_administrator(call)
    else:
        request = _of_the_backend(call)
    agent = [] if call.user_agent is None else [("User-Agent", call.user_agent)]
    return Request(request.method, request.target, [*request.fields, *agent], request.body)


def _at_the_token_service(call: Call, *, by_form: bool) -> Request:
    client_id, secret = call.client_id or "", call.secret or ""
    form: Fields = []
    fields: Fields = [("Content-Type", FORM)]
    if by_form:
        form += [("client_id", client_id), ("client_secret", secret)]
    else:
        fields.append(("Authorization", "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()))
    path = "/api/oauth2/token"
    match call.verb:
        case Verb.REDEEM:
            form.append(("grant_type", "authorization_code"))
            form += _given(code=call.token, redirect_uri=call.redirect_uri, code_verifier=call.verifier)
        case Verb.REFRESH:
            form.append(("grant_type", "refresh_token"))
            form += _given(refresh_token=call.token, scope=_spaced(call.scope))
        case Verb.CLIENT_CREDENTIALS:
            form.append(("grant_type", "client_credentials"))
            form += _given(scope=_spaced(call.scope))
        case verb:
            path = f"/api/oauth2/{verb.value}"
            form += _given(token=call.token)
    return Request("POST", path, fields, urlencode(form).encode())


def _at_the_consent_page(call: Call) -> Request:
    parameters = dict(
        _given(
            response_type=call.response_type,
            client_id=call.client_id,
            redirect_uri=call.redirect_uri,
            code_challenge=call.challenge,
            code_challenge_method=call.method,
            scope=_spaced(call.scope),
            state=call.state,
        )
    )
    if call.verb is Verb.RECALL:
        cookie = [("Cookie", f"ostiary_access={call.login or ''}"), ("Accept", "text/html")]
        return Request("GET", f"/sso?{urlencode(parameters)}", cookie)
    if call.verb is Verb.CHECK:
        return Request("GET", f"/api/oauth2/authorize?{urlencode(parameters)}", _bearer(call.login))
    content = {**parameters, "approve": call.verb is Verb.APPROVE}
    return _json("POST", "/api/oauth2/authorize", call.login, content)


def _of_the_backend(call: Call) -> Request:
    match call.verb:
        case Verb.USER_INFO:
            return Request("GET", "/api/oauth2/userinfo", _bearer(call.token))
        case Verb.SIGN_IN:
            content: dict[str, object] = {"username": call.username, "password": call.password}
            return _json("POST", "/api/auth/login", None, content)
        case Verb.REFRESH_LOGIN:
            return _json(
                "POST", "/api/auth/refresh", None, {"refreshToken": call.token or nonsense("no token")}
            )
        case Verb.SIGN_OUT:
            return Request("POST", "/api/auth/logout", _bearer(call.login))
        case Verb.CHANGE_PASSWORD:
            content = {"oldPassword": call.password, "newPassword": call.new_password}
            return _json("PUT", "/api/auth/password", call.login, content)
        case Verb.WITHDRAW:
            client = quote(call.client_id or "nobody")
            return Request("DELETE", f"/api/auth/grants/{client}", _bearer(call.login))
        case Verb.CHANGE_PHONE:
            content = {"phone": call.phone, "code": call.text_code, "password": call.password}
            return _json("PUT", "/api/auth/phone", call.login, content)
        case Verb.RECOVER_PASSWORD:
            content = {"phone": call.phone, "code": call.text_code, "newPassword": call.new_password}
            return _json("POST", "/api/auth/reset-password", None, content)
        case _:
            raise ValueError(f"{call.verb} is nothing that is asked over HTTP here")


def text_code_request(call: Call) -> Request:
    """The request that has a code sent for `call`."""
    own = call.verb is Verb.CHANGE_PHONE
    content = {"phone": call.phone, "purpose": "change-phone" if own else "reset-password"}
    return _json("POST", "/api/auth/sms-code", call.login if own else None, content)


def _of_an_administrator(call: Call) -> Request:
    user, client = quote(call.user_id or "nobody"), quote(call.client_id or "nobody")
    role = quote(call.role_id or "nobody")
    match call.verb:
        case Verb.CHANGE_USER:
            return _json("PUT", f"/api/iam/users/{user}", call.login, user_fields(call))
        case Verb.REGISTER_ROLE | Verb.CHANGE_ROLE:
            content: dict[str, object] = {"name": call.role_id, "permissions": list(call.permissions or ())}
            if call.verb is Verb.CHANGE_ROLE:
                return _json("PUT", f"/api/iam/roles/{role}", call.login, content)
            return _json("POST", "/api/iam/roles", call.login, {"code": call.role_id, **content})
        case Verb.DELETE_ROLE:
            return Request("DELETE", f"/api/iam/roles/{role}", _bearer(call.login))
        case Verb.END_OLD_SECRET:
            return Request("DELETE", f"/api/oauth/clients/{client}/old-secret", _bearer(call.login))
        case Verb.BATCH:
            path, ids = _deleted_by(call)
            return _json("POST", f"{path}/batch-delete", call.login, {"ids": ids})
        case Verb.REGISTER_USER:
            content = {**fields_of_new_user(call), "password": call.password}
            return _json("POST", "/api/iam/users", call.login, content)
        case Verb.ENABLE_USER | Verb.DISABLE_USER:
            content = {"enabled": call.verb is Verb.ENABLE_USER}
            return _json("PUT", f"/api/iam/users/{user}/enabled", call.login, content)
        case Verb.DELETE_USER:
            return Request("DELETE", f"/api/iam/users/{user}", _bearer(call.login))
        case Verb.RESET_PASSWORD:
            content = {"password": call.new_password}
            return _json("PUT", f"/api/iam/users/{user}/password", call.login, content)
        case Verb.FORCE_OUT_USER:
            return Request("POST", f"/api/iam/users/{user}/force-logout", _bearer(call.login))
        case Verb.END_SESSION:
            session = quote(call.session_id or "nobody")
            return Request("DELETE", f"/api/monitor/online-users/{session}", _bearer(call.login))
        case Verb.REGISTER_CLIENT:
            content = {"clientId": call.client_id, "name": call.client_id, **settings_of(call)}
            return _json("POST", "/api/oauth/clients", call.login, content)
        case Verb.CHANGE_CLIENT:
            return _json("PUT", f"/api/oauth/clients/{client}", call.login, settings_of(call))
        case Verb.ENABLE_CLIENT | Verb.DISABLE_CLIENT:
            content = {"enabled": call.verb is Verb.ENABLE_CLIENT}
            return _json("PUT", f"/api/oauth/clients/{client}/enabled", call.login, content)
        case Verb.DELETE_CLIENT:
            return Request("DELETE", f"/api/oauth/clients/{client}", _bearer(call.login))
        case Verb.RESET_SECRET:
            if call.keep_seconds is None:
                return Request("POST", f"/api/oauth/clients/{client}/secret", _bearer(call.login))
            content = {"keepOldForSeconds": call.keep_seconds}
            return _json("POST", f"/api/oauth/clients/{client}/secret", call.login, content)
        case _:
            raise ValueError(f"{call.verb} is nothing that is asked over HTTP here")


_DELETED: Final = {
    Verb.DELETE_USER: ("/api/iam/users", "user_id"),
    Verb.DELETE_ROLE: ("/api/iam/roles", "role_id"),
    Verb.DELETE_CLIENT: ("/api/oauth/clients", "client_id"),
}


def _deleted_by(call: Call) -> tuple[str, list[str]]:
    """Of which resource a batch deletes what."""
    path, name = _DELETED[call.parts[0].verb]
    return path, [str(getattr(part, name)) for part in call.parts]


def is_batch_of_deletions(call: Call) -> bool:
    """Whether the interface can be asked for this batch: records of one resource, each named once."""
    verbs = {part.verb for part in call.parts}
    return len(verbs) == 1 and verbs <= set(_DELETED) and len(set(_deleted_by(call)[1])) == len(call.parts)


def _json(method: str, target: str, login: str | None, content: Mapping[str, object]) -> Request:
    fields = [("Content-Type", JSON), *_bearer(login)]
    return Request(method, target, fields, json.dumps(content).encode())


def _bearer(token: str | None) -> Fields:
    return [] if token is None else [("Authorization", f"Bearer {token}")]


def _given(**values: str | None) -> Fields:
    return [(name, value) for name, value in values.items() if value is not None]


def _spaced(scope: tuple[str, ...] | None) -> str | None:
    return None if scope is None else " ".join(scope)
