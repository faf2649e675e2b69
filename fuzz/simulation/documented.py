"""The documented answers: every error with its status, whatever happened before.

Written from the specification ("Errors", READINGS 21, 23, 31 and 32).
"""

import re
from typing import Final

from fuzz.shared.calls import AT_THE_TOKEN_SERVICE, Call, Face, Verb
from fuzz.shared.http_client import Response
from fuzz.shared.responses import code_of_page

ISSUING: Final = (Verb.REDEEM, Verb.REFRESH, Verb.CLIENT_CREDENTIALS)
"""Operations at `/token`."""
SUCCESS: Final = {
    **dict.fromkeys((Verb.REGISTER_USER, Verb.REGISTER_ROLE, Verb.REGISTER_CLIENT), (201,)),
    **dict.fromkeys((Verb.CREATE_TOKEN, Verb.INVITE_USER), (201,)),
    Verb.RECALL: (200, 303),
}
STATUS_OF_ERROR: Final = {
    **dict.fromkeys(("invalid_request", "invalid_grant", "invalid_scope"), 400),
    **dict.fromkeys(("unauthorized_client", "unsupported_grant_type"), 400),
    "invalid_client": 401,
}
"""Status of errors at the token service; `invalid_client` by form fields at `/token` is a 400."""
_CODES: Final = {
    400: ("A0401", "B4001", "B4002"),
    401: ("A1001", "A1002"),
    403: ("A0403", "A0430", "A1004", "A1009", "A1010", "B4003"),
    404: ("A0404",),
    405: ("A0405",),
    409: ("A0409",),
    413: ("C1413",),
    414: ("A0414",),
    415: ("A0415",),
    422: ("A1005", "A1006", "A1007", "B1001", "B1002", "B1003", "B1004", "B4010"),
    429: ("A0429", "A1003"),
    500: ("A0500",),
    503: ("A0503",),
}
STATUS_OF_CODE: Final = {code: status for status, codes in _CODES.items() for code in codes}
"""Status of codes in the envelope, and on pages."""
OVERTAKEN: Final = "overtaken"
"""Error of a form whose record another caller changed meanwhile; nothing was done."""
ANSWERED_WITH_A_PAGE: Final = (
    *(Verb.REGISTER_CLIENT, Verb.RESET_SECRET, Verb.REQUEST_TEXT_CODE, Verb.REFRESH_LOGIN),
    *(Verb.SIGN_IN, Verb.BEGIN_FACTOR),
)
"""Operations whose form is answered with a page, not a redirect: it shows a secret once, or the next form."""
PROFILE: Final = {"sub", "username", "name", "avatarUrl", "locale"}
"""All fields of user-info."""
AT_SSO: Final = frozenset({"A0401", "B4001", "B4002", "A0500"})
"""Codes for which a browser stays at `/sso`; other refusals redirect to sign-in or the password form."""
_CLIENTS_OWN: Final = ("https://", "http://localhost", "http://127.0.0.1")
"""Beginnings of redirect URIs."""
_REASON: Final = re.compile(rb'role="alert"[^>]*>\s*<p>[^<\s]')
_PROVES: Final = re.compile("(__Host-)?ostiary_(access|refresh|form)=")
"""Cookies that prove who the caller is; the language cookie proves nothing."""
_QUESTION: Final = (b'name="decision" value="approve"', b'name="decision" value="deny"')


def is_undocumented(call: Call, response: Response, *, by_form: bool, shown: str = "") -> str | None:
    """Return why this cannot be an answer to `call`, or None; `shown` is the page's code after a form."""
    if call.face is Face.PAGE:
        return _wrong_after_form(call, response, shown)
    if response.status < 400:
        if call.face is Face.SHEET:
            return None if response.status == 200 else f"status {response.status} for a sheet"
        if response.status not in SUCCESS.get(call.parts[0].verb if call.parts else call.verb, (200,)):
            return f"status {response.status} for {call.verb}"
        return _wrong_success(call, response)
    if call.verb is Verb.RECALL:
        return _wrong_page(response)
    content = response.json()
    raw = call.verb in AT_THE_TOKEN_SERVICE and response.status not in (429, 500)
    if raw is not ("error" in content):
        return f"status {response.status} of {call.verb} is {'not ' if raw else ''}in RFC form"
    if raw:
        return _wrong_error(call, response, str(content["error"]), by_form=by_form)
    code = str(content.get("code"))
    if response.status != STATUS_OF_CODE.get(code):
        return f"status {response.status} with {code}"
    if not content.get("msg") or not content.get("traceId"):
        return f"status {response.status} without a reason or a trace id"
    return None


def _wrong_success(call: Call, response: Response) -> str | None:
    content = response.json()
    if call.verb is Verb.RECALL:
        whole = response.status == 303 or all(button in response.body for button in _QUESTION)
        return None if whole else "the page is answered 200 without the question"
    if call.verb in ISSUING and len(str(content.get("access_token", ""))) != 43:
        return f"{call.verb} is answered {response.status} without a token"
    if call.verb in ISSUING and content.get("token_type") != "Bearer":
        return f"{call.verb} is answered with a token of type {content.get('token_type')}"
    if call.verb in ISSUING and response.field("cache-control") != "no-store":
        return f"{call.verb} is answered with a token that may be kept on the way"
    if call.verb is Verb.USER_INFO and set(response.data) != PROFILE:
        return f"{call.verb} tells {', '.join(response.data)}"
    if call.verb not in AT_THE_TOKEN_SERVICE and (content.get("code"), content.get("msg")) != (0, "ok"):
        return f"status {response.status} of {call.verb} with code {content.get('code')}"
    return None


def _wrong_after_form(call: Call, response: Response, code: str) -> str | None:
    """Check an answer to a form: a redirect to this server or the client, or the form with a reason."""
    status = response.status
    cookies = [value for name, value in response.fields if name == "set-cookie"]
    if any("HttpOnly" not in each or "SameSite=Lax" not in each for each in cookies):
        return f"after the form for {call.verb} comes a cookie that scripts or other sites get hold of"
    if any(("Secure" in each) is not each.startswith("__Host-") for each in cookies if _PROVES.match(each)):
        return f"after the form for {call.verb} comes a cookie for a plain connection"
    if status == 303:
        location = response.field("location")
        is_sent_away = call.verb in (Verb.APPROVE, Verb.DENY) and location.startswith(_CLIENTS_OWN)
        is_here = location.startswith("/") and not location.startswith("//")
        address = location.partition("?")[0]
        return None if is_here or is_sent_away else f"the form for {call.verb} leads to {address}"
    if "frame-ancestors 'none'" not in response.field("content-security-policy"):
        return f"status {status} after the form for {call.verb} may be framed"
    if status == 200:
        is_known = call.verb in ANSWERED_WITH_A_PAGE
        return None if is_known else f"the form for {call.verb} is answered with a page"
    is_known = status >= 500 or status == STATUS_OF_CODE.get("A0409" if code == OVERTAKEN else code)
    return None if is_known else f"status {status} with {code or 'no reason'} after the form for {call.verb}"


def _wrong_page(response: Response) -> str | None:
    """Check a page without a question: it gives a reason, in words and by code."""
    code = code_of_page(response)
    if code not in AT_SSO or response.status != STATUS_OF_CODE[code]:
        return f"status {response.status} with {code or 'no code'} at /sso"
    if _REASON.search(response.body) is None and response.status < 500:
        return f"status {response.status} with {code} and no reason at /sso"
    return None


def _wrong_error(call: Call, response: Response, error: str, *, by_form: bool) -> str | None:
    """Check an error of RFC 6749; a 401 names the authentication scheme."""
    right = STATUS_OF_ERROR.get(error)
    if error == "invalid_client" and by_form and call.verb in ISSUING:
        right = 400
    if response.status != right:
        return f"status {response.status} with {error}"
    if response.status == 401 and not response.field("www-authenticate").startswith("Basic "):
        return f"status 401 with {error} and no word of Basic"
    return None
