"""Who saw what: which turn took which request's event, on whose clock, and in which order over all instances.

It proves nothing by itself. It gives the judge a likely order of events, which the judge then checks, and it
tells which requests met a fault that was injected.
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
"""The field by which a request says which operation it is; to the server it is one of many it ignores."""
AHEAD: Final = frozenset({"AccountRequested", "PasswordHashRequested", "PersonalTokenUsed"})
"""What is asked ahead of the event that decides; seen last, it means that the event never came."""
_IN_A_FORM: Final = re.compile(rb"(?:\A|&)" + OPERATION + rb"=(-?[0-9]+)")


class SecretUsed(NamedTuple):
    """A server noted that a client's secret was used, which a reset of it goes by."""

    moment: int
    now: int
    event: ClientSecretUsed


class Seen(NamedTuple):
    """An event of a request, taken in a turn that was kept."""

    moment: float
    now: int
    kind: str
    changed: bool = False
    waited_ms: int = 0
    """How long it had waited, by its instance's clock."""
    unseen_ms: int | None = None
    """Uncertainty of its arrival, because the process stood still; None for an event without an arrival."""
    code: str | None = None
    """The code in the text message that it caused."""
    is_restored: bool = False
    """It counts as having arrived with the refresh that it repeats, which nobody was answered."""
    turned_away: bool = False
    """It lost to another that did the same at the same time, and was asked to try again: nothing was done."""


@dataclass
class _Known:
    event: Event
    operation: int
    asked_at: int
    asked_time: float
    """By Trio's clock."""


class UnheardRefreshes:
    """Refreshes that one process may have kept, and nobody was answered: READINGS 46, said again.

    A retry counts as having arrived with the first of them until the store has kept something again, and for
    as long as the grace from then on.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Arrival, float]] = {}

    def record(self, events: Sequence[Event], decisions: Sequence[Decision]) -> None:
        """Take in a turn of whose commit nobody heard."""
        for event, decision in zip(events, decisions, strict=False):
            if not isinstance(event, RefreshEvent) or event.refresh_token is None or event.arrival is None:
                continue
            if decision.changes or not isinstance(decision.reply, Refused):
                digest = event.refresh_token.digest
                first, _ = self._known.get(digest, (event.arrival, 0.0))
                self._known[digest] = first, math.inf

    def begin_grace(self) -> None:
        """Take in that the store kept something again."""
        until = trio.current_time() + GRACE_SECONDS
        self._known = {digest: (first, min(at, until)) for digest, (first, at) in self._known.items()}

    def find_first(self, event: Event, asked_time: float) -> Arrival | None:
        """Return when the refresh arrived that an event repeats, if that counts."""
        if not isinstance(event, RefreshEvent) or event.refresh_token is None:
            return None
        first, until = self._known.get(event.refresh_token.digest, (None, -math.inf))
        return first if asked_time <= until else None


class Witness:
    """What was seen of all operations of one run."""

    def __init__(self) -> None:
        self.moment = 0
        self.seen: dict[int, list[Seen]] = {}
        self.secrets_used: list[SecretUsed] = []
        self.met_fault: set[int] = set()
        """Operations whose turn failed because of a fault that was injected."""
        self.traces: dict[str, int] = {}
        self._known: dict[int, _Known] = {}
        self._of_entropy: dict[int, _Known] = {}
        """By what they bring along: a retry whose arrival is put right is another event with the same."""

    def tick(self) -> int:
        """The next moment in the order of everything."""
        self.moment += 1
        return self.moment

    def record_asked(self, event: Event, operation: int, now: int) -> None:
        """An event is about to be put into the queue for an operation, at `now` by its instance's clock."""
        known = self._known[id(event)] = _Known(event, operation, now, trio.current_time())
        if isinstance(event, RefreshEvent):
            self._of_entropy[id(event.entropy)] = known

    def operations_of(self, events: Sequence[Event]) -> list[int]:
        """Whose the events are; -1 for what the server does by itself."""
        found = map(self._find, events)
        return [-1 if known is None else known.operation for known in found]

    def _find(self, event: Event) -> _Known | None:
        known = self._known.get(id(event))
        if known is None and isinstance(event, RefreshEvent):
            return self._of_entropy.get(id(event.entropy))
        return known

    def took(
        self,
        events: Sequence[Event],
        decisions: Sequence[Decision],
        now: int,
        moment: int | None,
        unheard: UnheardRefreshes,
    ) -> None:
        """A turn took these events: now, or at an earlier `moment` of which it read and wrote nothing."""
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
        """A fault was injected into a turn with these events."""
        self.met_fault.update(self.operations_of(events))


def _code_in(decision: Decision) -> str | None:
    drawn = decision.reply.code if isinstance(decision.reply, TextCodeDrawn) else None
    return None if drawn is None else drawn.reveal()


def _is_turned_away(decision: Decision) -> bool:
    return isinstance(decision.reply, Refused) and decision.reply.why is Why.PASSWORD_CHANGED_MEANWHILE


class WitnessedService(Service):
    """The service, telling the witness which request an event is of."""

    __slots__ = ("witness",)

    witness: Witness

    @classmethod
    def watching(cls, witness: Witness, service: Service) -> "WitnessedService":
        """The same service, watched."""
        watched = cls(**{each.name: getattr(service, each.name) for each in fields(service)})
        object.__setattr__(watched, "witness", witness)
        return watched

    def make_origin(self, headers: Sequence[tuple[bytes, bytes]], source: str, trace_id: TraceId) -> Origin:
        """Where a request came from; the trace id is remembered for it."""
        origin = Service.make_origin(self, headers, source, trace_id)
        for name, value in headers:
            if name == OPERATION:
                self.witness.traces[str(origin.trace_id)] = int(value)
        return origin

    def receive(self, request: Request, trace_id: TraceId) -> PendingRequest | Answer:
        """What has to be decided for a request that says which operation it is of: a form in a field,
        user-info in its head."""
        pending = Service.receive(self, request, trace_id)
        if isinstance(pending, PendingRequest):
            self.make_origin(request.headers, request.source, trace_id)
            said = _IN_A_FORM.search(request.body)
            if said is not None:
                self.witness.traces[str(trace_id)] = int(said[1])
            self._record_asked(pending.event, pending.origin)
        return pending

    async def decide(self, event: Event, origin: Origin) -> Decision:
        """The decision on an event whose operation is known from now on."""
        self._record_asked(event, origin)
        return await Service.decide(self, event, origin)

    def _record_asked(self, event: Event, origin: Origin) -> None:
        operation = self.witness.traces.get(str(origin.trace_id))
        if operation is not None:
            self.witness.record_asked(event, operation, self.clock.now())
