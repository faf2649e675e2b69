"""Time in the core: whole milliseconds, always passed in by the caller and never read from a clock."""

import re
from collections.abc import Iterable
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
_DAY_MS: Final = DAY_SECONDS * SECOND_MS
# The calendar repeats itself after 400 years. They are counted from a first of March, so that the leap day is
# the last of its year (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
_DAYS_OF_400_YEARS: Final = 146_097
_DAYS_TO_1970: Final = 719_468
"""From the first of March of the year 0 to 1970-01-01."""


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
    year, month, day = map(int, date.split("-"))
    # In years that begin in March, January and February belong to the year before.
    years, months = year - (month < 3), (month - 3) % 12
    leap_days = years // 4 - years // 100 + years // 400
    days = 365 * years + leap_days + (153 * months + 2) // 5 + day - 1 - _DAYS_TO_1970
    if year < 1 or not iso_time(Instant(days * _DAY_MS)).startswith(date):
        raise ValueError("there is no such day")
    return Instant((days + 1) * _DAY_MS)


def iso_time(instant: Instant) -> str:
    """Format an instant as ISO-8601 text in UTC with `Z` ("Common conventions").

    >>> iso_time(Instant(1_500)), iso_time(Instant(951_868_799_999))
    ('1970-01-01T00:00:01.500Z', '2000-02-29T23:59:59.999Z')
    """
    days, of_day = divmod(instant, _DAY_MS)
    ages, of_age = divmod(days + _DAYS_TO_1970, _DAYS_OF_400_YEARS)
    years = (of_age - of_age // 1_460 + of_age // 36_524 - of_age // 146_096) // 365
    of_year = of_age - (365 * years + years // 4 - years // 100)
    months = (5 * of_year + 2) // 153
    day, month = of_year - (153 * months + 2) // 5 + 1, (months + 2) % 12 + 1
    year = 400 * ages + years + (month < 3)
    minutes, of_minute = divmod(of_day, MINUTE_MS)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{of_minute // SECOND_MS:02}.{of_minute % SECOND_MS:03}"
    return f"{year:04}-{month:02}-{day:02}T{clock}Z"


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
