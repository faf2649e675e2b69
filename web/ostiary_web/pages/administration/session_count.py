"""Counts the running sessions that an action would end, as far as the visitor may see them."""

from ostiary_core.storage.listing import Listing
from ostiary_web.application.resources.online import select_visible_sessions
from ostiary_web.http.context import RequestContext


async def count_running_sessions(context: RequestContext, **whose: str) -> int:
    """Return how many sessions of a client (`client_id`) or a user (`user_id`) the list of sessions shows."""
    listing = Listing(resource=select_visible_sessions(context).source, filters=whose, page_size=1)
    return await context.query(lambda store, now: store.page(listing, now).total)
