"""How many running sessions something would end."""

from ostiary_core.listing import ONLINE_SESSIONS, Listing
from ostiary_web.resources.access import Call

__all__ = ["running_of"]


async def running_of(call: Call, **whose: str) -> int:
    """The sessions that run of a client (`client_id`) or a user (`user_id`)."""
    listing = Listing(resource=ONLINE_SESSIONS, filters=whose, page_size=1)
    return await call.look(lambda store, now: store.page(listing, now).total)
