"""Serve `/api/auth/*`: sign-in and sign-out, login tokens, the caller's account and password."""

from typing import Annotated, Literal

from quart import Response, request

from ostiary_core import events
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import LoginIssued, Refused, SecondFactorAsked
from ostiary_core.model.secret import Secret
from ostiary_core.model.user import LONGEST_PASSWORD
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.api.body_texts import longest, new_password, read_texts
from ostiary_web.application.answer_data import AnswerData, Count, Locale, Phone, Token, one_of
from ostiary_web.application.own_account import LONGEST_USERNAME, change_password, renew_login, sign_in
from ostiary_web.http.browser import (
    FORM_HEADER,
    forget_login,
    has_proven_origin,
    keep_login,
    read_refresh_cookie,
)
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import BEFORE_PASSWORD_CHANGE, CLOSED_TO_OTHER_SITES, LOGIN_TOKEN, GatedRoutes

auth = GatedRoutes("auth", __name__)


class Login(AnswerData):
    """The next pair of tokens of a login session; a browser has it in its cookies too."""

    access_token: Token
    refresh_token: Token
    expires_in: Count
    must_change_password: bool


class SecondFactorNeeded(AnswerData):
    """No tokens yet: the ticket and a code of the second factor give them.

    With `setUpRequired` one must be set up with the ticket first.
    """

    second_factor_required: Literal[True]
    ticket: str
    """Good for five minutes and one sign-in."""
    set_up_required: bool


class Account(AnswerData):
    """The signed-in user, and what they may do."""

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
    second_factor: bool
    """Whether a sign-in asks for a code."""
    must_set_up_second_factor: bool
    """Whether one must be set up before anything else."""


@auth.post("/api/auth/login", gate=CLOSED_TO_OTHER_SITES, limit=Operation.SIGN_IN)
async def login(context: RequestContext) -> Response | SecondFactorNeeded:
    """Read `{username, password}` and answer a pair of tokens, or a ticket for the second factor."""
    fields = await read_texts(context, username=longest(LONGEST_USERNAME), password=longest(LONGEST_PASSWORD))
    reply = await sign_in(context, fields["username"], fields["password"])
    if isinstance(reply, SecondFactorAsked):
        return SecondFactorNeeded(
            second_factor_required=True,
            ticket=reply.ticket.reveal(),
            set_up_required=reply.set_up_required,
        )
    return encode_login(context, reply)


@auth.post("/api/auth/refresh", gate=CLOSED_TO_OTHER_SITES)
async def refresh(context: RequestContext) -> Response:
    """Read `{refreshToken}`, else the browser's cookie, and answer the next pair."""
    refresh_token = read_refresh_cookie()
    if refresh_token is not None and not request.mimetype:
        if not has_proven_origin(request.headers.get(FORM_HEADER, "")):
            context.refuse(Why.ORIGIN_UNPROVEN)
    else:
        fields = await read_texts(context, refreshToken=longest(1024))
        refresh_token = Secret(fields["refreshToken"])
    return encode_login(
        context, await renew_login(context, refresh_token, context.service.estimate_arrival())
    )


@auth.post("/api/auth/logout", gate=LOGIN_TOKEN)
async def logout(context: RequestContext) -> Response:
    """End the caller's login session."""
    reply = (await context.submit(events.SignedOut(caller=context.caller))).reply
    response = context.failure(reply) if isinstance(reply, Refused) else context.success(None)
    return forget_login(response)


@auth.get("/api/auth/me", gate=BEFORE_PASSWORD_CHANGE)
async def me(context: RequestContext) -> Account:
    """Answer the caller's account and permissions."""
    user = context.user
    return Account(
        id=user.user_id,
        username=user.username,
        name=user.name,
        phone=user.phone,
        avatar_url=user.avatar_url,
        locale=user.locale,
        timezone=user.timezone,
        roles=[role.role_id for role in context.account.roles],
        permissions=list(context.account.permissions),
        must_change_password=user.must_change_password,
        second_factor=user.has_second_factor,
        must_set_up_second_factor=context.account.must_set_up_second_factor,
    )


@auth.put("/api/auth/password", gate=BEFORE_PASSWORD_CHANGE)
async def put_password(context: RequestContext) -> None:
    """Read `{oldPassword, newPassword}` and change it; every other session of the user ends."""
    fields = await read_texts(context, oldPassword=longest(LONGEST_PASSWORD), newPassword=new_password)
    await change_password(context, fields["oldPassword"], fields["newPassword"])


def encode_login(context: RequestContext, issued: LoginIssued) -> Response:
    """Answer the tokens of a login session, in the browser's cookies too."""
    tokens = issued.tokens
    assert tokens.refresh_token is not None, "a login session has one"
    login = Login(
        access_token=tokens.access_token.reveal(),
        refresh_token=tokens.refresh_token.reveal(),
        expires_in=tokens.expires_in_seconds,
        must_change_password=issued.must_change_password,
    )
    return keep_login(context.success(login), issued)
