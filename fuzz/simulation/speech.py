"""HTTP as everybody speaks it: calls into requests, answers back into the specification's words."""

import json
from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from fuzz.calls import AT_THE_TOKEN_SERVICE, Answer, Call, Said, Verb, refusal
from fuzz.seeds import nonsense

__all__ = ["HOST", "ISSUING", "Heard", "Request", "answer_of", "is_undocumented", "request_of"]

HOST: Final = "id.example"

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

Fields = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Request:
    """One request before it is bytes."""

    method: str
    target: str
    fields: Fields = field(default_factory=list)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Heard:
    """One whole answer."""

    status: int
    fields: dict[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body's JSON object, empty where it is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


# --- requests


def request_of(call: Call, *, by_form: bool) -> Request:
    """The request that makes `call`; clients authenticate by Basic or by form fields."""
    if call.verb in AT_THE_TOKEN_SERVICE:
        request = _at_the_token_service(call, by_form=by_form)
    elif call.verb in (Verb.CHECK, Verb.APPROVE, Verb.RECALL, Verb.DENY):
        request = _at_the_consent_page(call)
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
    user, client = quote(call.user_id or "nobody"), quote(call.client_id or "nobody")
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
            return Request("DELETE", f"/api/auth/grants/{client}", _bearer(call.login))
        case Verb.REGISTER_USER:
            content = {"username": call.username, "name": call.username, "mustChangePassword": False}
            return _json("POST", "/api/iam/users", call.login, {**content, "password": call.password})
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
            content = {"clientId": call.client_id, "name": call.client_id, **_settings(call)}
            return _json("POST", "/api/oauth/clients", call.login, content)
        case Verb.CHANGE_CLIENT:
            return _json("PUT", f"/api/oauth/clients/{client}", call.login, _settings(call))
        case Verb.ENABLE_CLIENT | Verb.DISABLE_CLIENT:
            content = {"enabled": call.verb is Verb.ENABLE_CLIENT}
            return _json("PUT", f"/api/oauth/clients/{client}/enabled", call.login, content)
        case Verb.DELETE_CLIENT:
            return Request("DELETE", f"/api/oauth/clients/{client}", _bearer(call.login))
        case Verb.RESET_SECRET:
            return Request("POST", f"/api/oauth/clients/{client}/secret", _bearer(call.login))
        case _:
            raise ValueError(f"{call.verb} is nothing that is asked over HTTP here")


def _json(
    method: str, target: str, login: str | None, content: dict[str, object] | dict[str, str]
) -> Request:
    fields = [("Content-Type", JSON), *_bearer(login)]
    return Request(method, target, fields, json.dumps(content).encode())


def _bearer(token: str | None) -> Fields:
    return [] if token is None else [("Authorization", f"Bearer {token}")]


def _given(**values: str | None) -> Fields:
    return [(name, value) for name, value in values.items() if value is not None]


def _spaced(scope: tuple[str, ...] | None) -> str | None:
    return None if scope is None else " ".join(scope)


def _settings(call: Call) -> dict[str, object]:
    given = {
        "redirectUris": call.redirect_uris,
        "grantTypes": call.grants,
        "scopes": call.scopes,
        "autoApproveScopes": call.automatic,
        "accessTokenTtl": call.access_seconds,
        "refreshTokenTtl": call.refresh_seconds,
    }
    return {name: value for name, value in given.items() if value is not None}


# --- answers


def answer_of(call: Call, heard: Heard) -> Answer:
    """What was answered; `FAILED` where that is a failure of the server."""
    if heard.status >= 500:
        return Answer(said=Said.FAILED, error=str(heard.json().get("code", "")))
    if call.verb is Verb.RECALL:
        return _page_answer(call, heard)
    content = heard.json()
    if heard.status >= 400:
        return refusal(str(content.get("error") or content.get("code") or heard.status))
    if call.verb in AT_THE_TOKEN_SERVICE:
        return _service_answer(call, content)
    data = content.get("data")
    return _envelope_answer(call, data if isinstance(data, dict) else {})


def _service_answer(call: Call, content: dict[str, Any]) -> Answer:
    if call.verb is Verb.REVOKE:
        return Answer(said=Said.DONE)
    scope = tuple(sorted(str(content.get("scope", "")).split()))
    if call.verb is Verb.INTROSPECT:
        if not content.get("active"):
            return Answer(said=Said.INACTIVE)
        return Answer(
            said=Said.ACTIVE,
            client_id=content.get("client_id"),
            scope=scope,
            bearer=content.get("token_type") == "Bearer",
            exp=content.get("exp"),
            sub=content.get("sub"),
            username=content.get("username"),
        )
    return Answer(
        said=Said.TOKENS,
        access=content.get("access_token"),
        refresh=content.get("refresh_token"),
        expires_in=content.get("expires_in"),
        scope=scope,
    )


def _envelope_answer(call: Call, data: dict[str, Any]) -> Answer:
    match call.verb:
        case Verb.USER_INFO:
            return Answer(said=Said.PROFILE, sub=data.get("sub"), username=data.get("username"))
        case Verb.SIGN_IN | Verb.REFRESH_LOGIN:
            return Answer(
                said=Said.LOGIN,
                access=data.get("accessToken"),
                refresh=data.get("refreshToken"),
                expires_in=data.get("expiresIn"),
                must_change_password=bool(data.get("mustChangePassword")),
            )
        case Verb.CHECK:
            scopes = tuple(sorted(each["scope"] for each in data.get("scopes", ())))
            client = data.get("client", {}).get("clientId")
            return Answer(
                said=Said.OFFERED, client_id=client, scope=scopes, ask=bool(data["consentRequired"])
            )
        case Verb.APPROVE | Verb.DENY:
            return _redirected(str(data.get("redirectTo")))
        case Verb.REGISTER_USER | Verb.ENABLE_USER | Verb.DISABLE_USER:
            return Answer(said=Said.USER, sub=data.get("id"), username=data.get("username"))
        case Verb.REGISTER_CLIENT | Verb.RESET_SECRET:
            return Answer(said=Said.SECRET, client_id=call.client_id, secret=data.get("secret"))
        case Verb.CHANGE_CLIENT | Verb.ENABLE_CLIENT | Verb.DISABLE_CLIENT:
            return Answer(said=Said.DONE, client_id=data.get("clientId"))
        case _:
            return Answer(said=Said.DONE)


def _redirected(address: str) -> Answer:
    code = dict(parse_qsl(urlsplit(address).query)).get("code")
    if code is None:
        return Answer(said=Said.DENIED, redirect=address)
    return Answer(said=Said.CODE, code=code, redirect=address.replace(f"code={code}", "code=CODE"))


def _page_answer(call: Call, heard: Heard) -> Answer:
    """What a page says to a person: where to go on, the question, or why not, in words and not by code."""
    location = heard.fields.get("location", "")
    if heard.status == 303 and location.startswith("/login"):
        return refusal("A1001")
    if heard.status == 303 and location.startswith("/"):
        return refusal("A1004")
    if heard.status == 303:
        return _redirected(location)
    return refusal("page") if heard.status >= 400 else Answer(said=Said.OFFERED, ask=True)


# --- what may be answered at all

SUCCESS: Final = {Verb.REGISTER_USER: (201,), Verb.REGISTER_CLIENT: (201,), Verb.RECALL: (200, 303)}
ISSUING: Final = (Verb.REDEEM, Verb.REFRESH, Verb.CLIENT_CREDENTIALS)
STATUS_OF_ERROR: Final = {
    "invalid_request": (400,),
    "invalid_client": (400, 401),
    "invalid_grant": (400,),
    "unauthorized_client": (400,),
    "unsupported_grant_type": (400,),
    "invalid_scope": (400,),
    "A0401": (400,),
    "A0403": (403,),
    "A0404": (404,),
    "A0409": (409,),
    "A0429": (429,),
    "A0430": (403,),
    "A0500": (500,),
    "A1001": (401,),
    "A1002": (401,),
    "A1003": (429,),
    "A1004": (403,),
    "B1001": (422,),
    "B4001": (400,),
    "B4002": (400,),
    "B4003": (403,),
    "B4010": (422,),
}


def is_undocumented(call: Call, heard: Heard, *, by_form: bool) -> str | None:
    """Why this cannot be an answer to `call`, whatever happened before."""
    content = heard.json()
    if heard.status < 400:
        if heard.status not in SUCCESS.get(call.verb, (200,)):
            return f"status {heard.status} for {call.verb}"
        if call.verb in ISSUING and len(str(content.get("access_token", ""))) != 43:
            return f"{call.verb} is answered {heard.status} without a token"
        return None
    if call.verb is Verb.RECALL:
        return None
    error = str(content.get("error") or content.get("code") or "")
    if heard.status not in STATUS_OF_ERROR.get(error, (heard.status,)):
        return f"status {heard.status} with {error}"
    raw = "error" in content
    if call.verb in AT_THE_TOKEN_SERVICE and not raw and heard.status not in (429, 500):
        return f"status {heard.status} of {call.verb} is not in RFC form"
    if error == "invalid_client":
        right = 400 if by_form and call.verb in (Verb.REDEEM, Verb.REFRESH, Verb.CLIENT_CREDENTIALS) else 401
        if heard.status != right:
            return f"invalid_client with {heard.status}"
    if not raw and not content.get("traceId"):
        return f"status {heard.status} without trace id"
    return None
