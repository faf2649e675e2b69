"""Time as the core knows it: whole milliseconds since 1970-01-01 UTC, always handed in."""

from datetime import UTC, datetime, timedelta
from typing import Final, NewType

__all__ = ["MINUTE_MS", "SECOND_MS", "Instant", "iso_time", "later", "whole_seconds"]

Instant = NewType("Instant", int)
"""Milliseconds since 1970-01-01T00:00:00Z. Nothing in the core reads a clock to get one."""

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def later(start: Instant, seconds: int) -> Instant:
    """The instant that lies `seconds` after `start`."""
    return Instant(start + seconds * SECOND_MS)


def whole_seconds(milliseconds: int) -> int:
    """Whole seconds, rounded down (READINGS 8), as `expires_in` and `exp` give them.

    >>> whole_seconds(1_999), whole_seconds(-1)
    (1, -1)
    """
    return milliseconds // SECOND_MS


def iso_time(instant: Instant) -> str:
    """ISO-8601 in UTC with `Z` ("Common conventions").

    >>> iso_time(Instant(1_500))
    '1970-01-01T00:00:01.500Z'
    """
    moment = _EPOCH + timedelta(milliseconds=instant)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
