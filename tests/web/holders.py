"""Somebody who may do some things and no others."""

from ostiary_core.events import Operator, RoleRegistered, UserRegistered
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import RoleKnown, UserKnown
from tests.web.served import Api, Served

__all__ = ["holder_of"]


async def holder_of(served: Served, *permissions: Permission, username: str = "holder") -> Api:
    """A program signed in by an account with a role that allows this and no more."""
    role = RoleRegistered(
        caller=Operator(),
        fields={"code": f"role-of-{username}", "name": "A role", "permissions": list(permissions)},
    )
    assert isinstance(await served.decide(role), RoleKnown)
    account = UserRegistered(
        caller=Operator(),
        fields={
            "username": username,
            "name": username.capitalize(),
            "mustChangePassword": False,
            "roleIds": [f"role-of-{username}"],
        },
        password_hash=await served.backing.passwords.hash("the holder's"),
        entropy=served.entropy_source.draw(),
    )
    assert isinstance(await served.decide(account), UserKnown)
    api = served.api()
    await api.sign_in(username, "the holder's")
    return api
