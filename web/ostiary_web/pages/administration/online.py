"""Online users: every running sign-in and authorization, and the end of one of them."""

from typing import Any

from quart import Response

from ostiary_core.events import SessionForcedOut
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import OnlineSession
from ostiary_web.api.resources.online import running_sessions
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.tables import Table, show_table
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes

online_pages = PageRoutes("online_pages", __name__)

_PLACE = "/admin/online"


def _table(page: PageContext) -> Table[Any, Any]:
    def actions(session: OnlineSession) -> list[tuple[str, str]]:
        found = []
        if page.may(Permission.AUDIT_READ):
            found.append((f"/admin/audit/sessions/{session.session_id}", "online_life"))
        if page.may(Permission.ONLINE_KILL):
            found.append((f"{_PLACE}/{session.session_id}/end", "online_end"))
        return found

    return Table(
        list_view=running_sessions(page.request),
        place=_PLACE,
        heading="online",
        columns=("username", "name", "clientId", "kind", "ip", "signedInAt", "lastSeenAt", "expiresAt"),
        filters=("kind", "clientId", "signedInAt"),
        words={"kind": lambda kind, language: page.text(f"online_{kind}")},
        actions=actions,
    )


@online_pages.get(_PLACE, gate=require_permission(Permission.ONLINE_LIST))
async def show_online(page: PageContext) -> Response:
    """Who is signed in, and which applications."""
    return await show_table(page, _table(page))


@online_pages.get(f"{_PLACE}/<session_id>/end", gate=require_permission(Permission.ONLINE_KILL))
async def ask_to_end(page: PageContext, session_id: str) -> Response:
    """What will happen, before it does."""
    return await render(
        page,
        "administration/confirm.html",
        place=_PLACE,
        heading=page.text("online_end"),
        will=page.text("online_end_will"),
        action_name=page.text("online_end"),
        back=_PLACE,
        action=f"{_PLACE}/{session_id}/end",
    )


@online_pages.post(f"{_PLACE}/<session_id>/end", gate=require_permission(Permission.ONLINE_KILL))
async def end(page: PageContext, session_id: str) -> Response:
    """The end of one session; one that has ended meanwhile is what was asked for."""
    try:
        await page.request.decide(SessionForcedOut(caller=page.request.caller, session_id=session_id))
    except RequestRefused as refusal:
        if refusal.reply.why is not Why.NOT_FOUND:
            raise
    return page.redirect(_PLACE)
