"""Add routes that decide one event about what their path names, and answer null."""

from collections.abc import Callable

from ostiary_core.events import Event
from ostiary_web.application.resources.records import refuse_body
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import Gate, GatedRoutes


def add_event_route(routes: GatedRoutes, method: str, path: str, kind: type[Event], gate: Gate) -> None:
    """Add a route without a body, whose event has the caller and the variable parts of its path."""
    make: Callable[..., Event] = kind

    async def decide(context: RequestContext, **parts: str) -> None:
        refuse_body(context)
        await context.decide(make(caller=context.caller, **parts))

    routes.add_url_rule(path, kind.__name__, decide, methods=[method], gate=gate)
