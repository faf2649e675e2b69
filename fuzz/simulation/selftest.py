"""Plants the known mistakes one at a time: each must be caught, by what is said, and after how many seeds."""

import gc
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fuzz.faults.planting import Fault
from fuzz.shared.invariants import PROGRESS, Violation
from fuzz.simulation.faults import FAULTS
from fuzz.simulation.runs import live

__all__ = ["Catch", "catch", "run"]

SEED: Final = 20_260_101
MOST_SEEDS: Final = 80
"""A fault that so many seeds do not show is one that survives."""


@dataclass(frozen=True, slots=True)
class Catch:
    """How a fault was caught, if it was."""

    fault: Fault
    seeds: int
    operations: int
    violations: tuple[Violation, ...]


def catch(fault: Fault, seed: int = SEED, most_seeds: int = MOST_SEEDS) -> Catch:
    """Run seeds with the fault in place until something is noticed."""
    operations = 0
    with fault.plant():
        for number in range(most_seeds):
            try:
                life = live(str(seed + number))
            except Exception as error:
                raised = Violation(PROGRESS, f"the run ends with {type(error).__name__}")
                return Catch(fault, number + 1, operations, (raised,))
            gc.collect()
            operations += life.operations
            if life.violations:
                return Catch(fault, number + 1, operations, life.violations)
    return Catch(fault, most_seeds, operations, ())


def run(only: str = "", faults: Iterable[Fault] = FAULTS) -> int:
    """Plant every fault; 0 where none survives."""
    began = time.monotonic()
    chosen = [fault for fault in faults if only in fault.name]
    if not chosen:
        names = ", ".join(fault.name for fault in faults)
        print(f"--only: no fault's name has {only!r}; there are {names}", file=sys.stderr)
        return 2
    survivors = 0
    for fault in chosen:
        found = catch(fault)
        survivors += not found.violations
        print(_line(found), flush=True)
    seconds = time.monotonic() - began
    print(f"{len(chosen) - survivors} of {len(chosen)} faults in the server caught in {seconds:.1f} s")
    return 1 if survivors else 0


def _line(found: Catch) -> str:
    if not found.violations:
        return f"SURVIVED  {found.fault.name:<24} {found.seeds} seeds: {found.fault.sentence}"
    where = f"{found.seeds} seed{'s' if found.seeds > 1 else ''}, {found.operations} requests"
    return f"caught    {found.fault.name:<24} {where:<24} by {found.violations[0]}"
