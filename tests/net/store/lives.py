"""What happens on a store: the life of a small backend that the kit recorded, and a world to go on with."""

from functools import cache
from typing import cast

from ostiary_core import Decision, MemoryStore
from ostiary_core.conformance import scenario
from ostiary_core.conformance.scenario import EventBatch, origin_of
from ostiary_core.events import Event
from tests.core import story
from tests.net.store.stores import ContractStore


@cache
def make_scenario() -> tuple[EventBatch, ...]:
    """Yield one sequence of events each time: issued, rotated, repeated, replayed, ended, deleted, read."""
    return tuple(scenario.make_scenario())


def live(store: ContractStore) -> list[tuple[Event, Decision]]:
    """Let a store live it, a batch a turn; what each event led to."""
    told: list[tuple[Event, Decision]] = []
    for batch in make_scenario():
        origins = [origin_of(place) for place in range(len(told), len(told) + len(batch.events))]
        told += zip(batch.events, store.turn(batch.events, batch.at, origins), strict=True)
    return told


def world_on(store: ContractStore) -> story.World:
    """Return a world with one client and one user, on this store."""
    return story.given(store=cast(MemoryStore, store))
