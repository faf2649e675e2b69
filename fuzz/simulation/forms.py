"""Calls as users make them in a browser: fill and send the form of a page, read the page that follows.

A browser first opens the page with the form. Its hidden fields prove that the form was opened here, and the
form of an existing record contains the stored values.
"""

import re
from collections.abc import Mapping
from html import unescape
from html.parser import HTMLParser
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from fuzz.shared.calls import Answer, AnswerKind, Call, Verb, canonical_codes, consent_of, refusal
from fuzz.shared.http_client import FORM, Request, Response
from fuzz.shared.initial_states import Settings
from fuzz.shared.requests import authorization_parameters, user_agent_fields
from fuzz.shared.responses import code_of_page
from fuzz.shared.routes import ENTERED, ROUTES, SENT, fill_path
from fuzz.shared.seeds import nonsense
from fuzz.shared.steps import CHANGES_A_RECORD
from fuzz.simulation.documented import OVERTAKEN
from ostiary_core.http.envelope import text_of
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.secret import PERSONAL_TOKEN_PREFIX
from ostiary_core.model.why import Why
from ostiary_web.http.sealing import unseal
from ostiary_web.texts import LANGUAGES

_ANY_FORM: Final = "/login?switch=1"
"""Address of a page that has a form for every visitor."""
_REASON: Final = re.compile(r'role="alert"[^>]*>\s*<p>([^<]*)</p>')
_SECRET: Final = re.compile(rb'<code id="secret-text">([^<]+)</code>')
_TEXTS: Final = {
    (meaning.status, text_of(why, language)): OVERTAKEN if why is Why.CHANGED_MEANWHILE else meaning.code
    for why, meaning in MEANINGS.items()
    for language in LANGUAGES
}

Values = dict[str, list[str]]


class PageForm(NamedTuple):
    """The page with a call's form, the form's target, and the values to enter."""

    action: str
    values: Mapping[str, object]
    opened_at: str = _ANY_FORM
    is_of_a_record: bool = False
    """Whether the form contains a record's stored values; if not, any form's hidden proof will do."""


class Form(NamedTuple):
    """A form as a browser holds it."""

    cookie: str
    values: Values


class _FormReader(HTMLParser):
    """Reads the fields of the form that goes to `action`, or of the first that is sent by POST."""

    def __init__(self, action: str | None) -> None:
        super().__init__()
        self.values: Values = {}
        self._action = action
        self._is_inside = self._is_read = False
        self._name: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a form or a field."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and not self._is_read:
            self._is_inside = given.get("method") == "post" and self._action in (None, given.get("action"))
        if not self._is_inside:
            return
        name = given.get("name")
        is_box = given.get("type") in ("checkbox", "radio")
        if tag == "input" and name is not None and (not is_box or "checked" in given):
            self.values.setdefault(name, []).append(given.get("value", ""))
        elif tag in ("textarea", "select"):
            self._name, self._text = name, ""
        elif tag == "option" and "selected" in given and self._name is not None:
            self.values[self._name] = [given["value"]] if "value" in given else []

    def handle_data(self, data: str) -> None:
        """Keep the text in a text area."""
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        """End a form or a field."""
        if tag == "form" and self._is_inside:
            self._is_inside, self._is_read = False, True
        elif tag == "textarea" and self._name is not None and self._is_inside:
            self.values[self._name] = [self._text]


def read_form(page_form: PageForm, response: Response) -> Form | None:
    """Return the form on an opened page, or None."""
    reader = _FormReader(page_form.action if page_form.is_of_a_record else None)
    reader.feed(response.body.decode())
    cookie = _cookies(response).get("ostiary_form", "").partition(";")[0]
    if "form_token" not in reader.values or not cookie:
        return None
    values = reader.values if page_form.is_of_a_record else {"form_token": reader.values["form_token"]}
    return Form(cookie, values)


_CHOICE_FORMS: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "chinese": ("/account/language", {"locale": "zh-CN"}),
    "klingon": ("/account/language", {"locale": "tlh"}),
    "shanghai": ("/account/zone", {"timezone": "Asia/Shanghai"}),
    "no-picture": ("/account/picture/remove", {}),
}
"""Page and form field of a user's choices; the page has no field for a zone that does not exist."""


def may_be_in_a_form(call: Call, settings: Settings) -> bool:
    """Whether a page has a form for all of a call."""
    if call.verb is Verb.REFRESH_LOGIN:
        return True
    has_form = call.verb in (Verb.APPROVE, Verb.DENY, Verb.CHOOSE) or ROUTES.get(call.verb, ("", ""))[1]
    if not has_form or (call.login or "").startswith(PERSONAL_TOKEN_PREFIX):
        return False
    if call.verb is Verb.SIGN_IN and settings.second_factor_of != "no":
        return False  # if a factor must be set up first, the page offers that and asks twice
    return call.must_change is None and (call.verb is not Verb.CHOOSE or call.choice in _CHOICE_FORMS)


def find_form(call: Call) -> PageForm:
    """Return the form of a call that has one."""
    if call.verb in (Verb.APPROVE, Verb.DENY):
        decision = "approve" if call.verb is Verb.APPROVE else "deny"
        return PageForm(f"/sso?{urlencode(authorization_parameters(call))}", {"decision": decision})
    if call.verb is Verb.CHOOSE:
        return PageForm(*_CHOICE_FORMS[call.choice or ""])
    if call.verb is Verb.REQUEST_TEXT_CODE and call.login is None:
        return PageForm("/recover", {"phone": call.phone})
    action = fill_path(ROUTES[call.verb][1], call)
    content = ENTERED.get(call.verb) or SENT.get(call.verb)
    values = {} if content is None else content(call) or {}
    if call.verb in CHANGES_A_RECORD:
        return PageForm(action, values, action, is_of_a_record=True)
    return PageForm(action, values)


def make_opening_request(call: Call, page_form: PageForm) -> Request:
    """Return the browser's request that opens the page with a form."""
    cookie = [] if call.login is None else [("Cookie", f"ostiary_access={call.login}")]
    return Request("GET", page_form.opened_at, [("Accept", "text/html"), *user_agent_fields(call), *cookie])


def make_renewing_request(call: Call) -> Request:
    """Return the request of a browser whose login has only its refresh cookie left."""
    cookie = ("Cookie", f"ostiary_refresh={call.token or nonsense('no token')}")
    return Request("GET", "/account", [("Accept", "text/html"), *user_agent_fields(call), cookie])


def make_sending_request(call: Call, page_form: PageForm, form: Form) -> Request:
    """Return the browser's request that sends a form."""
    cookies = [f"ostiary_form={form.cookie}"]
    if call.login is not None and call.verb not in _SIGNING_IN:
        cookies.append(f"ostiary_access={call.login}")
    types = (("Content-Type", FORM), ("Accept", "text/html"))
    fields = [*types, *user_agent_fields(call), ("Cookie", "; ".join(cookies))]
    return Request("POST", page_form.action, fields, _body_of(form, page_form))


def _cookies(response: Response) -> dict[str, str]:
    """Return the cookies that a response sets, each with its attributes."""
    lines = (value.removeprefix("__Host-") for name, value in response.fields if name == "set-cookie")
    return {name: rest for name, _, rest in (line.partition("=") for line in lines)}


def _body_of(form: Form, page_form: PageForm) -> bytes:
    """Return the form's body, with the values of the call in place of the stored ones."""
    values = dict(form.values)
    for name, value in page_form.values.items():
        if isinstance(value, tuple | list):
            values[name] = ["\n".join(value)] if name == "redirectUris" else [str(each) for each in value]
        else:
            values[name] = ["" if value is None else str(value)]
    return urlencode(values, doseq=True).encode()


# --- the page that follows


def read_code_or_reason(response: Response) -> str:
    """Return the code of the refusal on a page, or the refusal's text; empty if the page has neither."""
    code = code_of_page(response)
    if code:
        return code
    reason = _REASON.search(response.body.decode())
    if reason is None:
        return ""
    shown = unescape(reason[1])
    # The reason is followed by the time to wait.
    is_followed = response.status == 429
    texts = [text for status, text in _TEXTS if status == response.status]
    found = [text for text in texts if text == shown or (is_followed and shown.startswith(text))]
    return _TEXTS[response.status, max(found, key=len)] if found else ""


_SIGNING_IN: Final = (Verb.SIGN_IN, Verb.REFRESH_LOGIN, Verb.ENTER_FACTOR)


def _read_kept_values(response: Response, key: bytes) -> dict[str, str]:
    """Return the values that the browser keeps for the page that it is redirected to."""
    sealed = _cookies(response).get("ostiary_kept", "").partition(";")[0]
    content = unseal(key, sealed, list[Any], most_bytes=65_536)
    return {} if content is None else dict(content[-1])


def _login_in_cookies(response: Response) -> Answer:
    cookies = _cookies(response)
    access, *attributes = cookies.get("ostiary_access", "").split("; ")
    seconds = next((one for one in attributes if one.startswith("Max-Age=")), "Max-Age=0")
    refresh, expires_in = cookies.get("ostiary_refresh", ""), int(seconds.removeprefix("Max-Age="))
    return Answer(AnswerKind.LOGIN, access=access, refresh=refresh.partition(";")[0], expires_in=expires_in)


def answer_of_page(call: Call, response: Response, key: bytes) -> Answer:
    """Return the answer on a page, in the interface's words, as far as the page shows it.

    Values that a redirect keeps for its page are unsealed with the servers' `key`.
    """
    if response.status >= 400:
        return refusal(read_code_or_reason(response))
    location = response.field("location")
    is_sent_to_sign_in = location.startswith("/login?") and "recovered=1" not in location
    if is_sent_to_sign_in and call.verb is not Verb.SIGN_OUT:
        return refusal("A1001")
    if location.startswith("/password") and call.verb not in _SIGNING_IN:
        return refusal("A1004")
    if location.startswith("/account/second-factor?next=") and call.verb not in _SIGNING_IN:
        return refusal("A1009")
    shown = _read_kept_values(response, key)
    match call.verb:
        case Verb.SIGN_IN if "ticket" in shown:
            return Answer(AnswerKind.ASKED, secret=shown["ticket"])
        case Verb.BEGIN_FACTOR:
            codes = canonical_codes(shown.get("recovery_codes", "").split())
            return Answer(AnswerKind.FACTOR, secret=shown.get("secret"), codes=codes)
        case Verb.SIGN_IN | Verb.REFRESH_LOGIN | Verb.ENTER_FACTOR:
            return _login_in_cookies(response)._replace(must_change_password=location.startswith("/password"))
        case Verb.APPROVE | Verb.DENY:
            return consent_of(location)
        case Verb.REGISTER_CLIENT | Verb.RESET_SECRET:
            found = _SECRET.search(response.body)
            secret = shown.get("secret") if found is None else found[1].decode()
            return Answer(AnswerKind.SECRET, client_id=call.client_id, secret=secret)
        case Verb.REGISTER_USER:
            user_id = location.removeprefix("/admin/people/").partition("?")[0]
            return Answer(AnswerKind.USER, sub=user_id, username=call.username)
        case Verb.CHANGE_USER | Verb.ENABLE_USER | Verb.DISABLE_USER:
            return Answer(AnswerKind.USER, sub=call.user_id)
        case Verb.REGISTER_ROLE | Verb.CHANGE_ROLE:
            return Answer(AnswerKind.ROLE, permissions=tuple(sorted(call.permissions or ())))
        case (
            Verb.CHANGE_CLIENT
            | Verb.ENABLE_CLIENT
            | Verb.DISABLE_CLIENT
            | Verb.FORCE_OUT_CLIENT
            | Verb.END_OLD_SECRET
        ):
            return Answer(AnswerKind.DONE, client_id=call.client_id)
        case _:
            return Answer(AnswerKind.DONE)
