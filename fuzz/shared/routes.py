"""HTTP routes of all calls: a route of the interface, and the form of a page if one exists."""

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote

from fuzz.shared.calls import Call, Verb
from fuzz.shared.core_events import fields_sent
from fuzz.shared.seeds import nonsense

Content = Callable[[Call], Mapping[str, object] | None]

ROUTES: Final[Mapping[Verb, tuple[str, str]]] = {
    Verb.SIGN_IN: ("POST auth/login", "/login"),
    Verb.OFFER_FACTOR: ("POST auth/login/second-factor/set-up", ""),
    Verb.ENTER_FACTOR: ("POST auth/login/second-factor", "/login/second-factor"),
    Verb.REFRESH_LOGIN: ("POST auth/refresh", ""),
    Verb.SIGN_OUT: ("POST auth/logout", "/logout"),
    Verb.SIGN_OUT_ELSEWHERE: ("POST auth/logout-elsewhere", "/account/sessions/end-others"),
    Verb.END_OWN_SESSION: ("DELETE auth/tokens/{session}", "/account/sessions/{session}/end"),
    Verb.SHOW_ACCOUNT: ("GET auth/me", ""),
    Verb.CREATE_TOKEN: ("POST auth/tokens", ""),
    Verb.CHANGE_PASSWORD: ("PUT auth/password", "/password"),
    Verb.CHANGE_PHONE: ("PUT auth/phone", "/account/phone/code"),
    Verb.REQUEST_TEXT_CODE: ("POST auth/sms-code", "/account/phone"),
    Verb.RECOVER_PASSWORD: ("POST auth/reset-password", "/recover/password"),
    Verb.INVITE_USER: ("POST iam/users/{user}/invitation", ""),
    Verb.ACCEPT_INVITATION: ("POST auth/invitation", ""),
    Verb.WITHDRAW: ("DELETE auth/grants/{client}", "/account/applications/{client}/withdraw"),
    Verb.BEGIN_FACTOR: ("POST auth/second-factor", "/account/second-factor"),
    Verb.CONFIRM_FACTOR: ("PUT auth/second-factor", "/account/second-factor/confirm"),
    Verb.REMOVE_FACTOR: ("DELETE auth/second-factor", "/account/second-factor/remove"),
    Verb.RENEW_CODES: ("POST auth/second-factor/recovery-codes", ""),
    Verb.PROVE: ("POST auth/prove", ""),
    Verb.REGISTER_USER: ("POST iam/users", "/admin/people/new"),
    Verb.CHANGE_USER: ("PUT iam/users/{user}", "/admin/people/{user}/edit"),
    Verb.ENABLE_USER: ("PUT iam/users/{user}/enabled", "/admin/people/{user}/enable"),
    Verb.DISABLE_USER: ("PUT iam/users/{user}/enabled", "/admin/people/{user}/disable"),
    Verb.DELETE_USER: ("DELETE iam/users/{user}", "/admin/people/{user}/delete"),
    Verb.RESET_PASSWORD: ("PUT iam/users/{user}/password", "/admin/people/{user}/reset-password"),
    Verb.FORCE_OUT_USER: ("POST iam/users/{user}/force-logout", "/admin/people/{user}/force-out"),
    Verb.RESET_FACTOR: ("DELETE iam/users/{user}/second-factor", "/admin/people/{user}/reset-second-factor"),
    Verb.UNLOCK_USER: ("POST iam/users/{user}/unlock", "/admin/people/{user}/unlock"),
    Verb.WITHDRAW_FOR: (
        *("DELETE iam/users/{user}/grants/{client}", "/admin/people/{user}/applications/{client}/withdraw"),
    ),
    Verb.FORCE_OUT_ALL: ("POST monitor/force-logout-all", ""),
    Verb.END_SESSION: ("DELETE monitor/online-users/{session}", "/admin/online/end?selected={session}"),
    Verb.ACKNOWLEDGE: ("POST monitor/overview/acknowledge", ""),
    Verb.REGISTER_ROLE: ("POST iam/roles", "/admin/roles/new"),
    Verb.CHANGE_ROLE: ("PUT iam/roles/{role}", "/admin/roles/{role}/edit"),
    Verb.DELETE_ROLE: ("DELETE iam/roles/{role}", "/admin/roles/{role}/delete"),
    Verb.REGISTER_CLIENT: ("POST oauth/clients", "/admin/clients/new"),
    Verb.CHANGE_CLIENT: ("PUT oauth/clients/{client}", "/admin/clients/{client}/edit"),
    Verb.ENABLE_CLIENT: ("PUT oauth/clients/{client}/enabled", "/admin/clients/{client}/enable"),
    Verb.DISABLE_CLIENT: ("PUT oauth/clients/{client}/enabled", "/admin/clients/{client}/disable"),
    Verb.DELETE_CLIENT: ("DELETE oauth/clients/{client}", "/admin/clients/{client}/delete"),
    Verb.FORCE_OUT_CLIENT: ("POST oauth/clients/{client}/force-logout", "/admin/clients/{client}/force-out"),
    Verb.RESET_SECRET: ("POST oauth/clients/{client}/secret", "/admin/clients/{client}/reset-secret"),
    Verb.END_OLD_SECRET: (
        *("DELETE oauth/clients/{client}/old-secret", "/admin/clients/{client}/end-old-secret"),
    ),
}
"""Method and path below `/api`, and the target of the page's form if any; `requests` makes the rest."""


def fill_path(path: str, call: Call) -> str:
    """Return the path with the identifiers that a call names."""
    ids = {"user": call.user_id, "client": call.client_id, "role": call.role_id, "session": call.session_id}
    return path.format_map({name: quote(value or "nobody") for name, value in ids.items()})


def _send(*names: str) -> Content:
    """Return a function that reads the fields with these names, of the interface or of a page."""

    def content(call: Call) -> dict[str, object]:
        given = {
            "username": call.username,
            **dict.fromkeys(("password", "oldPassword", "old_password"), call.password),
            **dict.fromkeys(("newPassword", "new_password"), call.new_password),
            "phone": call.phone,
            "code": call.text_code,
            "ticket": call.token,
        }
        return {name: given[name] for name in names}

    return content


def _switch(call: Call) -> dict[str, object]:
    return {"enabled": call.verb in (Verb.ENABLE_USER, Verb.ENABLE_CLIENT)}


def _purpose(call: Call) -> dict[str, object]:
    return {"phone": call.phone, "purpose": "reset-password" if call.login is None else "change-phone"}


SENT: Final[Mapping[Verb, Content]] = {
    Verb.SIGN_IN: _send("username", "password"),
    Verb.OFFER_FACTOR: _send("ticket"),
    Verb.ENTER_FACTOR: _send("ticket", "code"),
    Verb.REFRESH_LOGIN: lambda call: {"refreshToken": call.token or nonsense("no token")},
    Verb.ACKNOWLEDGE: lambda call: {"warning": call.choice},
    Verb.CHANGE_PASSWORD: _send("oldPassword", "newPassword"),
    Verb.CHANGE_PHONE: _send("phone", "code", "password"),
    Verb.REQUEST_TEXT_CODE: _purpose,
    Verb.RECOVER_PASSWORD: _send("phone", "code", "newPassword"),
    Verb.ACCEPT_INVITATION: lambda call: {"token": call.token, "newPassword": call.new_password},
    Verb.BEGIN_FACTOR: _send("password"),
    Verb.CONFIRM_FACTOR: _send("code"),
    **dict.fromkeys((Verb.REMOVE_FACTOR, Verb.RENEW_CODES, Verb.PROVE), _send("password", "code")),
    Verb.REGISTER_USER: lambda call: {**fields_sent(call), "password": call.password},
    **dict.fromkeys((Verb.ENABLE_USER, Verb.DISABLE_USER, Verb.ENABLE_CLIENT, Verb.DISABLE_CLIENT), _switch),
    Verb.RESET_PASSWORD: lambda call: {"password": call.new_password},
    **dict.fromkeys((Verb.CHANGE_USER, Verb.CHANGE_ROLE, Verb.CHANGE_CLIENT), fields_sent),
    **dict.fromkeys((Verb.REGISTER_ROLE, Verb.REGISTER_CLIENT, Verb.CREATE_TOKEN), fields_sent),
    Verb.RESET_SECRET: lambda call: fields_sent(call) or None,
}
"""Content sent to the interface, and entered in the form of a page; verbs without content are left out."""
ENTERED: Final[Mapping[Verb, Content]] = {
    Verb.CHANGE_PASSWORD: _send("old_password", "new_password"),
    Verb.REQUEST_TEXT_CODE: _send("phone"),
    Verb.RECOVER_PASSWORD: _send("phone", "code", "new_password"),
    Verb.RESET_SECRET: lambda call: {"keepOldForSeconds": call.keep_seconds or 0},
}
"""Fields that the form of a page names differently."""
