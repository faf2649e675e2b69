"""Create, list and end the caller's personal access tokens."""

from typing import Final

from ostiary_core.events import OwnSessionEnded, PersonalTokenCreated
from ostiary_core.http.sender import user_agent_of
from ostiary_core.model.fields import Fields
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import SessionKind
from ostiary_core.model.reply import PersonalTokenIssued, Reply
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import ONLINE_USERS, Listing, ListingStore, OnlineSession
from ostiary_web.http.context import RequestContext
from ostiary_web.server.submissions import Submitted

PATH: Final = "/api/auth/tokens"
_TOKENS_PER_READ: Final = 200


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
    reply, is_repeated = await context.services.submissions.submit(caller, PATH, fields, make)
    assert isinstance(reply, PersonalTokenIssued)
    return Submitted(reply, is_repeated)


async def end_token(context: RequestContext, session_id: str) -> None:
    """End one of the caller's tokens; raise `RequestRefused` for any other session."""
    if not await list_tokens(context, session_id):
        context.refuse(Why.NOT_FOUND)
    await context.decide(OwnSessionEnded(caller=context.caller, session_id=session_id))
