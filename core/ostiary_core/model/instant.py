"""Time in the core: whole milliseconds, always passed in by the caller and never read from a clock."""

from datetime import UTC, datetime, timedelta
from typing import Final, NewType

__all__ = [
    "MINUTE_MS",
    "SECOND_MS",
    "Instant",
    "Monotonic",
    "iso_time",
    "later",
    "seconds_until",
    "whole_seconds",
]

Instant = NewType("Instant", int)
"""Milliseconds since 1970-01-01T00:00:00Z. Nothing in the core reads a clock to get one."""

Monotonic = NewType("Monotonic", int)
"""Milliseconds since a moment that means nothing, on a clock that nobody can set (READINGS 42): for what one
process remembers. What is stored has an `Instant`."""

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def later(start: Instant, seconds: int) -> Instant:
    """The instant that lies `seconds` after `start`."""
    return Instant(start + seconds * SECOND_MS)


def seconds_until(milliseconds: int) -> int:
    """Milliseconds as whole seconds rounded up, for `Retry-After`; 0 where none are left.

    >>> seconds_until(1), seconds_until(1_000), seconds_until(-1)
    (1, 1, 0)
    """
    return max(0, -(-milliseconds // SECOND_MS))


def whole_seconds(milliseconds: int) -> int:
    """Milliseconds as whole seconds rounded down (READINGS 8), as `expires_in` and `exp` give them.

    >>> whole_seconds(1_999), whole_seconds(-1)
    (1, -1)
    """
    return milliseconds // SECOND_MS


def iso_time(instant: Instant) -> str:
    """An instant as ISO-8601 text in UTC with `Z` ("Common conventions").

    >>> iso_time(Instant(1_500))
    '1970-01-01T00:00:01.500Z'
    """
    moment = _EPOCH + timedelta(milliseconds=instant)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
