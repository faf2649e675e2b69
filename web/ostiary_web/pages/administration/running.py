"""How many running sessions something would end, as far as the reader may see them."""

from ostiary_core.storage.listing import Listing
from ostiary_web.api.resources.online import running_sessions
from ostiary_web.http.context import RequestContext


async def running_of(context: RequestContext, **whose: str) -> int:
    """The sessions that run of a client (`client_id`) or a user (`user_id`), as the monitor lists them."""
    listing = Listing(resource=running_sessions(context).source, filters=whose, page_size=1)
    return await context.look(lambda store, now: store.page(listing, now).total)
