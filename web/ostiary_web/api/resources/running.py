"""Running sessions as the interface shows them: the online-users monitor, and the sessions of a client."""

from dataclasses import replace
from typing import Final

from ostiary_core.model.records import SessionKind
from ostiary_core.storage.listing import ONLINE_SESSIONS, ONLINE_USERS, OnlineSession
from ostiary_web.api.resources.fields import Field, Kind, Listed, Words, as_they_are
from ostiary_web.http.context import RequestContext

__all__ = ["RUNNING", "running_sessions"]

_KINDS: Final = {
    "login": (SessionKind.LOGIN.value,),
    "oauth": (SessionKind.AUTHORIZATION_CODE.value, SessionKind.CLIENT_CREDENTIALS.value),
}

_FIELDS: Final[tuple[Field[OnlineSession], ...]] = (
    Field("id", Kind.TEXT, Words("Session", "会话"), lambda session: session.session_id),
    Field(
        "kind",
        Kind.TEXT,
        Words("Kind", "类型"),
        lambda session: "login" if session.kind is SessionKind.LOGIN else "oauth",
        listed="kind",
        choices=_KINDS,
    ),
    Field(
        "username",
        Kind.TEXT,
        Words("User name", "用户名"),
        lambda session: session.username,
        listed="username",
    ),
    Field("name", Kind.TEXT, Words("Name", "姓名"), lambda session: session.name, listed="name"),
    Field(
        "clientId",
        Kind.TEXT,
        Words("Client", "客户端"),
        lambda session: session.client_id,
        listed="client_id",
    ),
    Field("scope", Kind.TEXT, Words("Scope", "权限范围"), lambda session: " ".join(session.scopes)),
    Field("ip", Kind.TEXT, Words("Address", "地址"), lambda session: session.source),
    Field("userAgent", Kind.TEXT, Words("User-Agent", "User-Agent"), lambda session: session.user_agent),
    Field(
        "signedInAt",
        Kind.TIME,
        Words("Signed in at", "登录时间"),
        lambda session: session.signed_in_at,
        listed="signed_in_at",
    ),
    Field(
        "lastSeenAt",
        Kind.TIME,
        Words("Last seen at", "最近活动时间"),
        lambda session: session.last_seen_at,
        listed="last_seen_at",
    ),
    Field(
        "expiresAt",
        Kind.TIME,
        Words("Expires at", "过期时间"),
        lambda session: session.expires_at,
        listed="expires_at",
    ),
)


RUNNING: Final = Listed(resource=ONLINE_SESSIONS, fields=_FIELDS, shown=as_they_are)
"""All of them."""


def running_sessions(context: RequestContext) -> Listed[OnlineSession, OnlineSession]:
    """What the caller may see: those of client credentials are a super administrator's
    ("Session (grant)")."""
    return RUNNING if context.is_super_administrator else replace(RUNNING, resource=ONLINE_USERS)
