"""Search for the shortest history that still fails in the same way: delete lines, long runs first."""

import time
from collections.abc import Callable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from fuzz.shared.invariants import Violation

MOST_SECONDS: Final = 120.0
"""Seconds after which no shorter history is tried: a campaign must print its failure before its own limit."""


class Failing(Protocol):
    """The result of running a history."""

    @property
    def violations(self) -> tuple[Violation, ...]: ...


R = TypeVar("R", bound=Failing)
L = TypeVar("L")


class Shrinker(Generic[R, L]):
    """Tries shorter histories of a failure, up to a fixed number and for a limited time."""

    def __init__(
        self, failed: R, lines_of: Callable[[R], Sequence[L]], run: Callable[[Sequence[L]], R], most_runs: int
    ) -> None:
        self.best = failed
        self._numbers = {violation.invariant.number for violation in failed.violations}
        self._lines_of = lines_of
        self._run = run
        self._left = most_runs
        self._until = time.monotonic() + MOST_SECONDS

    @property
    def lines(self) -> Sequence[L]:
        """Lines of the shortest history found."""
        return self._lines_of(self.best)

    def attempt(self, lines: Sequence[L]) -> bool:
        """Whether this history violates one of the same invariants; if so, keep it as the best one."""
        if self._left <= 0 or not lines or time.monotonic() >= self._until:
            return False
        self._left -= 1
        tried = self._run(lines)
        if self._numbers.isdisjoint(violation.invariant.number for violation in tried.violations):
            return False
        self.best = tried
        return True

    def delete(self) -> bool:
        """Delete runs of lines, long ones first, from end to beginning; return whether any was deleted."""
        is_shorter = False
        length = max(1, len(self.lines) // 2)
        while length:
            end = len(self.lines)
            while end > 0:
                start = max(0, end - length)
                is_shorter |= self.attempt([*self.lines[:start], *self.lines[end:]])
                end = min(start, len(self.lines))
            length //= 2
        return is_shorter
