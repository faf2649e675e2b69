"""Who may open a page of the administration, and what stands in the way of everybody else."""

from quart import Response

from ostiary_core.events import SignedIn
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_web.pages.posted import Posted, posted, turned_away
from ostiary_web.pages.problem import problem
from ostiary_web.pages.visit import Visit, open_visit
from ostiary_web.resources.access import Call

__all__ = ["admitted", "admitted_form"]


async def admitted(permission: Permission) -> tuple[Visit, Call] | Response:
    """The visit of somebody who holds `permission`; else the sign-in page, or a page that says no."""
    visit = await open_visit()
    away = turned_away(visit)
    if away is not None:
        return away
    call = _call_of(visit)
    if call is None or not visit.may(permission):
        return await problem(visit, Why.PERMISSION_MISSING)
    return visit, call


async def admitted_form(permission: Permission, again: str) -> tuple[Posted, Call] | Response:
    """The form that somebody who holds `permission` sent from the page `again`; nobody else's is read."""
    came = await posted(again, permission)
    if isinstance(came, Response):
        return came
    call = _call_of(came.visit)
    return await problem(came.visit, Why.NOT_SIGNED_IN) if call is None else (came, call)


def _call_of(visit: Visit) -> Call | None:
    """The visitor as the interface's own lists know a caller."""
    who: SignedIn | None = visit.who
    if who is None or visit.account is None:
        return None
    return Call(visit.here, who, visit.account)
