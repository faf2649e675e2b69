"""Online users: every running sign-in and authorization, and the end of one of them or of all."""

from typing import Any

from quart import Response

from ostiary_core.events import SessionForcedOut
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import OnlineSession
from ostiary_web.api.resources.online import force_out_everybody, running_sessions
from ostiary_web.http.browser import forget_login
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import SUPER_ADMINISTRATOR, require_permission
from ostiary_web.pages.addresses import see_other
from ostiary_web.pages.administration.finding_people import people_meant
from ostiary_web.pages.administration.running import running_of
from ostiary_web.pages.administration.tables import Table, narrow_table, show_table
from ostiary_web.pages.administration.way_back import HOME, address_of_list, with_done_notice, with_way_back
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes

online_pages = PageRoutes("online_pages", __name__)

_PLACE = "/admin/online"


def _table(page: PageContext) -> Table[Any, Any]:
    def actions(session: OnlineSession) -> list[tuple[str, str]]:
        found = []
        if page.may(Permission.AUDIT_READ):
            found.append((f"/admin/audit/sessions/{session.session_id}", "page.history"))
        if page.may(Permission.ONLINE_KILL):
            found.append((f"{_PLACE}/{session.session_id}/end", "page.online_end"))
        return found

    return Table(
        list_view=running_sessions(page.request),
        place=_PLACE,
        heading="page.online",
        columns=("username", "name", "clientId", "kind", "ip", "signedInAt", "lastSeenAt", "expiresAt"),
        filters=("kind", "userId", "clientId", "signedInAt"),
        meant={"userId": people_meant},
        people="userId",
        words={"kind": lambda kind, language: language.text(f"kind.{kind}")},
        agents={"ip": "userAgent"},
        actions=actions,
    )


@online_pages.get(_PLACE, gate=require_permission(Permission.ONLINE_LIST))
async def show_online(page: PageContext) -> Response:
    """Who is signed in, and which applications."""
    end_all = (f"{_PLACE}/end-all", page.text("page.online_end_all"))
    tools = [end_all] if page.request.is_super_administrator else []
    return await show_table(page, _table(page), tools=tools)


@online_pages.get(f"{_PLACE}/end-all", gate=SUPER_ADMINISTRATOR)
async def ask_to_end_all(page: PageContext) -> Response:
    """How many sessions would end."""
    return await render(
        page,
        "administration/confirm.html",
        place=_PLACE,
        heading=page.text("page.online_end_all"),
        will=page.text("page.online_end_all_will", count=await running_of(page.request)),
        action_name=page.text("page.online_end_all"),
        back=_PLACE,
        action=f"{_PLACE}/end-all",
    )


@online_pages.post(f"{_PLACE}/end-all", gate=SUPER_ADMINISTRATOR)
async def end_all(page: PageContext) -> Response:
    """The end of every session there is; whoever asked for it signs in anew, as everybody does."""
    await force_out_everybody(page.request, page.request.caller)
    return forget_login(see_other("/login"))


@online_pages.post(_PLACE, gate=require_permission(Permission.ONLINE_LIST))
async def narrow_online(page: PageContext) -> Response:
    """On to what the form asks for."""
    return await narrow_table(page, _table(page))


@online_pages.get(f"{_PLACE}/<session_id>/end", gate=require_permission(Permission.ONLINE_KILL))
async def ask_to_end(page: PageContext, session_id: str) -> Response:
    """What will happen, before it does."""
    return await render(
        page,
        "administration/confirm.html",
        place=_PLACE,
        heading=page.text("page.online_end"),
        will=page.text("page.online_end_will"),
        action_name=page.text("page.online_end"),
        back=_list_or_home(page),
        action=with_way_back(f"{_PLACE}/{session_id}/end"),
    )


@online_pages.post(f"{_PLACE}/<session_id>/end", gate=require_permission(Permission.ONLINE_KILL))
async def end(page: PageContext, session_id: str) -> Response:
    """The end of one session; one that has ended meanwhile is what was asked for."""
    try:
        await page.request.decide(SessionForcedOut(caller=page.request.caller, session_id=session_id))
    except RequestRefused as refusal:
        if refusal.reply.why is not Why.NOT_FOUND:
            raise
    there = _list_or_home(page)
    return page.redirect(with_done_notice(there) if there == HOME else there)


def _list_or_home(page: PageContext) -> str:
    return address_of_list(_PLACE) if page.may(Permission.ONLINE_LIST) else HOME
