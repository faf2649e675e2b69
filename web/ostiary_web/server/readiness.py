"""Whether the store would take a change now, for a load balancer and a supervisor."""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog
import trio

from ostiary_net.observability.log import list_frames

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
            _log.error("not ready", cause=type(error).__name__, where=list_frames(error))
            return False
        return True
