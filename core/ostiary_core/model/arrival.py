"""The time a request arrived, by which a safe retry is told from a replay (READINGS 46).

A turn may begin long after the request came: the database stood still, the disk was slow. What a request
waits for inside the server must not cost its client the grace, so an event that may be late says when it
arrived.
"""

from typing import NamedTuple

from ostiary_core.model.instant import Instant

__all__ = ["Arrival", "arrival_at"]


class Arrival(NamedTuple):
    """The two instants between which a request arrived, by the clock of its turn."""

    earliest: Instant
    """Before `latest` only where the server stood still, and found the request in a socket afterwards."""
    latest: Instant


def arrival_at(instant: Instant) -> Arrival:
    """The arrival of a request at one known instant."""
    return Arrival(instant, instant)
