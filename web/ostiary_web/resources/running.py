"""Running sessions as the interface shows them: the online-users monitor, and the sessions of a client."""

from dataclasses import replace
from typing import Final

from ostiary_core.model.records import SessionKind
from ostiary_core.storage.listing import ONLINE_SESSIONS, ONLINE_USERS, OnlineSession
from ostiary_web.resources.access import Call
from ostiary_web.resources.declaration import Field, Kind, Listed, Words, as_they_are

__all__ = ["RUNNING", "running_sessions"]

_KINDS: Final = {
    "login": (SessionKind.LOGIN.value,),
    "oauth": (SessionKind.AUTHORIZATION_CODE.value, SessionKind.CLIENT_CREDENTIALS.value),
}

_FIELDS: Final[tuple[Field[OnlineSession], ...]] = (
    Field(
        name="id",
        kind=Kind.TEXT,
        heading=Words("Session", "会话"),
        read=lambda session: session.session_id,
    ),
    Field(
        name="kind",
        kind=Kind.TEXT,
        heading=Words("Kind", "类型"),
        read=lambda session: "login" if session.kind is SessionKind.LOGIN else "oauth",
        listed="kind",
        choices=_KINDS,
    ),
    Field(
        name="username",
        kind=Kind.TEXT,
        heading=Words("User name", "用户名"),
        read=lambda session: session.username,
        listed="username",
    ),
    Field(
        name="name",
        kind=Kind.TEXT,
        heading=Words("Name", "姓名"),
        read=lambda session: session.name,
        listed="name",
    ),
    Field(
        name="clientId",
        kind=Kind.TEXT,
        heading=Words("Client", "客户端"),
        read=lambda session: session.client_id,
        listed="client_id",
    ),
    Field(
        name="scope",
        kind=Kind.TEXT,
        heading=Words("Scope", "权限范围"),
        read=lambda session: " ".join(session.scopes),
    ),
    Field(
        name="ip",
        kind=Kind.TEXT,
        heading=Words("Address", "地址"),
        read=lambda session: session.source,
    ),
    Field(
        name="userAgent",
        kind=Kind.TEXT,
        heading=Words("User-Agent", "User-Agent"),
        read=lambda session: session.user_agent,
    ),
    Field(
        name="signedInAt",
        kind=Kind.TIME,
        heading=Words("Signed in at", "登录时间"),
        read=lambda session: session.signed_in_at,
        listed="signed_in_at",
    ),
    Field(
        name="lastSeenAt",
        kind=Kind.TIME,
        heading=Words("Last seen at", "最近活动时间"),
        read=lambda session: session.last_seen_at,
        listed="last_seen_at",
    ),
    Field(
        name="expiresAt",
        kind=Kind.TIME,
        heading=Words("Expires at", "过期时间"),
        read=lambda session: session.expires_at,
        listed="expires_at",
    ),
)


RUNNING: Final = Listed(resource=ONLINE_SESSIONS, fields=_FIELDS, shown=as_they_are)
"""All of them."""


def running_sessions(call: Call) -> Listed[OnlineSession, OnlineSession]:
    """What the caller may see: those of client credentials are a super administrator's
    ("Session (grant)")."""
    return RUNNING if call.is_super_administrator else replace(RUNNING, resource=ONLINE_USERS)
