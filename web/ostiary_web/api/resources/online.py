"""Serve active sessions: `/api/monitor/online-users`, the end of one or all, and their list elsewhere."""

from typing import Final

from quart import Response

from ostiary_core.events import SessionForcedOut
from ostiary_core.model.permissions import Permission
from ostiary_web.api.resources.routes import add_event_route
from ostiary_web.application.resources.lists import answer_list
from ostiary_web.application.resources.online import (
    force_out_everybody,
    operator_for,
    select_visible_sessions,
)
from ostiary_web.application.resources.records import refuse_body
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import SUPER_ADMINISTRATOR, GatedRoutes, require_permission

online_users = GatedRoutes("online_users", __name__)

_PATH: Final = "/api/monitor/online-users"


@online_users.get(_PATH, gate=require_permission(Permission.ONLINE_LIST))
async def list_online(context: RequestContext) -> Response:
    """List the active sessions that the caller may see."""
    return await answer_list(context, select_visible_sessions(context))


add_event_route(
    online_users,
    "DELETE",
    f"{_PATH}/<session_id>",
    SessionForcedOut,
    require_permission(Permission.ONLINE_KILL),
)


@online_users.post("/api/monitor/force-logout-all", gate=SUPER_ADMINISTRATOR)
async def force_out_all(context: RequestContext) -> None:
    """End every session and unredeemed code, the caller's own included."""
    refuse_body(context)
    await force_out_everybody(context, context.caller, operator_for(context))
