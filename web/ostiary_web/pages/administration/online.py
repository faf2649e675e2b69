"""Online users: every running sign-in and authorization, and the end of one of them."""

from typing import Any

from quart import Blueprint, Response

from ostiary_core.events import SessionForcedOut
from ostiary_core.model.decision import Refused
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import OnlineSession
from ostiary_web.pages.administration.admission import admitted, admitted_form
from ostiary_web.pages.administration.tables import Table, show_table
from ostiary_web.pages.problem import problem
from ostiary_web.pages.visit import Visit, page
from ostiary_web.resources.access import Call
from ostiary_web.resources.running import running_sessions

__all__ = ["online_pages"]

online_pages = Blueprint("online_pages", __name__)

_PLACE = "/admin/online"


def _table(visit: Visit, call: Call) -> Table[Any, Any]:
    def actions(session: OnlineSession) -> list[tuple[str, str]]:
        found = []
        if visit.may(Permission.AUDIT_READ):
            found.append((f"/admin/audit/sessions/{session.session_id}", "online_life"))
        if visit.may(Permission.ONLINE_KILL):
            found.append((f"{_PLACE}/{session.session_id}/end", "online_end"))
        return found

    return Table(
        listed=running_sessions(call),
        place=_PLACE,
        heading="online",
        columns=("username", "name", "clientId", "kind", "ip", "signedInAt", "lastSeenAt", "expiresAt"),
        filters=("kind", "clientId", "signedInAt"),
        words={"kind": lambda kind, language: visit.text(f"online_{kind}")},
        actions=actions,
    )


@online_pages.get(_PLACE)
async def show_online() -> Response:
    """Who is signed in, and which applications."""
    found = await admitted(Permission.ONLINE_LIST)
    if isinstance(found, Response):
        return found
    visit, call = found
    return await show_table(visit, call, _table(visit, call))


@online_pages.get(f"{_PLACE}/<session_id>/end")
async def ask_to_end(session_id: str) -> Response:
    """What will happen, before it does."""
    found = await admitted(Permission.ONLINE_KILL)
    if isinstance(found, Response):
        return found
    visit, _ = found
    return await page(
        visit,
        "administration/confirm.html",
        place=_PLACE,
        heading=visit.text("online_end"),
        will=visit.text("online_end_will"),
        deed=visit.text("online_end"),
        back=_PLACE,
        action=f"{_PLACE}/{session_id}/end",
    )


@online_pages.post(f"{_PLACE}/<session_id>/end")
async def end(session_id: str) -> Response:
    """The end of one session; one that has ended meanwhile is what was asked for."""
    came = await admitted_form(Permission.ONLINE_KILL, f"{_PLACE}/{session_id}/end")
    if isinstance(came, Response):
        return came
    sent, call = came
    reply = await call.decide(SessionForcedOut(caller=call.who, session_id=session_id))
    if isinstance(reply, Refused) and reply.why is not Why.NOT_FOUND:
        return await problem(sent.visit, reply.why)
    return sent.done(_PLACE)
