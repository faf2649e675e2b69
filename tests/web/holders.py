"""Somebody who may do some things and no others."""

from ostiary_core.events import Operator, RoleRegistered
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import RoleKnown
from tests.web.callers import Api
from tests.web.served import Served


async def holder_of(served: Served, *permissions: Permission, username: str = "holder") -> Api:
    """A program signed in by an account with a role that allows this and no more."""
    role = RoleRegistered(
        caller=Operator(),
        fields={"code": f"role-of-{username}", "name": "A role", "permissions": list(permissions)},
    )
    assert isinstance(await served.decide(role), RoleKnown)
    holds = {"name": username.capitalize(), "roleIds": [f"role-of-{username}"]}
    await served.user(username, "the holder's", **holds)
    api = served.api()
    await api.sign_in(username, "the holder's")
    return api
