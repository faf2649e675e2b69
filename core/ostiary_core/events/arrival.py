"""Move the arrival of an event to the clock of another instance."""

from dataclasses import replace

from ostiary_core.events.account import LoginRefreshed
from ostiary_core.events.event import Event
from ostiary_core.events.token_service import RefreshRequested
from ostiary_core.model.instant import Arrival, Instant


def with_clock_ahead(event: Event, by_ms: int) -> Event:
    """Return the event with its arrival moved by so many milliseconds, to the clock of another turn."""
    if isinstance(event, RefreshRequested | LoginRefreshed) and event.arrival is not None:
        earliest, latest = event.arrival
        arrival = Arrival(Instant(earliest + by_ms), Instant(latest + by_ms))
        return replace(event, arrival=arrival)
    return event
