"""Times and time zones as users read and choose them."""

from datetime import UTC, date, datetime, time
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Final
from zoneinfo import ZoneInfo

from markupsafe import Markup

from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Instant
from ostiary_core.texts import Language
from ostiary_web.http.zones import is_zone

_UNITS: Final = (
    ("page.ago_years", 365 * 24 * 60 * MINUTE_MS),
    ("page.ago_months", 30 * 24 * 60 * MINUTE_MS),
    ("page.ago_days", 24 * 60 * MINUTE_MS),
    ("page.ago_hours", 60 * MINUTE_MS),
    ("page.ago_minutes", MINUTE_MS),
)


@cache
def zone_names() -> tuple[str, ...]:
    """Return the zones that a user can choose, by name: one for each place, and UTC; no former names."""
    table = files("tzdata").joinpath("zoneinfo", "zone.tab").read_text(encoding="utf-8")
    named = (line.split("\t")[2] for line in table.splitlines() if not line.startswith("#"))
    return tuple(sorted((*filter(is_zone, named), "UTC")))


def zone_groups(chosen: str | None) -> list[tuple[str, list[str]]]:
    """Return the zones by region, with the one chosen even if its name is a former one.

    >>> [region for region, _ in zone_groups("US/Eastern")][-3:]
    ['Pacific', 'US', 'UTC']
    """
    names = sorted({*zone_names(), chosen or "UTC"})
    return [(region, list(group)) for region, group in groupby(names, lambda name: name.partition("/")[0])]


def moment(instant: Instant, zone: ZoneInfo, *, seconds: bool = False) -> Markup:
    """Return a `<time>` element, exact for programs, to the minute or second for users, titled with its zone.

    >>> moment(Instant(0), ZoneInfo("Asia/Shanghai"))
    Markup('<time datetime="1970-01-01T00:00:00Z" title="Asia/Shanghai">1970-01-01 08:00</time>')
    """
    at = datetime.fromtimestamp(instant // SECOND_MS, UTC)
    exact = at.isoformat().replace("+00:00", "Z")
    shown = at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, zone.key, shown)


def moment_text(instant: Instant, zone: ZoneInfo) -> str:
    """Return a time to the millisecond, within a sentence.

    >>> moment_text(Instant(1_728), ZoneInfo("Asia/Shanghai"))
    '1970-01-01 08:00:01.728'
    """
    at = datetime.fromtimestamp(instant // SECOND_MS, zone)
    return f"{at:%Y-%m-%d %H:%M:%S}.{instant % SECOND_MS:03}"


def ago(passed_ms: int, language: Language) -> str | None:
    """Return how long ago something was, in its largest unit; None for the future.

    >>> from ostiary_web.texts import LANGUAGES
    >>> [ago(each, LANGUAGES.default) for each in (0, 60_000, 3 * 86_400_000, -1)]
    ['just now', '1 minute ago', '3 days ago', None]
    """
    if passed_ms < 0:
        return None
    counted = ((key, passed_ms // unit_ms) for key, unit_ms in _UNITS)
    key, count = next((each for each in counted if each[1]), ("page.ago_now", 0))
    return language.text(key, count=count)


def day_bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the first and last moment of a day in a zone, even of a longer or shorter day.

    >>> [each.isoformat() for each in day_bounds(date(2027, 1, 15), ZoneInfo("Asia/Shanghai"))]
    ['2027-01-15T00:00:00+08:00', '2027-01-15T23:59:59.999999+08:00']
    """
    # If the clocks go back at midnight, the day's last hour comes twice: the second one is the last.
    last = datetime.combine(day, time.max, zone).replace(fold=1)
    return datetime.combine(day, time.min, zone), last
