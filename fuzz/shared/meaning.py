"""Translate a step into its call, with every reference resolved from the history."""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, Literal

from msgspec.structs import replace

from fuzz.shared.authenticator import STEP_MS, code_at
from fuzz.shared.calls import (
    ABOUT_OWN_FACTOR,
    ABOUT_TEXT_CODES,
    AT_THE_CONSENT_PAGE,
    AT_THE_TOKEN_SERVICE,
    WITH_A_CODE,
    WITH_A_TICKET,
    Call,
    Verb,
)
from fuzz.shared.history import BEGINS_A_CLIENT, BEGINS_AN_ACCOUNT, History, verifier_of
from fuzz.shared.initial_states import (
    BEGINNING_OF_TIME_MS,
    CHANGES,
    ENTERED,
    KEEP_SECONDS,
    LAST_DAYS,
    NUMBERS,
    PERMISSIONS,
    SUPER_ADMINISTRATOR,
    TOKEN_POWERS,
    TOKEN_SECONDS,
    format_day,
    uris,
)
from fuzz.shared.seeds import nonsense
from fuzz.shared.steps import Kind, Ref, Step, Twist

_GARBLED: Final[Mapping[Twist, Literal["undecodable", "repeated"]]] = {
    Twist.UNDECODABLE: "undecodable",
    Twist.REPEATED: "repeated",
}


def challenge_of(verifier: str) -> str:
    """Return the code challenge of a verifier (RFC 7636 §4.2)."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def call_of(history: History, step: Step) -> Call:
    """Return the call that `step` makes, with every reference resolved and every twist applied."""
    verb = step.verb
    base = Call(
        verb,
        user_agent=step.agent,
        login=None if step.by is None else _text(history, step.by),
        waited_ms=step.waited,
        unseen_ms=step.unseen,
        odd=step.odd,
        seen=step.seen,
        overtaken=step.twist is Twist.OVERTAKEN,
    )
    if verb in (Verb.USER_INFO, Verb.REFRESH_LOGIN):
        return base._replace(token=_token(history, step))
    if verb in AT_THE_TOKEN_SERVICE:
        return _client_call(history, step, base)
    if verb in AT_THE_CONSENT_PAGE:
        return _consent_call(history, step, base)
    if verb in (Verb.END_SESSION, Verb.SWEEP, Verb.END_OWN_SESSION):
        return base._replace(session_id=_session_id(history, step.token))
    if verb in (*BEGINS_A_CLIENT, Verb.CHANGE_CLIENT):
        return _settings_call(history, step, base)
    if verb in ABOUT_TEXT_CODES:
        return _text_code_call(history, step, base)
    if verb is Verb.ACCEPT_INVITATION:
        return _acceptance(history, step, base)
    if verb is Verb.CREATE_TOKEN:
        given = PERMISSIONS.get(step.change or "nothing", ())
        given = given and (*given, *TOKEN_POWERS[step.number // 2 % len(TOKEN_POWERS)])
        return base._replace(permissions=given, refresh_seconds=TOKEN_SECONDS[step.number % 2])
    if verb in (Verb.NOTE_TOKEN_USE, Verb.SIGN_OUT_ELSEWHERE):
        return base
    if verb in ABOUT_OWN_FACTOR | WITH_A_TICKET:
        return _factor_call(history, step, base)
    if verb in (Verb.CHOOSE, Verb.ACKNOWLEDGE):
        return base._replace(choice=step.change)
    if verb is Verb.SHOW_ACCOUNT:
        allowed = PERMISSIONS.get(step.change or "nothing", ())
        return base._replace(choice=allowed[0] if allowed else None)
    if verb in (Verb.NOTE_SECRET_USE, Verb.COUNT_WRONG_SECRETS):
        return _client_call(history, step, base)
    if verb is Verb.CHANGE_USER:
        return _user_change(history, step, base)
    if verb in (Verb.REGISTER_ROLE, Verb.CHANGE_ROLE, Verb.DELETE_ROLE, Verb.IMPORT_ROLE):
        permissions = PERMISSIONS.get(step.change or "nothing")
        replaces = verb is Verb.IMPORT_ROLE and step.change is not None
        return base._replace(role_id=step.role, permissions=permissions, replaces=replaces)
    if verb is Verb.BATCH:
        return base._replace(parts=tuple(call_of(history, part) for part in parts_of(step)))
    return _account_call(history, step, base)


def parts_of(step: Step) -> list[Step]:
    """Return the parts of a batch (`initial_states.BATCHES`)."""
    alone = replace(step, change=None)
    match step.change:
        case "delete-people":
            verb, more = Verb.DELETE_USER, replace(alone, user=step.other)
        case "invite-people":
            verb, more = Verb.INVITE_USER, replace(alone, user=step.other)
        case "delete-clients":
            verb, more = Verb.DELETE_CLIENT, replace(alone, client=step.other)
        case "delete-roles":
            verb, more = Verb.DELETE_ROLE, replace(alone, role=step.other)
        case "change-roles":
            # The first account may be the caller's own.
            taken = replace(step, verb=Verb.CHANGE_ROLE, change="nothing")
            return [taken, replace(step, verb=Verb.CHANGE_ROLE, role=step.other, change="nothing")]
        case "another-administrator":
            promoted = replace(step, verb=Verb.CHANGE_USER, user=step.other, change="promoted")
            if step.number % 2:
                return [replace(step, verb=Verb.CHANGE_USER, change="no-role"), promoted]
            # If there is no other user, no administrator is left.
            return [promoted, replace(promoted, change="no-role")]
        case "register-twice":
            verb, more = Verb.REGISTER_CLIENT, alone
        case "import-twice":
            return [replace(step, verb=Verb.IMPORT_USER, change="no-role")] * 2
        case "give-role" | "take-role":
            moved = replace(step, verb=Verb.CHANGE_USER)
            return [moved, replace(moved, user=step.other)]
        case "role-for-somebody":
            registered = replace(step, verb=Verb.REGISTER_ROLE, change="people")
            return [registered, replace(step, verb=Verb.CHANGE_USER, change="role")]
        case _:
            return [replace(alone, verb=Verb.DELETE_USER), replace(alone, verb=Verb.REGISTER_USER)]
    return [replace(alone, verb=verb), replace(more, verb=verb)]


def _user_change(history: History, step: Step, base: Call) -> Call:
    """Return the call of an administrator that changes an account."""
    user = history.names.get(step.user or "")
    call = base._replace(user_id="nobody" if user is None else user.user_id, username=step.user)
    others = [one for one in history.names.values() if one is not user]
    phones = [one.phone for one in others if one.phone is not None]
    new_phone, role = f"+{20_000_000 + step.number}", step.role or ""
    held = () if user is None else user.roles
    more, less = tuple(dict.fromkeys((*held, role))), tuple(each for each in held if each != role)
    changes: dict[str | None, dict[str, Any]] = {
        "renamed": {"new_username": f"{(step.user or '').partition('-')[0]}-{step.number}"},
        "taken-name": {"new_username": others[0].username if others else step.user},
        "new-phone": {"phone": new_phone},
        "taken-phone": {"phone": phones[-1] if phones else new_phone},
        "awaited-phone": {"phone": NUMBERS["new"]},
        "no-phone": {"phone": ""},
        "must-change": {"must_change": True},
        "role": {"roles": (role,)},
        "another-role": {"roles": more},
        "give-role": {"roles": more, "role_id": role, "moves": "give"},
        "take-role": {"roles": less, "role_id": role, "moves": "take"},
        "no-such-role": {"roles": ("nobody",)},
        "no-role": {"roles": ()},
        "promoted": {"roles": (SUPER_ADMINISTRATOR,)},
    }
    return call._replace(**changes.get(step.change, {}))


def _account_call(history: History, step: Step, base: Call) -> Call:
    user = history.names.get(step.user or "")
    if step.verb in BEGINS_AN_ACCOUNT:
        roles = None if step.role is None else (step.role,)
        is_kept = step.change == "as-it-is" and user is not None
        password = user.password if is_kept and user is not None else f"password {step.number}"
        replaces = step.change is not None
        return base._replace(username=step.user, password=password, roles=roles, replaces=replaces)
    if step.verb is Verb.GIVE_SECRET:
        client = history.clients.get(step.client or "")
        is_same = step.change == "same" and client is not None
        secret = client.secret if is_same and client is not None else nonsense(f"given {step.number}")
        return base._replace(client_id=step.client, secret=secret)
    return base._replace(
        client_id=step.client,
        user_id="nobody" if user is None else user.user_id,
        username=step.user,
        password="wrong" if step.twist is Twist.WRONG_PASSWORD or user is None else user.password,
        new_password=f"password {step.number}",
        keep_seconds=KEEP_SECONDS.get(step.change or ""),
    )


def _acceptance(history: History, step: Step, base: Call) -> Call:
    """Return the call that sets a password by an invitation: the newest one, or the one before."""
    user = history.names.get(step.user or "")
    user_id = "nobody" if user is None else user.user_id
    known = history.invitations.get(user_id, [f"{user_id}.{nonsense('no invitation')}"])
    token = known[-2:][0] if step.change == "earlier" else known[-1]
    return base._replace(user_id=user_id, token=token, new_password=f"password {step.number}")


def _text_code_call(history: History, step: Step, base: Call) -> Call:
    """Return the call with a text message's code; a wrong code is the right one with other digits."""
    login = None if base.login is None else history.tokens.get(base.login)
    own = None if login is None else history.users.get(login.session.user_id or "")
    theirs = history.names.get(step.user or "")
    phone = NUMBERS.get(step.change or "new")
    if step.change == "theirs":
        phone = "+39999999" if theirs is None or theirs.phone is None else theirs.phone
    if step.change == "fresh":
        phone = f"+{10_000_000 + step.number}"
    code = history.text_codes.get((step.verb is Verb.CHANGE_PHONE, phone or ""), "123456")
    if step.twist is Twist.WRONG_CODE:
        code = code[::-1] if code != code[::-1] else "654321"
    holder = history.holder_of(phone)
    return base._replace(
        user_id=holder.user_id if step.verb is Verb.RECOVER_PASSWORD and holder is not None else None,
        phone=phone,
        text_code=None if step.verb is Verb.REQUEST_TEXT_CODE else code,
        password="wrong" if step.twist is Twist.WRONG_PASSWORD or own is None else own.password,
        new_password=f"password {step.number}",
    )


def _factor_call(history: History, step: Step, base: Call) -> Call:
    """Return the call with a code of a second factor; random digits if the user has none."""
    call = base
    if step.verb in WITH_A_TICKET:
        ticket = None if step.token is None else history.tickets.get(step.token.number)
        call = base._replace(token=_text(history, step.token), username=ticket and ticket.username)
    user = history.owner_of_factor(call)
    factor = None if user is None else user.factor or user.offered
    wrong = step.twist is Twist.WRONG_PASSWORD or user is None
    call = call._replace(password="wrong" if wrong or user is None else user.password)
    code = f"{step.number % 1_000_000:06}"
    if factor is not None and step.twist is not Twist.WRONG_CODE:
        match step.change:
            case "recovery" if factor.recovery:
                code = next((each for each in factor.recovery if each not in factor.used), factor.recovery[0])
            case "again" if factor.used:
                code = factor.used[-1]
            case "recovery-again":
                code = next((each for each in factor.recovery if each in factor.used), code)
            case change:
                present = (BEGINNING_OF_TIME_MS + step.at) // STEP_MS
                code = code_at(factor.secret, present + ENTERED.get(change or "now", 0))
    return call._replace(text_code=code) if step.verb in WITH_A_CODE else call


def _client_call(history: History, step: Step, base: Call) -> Call:
    client = history.clients.get(step.client or "")
    secret = nonsense("secret") if client is None else client.secret
    if step.twist is Twist.WRONG_SECRET:
        secret = nonsense("wrong secret")
    elif step.twist is Twist.OLD_SECRET and client is not None:
        secret = client.old_secret
    token, scope = _token(history, step), _scope(step)
    call = base._replace(client_id=step.client, secret=secret, token=token, scope=scope)
    if step.verb is not Verb.REDEEM:
        return call
    code = history.codes.get(step.token.number) if step.token is not None else None
    redirect_uri = _uri(history, step) if code is None else code.redirect_uri
    verifier: str | None = verifier_of(step.number) if code is None else code.verifier
    if step.twist is Twist.WRONG_VERIFIER:
        verifier = verifier_of(-1)
    elif step.twist is Twist.SHORT_VERIFIER:
        verifier = (verifier or "")[:42]
    elif step.twist is Twist.WITHOUT_VERIFIER:
        verifier = None
    elif step.twist is Twist.OTHER_URI:
        redirect_uri = f"{redirect_uri}/"
    uri = None if step.twist is Twist.WITHOUT_URI else redirect_uri
    return call._replace(verifier=verifier, redirect_uri=uri)


def _consent_call(history: History, step: Step, base: Call) -> Call:
    twist = step.twist
    redirect_uri: str | None = _uri(history, step)
    challenge: str | None = challenge_of(verifier_of(step.number))
    if twist is Twist.OTHER_URI:
        redirect_uri = f"{redirect_uri}/"
    elif twist is Twist.WITHOUT_URI:
        redirect_uri = None
    elif twist is Twist.WITHOUT_CHALLENGE:
        challenge = None
    elif twist is Twist.PADDED_CHALLENGE:
        challenge = f"{challenge}="
    method: str | None = "plain" if twist is Twist.PLAIN_CHALLENGE else "S256"
    return base._replace(
        client_id=step.client,
        redirect_uri=redirect_uri,
        challenge=challenge,
        method=None if twist is Twist.WITHOUT_METHOD else method,
        garbled=_GARBLED.get(twist) if twist is not None else None,
        response_type="token" if twist is Twist.RESPONSE_TYPE_TOKEN else "code",
        scope=_scope(step),
        state=f"state{step.number}" if step.number % 2 else None,
    )


def _settings_call(history: History, step: Step, base: Call) -> Call:
    change: dict[str, Any] = dict(CHANGES.get(step.change or "", {}))
    client = history.clients.get(step.client or "")
    if step.verb is Verb.IMPORT_CLIENT and client is not None and step.change is not None:
        base = base._replace(**asdict(client.settings))
    elif step.verb in BEGINS_A_CLIENT:
        change = {"redirect_uris": uris(step.client or ""), **change}
    if step.change in LAST_DAYS:
        days_ms = LAST_DAYS[step.change] * 86_400_000
        change["expires_on"] = format_day(BEGINNING_OF_TIME_MS + step.at + days_ms)
    if step.change == "own-uris":
        change["redirect_uris"] = uris(step.client or "")
    if step.verb in BEGINS_A_CLIENT and base.grants is None:
        change = {"grants": CHANGES["all-grants"]["grants"], "scopes": ("user.read",), **change}
        known = history.initial_state.clients.get(step.client or "")
        if known is not None and step.client not in history.clients:
            change = asdict(known)
    replaces = step.verb is Verb.IMPORT_CLIENT and step.change is not None
    return base._replace(client_id=step.client, replaces=replaces, **change)


def _uri(history: History, step: Step) -> str:
    client = history.clients.get(step.client or "")
    addresses = client.settings.redirect_uris if client is not None else ()
    return addresses[step.uri % len(addresses)] if addresses else "https://nowhere.example/"


def _scope(step: Step) -> tuple[str, ...] | None:
    return None if step.scope is None else tuple(one for one in step.scope.split(",") if one)


def _token(history: History, step: Step) -> str | None:
    return None if step.twist is Twist.WITHOUT_TOKEN else _text(history, step.token)


def _text(history: History, ref: Ref | None) -> str:
    """Return the text behind a reference; nonsense if no answer showed it."""
    if ref is None:
        return nonsense("token")
    if ref.kind is Kind.TICKET:
        ticket = history.tickets.get(ref.number)
        return nonsense("ticket") if ticket is None else ticket.text
    if ref.kind is Kind.CODE:
        code = history.codes.get(ref.number)
        return nonsense("code") if code is None else code.text
    session = history.sessions.get(ref.number)
    if session is None or ref.back >= len(session.pairs):
        return nonsense(str(ref))
    pair = session.pairs[-1 - ref.back]
    text = pair.access if ref.kind is Kind.ACCESS else pair.refresh
    return nonsense(str(ref)) if text is None else text


def _session_id(history: History, ref: Ref | None) -> str:
    session = None if ref is None else history.sessions.get(ref.number)
    return "nobody" if session is None or session.session_id is None else session.session_id
