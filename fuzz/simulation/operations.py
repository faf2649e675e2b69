"""The history for the judge: each operation with the times of its call and of its answer, if any."""

from dataclasses import dataclass
from enum import StrEnum

from fuzz.shared.calls import Answer, Call


class Outcome(StrEnum):
    """The caller's knowledge about an operation."""

    PENDING = "pending"
    ANSWERED = "answered"
    UNKNOWN = "unknown"
    """No answer came, or only a failure: it was done once or not at all."""
    NEVER = "never"
    """The request never arrived whole: it must not have been done."""


@dataclass(slots=True)
class Operation:
    """One request on its way."""

    number: int
    step: int
    """Number of the plan's step that it belongs to."""
    call: Call
    instance: int
    incarnation: int
    """Number of the instance's process, counted over its crashes."""
    source: str
    invoked: int
    """Moment of its beginning in the order of everything."""
    invoked_now: int
    """Time of its instance's clock at that moment; of the last requests, the latest time shown."""
    invoked_at: float
    """Seconds since the run began."""
    returned: int | None = None
    returned_now: int = 0
    returned_at: float = 0.0
    outcome: Outcome = Outcome.PENDING
    answer: Answer | None = None
    paused_ms: int = 0
    """Milliseconds that the process stood still while the request lay in its socket."""
    clock_was_set: bool = False
    """Whether the instance's clock was set, or the instance restarted, in between."""
