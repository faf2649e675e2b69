"""Repeat background work until cancelled."""

from collections.abc import Awaitable, Callable
from typing import Never

import structlog
import trio

_log = structlog.get_logger("ostiary")


async def repeat(work: Callable[[], Awaitable[object]], every_seconds: float, failure: str) -> Never:
    """Call `work` every so many seconds until cancelled; log an error as `failure` and try again."""
    while True:
        await trio.sleep(every_seconds)
        try:
            await work()
        except Exception as error:
            _log.error(failure, cause=type(error.__cause__ or error).__name__)
