"""`/api/monitor/online-users`: who is signed in and which sessions run, and the end of one of them."""

from quart import Blueprint, Response

from ostiary_core.events import SessionForcedOut
from ostiary_core.model.decision import Refused
from ostiary_core.model.permissions import Permission
from ostiary_web.resources.access import Call, opened_by
from ostiary_web.resources.lists import answer_list
from ostiary_web.resources.running import running_sessions

__all__ = ["online_users"]

online_users = Blueprint("online_users", __name__)

_PATH = "/api/monitor/online-users"


@opened_by(online_users, "GET", _PATH, Permission.ONLINE_LIST)
async def list_online(call: Call) -> Response:
    """The running sessions that the caller may see."""
    return await answer_list(call, running_sessions(call))


@opened_by(online_users, "DELETE", f"{_PATH}/<session_id>", Permission.ONLINE_KILL)
async def force_out(call: Call, session_id: str) -> Response:
    """The end of one session; 404 for one that does not run, or that the caller may not see."""
    reply = await call.decide(SessionForcedOut(caller=call.who, session_id=session_id))
    return call.here.refused(reply) if isinstance(reply, Refused) else call.here.success(None)
