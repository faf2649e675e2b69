"""What happens on a store: the life of a small backend that the kit recorded, and a world to go on with."""

from functools import cache
from typing import cast

from ostiary_core import Decision, MemoryStore
from ostiary_core.conformance import lives
from ostiary_core.conformance.lives import Wave, origin_of
from ostiary_core.events import Event
from tests.core import story
from tests.net.store.stores import ContractStore


@cache
def a_life() -> tuple[Wave, ...]:
    """The same events each time: issued, rotated, repeated, replayed, ended, deleted, read."""
    return tuple(lives.a_life())


def live(store: ContractStore) -> list[tuple[Event, Decision]]:
    """Let a store live it, a wave a turn; what each event led to."""
    told: list[tuple[Event, Decision]] = []
    for wave in a_life():
        origins = [origin_of(place) for place in range(len(told), len(told) + len(wave.events))]
        told += zip(wave.events, store.turn(wave.events, wave.at, origins), strict=True)
    return told


def world_on(store: ContractStore) -> story.World:
    """The story's world with one client and one user, on this store."""
    return story.given(store=cast(MemoryStore, store))
