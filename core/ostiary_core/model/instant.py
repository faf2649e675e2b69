"""Time in the core: whole milliseconds, always passed in by the caller and never read from a clock."""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, NewType

Instant = NewType("Instant", int)
"""Milliseconds since 1970-01-01T00:00:00Z. Nothing in the core reads a clock to get one."""

Monotonic = NewType("Monotonic", int)
"""Milliseconds since a moment that means nothing, on a clock that nobody can set (READINGS 42): for what one
process remembers. What is stored has an `Instant`."""

NOT_YET: Final = Instant(0)
"""Stands in the template of a record for a time that each record made of it has of its own."""

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


class Arrival(NamedTuple):
    """The two instants between which a request arrived, by the clock of its turn (READINGS 46).

    By them a safe retry is told from a replay. A turn may begin long after the request came: the database
    stood still, the disk was slow. What a request waits for inside the server must not cost its client the
    grace, so an event that may be late says when it arrived.
    """

    earliest: Instant
    """Before `latest` only where the server stood still, and found the request in a socket afterwards."""
    latest: Instant


def arrival_at(instant: Instant) -> Arrival:
    """The arrival of a request at one known instant."""
    return Arrival(instant, instant)
