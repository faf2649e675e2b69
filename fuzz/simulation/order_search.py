"""Search all other orders that time allows, the nearest to the witness's first, for one that explains all."""

import math
import pickle
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from fuzz.model import Model
from fuzz.simulation.order import Event, apply, explains, follow

MOST_TRIES: Final = 6_000
"""Most events tried for each of `_BREADTHS`."""
_BREADTHS: Final = (1, 2, math.inf)
"""Numbers of departures from the witness's order to allow: more than one is seldom needed."""

Numbers = frozenset[int]
"""Operations by their numbers."""


@dataclass
class Tries:
    """The limit of a search, and its record of tried states."""

    left: int = MOST_TRIES
    in_vain: set[tuple[Numbers, Numbers, float, bytes]] = field(default_factory=set)
    """States from which no order was found (G. Lowe, Testing for linearizability, 2017).

    Each is: the events still to come, those held back, the departures left, and the model's state. Orders
    that lead to one of them are skipped.
    """


def search_orders(start: Model, events: Sequence[Event], failed: int, tries: Tries) -> bool:
    """Whether another order explains the failed event and all others.

    The cause may lie before the answer that shows it, so after each failed search the next one begins one
    group of overlapping operations earlier. It goes back to the beginning with few departures before it
    allows more: a late group has more orders than can be tried.
    """
    for swerves in _BREADTHS:
        tries.left = MOST_TRIES
        begin = failed + 1
        while begin > 0 and tries.left > 0:
            begin = _find_group_before(events, begin)
            model = deepcopy(start)
            _, contradiction = follow(model, events[:begin], 0, [])
            if contradiction is not None:
                return False
            if _explore(model, list(events[begin:]), failed - begin + 1, swerves, tries):
                return True
    return False


def _find_group_before(events: Sequence[Event], place: int) -> int:
    """Return the index at which the latest group of overlapping operations before `place` begins.

    All operations before it were answered before any of it began.
    """
    while place > 0:
        begin = place - 1
        while overlapping := _overlapping(events, begin, place):
            begin = overlapping[0]
        if place - begin > 1 or not events[begin].is_certain:
            return begin
        place = begin
    return 0


def _overlapping(events: Sequence[Event], begin: int, end: int) -> list[int]:
    asked = min(event.operation.invoked for event in events[begin:end])
    return [place for place in range(begin) if asked < _ends(events[place]) < math.inf]


def _ends(event: Event) -> float:
    """Return the moment after which an operation can no longer take effect."""
    if event.is_certain and event.operation.returned is not None:
        return event.operation.returned
    return math.inf


def _explore(
    model: Model, events: list[Event], reach: int, swerves: float, tries: Tries, held: Numbers = frozenset()
) -> bool:
    """Search depth first; any event may come next that began before all remaining ones were answered.

    Up to `swerves` times it may be another than the next event of the witness's order, or that event is held
    back for as long as time allows. The witness is seldom far from right, and a group has too many orders.
    Beyond `reach` only the witness's order is tried, which mostly explains the rest.
    """
    if reach <= 0:
        place, contradiction = follow(deepcopy(model), events, 0, [])
        if contradiction is None:
            return True
        reach = place + 1
    to_come = frozenset(event.operation.number for event in events)
    here = to_come, held, swerves, sha256(pickle.dumps(model)).digest()
    if here in tries.in_vain:
        return False
    limit = min(map(_ends, events), default=math.inf)
    ready = [event for event in events if event.operation.invoked < limit]
    late = [event for event in ready if event.operation.number in held]
    next_of_witness = [event for event in ready if event.happened and event not in late][:1]
    free = [*next_of_witness, *late]
    for event in free + sorted((one for one in ready if one not in free), key=lambda one: not one.happened):
        swerves_left = swerves if event in free else swerves - 1
        if swerves_left < 0:
            break
        tries.left -= 1
        if tries.left <= 0:
            return False
        branch = deepcopy(model)
        verdict = apply(branch, event)
        if event.is_certain and not explains(event.operation, verdict.answer):
            continue
        others = [one for one in events if one is not event]
        if _explore(branch, others, reach - 1, swerves_left, tries, held - {event.operation.number}):
            return True
    if 1 <= swerves < math.inf:
        for event in next_of_witness:
            if _explore(model, events, reach, swerves - 1, tries, held | {event.operation.number}):
                return True
    if all(not event.is_certain for event in events):
        return True
    tries.in_vain.add(here)
    return False
