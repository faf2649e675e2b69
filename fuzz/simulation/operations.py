"""The history that is judged: what was asked when, and what was heard of it when, if anything was."""

from dataclasses import dataclass
from enum import StrEnum

from fuzz.shared.calls import Answer, Call


class Outcome(StrEnum):
    """What the caller knows of an operation."""

    PENDING = "pending"
    ANSWERED = "answered"
    UNKNOWN = "unknown"
    """No answer came, or only that something failed: it may have happened or not, once."""
    NEVER = "never"
    """The request never arrived whole: it must not have happened."""


@dataclass(slots=True)
class Operation:
    """One request on its way."""

    number: int
    step: int
    """The step of the plan that it belongs to."""
    call: Call
    instance: int
    incarnation: int
    """Which life of the instance it was asked of."""
    source: str
    invoked: int
    """The moment in the order of everything at which it began."""
    invoked_now: int
    """What the clock of the instance's machine showed then; at the end, the most that it has shown."""
    invoked_at: float
    """Seconds since the run began."""
    returned: int | None = None
    returned_now: int = 0
    returned_at: float = 0.0
    outcome: Outcome = Outcome.PENDING
    answer: Answer | None = None
    paused_ms: int = 0
    """How long the process stood still while the request lay in its socket."""
    clock_was_set: bool = False
    """Whether the instance's clock was set, or the instance started again, in between."""
