"""Rate limits: fixed one-minute windows per operation and source address ("Limits", READINGS 39)."""

import ipaddress
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from zlib import crc32

from ostiary_core.model.instant import MINUTE_MS, Monotonic, seconds_until


class Operation(StrEnum):
    """The operations that have a limit, each with a count of its own."""

    AUTHORIZE_CHECK = "GET /api/oauth2/authorize"
    AUTHORIZE_DECIDE = "POST /api/oauth2/authorize"
    TOKEN = "POST /api/oauth2/token"
    INTROSPECT = "POST /api/oauth2/introspect"
    REVOKE = "POST /api/oauth2/revoke"
    SIGN_IN = "POST /api/auth/login"
    TEXT_CODE = "POST /api/auth/sms-code"
    RESET_PASSWORD = "POST /api/auth/reset-password"
    INVITATION = "POST /api/auth/invitation"


LIMITS: Final[Mapping[Operation, int]] = MappingProxyType(
    {
        Operation.AUTHORIZE_CHECK: 120,
        Operation.AUTHORIZE_DECIDE: 120,
        Operation.TOKEN: 600,
        Operation.INTROSPECT: 1_200,
        Operation.REVOKE: 1_200,
        Operation.SIGN_IN: 120,
        Operation.TEXT_CODE: 20,
        Operation.RESET_PASSWORD: 20,
        Operation.INVITATION: 20,
    }
)
"""Requests a minute from one source; the last four are this project's, the rest the specification's."""

_LONGEST_WAIT_SECONDS: Final = MappingProxyType({Operation.TOKEN: 15})
"""Longest `Retry-After` of an operation.

A client that lost the answer to a refresh has 30 s for a safe retry: an obedient one would lose its session.
"""

SHARED_COUNTERS: Final = 4_096
"""Counters shared by all sources beyond those that have their own."""


class RateWindows:
    """The counters of one process (READINGS 30). The caller brings the time and keeps the object.

    Memory is bounded: past `most_sources` in one minute, further sources share a fixed number of counters,
    which can refuse a source too early but never admits one too often. `scale` multiplies every limit, at
    least 1.
    """

    def __init__(self, *, scale: float = 1.0, most_sources: int = 100_000) -> None:
        self._limits = {operation: max(1, int(limit * scale)) for operation, limit in LIMITS.items()}
        self._most_sources = most_sources
        self._minute: int | None = None
        self._counts: dict[tuple[Operation, str], int] = {}
        self._shared: dict[tuple[Operation, int], int] = {}

    def admit(self, operation: Operation, source: str, now: Monotonic) -> int:
        """Count a request within the limit and return 0; else return the whole seconds of `Retry-After`."""
        minute = now // MINUTE_MS
        if minute != self._minute:
            self._minute = minute
            self._counts.clear()
            self._shared.clear()
        limit = self._limits[operation]
        address = address_of(source)
        key = (operation, address)
        count = self._counts.get(key)
        if count is None and len(self._counts) >= self._most_sources:
            slot = (operation, crc32(address.encode("utf-8", "surrogatepass")) % SHARED_COUNTERS)
            count = self._shared.get(slot, 0)
            self._shared[slot] = min(count + 1, limit)
        else:
            count = count or 0
            self._counts[key] = min(count + 1, limit)
        if count < limit:
            return 0
        seconds = seconds_until((minute + 1) * MINUTE_MS - now)
        return min(seconds, _LONGEST_WAIT_SECONDS.get(operation, seconds))


def address_of(source: str) -> str:
    """Return what counts as one address for every limit (READINGS 39).

    An IPv6 address counts as its /64, all of which one subscriber commands; an IPv4-mapped one as the IPv4
    address; anything else as itself.

    >>> address_of("2001:db8:1:2:aaaa::1"), address_of("2001:0db8:1:2:bbbb::2")
    ('2001:db8:1:2::/64', '2001:db8:1:2::/64')
    >>> address_of("203.0.113.7"), address_of("local")
    ('203.0.113.7', 'local')
    """
    if ":" not in source:  # most of them: to read one would cost every request
        return source
    try:
        address = ipaddress.IPv6Address(source)
    except ValueError:
        return source
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{ipaddress.IPv6Address(int(address) >> 64 << 64)}/64"
