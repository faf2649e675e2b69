"""The gate of every route: who may use it, before anything of the request is read.

A handler runs behind its route's gate. For a caller who is not let in, the server reads no body, form or
upload, hashes no password and goes through no list. The rules check a permission again with the change.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final

from quart import Blueprint, Response

from ostiary_core.events import AccountRequested, PersonalTokenUsed
from ostiary_core.model.permissions import Permission
from ostiary_core.model.reply import AccountKnown
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.http.browser import is_cross_site, own_origin, refuse_unproven_origin, require_caller
from ostiary_web.http.context import RequestContext, request_context

Handler = Callable[..., Awaitable[Any]]
"""Answers a request; called with its context and, by name, the variable parts of the path.

What it returns is the response, or `data` of a success."""


class _Requirement(IntEnum):
    """What a gate requires, each with all that stand before it."""

    NOTHING = 0
    NO_OTHER_SITE = 1
    LOGIN_TOKEN = 2
    ACCOUNT = 3
    OWN_PASSWORD = 4
    SECOND_FACTOR = 5
    EVERY_PERMISSION = 6


@dataclass(frozen=True, slots=True)
class Gate:
    """Who may use a route."""

    requires: _Requirement
    permission: Permission | None = None

    @property
    def is_open(self) -> bool:
        """Whether no caller is asked for."""
        return self.requires < _Requirement.LOGIN_TOKEN

    @property
    def requires_account(self) -> bool:
        """Whether the core is asked for the caller's account."""
        return self.requires >= _Requirement.ACCOUNT

    @property
    def refusals(self) -> tuple[Why, ...]:
        """Every reason for which it may turn a request away; only changes must prove their origin."""
        if self.is_open:
            return (Why.ORIGIN_UNPROVEN,) if self.requires is _Requirement.NO_OTHER_SITE else ()
        password = (Why.PASSWORD_MUST_CHANGE,) if self.requires >= _Requirement.OWN_PASSWORD else ()
        factor = (Why.SECOND_FACTOR_REQUIRED,) if self.requires >= _Requirement.SECOND_FACTOR else ()
        asks_for_more = self.permission is not None or self.requires is _Requirement.EVERY_PERMISSION
        permission = (Why.PERMISSION_MISSING,) if asks_for_more else ()
        return (Why.NOT_SIGNED_IN, Why.ORIGIN_UNPROVEN, *password, *factor, *permission)

    def refusal(self, account: AccountKnown | None) -> Why | None:
        """Return why a caller with this account, or none, may not use the route, or None."""
        if not self.requires_account:
            return None
        if account is None or account.user is None:
            return Why.NOT_SIGNED_IN
        if account.user.must_change_password and self.requires is not _Requirement.ACCOUNT:
            return Why.PASSWORD_MUST_CHANGE
        if account.must_set_up_second_factor and self.requires >= _Requirement.SECOND_FACTOR:
            return Why.SECOND_FACTOR_REQUIRED
        if self.permission is not None and self.permission.value not in account.permissions:
            return Why.PERMISSION_MISSING
        if self.requires is _Requirement.EVERY_PERMISSION and not account.is_super_administrator:
            return Why.PERMISSION_MISSING
        return None

    async def authorize(self, context: RequestContext) -> None:
        """Find the caller, as far as the gate requires one; raise `RequestRefused`."""
        if self.requires is _Requirement.NO_OTHER_SITE and is_cross_site(own_origin()):
            refuse_unproven_origin(context)
        if self.is_open:
            return
        context.signed_in = require_caller(context)
        if self.requires_account:
            await self.require_account(context)

    async def require_account(self, context: RequestContext) -> None:
        """Ask the core for the caller's account; raise `RequestRefused`, of which the trail is told."""
        context.permission = self.permission
        asked = AccountRequested(
            caller=context.caller,
            permission=self.permission,
            as_super_administrator=self.requires is _Requirement.EVERY_PERMISSION,
        )
        account = await context.decide(asked)
        assert isinstance(account, AccountKnown)
        context.account_known = account
        why = self.refusal(account)
        if why is not None:
            context.refuse(why)
        if account.is_use_news:
            await context.decide(PersonalTokenUsed(caller=context.caller))


OPEN_TO_ALL: Final = Gate(_Requirement.NOTHING)
"""Gate without a caller; the route may ask for credentials of its own."""
# A preflight keeps foreign JSON out already; that one browser's bug should not be all that does.
CLOSED_TO_OTHER_SITES: Final = Gate(_Requirement.NO_OTHER_SITE)
"""Gate without a caller for changes, as a sign-in, that no other site may have a browser ask for."""
LOGIN_TOKEN: Final = Gate(_Requirement.LOGIN_TOKEN)
"""Gate for a login session's token, which the event of the handler judges."""
BEFORE_PASSWORD_CHANGE: Final = Gate(_Requirement.ACCOUNT)
"""Gate for signed-in users, also those who must change the password first (READINGS 23)."""
BEFORE_SECOND_FACTOR: Final = Gate(_Requirement.OWN_PASSWORD)
"""Gate for signed-in users, also those who must set up a second factor first (READINGS 58)."""
SIGNED_IN: Final = Gate(_Requirement.SECOND_FACTOR)
"""Gate for signed-in users."""
SUPER_ADMINISTRATOR: Final = Gate(_Requirement.EVERY_PERMISSION)
"""Gate for super administrators."""


def require_permission(permission: Permission) -> Gate:
    """Return the gate for users who hold `permission`; it alone opens to personal access tokens."""
    return Gate(_Requirement.SECOND_FACTOR, permission)


class GatedRoutes(Blueprint):
    """Routes that each have a gate; one without does not start.

    `limit` counts a route as an operation: past its limit a request is a 429 ("Limits", rule 1).
    """

    own_options: ClassVar = frozenset({"limit"})
    """Options of a route that are its gate's, not Quart's."""

    if TYPE_CHECKING:  # Quart's own decorators take handlers that return responses alone

        def get(self, rule: str, **options: Any) -> Callable[[Any], Any]: ...

        post = put = delete = get

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
        view.__dict__.update(gate=gate, is_limited="limit" in own, handler=view_func)
        endpoint = endpoint or view_func.__name__
        super().add_url_rule(rule, endpoint, view, provide_automatic_options, **options)

    def behind(self, gate: Gate, handler: Handler, *, limit: Operation | None = None, **own: Any) -> Handler:
        """Return the view of a route: its gate, and the handler behind it."""

        async def view(**parts: str) -> Response:
            context = request_context()
            # Before the gate, which reads the store: past its limit a request costs nothing more.
            if limit is not None:
                context.count_against_limit(limit)
            await gate.authorize(context)
            answer = await handler(context, **parts)
            return answer if isinstance(answer, Response) else context.success(answer)

        return view


def gate_of(view: Callable[..., Any] | None) -> Gate | None:
    """Return the gate of a view; None if it has none."""
    found: Gate | None = getattr(view, "gate", None)
    return found


def handler_of(view: Callable[..., Any]) -> Handler:
    """Return the handler behind a view."""
    found: Handler = getattr(view, "handler", view)
    return found


def is_limited(view: Callable[..., Any]) -> bool:
    """Whether the route of a view counts as an operation with a limit."""
    return bool(getattr(view, "is_limited", False))
