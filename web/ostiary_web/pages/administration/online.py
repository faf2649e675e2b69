"""Pages of running sessions: the list of them, and ending one or all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from markupsafe import Markup
from quart import Response

from ostiary_core.events import SessionForcedOut
from ostiary_core.model.instant import NOT_YET
from ostiary_core.model.permissions import Permission
from ostiary_core.model.record_type import Kind
from ostiary_core.model.records import SessionKind, is_of_client
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import exceed_permissions
from ostiary_core.storage.listing import ROLES, Listing, ListingStore, OnlineSession
from ostiary_web.application.history_record import list_users
from ostiary_web.application.resources.fields import Field, ListView
from ostiary_web.application.resources.online import (
    force_out_everybody,
    operator_for,
    select_visible_sessions,
)
from ostiary_web.http.browser import forget_login
from ostiary_web.http.gate import SUPER_ADMINISTRATOR, require_permission
from ostiary_web.pages.addresses import see_other
from ostiary_web.pages.administration.actions import count_running_sessions
from ostiary_web.pages.administration.asked_list import MOST_SELECTED, SELECTED, ListPage
from ostiary_web.pages.administration.list_page import filter_list, show_list
from ostiary_web.pages.administration.people_search import IDENTIFIER, resolve_people
from ostiary_web.pages.administration.selected_action import add_selected_action
from ostiary_web.pages.administration.selection import Selectable, SelectionAction
from ostiary_web.pages.context import PageContext, render_question
from ostiary_web.pages.routes import PageRoutes

online_pages = PageRoutes("online_pages", __name__)

_PLACE: Final = "/admin/online"
_END: Final = f"{_PLACE}/end"
_MOST_ROLES: Final = 10_000


KIND_CODES: Final[Mapping[str, str]] = {
    SessionKind.LOGIN: "login",
    SessionKind.AUTHORIZATION_CODE: "oauth",
    SessionKind.PERSONAL_TOKEN: "token",
    SessionKind.CLIENT_CREDENTIALS: "machine",
}
"""Codes of kinds of sessions in addresses of the list."""
_KIND: Final[Field[OnlineSession]] = Field(
    "kind",
    Kind.TEXT,
    lambda session: KIND_CODES.get(session.kind, session.kind.value),
    listing_name="kind",
    choices={
        "user": tuple(kind for kind in SessionKind if kind is not SessionKind.CLIENT_CREDENTIALS),
        **{code: (kind,) for kind, code in KIND_CODES.items()},
    },
)
"""Field that tells users from machines, which the interface's `kind` does not."""


def _list_view(page: PageContext) -> ListView[OnlineSession, OnlineSession]:
    list_view = select_visible_sessions(page.request)
    fields = (_KIND if field.name == _KIND.name else field for field in list_view.fields)
    return replace(list_view, fields=tuple(fields))


def _list_out_of_reach(page: PageContext, store: ListingStore, sessions: Sequence[OnlineSession]) -> set[str]:
    """Return the users whose login sessions and tokens the visitor may not end (READINGS 40, 55)."""
    if page.request.is_super_administrator:
        return set()
    users = list_users(store, {each.user_id for each in sessions if each.user_id is not None})
    roles = store.items_after(Listing(resource=ROLES, page_size=_MOST_ROLES), None, NOT_YET)
    held = page.request.account.permissions
    return {
        user.user_id
        for user in users.values()
        if exceed_permissions([role for role in roles if role.role_id in user.role_ids], held)
    }


def _list_page(page: PageContext) -> ListPage[OnlineSession, OnlineSession]:
    may_end = page.may(Permission.ONLINE_KILL)
    out_of_reach: set[str] = set()

    def find_reach(store: ListingStore | None, sessions: Sequence[OnlineSession]) -> Sequence[OnlineSession]:
        if store is not None and may_end:
            out_of_reach.update(_list_out_of_reach(page, store, sessions))
        return sessions

    def actions(session: OnlineSession) -> list[tuple[str, str]]:
        found = []
        if page.may(Permission.AUDIT_READ):
            found.append((f"/admin/audit/sessions/{session.session_id}", "page.history"))
        is_out_of_reach = not is_of_client(session.kind) and session.user_id in out_of_reach
        if may_end and not is_out_of_reach:
            found.append((f"{_END}?{SELECTED}={session.session_id}", "page.online_end"))
        return found

    return ListPage(
        list_view=replace(_list_view(page), add_details=find_reach),
        place=_PLACE,
        heading="page.online",
        columns=("username", "clientId", "kind", "ip", "signedInAt", "lastSeenAt", "expiresAt"),
        filters=("userId", "kind", "clientId", "ip", "signedInAt"),
        resolve={"userId": resolve_people},
        user_filter="userId",
        words={"kind": lambda kind, language: language.word("kind", kind)},
        beneath={"username": "name", "kind": "tokenName", "ip": "userAgent"},
        actions=actions,
        selection=[(_END, "page.online_end_selected")] if may_end else (),
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
    return await render_question(
        page,
        place=_PLACE,
        heading=page.text("page.online_end_all"),
        confirm_text=page.text("page.online_end_all_will", count=await count_running_sessions(page.request)),
        action_name=page.text("page.online_end_all"),
        back=_PLACE,
    )


@online_pages.post(f"{_PLACE}/end-all", gate=SUPER_ADMINISTRATOR)
async def end_all(page: PageContext) -> Response:
    """End every session, the caller's too."""
    await force_out_everybody(page.request, page.request.caller, operator_for(page.request))
    return forget_login(see_other("/login"))


@online_pages.post(_PLACE, gate=require_permission(Permission.ONLINE_LIST))
async def filter_online(page: PageContext) -> Response:
    """Redirect to the list with the form's filters."""
    return await filter_list(page, _list_page(page))


async def _find(page: PageContext, ids: Sequence[str]) -> Mapping[str, OnlineSession]:
    if not page.may(Permission.ONLINE_LIST):
        return {}
    source = select_visible_sessions(page.request).source
    known = [id for id in ids if IDENTIFIER.fullmatch(id)]
    listing = Listing(resource=source, filters={"session_id": tuple(known)}, page_size=MOST_SELECTED)
    found = await page.request.query(lambda store, now: store.page(listing, now))
    return {session.session_id: session for session in found.items}


def _describe(page: PageContext, session: OnlineSession) -> Markup:
    """Return whose session of which client it is, from where and since when."""
    whose = page.text("kind.machine") if session.username is None else f"{session.name} ({session.username})"
    agent = "" if session.user_agent is None else page.agent(session.user_agent)
    program = session.client_id if session.label is None else page.text("page.token", name=session.label)
    return Markup("<b>{}</b> · {} · {} {} · {}").format(
        whose, program, session.source, agent, page.moment(session.signed_in_at)
    )


add_selected_action(
    online_pages,
    Selectable(
        list_page=_list_page,
        permission=Permission.ONLINE_LIST,
        find=_find,
        describe=_describe,
        sessions_of=None,
        key_of_visitor=lambda page: page.session_id,
    ),
    SelectionAction(
        address=_END,
        name="page.online_end",
        question="page.online_end_will",
        done="page.sessions_ended",
        permission=Permission.ONLINE_KILL,
        make_event=lambda page, session_id, session: SessionForcedOut(
            caller=page.request.caller, session_id=session_id
        ),
        # Of several, one that has ended is no error.
        ignored=frozenset({Why.NOT_FOUND}),
    ),
    "end_selected",
)
