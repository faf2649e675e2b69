"""`/api/monitor/online-users`: who is signed in and which sessions run, and the end of one of them."""

from quart import Response

from ostiary_core.events import SessionForcedOut
from ostiary_core.model.permissions import Permission
from ostiary_web.api.resources.lists import answer_list
from ostiary_web.api.resources.running import running_sessions
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import GatedRoutes, require_permission

online_users = GatedRoutes("online_users", __name__)

_PATH = "/api/monitor/online-users"


@online_users.get(_PATH, gate=require_permission(Permission.ONLINE_LIST))
async def list_online(context: RequestContext) -> Response:
    """The running sessions that the caller may see."""
    return await answer_list(context, running_sessions(context))


@online_users.delete(f"{_PATH}/<session_id>", gate=require_permission(Permission.ONLINE_KILL))
async def force_out(context: RequestContext, session_id: str) -> Response:
    """The end of one session; 404 for one that does not run, or that the caller may not see."""
    await context.decide(SessionForcedOut(caller=context.caller, session_id=session_id))
    return context.success(None)
