"""Who may open a page of the administration, and what stands in the way of everybody else."""

from quart import Response

from ostiary_core.events import SignedIn
from ostiary_core.permissions import Permission
from ostiary_core.why import Why
from ostiary_web.pages.posted import turned_away
from ostiary_web.pages.problem import problem
from ostiary_web.pages.visit import Visit, open_visit
from ostiary_web.resources.access import Call

__all__ = ["admitted", "call_of"]


async def admitted(permission: Permission) -> tuple[Visit, Call] | Response:
    """The visit of somebody who holds `permission`; else the sign-in page, or a page that says no."""
    visit = await open_visit()
    away = turned_away(visit)
    if away is not None:
        return away
    call = call_of(visit)
    if call is None or not visit.may(permission):
        return await problem(visit, Why.PERMISSION_MISSING)
    return visit, call


def call_of(visit: Visit) -> Call | None:
    """The visitor as the interface's own lists know a caller."""
    who: SignedIn | None = visit.who
    if who is None or visit.account is None:
        return None
    return Call(visit.here, who, visit.account)
