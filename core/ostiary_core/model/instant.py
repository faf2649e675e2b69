"""Time in the core: whole milliseconds, always passed in by the caller and never read from a clock."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, NewType

Instant = NewType("Instant", int)
"""Milliseconds since 1970-01-01T00:00:00Z."""

Monotonic = NewType("Monotonic", int)
"""Milliseconds on a monotonic clock, for what one process remembers; never stored (READINGS 42)."""

NOT_YET: Final = Instant(0)
"""Placeholder of a time in the template of a record."""

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
DAY_SECONDS: Final = 24 * 60 * 60

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def later(start: Instant, seconds: int) -> Instant:
    """Return the instant `seconds` after `start`."""
    return Instant(start + seconds * SECOND_MS)


def within(seconds: int, instants: Iterable[Instant], now: Instant) -> tuple[Instant, ...]:
    """Return the `instants` that are less than so many seconds ago."""
    return tuple(at for at in instants if now < later(at, seconds))


def is_news(used_at: Instant, known_at: Instant | None) -> bool:
    """Whether a use is worth a write: the one that is known is a minute older, or there is none."""
    return known_at is None or used_at >= known_at + MINUTE_MS


def seconds_until(milliseconds: int) -> int:
    """Convert milliseconds to whole seconds rounded up, for `Retry-After`; at least 0.

    >>> seconds_until(1), seconds_until(1_000), seconds_until(-1)
    (1, 1, 0)
    """
    return max(0, -(-milliseconds // SECOND_MS))


def whole_seconds(milliseconds: int) -> int:
    """Convert milliseconds to whole seconds rounded down (READINGS 8), for `expires_in` and `exp`.

    >>> whole_seconds(1_999), whole_seconds(-1)
    (1, -1)
    """
    return milliseconds // SECOND_MS


def end_of_day(date: str) -> Instant:
    """Return the instant at which a day of the calendar ends in UTC; `ValueError` for what is no such day.

    >>> end_of_day("1970-01-01")
    86400000
    """
    if _DATE.fullmatch(date) is None:
        raise ValueError("a day is written as 2027-06-30")
    # Arithmetic alone, as in `iso_time`: it reads no clock, no zone and, unlike `strptime`, no locale.
    start = datetime.fromisoformat(date).replace(tzinfo=UTC)
    return Instant((start - _EPOCH + timedelta(days=1)) // timedelta(milliseconds=1))


def iso_time(instant: Instant) -> str:
    """Format an instant as ISO-8601 text in UTC with `Z` ("Common conventions").

    >>> iso_time(Instant(1_500))
    '1970-01-01T00:00:01.500Z'
    """
    # Arithmetic alone: a `datetime` is only made from a number here, so no clock and no time zone is read.
    moment = _EPOCH + timedelta(milliseconds=instant)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Arrival(NamedTuple):
    """The two instants between which a request arrived, by the clock of its turn (READINGS 46).

    They tell a safe retry from a replay: time that a request waits inside the server, for the database or the
    disk, must not cost its client the grace.
    """

    earliest: Instant
    """Earliest instant: before `latest` only if the server stalled while the request lay in a socket."""
    latest: Instant


def arrival_at(instant: Instant) -> Arrival:
    """Return the arrival of a request at one known instant."""
    return Arrival(instant, instant)
