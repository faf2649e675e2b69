"""The witness: records which turn took which request's event, on which clock, in which order.

It proves nothing by itself. It gives the judge a likely order of events over all instances, which the judge
then checks, and the requests that met an injected fault.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

import trio

from ostiary_core.events import ClientSecretUsed, Event
from ostiary_core.http import Answer, PendingRequest, Request
from ostiary_core.model.audit import Origin, TraceId
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Arrival
from ostiary_core.model.reply import Refused, TextCodeDrawn
from ostiary_core.model.why import Why
from ostiary_core.oauth.session import RefreshEvent
from ostiary_net.turns.service import Service

GRACE_SECONDS: Final = 30
OPERATION: Final = b"x-operation"
"""Header field with the number of the operation; the server ignores it as an unknown field."""
AHEAD: Final = frozenset(
    {"AccountRequested", "PasswordHashRequested", "PersonalTokenUsed", "TicketPresented"}
)
"""Events before a request's deciding event; if one of them is the last, the deciding event never came."""
_IN_A_FORM: Final = re.compile(rb"(?:\A|&)" + OPERATION + rb"=(-?[0-9]+)")


class SecretUsed(NamedTuple):
    """A server recorded that a client's secret was used, which affects a reset."""

    moment: int
    now: int
    event: ClientSecretUsed


class Seen(NamedTuple):
    """An event of a request, taken in a committed turn."""

    moment: float
    now: int
    kind: str
    changed: bool = False
    waited_ms: int = 0
    """Milliseconds that it had waited, by its instance's clock."""
    unseen_ms: int | None = None
    """Milliseconds of doubt about its arrival, as the process stood still; None for an event without one."""
    code: str | None = None
    """Code in the text message that it caused."""
    is_restored: bool = False
    """Whether it counts as arrived with the refresh that it repeats, whose answer was lost."""
    turned_away: bool = False
    """Whether a concurrent event won, and the caller was asked to retry: nothing was done."""


@dataclass
class _Known:
    event: Event
    operation: int
    asked_at: int
    asked_time: float
    """Time by Trio's clock."""


class UnheardRefreshes:
    """Refreshes that one process may have committed without an answer: READINGS 46, restated.

    A retry counts as having arrived with the first of them until the store commits again, and then for as
    long as the grace.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Arrival, float]] = {}

    def record(self, events: Sequence[Event], decisions: Sequence[Decision]) -> None:
        """Record a turn whose commit got no answer."""
        for event, decision in zip(events, decisions, strict=False):
            if not isinstance(event, RefreshEvent) or event.refresh_token is None or event.arrival is None:
                continue
            if decision.changes or not isinstance(decision.reply, Refused):
                digest = event.refresh_token.digest
                first, _ = self._known.get(digest, (event.arrival, 0.0))
                self._known[digest] = first, math.inf

    def begin_grace(self) -> None:
        """Record that the store committed again."""
        until = trio.current_time() + GRACE_SECONDS
        self._known = {digest: (first, min(at, until)) for digest, (first, at) in self._known.items()}

    def find_first(self, event: Event, asked_time: float) -> Arrival | None:
        """Return the arrival of the refresh that an event repeats, if it still counts."""
        if not isinstance(event, RefreshEvent) or event.refresh_token is None:
            return None
        first, until = self._known.get(event.refresh_token.digest, (None, -math.inf))
        return first if asked_time <= until else None


class Witness:
    """The recorded events of all operations of one run."""

    def __init__(self) -> None:
        self.moment = 0
        self.seen: dict[int, list[Seen]] = {}
        self.secrets_used: list[SecretUsed] = []
        self.met_fault: set[int] = set()
        """Operations whose turn failed by an injected fault."""
        self.traces: dict[str, int] = {}
        self._known: dict[int, _Known] = {}
        self._of_entropy: dict[int, _Known] = {}
        """Events by entropy: a retry with a corrected arrival is another event with the same entropy."""

    def tick(self) -> int:
        """Return the next moment in the order of everything."""
        self.moment += 1
        return self.moment

    def record_asked(self, event: Event, operation: int, now: int) -> None:
        """Record an event before it is queued for an operation, at `now` by its instance's clock."""
        known = self._known[id(event)] = _Known(event, operation, now, trio.current_time())
        if isinstance(event, RefreshEvent):
            self._of_entropy[id(event.entropy)] = known

    def operations_of(self, events: Sequence[Event]) -> list[int]:
        """Return the operation of each event; -1 for the server's own events."""
        return [-1 if known is None else known.operation for known in map(self._find, events)]

    def _find(self, event: Event) -> _Known | None:
        known = self._known.get(id(event))
        if known is None and isinstance(event, RefreshEvent):
            return self._of_entropy.get(id(event.entropy))
        return known

    def record_turn(
        self,
        events: Sequence[Event],
        decisions: Sequence[Decision],
        now: int,
        moment: int | None,
        unheard: UnheardRefreshes,
    ) -> None:
        """Record that a turn took these events: now, or at an earlier `moment` if it only read."""
        for place, event in enumerate(events):
            known = self._find(event)
            if isinstance(event, ClientSecretUsed):
                self.secrets_used.append(SecretUsed(self.tick(), now, event))
                self.tick()
            if known is not None and known.operation >= 0:
                first = unheard.find_first(event, known.asked_time)
                arrival = first or getattr(event, "arrival", None)
                at = self.tick() if moment is None else moment + place / 1_000
                decision = decisions[place]
                seen = Seen(
                    moment=at,
                    now=now,
                    kind=type(event).__name__,
                    changed=bool(decision.changes),
                    waited_ms=now - (known.asked_at if first is None else first.latest),
                    unseen_ms=None if arrival is None else arrival.latest - arrival.earliest,
                    is_restored=first is not None,
                    code=_code_in(decision),
                    turned_away=_is_turned_away(decision),
                )
                self.seen.setdefault(known.operation, []).append(seen)

    def record_failed(self, events: Sequence[Event]) -> None:
        """Record that a fault was injected into a turn with these events."""
        self.met_fault.update(self.operations_of(events))


def _code_in(decision: Decision) -> str | None:
    drawn = decision.reply.code if isinstance(decision.reply, TextCodeDrawn) else None
    return None if drawn is None else drawn.reveal()


def _is_turned_away(decision: Decision) -> bool:
    return isinstance(decision.reply, Refused) and decision.reply.why is Why.PASSWORD_CHANGED_MEANWHILE


class WitnessedService(Service):
    """The service; it reports to the witness which request an event belongs to."""

    __slots__ = ("witness",)

    witness: Witness

    @classmethod
    def watching(cls, witness: Witness, service: Service) -> "WitnessedService":
        """Return the same service with a witness."""
        watched = cls(**{each.name: getattr(service, each.name) for each in fields(service)})
        object.__setattr__(watched, "witness", witness)
        return watched

    def make_origin(self, headers: Sequence[tuple[bytes, bytes]], source: str, trace_id: TraceId) -> Origin:
        """Return the origin of a request, and remember its operation by trace id."""
        origin = Service.make_origin(self, headers, source, trace_id)
        for name, value in headers:
            if name == OPERATION:
                self.witness.traces[str(origin.trace_id)] = int(value)
        return origin

    def receive(self, request: Request, trace_id: TraceId) -> PendingRequest | Answer:
        """Return the pending request, and note its operation: from a form's field, or user-info's head."""
        pending = Service.receive(self, request, trace_id)
        if isinstance(pending, PendingRequest):
            self.make_origin(request.headers, request.source, trace_id)
            number_field = _IN_A_FORM.search(request.body)
            if number_field is not None:
                self.witness.traces[str(trace_id)] = int(number_field[1])
            self._record_asked(pending.event, pending.origin)
        return pending

    async def decide(self, event: Event, origin: Origin) -> Decision:
        """Decide an event whose operation is known from now on."""
        self._record_asked(event, origin)
        return await Service.decide(self, event, origin)

    def _record_asked(self, event: Event, origin: Origin) -> None:
        operation = self.witness.traces.get(str(origin.trace_id))
        if operation is not None:
            self.witness.record_asked(event, operation, self.clock.now())
