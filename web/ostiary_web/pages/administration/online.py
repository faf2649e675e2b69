"""Pages of running sessions: the list of them, and ending one or all."""

from typing import Any

from quart import Response

from ostiary_core.events import SessionForcedOut
from ostiary_core.model.permissions import Permission
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import OnlineSession
from ostiary_web.api.resources.online import force_out_everybody, select_visible_sessions
from ostiary_web.http.browser import forget_login
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import SUPER_ADMINISTRATOR, require_permission
from ostiary_web.pages.addresses import see_other
from ostiary_web.pages.administration.list_page import ListPage, filter_list, show_list
from ostiary_web.pages.administration.list_return import (
    HOME,
    address_of_list,
    with_done_notice,
    with_list_query,
)
from ostiary_web.pages.administration.people_search import resolve_people
from ostiary_web.pages.administration.session_count import count_running_sessions
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes

online_pages = PageRoutes("online_pages", __name__)

_PLACE = "/admin/online"


def _list_page(page: PageContext) -> ListPage[Any, Any]:
    def actions(session: OnlineSession) -> list[tuple[str, str]]:
        found = []
        if page.may(Permission.AUDIT_READ):
            found.append((f"/admin/audit/sessions/{session.session_id}", "page.history"))
        if page.may(Permission.ONLINE_KILL):
            found.append((f"{_PLACE}/{session.session_id}/end", "page.online_end"))
        return found

    return ListPage(
        list_view=select_visible_sessions(page.request),
        place=_PLACE,
        heading="page.online",
        columns=("username", "name", "clientId", "kind", "ip", "signedInAt", "lastSeenAt", "expiresAt"),
        filters=("kind", "userId", "clientId", "signedInAt"),
        resolve={"userId": resolve_people},
        user_filter="userId",
        words={"kind": lambda kind, language: language.text(f"kind.{kind}")},
        agents={"ip": "userAgent"},
        actions=actions,
    )


@online_pages.get(_PLACE, gate=require_permission(Permission.ONLINE_LIST))
async def show_online(page: PageContext) -> Response:
    """Show the running sessions."""
    end_all = (f"{_PLACE}/end-all", page.text("page.online_end_all"))
    tools = [end_all] if page.request.is_super_administrator else []
    return await show_list(page, _list_page(page), tools=tools)


@online_pages.get(f"{_PLACE}/end-all", gate=SUPER_ADMINISTRATOR)
async def ask_to_end_all(page: PageContext) -> Response:
    """Ask before all sessions are ended, and say how many there are."""
    return await render(
        page,
        "administration/confirm.html",
        place=_PLACE,
        heading=page.text("page.online_end_all"),
        confirm_text=page.text("page.online_end_all_will", count=await count_running_sessions(page.request)),
        action_name=page.text("page.online_end_all"),
        back=_PLACE,
        action=f"{_PLACE}/end-all",
    )


@online_pages.post(f"{_PLACE}/end-all", gate=SUPER_ADMINISTRATOR)
async def end_all(page: PageContext) -> Response:
    """End every session, the caller's too."""
    await force_out_everybody(page.request, page.request.caller)
    return forget_login(see_other("/login"))


@online_pages.post(_PLACE, gate=require_permission(Permission.ONLINE_LIST))
async def filter_online(page: PageContext) -> Response:
    """Redirect to the list with the form's filters."""
    return await filter_list(page, _list_page(page))


@online_pages.get(f"{_PLACE}/<session_id>/end", gate=require_permission(Permission.ONLINE_KILL))
async def ask_to_end(page: PageContext, session_id: str) -> Response:
    """Ask before a session is ended."""
    return await render(
        page,
        "administration/confirm.html",
        place=_PLACE,
        heading=page.text("page.online_end"),
        confirm_text=page.text("page.online_end_will"),
        action_name=page.text("page.online_end"),
        back=_list_or_home(page),
        action=with_list_query(f"{_PLACE}/{session_id}/end"),
    )


@online_pages.post(f"{_PLACE}/<session_id>/end", gate=require_permission(Permission.ONLINE_KILL))
async def end(page: PageContext, session_id: str) -> Response:
    """End one session; one that has ended in the meantime is no error."""
    try:
        await page.request.decide(SessionForcedOut(caller=page.request.caller, session_id=session_id))
    except RequestRefused as refusal:
        if refusal.reply.why is not Why.NOT_FOUND:
            raise
    there = _list_or_home(page)
    return page.redirect(with_done_notice(there) if there == HOME else there)


def _list_or_home(page: PageContext) -> str:
    return address_of_list(_PLACE) if page.may(Permission.ONLINE_LIST) else HOME
