"""Beside the turns: the log that they write ahead is folded whenever it has become long."""

from typing import Final, Never

import structlog
import trio

from ostiary_net.runtime.threads import RunSync
from ostiary_net.turns.ports import InPlaceStore

__all__ = ["Checkpointing"]

_log = structlog.get_logger("ostiary")

_LEAST_SECONDS: Final = 0.05
"""Between two foldings: one that could not be finished, as somebody reads what is in the log, is not tried
again at once."""


class Checkpointing:
    """Has the log of a store folded by a thread of its own."""

    def __init__(self, store: InPlaceStore, run_sync: RunSync) -> None:
        self._store = store
        self._run_sync = run_sync
        self._limiter = trio.CapacityLimiter(1)
        self._is_due = trio.Event()

    def look(self) -> None:
        """After a turn: whether it is time."""
        if self._store.needs_checkpoint:
            self._is_due.set()

    async def run(self) -> Never:
        """Until cancelled. What fails is tried again when the log is longer still."""
        while True:
            await self._is_due.wait()
            try:
                await self._run_sync(self._store.checkpoint, limiter=self._limiter)
            except Exception as error:
                _log.error("the log was not folded into the file", cause=type(error).__name__)
            await trio.sleep(_LEAST_SECONDS)
            self._is_due = trio.Event()
