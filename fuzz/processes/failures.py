"""Failures of campaigns with real processes: broken invariants, and the report on them."""

from collections.abc import Iterator, Sequence
from functools import partial

from fuzz.processes.server import NotServing
from fuzz.shared.campaign import Report, format_failure
from fuzz.shared.invariants import ACKNOWLEDGED_STAYS, PROGRESS, Invariant, Violation

_MOST_EVENTS = 7


class InvariantBroken(AssertionError):
    """A broken invariant; the text contains no token."""

    def __init__(
        self, detail: str, invariant: Invariant = ACKNOWLEDGED_STAYS, history: Sequence[str] = ()
    ) -> None:
        """Create the error; `history` lists the events before it."""
        super().__init__(detail)
        self.violation = Violation(invariant, detail)
        self.history = history


def _errors_in(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _errors_in(each)
    else:
        yield error


def fail(report: Report, error: BaseException, head: str, *where: str) -> None:
    """Turn a run's report into that of a failure, with the places to look at.

    An error that is neither a broken invariant nor a server that does not start is the run's own failure and
    no violation.
    """
    own: list[str] = []
    history: tuple[str, ...] = ()
    for each in _errors_in(error):
        where = (*where, *getattr(each, "__notes__", ()))
        match each:
            case InvariantBroken():
                history = history or tuple(each.history)
                report.violations += (each.violation,)
            case NotServing():
                end = " ".join(str(each)[-300:].split())
                report.violations += (Violation(PROGRESS, f"the server does not come up: {end}"),)
            case _:
                own.append(f"{type(each).__name__}: {each}")
    first, others = report.violations[:1], len(report.violations) - 1
    violations = [*first, *([f"and {others} more"] if others > 0 else []), *own]
    lines = [*(violation.invariant.sentence for violation in first), *history[-_MOST_EVENTS:]]
    report.stories.append(partial(format_failure, f"FAILED {head}", violations, lines, *where))
