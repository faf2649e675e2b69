"""Choose the time zone of texts for a reader ("Common conventions").

The request's `X-Timezone`, else the user's own, else China's. A name that is no zone counts as not given.
"""

from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from ostiary_core.model.records import User

ZONE_HEADER: Final = "X-Timezone"
DEFAULT_ZONE: Final = "Asia/Shanghai"


_NO_ZONES: Final = frozenset({"Factory", "localtime", "posixrules"})
"""Files beside those of zones, for no zone and for this machine's."""


@cache
def zones() -> frozenset[str]:
    """Return the names of all zones of the tz database."""
    return frozenset(available_timezones() - _NO_ZONES)


def is_zone(name: str) -> bool:
    """Whether there is a time zone of that name.

    >>> is_zone("Europe/Berlin"), is_zone("europe/berlin"), is_zone("localtime"), is_zone("../etc/passwd")
    (True, False, False, False)
    """
    return name in zones()


def zone_for(header: str | None, user: User | None) -> ZoneInfo:
    """Return the zone of an `X-Timezone` header, else of the user, else the default.

    >>> zone_for("America/Lima", None).key, zone_for("Mars/Base", None).key
    ('America/Lima', 'Asia/Shanghai')
    """
    for name in (header, None if user is None else user.timezone):
        if name is not None and is_zone(name):
            return ZoneInfo(name)
    return ZoneInfo(DEFAULT_ZONE)
