"""`/api/auth/*`: signing in and out, the pair of login tokens, the caller's own account and password."""

from typing import Annotated

from quart import Blueprint, Response, current_app, request

from ostiary_core.events import (
    LoginRefreshed,
    PasswordChanged,
    PasswordHashRequested,
    SignedIn,
    SignedOut,
    SignInAttempted,
)
from ostiary_core.http.endpoint import is_failure
from ostiary_core.http.sender import user_agent_of
from ostiary_core.model.decision import LoginIssued, PasswordOnFile, Refused
from ostiary_core.model.identifiers import canonical_username
from ostiary_core.model.instant import Arrival
from ostiary_core.model.permissions import Permission
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_core.users.user_fields import LONGEST_PASSWORD, new_password_faults
from ostiary_net.runtime.passwords import Passwords
from ostiary_net.turns.turns import TurnFailed
from ostiary_web.answer_data import AnswerData, Count, Locale, Phone, Token, one_of
from ostiary_web.browser import (
    FORM_HEADER,
    caller,
    forget_login,
    keep_login,
    proves_origin,
    refresh_cookie,
)
from ostiary_web.exchange import Exchange, exchange, limited
from ostiary_web.own_account import longest, new_password, open_own_call, texts, verify_current_password

__all__ = ["LONGEST_USERNAME", "Account", "Login", "auth", "change_password", "renew_login", "sign_in"]

auth = Blueprint("auth", __name__)

LONGEST_USERNAME = 256


def _passwords() -> Passwords:
    found: Passwords = current_app.extensions["ostiary.passwords"]
    return found


# --- what the pages do too


async def sign_in(here: Exchange, username: str, password: str) -> LoginIssued | Refused:
    """A login session for a user name and password; every wrong pair costs and answers the same.

    An address that guesses is made to wait, and so is a name that is tried too often, whether or not there
    is an account of that name (docs/decisions/0012-guesses-by-address.md).
    """
    service, account = here.service, canonical_username(username)
    wait = service.sign_in_throttle.seconds_to_wait(here.source, account, service.clock.monotonic())
    if wait:
        return Refused(Why.SIGN_INS_TOO_FREQUENT, wait_seconds=wait)
    while True:
        on_file = (await here.decide(PasswordHashRequested(of=username))).reply
        password_hash = on_file.password_hash if isinstance(on_file, PasswordOnFile) else None
        matches = await _passwords().verify(password_hash, password)
        if password_hash is None:
            wait = service.unknown_name_throttle.seconds_to_wait(account, service.clock.monotonic())
            if wait:
                return Refused(Why.SIGN_INS_TOO_FREQUENT, wait_seconds=wait)
        decision = await here.decide(
            SignInAttempted(
                username=username,
                verified_against=password_hash,
                password_matches=matches,
                user_agent=user_agent_of(here.headers),
                source=here.source,
                entropy=here.entropy(),
            )
        )
        match decision.reply:
            case Refused(why=Why.CREDENTIAL_MOVED_ON):
                continue
            case LoginIssued() as issued:
                service.sign_in_throttle.forgive(here.source, account, service.clock.monotonic())
                return issued
            case Refused() as reply:
                return reply
            case _:
                return Refused(Why.INTERNAL_ERROR)


async def renew_login(here: Exchange, refresh_token: Secret, arrival: Arrival) -> LoginIssued | Refused:
    """The next pair of a login session. Raises `TurnFailed` where nobody can know whether it came in time."""
    decision = await here.decide(
        LoginRefreshed(
            refresh_token=refresh_token,
            user_agent=user_agent_of(here.headers),
            entropy=here.entropy(),
            arrival=arrival,
        )
    )
    if is_failure(decision):
        raise TurnFailed
    match decision.reply:
        case LoginIssued() | Refused() as reply:
            return reply
        case _:
            return Refused(Why.INTERNAL_ERROR)


async def change_password(here: Exchange, who: SignedIn, old: str, new: str) -> Refused | None:
    """A new password for a signed-in user; None when it is done."""
    faults = new_password_faults("newPassword", new, old)
    if faults:
        return Refused(Why.FIELDS_INVALID, faults)
    check = await verify_current_password(here, who, old)
    if isinstance(check, Refused):
        return check
    decision = await here.decide(
        PasswordChanged(
            caller=who,
            verified_against=check.verified_against,
            password_matches=check.matches,
            new_password_hash=await _passwords().hash(new),
        )
    )
    return decision.reply if isinstance(decision.reply, Refused) else None


# --- the interface


class Login(AnswerData):
    access_token: Token
    refresh_token: Token
    expires_in: Count
    must_change_password: bool


class Account(AnswerData):
    id: str
    username: str
    name: str
    phone: Phone | None
    avatar_url: str | None
    locale: Locale | None
    timezone: str | None
    roles: list[str]
    permissions: list[Annotated[str, one_of(Permission)]]
    must_change_password: bool


@auth.post("/api/auth/login")
@limited(Operation.SIGN_IN)
async def login() -> Response:
    """`{username, password}` for a pair of tokens."""
    here = exchange()
    fields = await texts(here, username=longest(LONGEST_USERNAME), password=longest(LONGEST_PASSWORD))
    if isinstance(fields, Response):
        return fields
    return _signed_in(here, await sign_in(here, fields["username"], fields["password"]))


@auth.post("/api/auth/refresh")
async def refresh() -> Response:
    """`{refreshToken}` for the next pair; a browser may leave it to its cookie."""
    here = exchange()
    by_cookie = refresh_cookie()
    if by_cookie is not None and not request.mimetype:
        if not proves_origin(request.headers.get(FORM_HEADER, "")):
            return here.refuse(Why.ORIGIN_UNPROVEN)
        return _signed_in(here, await renew_login(here, by_cookie, here.service.arrival()))
    fields = await texts(here, refreshToken=longest(1024))
    if isinstance(fields, Response):
        return fields
    refresh_token = Secret(fields["refreshToken"])
    return _signed_in(here, await renew_login(here, refresh_token, here.service.arrival()))


@auth.post("/api/auth/logout")
async def logout() -> Response:
    """The end of the caller's login session."""
    here = exchange()
    who = caller(here)
    if isinstance(who, Why):
        return here.refuse(who)
    reply = (await here.decide(SignedOut(caller=who))).reply
    response = here.refused(reply) if isinstance(reply, Refused) else here.success(None)
    return forget_login(response)


@auth.get("/api/auth/me")
async def me() -> Response:
    """Who is calling, and what they may do."""
    call = await open_own_call(before_password_change=True)
    if isinstance(call, Response):
        return call
    user = call.user
    return call.here.success(
        Account(
            id=user.user_id,
            username=user.username,
            name=user.name,
            phone=user.phone,
            avatar_url=user.avatar_url,
            locale=user.locale,
            timezone=user.timezone,
            roles=[role.role_id for role in call.known.roles],
            permissions=list(call.known.permissions),
            must_change_password=user.must_change_password,
        )
    )


@auth.put("/api/auth/password")
async def put_password() -> Response:
    """`{oldPassword, newPassword}`; ends every other session of the user."""
    call = await open_own_call(before_password_change=True)
    if isinstance(call, Response):
        return call
    fields = await texts(call.here, oldPassword=longest(LONGEST_PASSWORD), newPassword=new_password)
    if isinstance(fields, Response):
        return fields
    reply = await change_password(call.here, call.who, fields["oldPassword"], fields["newPassword"])
    return call.here.success(None) if reply is None else call.here.refused(reply)


def _signed_in(here: Exchange, reply: LoginIssued | Refused) -> Response:
    if isinstance(reply, Refused):
        return here.refused(reply)
    tokens = reply.tokens
    assert tokens.refresh_token is not None, "a login session has one"
    login = Login(
        access_token=tokens.access_token.reveal(),
        refresh_token=tokens.refresh_token.reveal(),
        expires_in=tokens.expires_in_seconds,
        must_change_password=reply.must_change_password,
    )
    return keep_login(here.success(login), reply)
