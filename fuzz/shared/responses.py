"""Translate HTTP responses into answers in the specification's words."""

import re
from datetime import datetime
from typing import Any, Final

from fuzz.shared.calls import (
    AT_THE_TOKEN_SERVICE,
    Answer,
    AnswerKind,
    Call,
    Verb,
    canonical_codes,
    consent_of,
    moves_roles,
    refusal,
)
from fuzz.shared.http_client import Response

_CODE: Final = re.compile(rb"<dd><code>([A-E][0-9]{4})</code></dd>")


def answer_of(call: Call, response: Response) -> Answer:
    """Return the answer in a response; `FAILED` for a failure of the server."""
    if response.status >= 500:
        return Answer(AnswerKind.FAILED, error=str(response.json().get("code", "")))
    if call.verb is Verb.RECALL:
        return _page_answer(call, response)
    content = response.json()
    if response.status >= 400:
        return refusal(response.error or str(response.status))
    if call.verb in AT_THE_TOKEN_SERVICE:
        return _service_answer(call, content)
    return _envelope_answer(call, content.get("data") or {})


def _service_answer(call: Call, content: dict[str, Any]) -> Answer:
    if call.verb is Verb.REVOKE:
        return Answer(AnswerKind.DONE)
    scope = tuple(sorted(str(content.get("scope", "")).split()))
    if call.verb is Verb.INTROSPECT:
        if not content.get("active"):
            return Answer(AnswerKind.INACTIVE)
        return Answer(
            AnswerKind.ACTIVE,
            client_id=content.get("client_id"),
            scope=scope,
            bearer=content.get("token_type") == "Bearer",
            exp=content.get("exp"),
            sub=content.get("sub"),
            username=content.get("username"),
        )
    return Answer(
        AnswerKind.TOKENS,
        access=content.get("access_token"),
        refresh=content.get("refresh_token"),
        expires_in=content.get("expires_in"),
        scope=scope,
    )


def _envelope_answer(call: Call, data: Any) -> Answer:
    match call.verb:
        case Verb.USER_INFO:
            sub, username = data.get("sub"), data.get("username")
            fields = (data.get("name"), None, data.get("locale"))
            return Answer(AnswerKind.PROFILE, sub=sub, username=username, profile=fields)
        case Verb.SHOW_ACCOUNT:
            return Answer(
                AnswerKind.PROFILE,
                sub=data.get("id"),
                username=data.get("username"),
                permissions=tuple(sorted(data.get("permissions", ()))),
            )
        case Verb.SIGN_IN if data.get("secondFactorRequired"):
            sets_up = bool(data.get("setUpRequired"))
            return Answer(AnswerKind.ASKED, secret=data.get("ticket"), sets_up=sets_up)
        case Verb.BEGIN_FACTOR | Verb.OFFER_FACTOR | Verb.RENEW_CODES:
            codes = canonical_codes(data.get("recoveryCodes", ()))
            return Answer(AnswerKind.FACTOR, secret=data.get("secret"), codes=codes)
        case Verb.CREATE_TOKEN:
            times = [datetime.fromisoformat(str(data.get(name))) for name in ("createdAt", "expiresAt")]
            return Answer(
                AnswerKind.TOKENS,
                access=data.get("token"),
                expires_in=round((times[1] - times[0]).total_seconds()),
                scope=tuple(sorted(data.get("permissions", ()))),
                session_id=data.get("id"),
            )
        case Verb.SIGN_IN | Verb.REFRESH_LOGIN | Verb.ENTER_FACTOR:
            return Answer(
                AnswerKind.LOGIN,
                access=data.get("accessToken"),
                refresh=data.get("refreshToken"),
                expires_in=data.get("expiresIn"),
                must_change_password=bool(data.get("mustChangePassword")),
            )
        case Verb.CHECK:
            scopes = tuple(sorted(each["scope"] for each in data.get("scopes", ())))
            client, ask = data.get("client", {}).get("clientId"), bool(data["consentRequired"])
            return Answer(AnswerKind.OFFERED, client_id=client, scope=scopes, ask=ask)
        case Verb.APPROVE | Verb.DENY:
            return consent_of(str(data.get("redirectTo")))
        case Verb.REGISTER_ROLE | Verb.CHANGE_ROLE:
            return Answer(AnswerKind.ROLE, permissions=tuple(sorted(data.get("permissions", ()))))
        case Verb.BATCH if isinstance(data, list):
            parts = zip(call.parts, data, strict=True)
            return Answer(AnswerKind.BATCH, parts=tuple(_envelope_answer(part, each) for part, each in parts))
        case Verb.BATCH if moves_roles(call):
            done = (Answer(AnswerKind.DONE),) * len(call.parts)
            return Answer(AnswerKind.BATCH, parts=done, noted=(data.get("changed"),))
        case Verb.BATCH:
            return Answer(AnswerKind.BATCH, parts=(Answer(AnswerKind.DONE),) * int(data.get("deleted", 0)))
        case Verb.REGISTER_USER | Verb.ENABLE_USER | Verb.DISABLE_USER | Verb.CHANGE_USER:
            return Answer(AnswerKind.USER, sub=data.get("id"), username=data.get("username"))
        case Verb.REGISTER_CLIENT | Verb.RESET_SECRET:
            return Answer(AnswerKind.SECRET, client_id=call.client_id, secret=data.get("secret"))
        case Verb.INVITE_USER:
            return Answer(AnswerKind.DONE, code=str(data.get("url")).rpartition("#")[2])
        case Verb.FORCE_OUT_CLIENT:
            return Answer(AnswerKind.DONE, client_id=call.client_id)
        case Verb.CHANGE_CLIENT | Verb.ENABLE_CLIENT | Verb.DISABLE_CLIENT | Verb.END_OLD_SECRET:
            return Answer(AnswerKind.DONE, client_id=data.get("clientId"))
        case _:
            return Answer(AnswerKind.DONE)


def _page_answer(call: Call, response: Response) -> Answer:
    """Return the answer in a page for users: the next address, a question, or a refusal."""
    location = response.field("location")
    if response.status == 303 and location.startswith("/login"):
        return refusal("A1001")
    if response.status == 303 and location.startswith("/account/second-factor?"):
        return refusal("A1009")
    if response.status == 303 and location.startswith("/"):
        return refusal("A1004")
    if response.status == 303:
        return consent_of(location)
    return refusal(code_of_page(response)) if response.status >= 400 else Answer(AnswerKind.OFFERED, ask=True)


def code_of_page(response: Response) -> str:
    """Return the code of the refusal on a page, or an empty string."""
    shown = _CODE.search(response.body)
    return "" if shown is None else shown[1].decode()
