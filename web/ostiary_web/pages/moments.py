"""Instants as people read them, and the zones they can choose."""

from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from markupsafe import Markup

from ostiary_core.instant import SECOND_MS, Instant

__all__ = ["moment", "zone_names"]


@cache
def zone_names() -> tuple[str, ...]:
    """The zones a person can choose, by name; of the nameless ones only UTC."""
    named = (name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))
    return tuple(sorted((*named, "UTC")))


def moment(instant: Instant, zone: ZoneInfo, *, seconds: bool = False) -> Markup:
    """A `<time>` element, exact for programs and to the minute, or second, for people.

    >>> moment(Instant(0), ZoneInfo("Asia/Shanghai"))
    Markup('<time datetime="1970-01-01T00:00:00Z">1970-01-01 08:00</time>')
    """
    at = datetime.fromtimestamp(instant // SECOND_MS, UTC)
    exact = at.isoformat().replace("+00:00", "Z")
    shown = at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}">{}</time>').format(exact, shown)
