"""Serve `/healthz` and `/readyz`: whether the process answers, and whether the store takes changes.

They are for a supervisor and a load balancer: no secret, no rate limit, nothing told but yes or no. What a
look at the store finds holds for a moment, so that nobody can make the disk work by asking often.
"""

from typing import Final

from ostiary_core.model.why import Why
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import OPEN_TO_ALL, GatedRoutes

health = GatedRoutes("health", __name__)

_LIVENESS: Final = "/healthz"
_READINESS: Final = "/readyz"
HEALTH_PATHS: Final = frozenset({_LIVENESS, _READINESS})


@health.get(_LIVENESS, gate=OPEN_TO_ALL)
async def show_health(context: RequestContext) -> None:
    """Answer that the process runs."""


@health.get(_READINESS, gate=OPEN_TO_ALL)
async def show_readiness(context: RequestContext) -> None:
    """Answer whether the store can be written and has this release's schema."""
    if not await context.services.readiness.is_ready():
        context.refuse(Why.NOT_READY)
