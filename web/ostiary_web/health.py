"""`/healthz` and `/readyz`: whether the process answers, and whether the store would take a change.

They are for a supervisor and a load balancer: no secret, no rate limit, nothing told but yes or no. What a
look at the store finds holds for a moment, so that nobody can make the disk work by asking often.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog
import trio
from quart import Response, current_app

from ostiary_core.model.why import Why
from ostiary_net.observability.log import where_raised
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import OPEN_TO_ALL, GatedRoutes

__all__ = ["Readiness", "health"]

health = GatedRoutes("health", __name__)

_log = structlog.get_logger("ostiary")

_HOLDS_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 5.0


class Readiness:
    """Whether the store takes changes, looked at once a moment at most."""

    def __init__(self, look: Callable[[], Awaitable[None]]) -> None:
        """`look` raises where the store cannot be written or has not the schema of this release."""
        self._look = look
        self._one_at_a_time = trio.Lock()
        self._looked_at = -_HOLDS_SECONDS
        self._is_ready = True

    async def is_ready(self) -> bool:
        """The present state; a change of it is told to the log."""
        async with self._one_at_a_time:
            if trio.current_time() < self._looked_at + _HOLDS_SECONDS:
                return self._is_ready
            was_ready = self._is_ready
            self._is_ready = await self._found_ready()
            self._looked_at = trio.current_time()
            if self._is_ready and not was_ready:
                _log.warning("ready again")
            return self._is_ready

    async def _found_ready(self) -> bool:
        try:
            with trio.fail_after(_PATIENCE_SECONDS):
                await self._look()
        except Exception as error:
            _log.error("not ready", cause=type(error).__name__, where=where_raised(error))
            return False
        return True


@health.get("/healthz", gate=OPEN_TO_ALL)
async def show_health(context: RequestContext) -> Response:
    """The process answers."""
    return context.success(None)


@health.get("/readyz", gate=OPEN_TO_ALL)
async def show_readiness(context: RequestContext) -> Response:
    """The store can be written, and its schema is the one of this release."""
    readiness: Readiness = current_app.extensions["ostiary.readiness"]
    return context.success(None) if await readiness.is_ready() else context.refuse(Why.NOT_READY)
