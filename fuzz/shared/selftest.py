"""Plant the known mistakes one at a time; each must be caught within a number of runs.

A run that fails without a broken invariant proves nothing: it is listed separately and fails the selftest.
"""

import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzz.faults.planting import Fault
from fuzz.shared.campaign import LINE_LENGTH, Report
from fuzz.shared.invariants import Invariant, Violation

SEED = 20_260_101
Run = Callable[[int], Report]
"""Function that makes the run with this number."""


@dataclass(frozen=True, slots=True)
class Catch:
    """The way in which a fault was caught, if it was."""

    fault: Fault
    runs: int
    violations: tuple[Violation, ...] = ()
    failure: str = ""
    """Reason why the last run proved nothing, if it failed by itself."""

    def __str__(self) -> str:
        if self.failure:
            return f"FAILED    {self.fault.name:<30} in run {self.runs:<3} {self.failure}"
        if not self.violations:
            return f"SURVIVED  {self.fault.name:<30} {self.runs} runs: {self.fault.sentence}"
        by = ", ".join(map(str, sorted({violation.invariant.number for violation in self.violations})))
        text = f"caught    {self.fault.name:<30} in run {self.runs:<3} by {by:<8} {self.violations[0]}"
        return text[:LINE_LENGTH]


def catch(fault: Fault, run: Run, most_runs: int) -> Catch:
    """Run with the fault planted until an invariant breaks or a run fails by itself.

    A fault that `most_runs` runs do not show survives.
    """
    with fault.plant():
        for number in range(most_runs):
            try:
                report = run(number)
            except Exception as error:
                return Catch(fault, number + 1, failure=f"ends with {type(error).__name__}: {error}")
            if report.violations:
                return Catch(fault, number + 1, report.violations)
            if report.stories:
                return Catch(fault, number + 1, failure=report.stories[0]())
    return Catch(fault, most_runs)


def choose_faults(only: str, faults: Sequence[Fault]) -> Sequence[Fault]:
    """Return the faults whose name has `only`; for a part such as 2/3, every third from the second on."""
    if part := re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", only):
        return faults[int(part[1]) - 1 :: int(part[2])]
    return [fault for fault in faults if only in fault.name]


def run_selftest(
    only: str, faults: Sequence[Fault], run: Run, most_runs: int, invariants: Sequence[Invariant] = ()
) -> int:
    """Plant the faults that `only` chooses; return 0 if each is caught. `invariants` must each catch one."""
    began = time.monotonic()
    chosen = choose_faults(only, faults)
    if not chosen:
        names = ", ".join(fault.name for fault in faults)
        print(f"--only: no fault's name has {only!r}; there are {names}", file=sys.stderr)
        return 2
    missed = 0
    by: set[int] = set()
    for fault in chosen:
        found = catch(fault, run, most_runs)
        missed += not found.violations
        by |= {violation.invariant.number for violation in found.violations}
        print(found, flush=True)
    idle = [str(one) for one in invariants if one.number not in by]
    by_none = f"; none was caught by {', '.join(idle)}" if idle and not only else ""
    took = f"{time.monotonic() - began:.1f} s"
    print(f"{len(chosen) - missed} of {len(chosen)} faults caught in {took}{by_none}")
    return 1 if missed else 0
