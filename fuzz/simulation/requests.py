"""Calls as the HTTP requests that everybody makes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlencode

from fuzz.shared.calls import ADMINISTRATION, AT_THE_CONSENT_PAGE, AT_THE_TOKEN_SERVICE, Call, Face, Verb
from fuzz.shared.core_events import (
    fields_of_new_client,
    fields_of_new_role,
    fields_of_new_user,
    fields_of_token,
    overlap_fields,
    role_fields,
    settings_of,
    user_fields,
)
from fuzz.shared.http_client import FORM, Fields, Request, basic, form_request, json_request
from fuzz.shared.initial_states import CHOICES, NUMBERS
from fuzz.shared.seeds import nonsense
from fuzz.simulation.plan import Manner
from fuzz.simulation.sheets import import_request
from fuzz.simulation.witness import OPERATION


def request_of(call: Call, *, by_form: bool) -> Request:
    """The request that makes `call`; clients authenticate by Basic or by form fields."""
    if call.face is Face.SHEET:
        request = import_request(call)
    elif call.verb in AT_THE_TOKEN_SERVICE:
        request = _at_the_token_service(call, by_form=by_form)
    elif call.verb in AT_THE_CONSENT_PAGE:
        request = _at_the_consent_page(call)
    elif call.verb in ADMINISTRATION:
        request = _of_an_administrator(call)
    else:
        request = _of_the_backend(call)
    return replace(request, fields=[*request.fields, *user_agent_fields(call)])


def user_agent_fields(call: Call) -> Fields:
    """The field by which whoever calls says what they call with, if they do."""
    return [] if call.user_agent is None else [("User-Agent", call.user_agent)]


def authorization_parameters(call: Call) -> dict[str, str]:
    """The parameters of an authorization request, without those that the call leaves out."""
    return dict(
        _given(
            response_type=call.response_type,
            client_id=call.client_id,
            redirect_uri=call.redirect_uri,
            code_challenge=call.challenge,
            code_challenge_method=call.method,
            scope=_join_scope(call.scope),
            state=call.state,
        )
    )


def manner_fields(manner: Manner | None, origin: str) -> Fields:
    """The fields by which a request says what kind of caller makes it."""
    match manner:
        case Manner.CHINESE:
            return [("Accept-Language", "zh-CN, en;q=0.1")]
        case Manner.KLINGON:
            return [("Accept-Language", "tlh, *;q=0.1")]
        case Manner.ELSEWHERE:
            return [("X-Timezone", "America/Los_Angeles")]
        case Manner.NOWHERE:
            return [("X-Timezone", "../etc/passwd")]
        case Manner.OWN_PAGE:
            return [("Origin", origin), ("Sec-Fetch-Site", "same-origin")]
        case Manner.OTHER_PAGE:
            return [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")]
        case None:
            return []


def with_cookies_of_https(request: Request) -> Request:
    """The request with its cookies as they are called where the browser comes over https."""
    fields = [
        (name, value.replace("ostiary_", "__Host-ostiary_") if name == "Cookie" else value)
        for name, value in request.fields
    ]
    return replace(request, fields=fields)


def number_request(request: Request, operation: int, more: Fields) -> Request:
    """The request with more fields, saying which operation it is.

    A backend's form says it in a parameter of its own, which the server ignores as any it does not know, so
    that it sends the very same head again and again, as backends do; everything else in a header field.
    """
    fields = [*request.fields, *more]
    if ("Content-Type", FORM) not in fields or not request.target.startswith("/api/"):
        return replace(request, fields=[*fields, (OPERATION.decode(), str(operation))])
    said = b"%s=%06d" % (OPERATION, operation)
    return replace(request, fields=fields, body=request.body + b"&" + said if request.body else said)


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


_OF_FACTORS: Final = {
    Verb.BEGIN_FACTOR: ("POST", "second-factor", ("password",)),
    Verb.CONFIRM_FACTOR: ("PUT", "second-factor", ("code",)),
    Verb.REMOVE_FACTOR: ("DELETE", "second-factor", ("password", "code")),
    Verb.RENEW_CODES: ("POST", "second-factor/recovery-codes", ("password", "code")),
    Verb.OFFER_FACTOR: ("POST", "login/second-factor/set-up", ("ticket",)),
    Verb.ENTER_FACTOR: ("POST", "login/second-factor", ("ticket", "code")),
}
"""How somebody asks for what of a second factor, below `/api/auth`, and what they send."""


def _of_the_backend(call: Call) -> Request:
    match call.verb:
        case Verb.USER_INFO:
            return json_request("GET", "/api/oauth2/userinfo", call.token)
        case Verb.SIGN_IN:
            content: dict[str, object] = {"username": call.username, "password": call.password}
            return json_request("POST", "/api/auth/login", None, content)
        case Verb.REFRESH_LOGIN:
            return json_request(
                "POST", "/api/auth/refresh", None, {"refreshToken": call.token or nonsense("no token")}
            )
        case Verb.SIGN_OUT:
            return json_request("POST", "/api/auth/logout", call.login)
        case Verb.CHANGE_PASSWORD:
            content = {"oldPassword": call.password, "newPassword": call.new_password}
            return json_request("PUT", "/api/auth/password", call.login, content)
        case Verb.WITHDRAW:
            client = quote(call.client_id or "nobody")
            return json_request("DELETE", f"/api/auth/grants/{client}", call.login)
        case Verb.REQUEST_TEXT_CODE:
            purpose = "reset-password" if call.login is None else "change-phone"
            content = {"phone": call.phone, "purpose": purpose}
            return json_request("POST", "/api/auth/sms-code", call.login, content)
        case Verb.CHOOSE if call.choice == "no-picture":
            return json_request("DELETE", "/api/auth/avatar", call.login)
        case Verb.CHOOSE:
            field, value, _ = CHOICES[call.choice or ""]
            return json_request("PUT", f"/api/auth/{field}", call.login, {field: value})
        case Verb.SHOW_ACCOUNT:
            return json_request("GET", "/api/auth/me", call.login)
        case Verb.SIGN_OUT_ELSEWHERE:
            return json_request("POST", "/api/auth/logout-elsewhere", call.login)
        case Verb.CREATE_TOKEN:
            return json_request("POST", "/api/auth/tokens", call.login, fields_of_token(call))
        case Verb.END_OWN_SESSION:
            return json_request("DELETE", f"/api/auth/tokens/{quote(call.session_id or '')}", call.login)
        case verb if verb in _OF_FACTORS:
            method, path, names = _OF_FACTORS[verb]
            given = {"ticket": call.token, "password": call.password, "code": call.text_code}
            content = {name: given[name] for name in names}
            return json_request(method, f"/api/auth/{path}", call.login, content)
        case Verb.CHANGE_PHONE:
            content = {"phone": call.phone, "code": call.text_code, "password": call.password}
            return json_request("PUT", "/api/auth/phone", call.login, content)
        case Verb.RECOVER_PASSWORD:
            content = {"phone": call.phone, "code": call.text_code, "newPassword": call.new_password}
            return json_request("POST", "/api/auth/reset-password", None, content)
        case _:
            raise ValueError(f"{call.verb} is nothing that is asked over HTTP here")


Content = Callable[[Call], dict[str, object] | None]


def _nothing(call: Call) -> None:
    """A request without a body."""


def _switch(call: Call) -> dict[str, object]:
    return {"enabled": call.verb in (Verb.ENABLE_USER, Verb.ENABLE_CLIENT)}


_ADMINISTERED: Final[Mapping[Verb, tuple[str, str, Content]]] = {
    Verb.REGISTER_USER: ("POST", "iam/users", lambda it: {**fields_of_new_user(it), "password": it.password}),
    Verb.CHANGE_USER: ("PUT", "iam/users/{user}", user_fields),
    Verb.ENABLE_USER: ("PUT", "iam/users/{user}/enabled", _switch),
    Verb.DISABLE_USER: ("PUT", "iam/users/{user}/enabled", _switch),
    Verb.DELETE_USER: ("DELETE", "iam/users/{user}", _nothing),
    Verb.RESET_PASSWORD: ("PUT", "iam/users/{user}/password", lambda it: {"password": it.new_password}),
    Verb.FORCE_OUT_USER: ("POST", "iam/users/{user}/force-logout", _nothing),
    Verb.RESET_FACTOR: ("DELETE", "iam/users/{user}/second-factor", _nothing),
    Verb.UNLOCK_USER: ("POST", "iam/users/{user}/unlock", _nothing),
    Verb.WITHDRAW_FOR: ("DELETE", "iam/users/{user}/grants/{client}", _nothing),
    Verb.FORCE_OUT_ALL: ("POST", "monitor/force-logout-all", _nothing),
    Verb.END_SESSION: ("DELETE", "monitor/online-users/{session}", _nothing),
    Verb.REGISTER_ROLE: ("POST", "iam/roles", fields_of_new_role),
    Verb.CHANGE_ROLE: ("PUT", "iam/roles/{role}", role_fields),
    Verb.DELETE_ROLE: ("DELETE", "iam/roles/{role}", _nothing),
    Verb.REGISTER_CLIENT: ("POST", "oauth/clients", fields_of_new_client),
    Verb.CHANGE_CLIENT: ("PUT", "oauth/clients/{client}", settings_of),
    Verb.ENABLE_CLIENT: ("PUT", "oauth/clients/{client}/enabled", _switch),
    Verb.DISABLE_CLIENT: ("PUT", "oauth/clients/{client}/enabled", _switch),
    Verb.DELETE_CLIENT: ("DELETE", "oauth/clients/{client}", _nothing),
    Verb.FORCE_OUT_CLIENT: ("POST", "oauth/clients/{client}/force-logout", _nothing),
    Verb.RESET_SECRET: ("POST", "oauth/clients/{client}/secret", lambda it: overlap_fields(it) or None),
    Verb.END_OLD_SECRET: ("DELETE", "oauth/clients/{client}/old-secret", _nothing),
}
"""How an administrator asks for what, below `/api`, and with which body."""


def _of_an_administrator(call: Call) -> Request:
    if call.verb is Verb.BATCH:
        path, ids = _find_deleted(call)
        return json_request("POST", f"{path}/batch-delete", call.login, {"ids": ids})
    method, place, content = _ADMINISTERED[call.verb]
    ids_of = {
        "user": call.user_id,
        "client": call.client_id,
        "role": call.role_id,
        "session": call.session_id,
    }
    path = place.format_map({name: quote(value or "nobody") for name, value in ids_of.items()})
    return json_request(method, f"/api/{path}", call.login, content(call))


_DELETED: Final = {
    Verb.DELETE_USER: ("/api/iam/users", "user_id"),
    Verb.DELETE_ROLE: ("/api/iam/roles", "role_id"),
    Verb.DELETE_CLIENT: ("/api/oauth/clients", "client_id"),
}


def _find_deleted(call: Call) -> tuple[str, list[str]]:
    """Of which resource a batch deletes what."""
    path, name = _DELETED[call.parts[0].verb]
    return path, [str(getattr(part, name)) for part in call.parts]


def may_be_asked(call: Call) -> bool:
    """Whether the interface can be asked for this."""
    match call.verb:
        case Verb.GIVE_SECRET:
            return False
        case Verb.BATCH:
            return _is_batch_of_deletions(call)
        case Verb.CHANGE_PHONE | Verb.RECOVER_PASSWORD:
            return call.phone != NUMBERS["malformed"]  # found out before anybody asks for more
        case Verb.CHOOSE:
            return not (call.choice or "").endswith("picture") or call.choice == "no-picture"
        case Verb.SHOW_ACCOUNT:
            return call.login is not None and call.choice is None
        case _:
            return True


def _is_batch_of_deletions(call: Call) -> bool:
    """Whether it is of records of one resource, each named once."""
    verbs = {part.verb for part in call.parts}
    return len(verbs) == 1 and verbs <= set(_DELETED) and len(set(_find_deleted(call)[1])) == len(call.parts)


def _given(**values: str | None) -> Fields:
    return [(name, value) for name, value in values.items() if value is not None]


def _join_scope(scope: tuple[str, ...] | None) -> str | None:
    return None if scope is None else " ".join(scope)
