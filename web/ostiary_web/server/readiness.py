"""Tell a load balancer and a supervisor whether the store takes changes."""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog
import trio

from ostiary_net.observability.log import list_frames

_log = structlog.get_logger("ostiary")

_HOLDS_SECONDS: Final = 1.0
_TIMEOUT_SECONDS: Final = 5.0


class Readiness:
    """Whether the store takes changes, checked at most once every few seconds."""

    def __init__(self, check: Callable[[], Awaitable[None]]) -> None:
        """Take `check`, which raises if the store cannot be written or has another release's schema."""
        self._run_check = check
        self._one_at_a_time = trio.Lock()
        self._checked_at = -_HOLDS_SECONDS
        self._is_ready = True

    async def is_ready(self) -> bool:
        """Return the current state; log it when it changes."""
        async with self._one_at_a_time:
            if trio.current_time() < self._checked_at + _HOLDS_SECONDS:
                return self._is_ready
            was_ready = self._is_ready
            self._is_ready = await self._check()
            self._checked_at = trio.current_time()
            if self._is_ready and not was_ready:
                _log.warning("ready again")
            return self._is_ready

    async def _check(self) -> bool:
        try:
            with trio.fail_after(_TIMEOUT_SECONDS):
                await self._run_check()
        except Exception as error:
            _log.error("not ready", cause=type(error).__name__, where=list_frames(error))
            return False
        return True
