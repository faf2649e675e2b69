"""The one way into the administration: a route names its permission, and nothing of it runs without.

The rules check the permission again with the change itself; what is checked here is that nobody else makes
the server read a body, hash a password or go through a list.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, TypeVar

from quart import Blueprint, Response

from ostiary_core.events import AccountRequested, Event, SignedIn
from ostiary_core.model.decision import AccountKnown, Refused, Reply
from ostiary_core.model.permissions import SUPER_ADMINISTRATOR, Permission
from ostiary_core.model.why import Why
from ostiary_net.turns.turns import Question
from ostiary_web.browser import caller
from ostiary_web.exchange import Exchange, exchange

__all__ = ["Call", "opened_by", "permission_of"]

T = TypeVar("T")

_PERMISSION: Final = "ostiary_permission"


@dataclass(frozen=True, slots=True)
class Call:
    """A request of somebody who may make it."""

    here: Exchange
    who: SignedIn
    account: AccountKnown

    @property
    def is_super_administrator(self) -> bool:
        """Who sees sessions that represent no user ("Session (grant)")."""
        return any(role.role_id == SUPER_ADMINISTRATOR for role in self.account.roles)

    @property
    def own_id(self) -> str | None:
        """The caller's own account."""
        return None if self.account.user is None else self.account.user.user_id

    async def decide(self, event: Event) -> Reply:
        """What the rules reply to `event`."""
        return (await self.here.decide(event)).reply

    async def look(self, question: Question[T]) -> T:
        """What a question finds in the lists."""
        return await self.here.service.look(question, self.here.origin)


Handler = Callable[..., Awaitable[Response]]
"""Answers a call; the variable parts of its path come by name."""


def opened_by(
    blueprint: Blueprint, method: str, path: str, permission: Permission
) -> Callable[[Handler], Handler]:
    """Make a handler the route `method path`, for those who hold `permission`."""

    def declare(handler: Handler) -> Handler:
        @wraps(handler)
        async def view(**parts: str) -> Response:
            here = exchange()
            who = caller(here)
            if isinstance(who, Why):
                return here.refuse(who)
            match (await here.decide(AccountRequested(caller=who, permission=permission))).reply:
                case AccountKnown() as account:
                    return await handler(Call(here, who, account), **parts)
                case Refused() as reply:
                    return here.refused(reply)
                case _:
                    return here.refuse(Why.INTERNAL_ERROR)

        setattr(view, _PERMISSION, permission)
        blueprint.add_url_rule(path, view_func=view, methods=[method])
        return handler

    return declare


def permission_of(view: Callable[..., Any] | None) -> Permission | None:
    """Which permission opens the route of a view; None where it is opened some other way."""
    found: Permission | None = getattr(view, _PERMISSION, None)
    return found
