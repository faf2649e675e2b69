"""The interface for traces: what the doors, the service and the turns report, and under which id.

Nothing here knows OpenTelemetry; `spans` does, and is imported only where it is asked for. Where it is not, a
request costs one look at None more in each of the three places.
"""

from collections.abc import Sequence
from typing import Protocol

from ostiary_core.events import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Decision


class TracedRequest(Protocol):
    """A request that is traced, until its answer."""

    def note_answer(self, status: int, route: str | None) -> None:
        """Note that the answer has begun.

        `route` is one of ours, never what the caller wrote; None for no route.
        """
        ...

    def end(self) -> None:
        """Note that the request was answered, or is given up."""
        ...


class Tracing(Protocol):
    """Keeps a span for each request."""

    def begin_request(
        self, trace_id: str, method: str, fields: Sequence[tuple[bytes, bytes]]
    ) -> TracedRequest:
        """Begin the trace of a request that was just read; it lasts until its `end`.

        `trace_id` is the id that log, audit trail and answer have. The header fields are in lower case.
        """
        ...

    def note_outcome(self, origin: Origin, event: Event, decision: Decision | None) -> None:
        """Note what a request asked for, and the decision that is kept; None where no turn could be taken."""
        ...

    def note_turn(self, queue: str, origins: Sequence[Origin | None], seconds: float) -> None:
        """Note a turn that has just been kept, and the requests that shared it."""
        ...
