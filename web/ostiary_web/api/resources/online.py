"""Running sessions: `/api/monitor/online-users`, the end of one of them, and the list of them elsewhere."""

from dataclasses import replace
from typing import Final

from quart import Response

from ostiary_core.events import SessionForcedOut
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import SessionKind
from ostiary_core.storage.listing import ONLINE_SESSIONS, ONLINE_USERS, OnlineSession
from ostiary_web.api.resources.fields import Field, Kind, ListView, LocalizedText, as_they_are
from ostiary_web.api.resources.lists import answer_list
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import GatedRoutes, require_permission

_KINDS: Final = {
    "login": (SessionKind.LOGIN.value,),
    "oauth": (SessionKind.AUTHORIZATION_CODE.value, SessionKind.CLIENT_CREDENTIALS.value),
}

_FIELDS: Final[tuple[Field[OnlineSession], ...]] = (
    Field("id", Kind.TEXT, LocalizedText("Session", "会话"), lambda session: session.session_id),
    Field(
        "kind",
        Kind.TEXT,
        LocalizedText("Kind", "类型"),
        lambda session: "login" if session.kind is SessionKind.LOGIN else "oauth",
        listing_name="kind",
        choices=_KINDS,
    ),
    Field(
        "username",
        Kind.TEXT,
        LocalizedText("User name", "用户名"),
        lambda session: session.username,
        listing_name="username",
    ),
    Field(
        "name", Kind.TEXT, LocalizedText("Name", "姓名"), lambda session: session.name, listing_name="name"
    ),
    Field(
        "clientId",
        Kind.TEXT,
        LocalizedText("Client", "客户端"),
        lambda session: session.client_id,
        listing_name="client_id",
    ),
    Field("scope", Kind.TEXT, LocalizedText("Scope", "权限范围"), lambda session: " ".join(session.scopes)),
    Field("ip", Kind.TEXT, LocalizedText("Address", "地址"), lambda session: session.source),
    Field(
        "userAgent", Kind.TEXT, LocalizedText("User-Agent", "User-Agent"), lambda session: session.user_agent
    ),
    Field(
        "signedInAt",
        Kind.TIME,
        LocalizedText("Signed in at", "登录时间"),
        lambda session: session.signed_in_at,
        listing_name="signed_in_at",
    ),
    Field(
        "lastSeenAt",
        Kind.TIME,
        LocalizedText("Last seen at", "最近活动时间"),
        lambda session: session.last_seen_at,
        listing_name="last_seen_at",
    ),
    Field(
        "expiresAt",
        Kind.TIME,
        LocalizedText("Expires at", "过期时间"),
        lambda session: session.expires_at,
        listing_name="expires_at",
    ),
)


RUNNING: Final = ListView(source=ONLINE_SESSIONS, fields=_FIELDS, shown=as_they_are)
"""All of them."""


def running_sessions(context: RequestContext) -> ListView[OnlineSession, OnlineSession]:
    """What the caller may see: those of client credentials are a super administrator's
    ("Session (grant)")."""
    return RUNNING if context.is_super_administrator else replace(RUNNING, source=ONLINE_USERS)


online_users = GatedRoutes("online_users", __name__)

_PATH: Final = "/api/monitor/online-users"


@online_users.get(_PATH, gate=require_permission(Permission.ONLINE_LIST))
async def list_online(context: RequestContext) -> Response:
    """The running sessions that the caller may see."""
    return await answer_list(context, running_sessions(context))


@online_users.delete(f"{_PATH}/<session_id>", gate=require_permission(Permission.ONLINE_KILL))
async def force_out(context: RequestContext, session_id: str) -> Response:
    """The end of one session; 404 for one that does not run, or that the caller may not see."""
    await context.decide(SessionForcedOut(caller=context.caller, session_id=session_id))
    return context.success(None)
