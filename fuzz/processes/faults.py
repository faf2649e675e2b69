"""Known mistakes of servers that are killed, or are several, or whose database is: planted in real processes.

The driver names a fault in the environment, and every process of the server that it starts plants it there.
"""

import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from fuzz.faults import find_faults
from fuzz.faults.planting import TOKEN_LOGGED, Fault, read_faults, together
from fuzz.processes.server import VARIABLE
from ostiary_core.decide import keys, take_turn
from ostiary_core.loading.snapshot import load
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.storage.store import LostRace, net_changes
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.sqlite.writer import Writer, WriterLock

_MOMENT_SECONDS: Final = 0.05
"""Long enough for a kill or another process to come between."""


def _read_faults(subject: str) -> tuple[Fault, ...]:
    return read_faults(Path(__file__).with_name(f"faults_of_{subject}.txt"))


class _TurnBeside:
    """A turn that does not keep others away while it reads and decides."""

    def __init__(self, kept_in: Any) -> None:
        self._store = kept_in

    is_pending = False

    def decide(self, events: Sequence[Any], now: Instant, origins: Sequence[Any] = ()) -> list[Decision]:
        snapshot = load((keys(event) for event in events), self._store.fetch)
        decisions = take_turn(events, snapshot, now, self._store.policy)
        time.sleep(_MOMENT_SECONDS / 10)
        with suppress(LostRace):
            self._store.write(net_changes(decisions))
        return decisions

    def release(self) -> None:
        """Nothing is held."""


def _begin_beside(kept_in: Any) -> _TurnBeside:
    return _TurnBeside(kept_in)


_writers_impatient: Final = together(
    lambda: patch("ostiary_net.sqlite.connections._BUSY_TIMEOUT_MS", 0),
    lambda: patch.multiple(WriterLock, acquire=lambda lock: None, try_acquire=lambda lock: True),
    lambda: patch.object(Writer, "try_begin", lambda writer: None),
)


_OF_CRASHES: Final = (*_read_faults("crashes"), TOKEN_LOGGED)
_OF_RACES: Final = (
    Fault(
        "turns-beside",
        "turns of two processes run beside one another",
        lambda: patch.multiple(SQLiteStore, begin_turn=_begin_beside, try_begin_turn=_begin_beside),
    ),
    Fault("writers-impatient", "whoever finds another writer fails", _writers_impatient),
    *find_faults("code-redeemable-twice", "retry-mints", "user-agent-unchecked", "replay-forgiven"),
)
_OF_FAILOVERS: Final = (*_read_faults("failovers"), *find_faults("client-epoch-ignored", "retry-differs"))
_OF_MACHINES: Final = _read_faults("machines")
_OF_TIMING: Final = _read_faults("timing")


def _plant_by_name(fault: Fault) -> Fault:
    """The fault in the processes that are started while it is planted here."""
    return Fault(fault.name, fault.sentence, lambda: patch.dict(os.environ, {VARIABLE: fault.name}))


FAULTS_OF_CRASHES: Final = tuple(map(_plant_by_name, _OF_CRASHES))
FAULTS_OF_RACES: Final = tuple(map(_plant_by_name, _OF_RACES))
FAULTS_OF_FAILOVERS: Final = tuple(map(_plant_by_name, _OF_FAILOVERS))
FAULTS_OF_MACHINES: Final = tuple(map(_plant_by_name, _OF_MACHINES))
FAULTS_OF_TIMING: Final = tuple(map(_plant_by_name, _OF_TIMING))


def plant_named() -> AbstractContextManager[None]:
    """The fault that the environment names, planted in this process; nothing where it names none."""
    name = os.environ.get(VARIABLE)
    every = (*_OF_CRASHES, *_OF_RACES, *_OF_FAILOVERS, *_OF_MACHINES, *_OF_TIMING)
    faults = [fault for fault in every if fault.name == name]
    return faults[0].plant() if name else nullcontext()
