"""Serve `/api/auth/tokens`: the caller's personal access tokens."""

from typing import Annotated, Final

from msgspec import Meta
from quart import Response

from ostiary_core.events import OwnSessionEnded, PersonalTokenCreated
from ostiary_core.http.sender import user_agent_of
from ostiary_core.model.fields import Fields
from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.records import SessionKind
from ostiary_core.model.reply import PersonalTokenIssued, Reply
from ostiary_core.model.secret import PERSONAL_TOKEN_PREFIX, TOKEN_LENGTH, fingerprint_of
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import ONLINE_USERS, Listing, ListingStore, OnlineSession
from ostiary_web.api.answer_data import AnswerData, Time, one_of, time_or_none
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import SIGNED_IN, GatedRoutes
from ostiary_web.server.submissions import Submitted

tokens = GatedRoutes("tokens", __name__)

_PATH: Final = "/api/auth/tokens"
_TOKENS_PER_READ: Final = 200


# --- what the pages do too


async def list_tokens(context: RequestContext, session_id: str | None = None) -> tuple[OnlineSession, ...]:
    """Return the caller's tokens, or the one with this identifier, the newest first."""
    own = {"user_id": context.user.user_id, "kind": SessionKind.PERSONAL_TOKEN.value}
    filters = own if session_id is None else {**own, "session_id": session_id}
    listing = Listing(resource=ONLINE_USERS, filters=filters, page_size=_TOKENS_PER_READ)

    def read_all(store: ListingStore, now: Instant) -> tuple[OnlineSession, ...]:
        # The rules bound how many live; a release before may have made more.
        found: list[OnlineSession] = []
        while items := store.items_after(listing, found[-1] if found else None, now):
            found += items
        return tuple(found)

    return await context.query(read_all)


async def create_token(context: RequestContext, fields: Fields) -> Submitted[PersonalTokenIssued]:
    """Make a token, once if the caller sends it twice within moments; raise `RequestRefused`."""

    async def make() -> Reply:
        return await context.decide(
            PersonalTokenCreated(
                caller=context.caller,
                fields=fields,
                user_agent=user_agent_of(context.headers),
                source=context.source,
                entropy=context.draw_entropy(),
            )
        )

    caller = context.caller.access_token.digest
    reply, is_repeated = await context.services.submissions.submit(caller, _PATH, fields, make)
    assert isinstance(reply, PersonalTokenIssued)
    return Submitted(reply, is_repeated)


async def end_token(context: RequestContext, session_id: str) -> None:
    """End one of the caller's tokens; raise `RequestRefused` for any other session."""
    if not await list_tokens(context, session_id):
        context.refuse(Why.NOT_FOUND)
    await context.decide(OwnSessionEnded(caller=context.caller, session_id=session_id))


# --- the interface


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


@tokens.get(_PATH, gate=SIGNED_IN)
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


@tokens.post(_PATH, gate=SIGNED_IN)
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


@tokens.delete(f"{_PATH}/<session_id>", gate=SIGNED_IN)
async def delete_token(context: RequestContext, session_id: str) -> None:
    """End one of the caller's tokens."""
    await end_token(context, session_id)
