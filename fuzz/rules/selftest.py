"""Plants the known mistakes one at a time: each must be caught, by what is said, and after how many steps."""

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fuzz.faults import FAULTS, Fault
from fuzz.rules.sequences import live
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.invariants import OF_THE_RULES, Violation

__all__ = ["Catch", "catch", "run"]

SEED: Final = 20_260_101
MOST_WORLDS: Final = 100
"""A fault that so many worlds do not show is one that survives."""


@dataclass(frozen=True, slots=True)
class Catch:
    """How a fault was caught, if it was."""

    fault: Fault
    worlds: int
    steps: int
    violations: tuple[Violation, ...]


def catch(fault: Fault, seed: int = SEED, most_worlds: int = MOST_WORLDS) -> Catch:
    """Run worlds with the fault in place until something is noticed."""
    steps = 0
    with with_more_scopes(), fault.plant():
        for number in range(most_worlds):
            life = live(seed, number, rehearse_every=1)
            steps += life.steps
            if life.failure is not None:
                return Catch(fault, number + 1, steps, life.failure.violations)
    return Catch(fault, most_worlds, steps, ())


def run(only: str = "", faults: Iterable[Fault] = FAULTS) -> int:
    """Plant every fault; 0 where none survives."""
    began = time.monotonic()
    chosen = [fault for fault in faults if only in fault.name]
    if not chosen:
        names = ", ".join(fault.name for fault in faults)
        print(f"--only: no fault's name has {only!r}; there are {names}", file=sys.stderr)
        return 2
    survivors = 0
    by: set[int] = set()
    for fault in chosen:
        found = catch(fault)
        survivors += not found.violations
        by |= {violation.invariant.number for violation in found.violations}
        print(_line(found), flush=True)
    missing = [str(one) for one in OF_THE_RULES if one.number not in by]
    print(
        f"{len(chosen) - survivors} of {len(chosen)} faults caught in {time.monotonic() - began:.1f} s; "
        f"{len(by)} of {len(OF_THE_RULES)} invariants caught one"
        + (f"; none was caught by {', '.join(missing)}" if missing and not only else "")
    )
    return 1 if survivors else 0


def _line(found: Catch) -> str:
    if not found.violations:
        return f"SURVIVED  {found.fault.name:<30} {found.steps} steps: {found.fault.sentence}"
    names = sorted({violation.invariant.number for violation in found.violations})
    where = f"{found.steps} steps, {found.worlds} world{'s' if found.worlds > 1 else ''}"
    return (
        f"caught    {found.fault.name:<30} {where:<22} by {', '.join(map(str, names)):<12} "
        f"{found.violations[0]}"
    )
