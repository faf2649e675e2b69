"""The gate: every route says who may use it, and nothing that anybody else sends is read.

A handler runs behind its route's gate. Whoever is not let in makes the server read no body, form or upload,
hash no password and go through no list. The rules check a permission again with the change itself.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Final

from quart import Blueprint, Response

from ostiary_core.events import AccountRequested
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import AccountKnown
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.http.browser import require_caller
from ostiary_web.http.context import RequestContext, request_context

Handler = Callable[..., Awaitable[Response]]
"""Answers a request, whose context it is given; the variable parts of the path come by name."""


class _Asks(IntEnum):
    """What a gate asks for; each asks for all that stands before it."""

    NOTHING = 0
    LOGIN_TOKEN = 1
    ACCOUNT = 2
    OWN_PASSWORD = 3
    EVERY_PERMISSION = 4


@dataclass(frozen=True, slots=True)
class Gate:
    """Who may use a route."""

    asks: _Asks
    permission: Permission | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody is asked who they are."""
        return self.asks is _Asks.NOTHING

    @property
    def asks_for_account(self) -> bool:
        """Whether the rules are asked whose login session it is."""
        return self.asks >= _Asks.ACCOUNT

    @property
    def refusals(self) -> tuple[Why, ...]:
        """Everything that it may turn a request away for; only a change has to prove its origin."""
        if self.is_open:
            return ()
        password = (Why.PASSWORD_MUST_CHANGE,) if self.asks >= _Asks.OWN_PASSWORD else ()
        asks_for_more = self.permission is not None or self.asks is _Asks.EVERY_PERMISSION
        permission = (Why.PERMISSION_MISSING,) if asks_for_more else ()
        return (Why.NOT_SIGNED_IN, Why.ORIGIN_UNPROVEN, *password, *permission)

    def refusal(self, account: AccountKnown | None) -> Why | None:
        """Why somebody with this account, or without any, may not use the route; None where they may."""
        if not self.asks_for_account:
            return None
        if account is None or account.user is None:
            return Why.NOT_SIGNED_IN
        if account.user.must_change_password and self.asks is not _Asks.ACCOUNT:
            return Why.PASSWORD_MUST_CHANGE
        if self.permission is not None and self.permission.value not in account.permissions:
            return Why.PERMISSION_MISSING
        if self.asks is _Asks.EVERY_PERMISSION and not account.is_super_administrator:
            return Why.PERMISSION_MISSING
        return None

    async def let_in(self, context: RequestContext) -> None:
        """Find out who calls, as far as the gate asks; raises `RequestRefused`."""
        if self.is_open:
            return
        context.signed_in = require_caller(context)
        if not self.asks_for_account:
            return
        account = await context.decide(AccountRequested(caller=context.caller, permission=self.permission))
        assert isinstance(account, AccountKnown)
        context.account_known = account
        why = self.refusal(account)
        if why is not None:
            context.refuse(why)


OPEN_TO_ALL: Final = Gate(_Asks.NOTHING)
"""Nobody is asked who they are; the route may have credentials of its own."""
LOGIN_TOKEN: Final = Gate(_Asks.LOGIN_TOKEN)
"""Whoever sends a login session's token: the event that the handler asks for judges it."""
BEFORE_PASSWORD_CHANGE: Final = Gate(_Asks.ACCOUNT)
"""Whoever is signed in, also one who has to change the password first (READINGS 23)."""
SIGNED_IN: Final = Gate(_Asks.OWN_PASSWORD)
"""Whoever is signed in."""
SUPER_ADMINISTRATOR: Final = Gate(_Asks.EVERY_PERMISSION)
"""Whoever is signed in and is a super administrator."""


def require_permission(permission: Permission) -> Gate:
    """Whoever is signed in and holds `permission`."""
    return Gate(_Asks.OWN_PASSWORD, permission)


class GatedRoutes(Blueprint):
    """Routes that each have a gate; one without does not start.

    A handler is given the context of its request. `limit` has a route count as an operation: past its limit
    a request is a 429 and no more ("Limits", rule 1).
    """

    own_options: ClassVar = frozenset({"limit"})
    """The options of a route that are for its gate and not for Quart."""

    def add_url_rule(
        self,
        rule: str,
        endpoint: str | None = None,
        view_func: Any = None,
        provide_automatic_options: bool | None = None,
        *,
        gate: Gate | None = None,
        **options: Any,
    ) -> None:
        if gate is None:
            raise TypeError(f"the route {rule} has no gate")
        own = {name: options.pop(name) for name in self.own_options & options.keys()}
        view = self.behind(gate, view_func, **own)
        view.__dict__.update(gate=gate, is_limited="limit" in own)
        endpoint = endpoint or view_func.__name__
        super().add_url_rule(rule, endpoint, view, provide_automatic_options, **options)

    def behind(self, gate: Gate, handler: Handler, *, limit: Operation | None = None, **own: Any) -> Handler:
        """The view of a route: its gate, and the handler behind it."""

        async def view(**parts: str) -> Response:
            context = request_context()
            if limit is not None:
                context.limit(limit)
            await gate.let_in(context)
            return await handler(context, **parts)

        return view


def gate_of(view: Callable[..., Any] | None) -> Gate | None:
    """The gate of the route of a view; None where it has none, as Quart's own for files."""
    found: Gate | None = getattr(view, "gate", None)
    return found


def is_limited(view: Callable[..., Any]) -> bool:
    """Whether the route of a view counts as an operation with a limit."""
    return bool(getattr(view, "is_limited", False))


def permission_of(view: Callable[..., Any] | None) -> Permission | None:
    """Which permission opens the route of a view; None where it is opened some other way."""
    gate = gate_of(view)
    return None if gate is None else gate.permission
