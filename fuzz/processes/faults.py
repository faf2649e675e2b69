"""Known mistakes of servers that are killed, share a database, or lose it, planted in real processes.

The driver names a fault in the environment, and every process of the server that it starts plants it.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final
from unittest.mock import patch

from fuzz.faults import find_faults
from fuzz.faults.planting import TOKEN_LOGGED, Fault, read_faults
from fuzz.processes.server import VARIABLE


def _read_faults(subject: str) -> tuple[Fault, ...]:
    return read_faults(Path(__file__).with_name(f"faults_of_{subject}.txt"))


_RACES: Final = ("code-redeemable-twice", "retry-mints", "user-agent-unchecked", "replay-forgiven")
_FAULTS: Final = {
    "kills": (*_read_faults("kills"), TOKEN_LOGGED, *find_faults(*_RACES)),
    "failovers": (*_read_faults("failovers"), *find_faults("client-epoch-ignored", "retry-differs")),
    "machines": _read_faults("machines"),
    "timing": _read_faults("timing"),
}
"""Faults by the campaign that shows them."""


def faults_of(subject: str) -> tuple[Fault, ...]:
    """Return the faults of a campaign; each is planted in the processes started meanwhile."""
    return tuple(_plant_by_name(fault) for fault in _FAULTS[subject])


def _plant_by_name(fault: Fault) -> Fault:
    return Fault(fault.name, fault.sentence, lambda: patch.dict(os.environ, {VARIABLE: fault.name}))


def plant_named() -> AbstractContextManager[None]:
    """Return a context in which the environment's fault is planted in this process; none if none is named."""
    name = os.environ.get(VARIABLE)
    faults = [fault for every in _FAULTS.values() for fault in every if fault.name == name]
    return faults[0].plant() if name else nullcontext()
