"""Serve `/api/auth/tokens`: the caller's personal access tokens."""

from typing import Annotated

from msgspec import Meta
from quart import Response

from ostiary_core.model.instant import iso_time
from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.secret import PERSONAL_TOKEN_PREFIX, TOKEN_LENGTH, fingerprint_of
from ostiary_core.model.why import Why
from ostiary_web.application.answer_data import AnswerData, Time, one_of, time_or_none
from ostiary_web.application.tokens import PATH, create_token, end_token, list_tokens
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import SIGNED_IN, GatedRoutes

tokens = GatedRoutes("tokens", __name__)


class PersonalToken(AnswerData):
    """A personal access token, without its text."""

    id: str
    name: str
    fingerprint: Annotated[
        str,
        Meta(pattern="^[0-9a-f]{8}$", description="The first digits of its SHA-256, to tell tokens apart."),
    ]
    permissions: Annotated[
        list[Annotated[str, one_of((*Permission, *TokenPower))]],
        Meta(description="What was chosen; it opens what its holder may do of it."),
    ]
    created_at: Time
    last_used_at: Annotated[Time, Meta(description="To the minute.")] | None
    expires_at: Time


class NewPersonalToken(PersonalToken):
    """A new personal access token, with its text."""

    token: Annotated[
        str,
        Meta(
            pattern=f"^{PERSONAL_TOKEN_PREFIX}[A-Za-z0-9]{{{TOKEN_LENGTH}}}$", description="Shown this once."
        ),
    ]


@tokens.get(PATH, gate=SIGNED_IN)
async def get_tokens(context: RequestContext) -> list[PersonalToken]:
    """List the caller's tokens, the newest first."""
    return [
        PersonalToken(
            id=token.session_id,
            name=token.label or "",
            fingerprint=fingerprint_of(token.access_digest),
            permissions=list(token.scopes),
            created_at=iso_time(token.signed_in_at),
            last_used_at=time_or_none(token.last_used_at),
            expires_at=iso_time(token.expires_at),
        )
        for token in await list_tokens(context)
    ]


@tokens.post(PATH, gate=SIGNED_IN)
async def post_token(context: RequestContext) -> Response:
    """Read `{name, permissions, expiresInDays}` and answer a token, shown this once."""
    created = await create_token(context, await context.json_object())
    if created.is_repeated:
        context.refuse(Why.SUBMITTED_TWICE)
    session, token = created.reply.session, created.reply.token
    new = NewPersonalToken(
        id=session.session_id,
        name=session.label or "",
        fingerprint=fingerprint_of(session.access_digest),
        permissions=list(session.scopes),
        created_at=iso_time(session.started_at),
        last_used_at=None,
        expires_at=iso_time(session.expires_at),
        token=token.reveal(),
    )
    return context.success(new, status=201)


@tokens.delete(f"{PATH}/<session_id>", gate=SIGNED_IN)
async def delete_token(context: RequestContext, session_id: str) -> None:
    """End one of the caller's tokens."""
    await end_token(context, session_id)
