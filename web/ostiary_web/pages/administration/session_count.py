"""Counts the running sessions that an action would end or has ended, as far as the visitor may see them."""

from collections.abc import Sequence

from ostiary_core.storage.listing import Listing
from ostiary_web.application.resources.online import select_visible_sessions
from ostiary_web.http.context import RequestContext
from ostiary_web.pages.context import PageContext


async def count_running_sessions(context: RequestContext, **whose: str | tuple[str, ...]) -> int:
    """Return how many sessions of a client (`client_id`) or a user (`user_id`) the list of sessions shows."""
    listing = Listing(resource=select_visible_sessions(context).source, filters=whose, page_size=1)
    return await context.query(lambda store, now: store.page(listing, now).total)


def describe_endings(page: PageContext, done: str, ended: int) -> Sequence[str]:
    """Return what was done in words, with the number of sessions that ended by it, if any did."""
    return (done, page.text("page.sessions_ended", count=ended)) if ended > 0 else (done,)
