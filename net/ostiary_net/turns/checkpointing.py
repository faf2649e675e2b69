"""Moves the write-ahead log into the database file, beside the turns, whenever it has become long."""

from typing import Final, Never

import structlog
import trio

from ostiary_net.runtime.system import RunSync
from ostiary_net.turns.ports import InPlaceStore

__all__ = ["Checkpointing"]

_log = structlog.get_logger("ostiary")

_LEAST_SECONDS: Final = 0.05
"""Between two checkpoints: one that could not be finished, as somebody reads what is in the log, is not tried
again at once."""


class Checkpointing:
    """Has a thread of its own make the checkpoints of a store."""

    def __init__(self, store: InPlaceStore, run_sync: RunSync) -> None:
        self._store = store
        self._run_sync = run_sync
        self._limiter = trio.CapacityLimiter(1)
        self._is_due = trio.Event()

    def note_commit(self) -> None:
        """Look after a turn whether it is time for a checkpoint."""
        if self._store.needs_checkpoint:
            self._is_due.set()

    async def run(self) -> Never:
        """Make checkpoints until cancelled. One that fails is tried again when the log is longer still."""
        while True:
            await self._is_due.wait()
            try:
                await self._run_sync(self._store.checkpoint, limiter=self._limiter)
            except Exception as error:
                _log.error("the log was not folded into the file", cause=type(error).__name__)
            await trio.sleep(_LEAST_SECONDS)
            self._is_due = trio.Event()
