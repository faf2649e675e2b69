"""Bounds how many lines of the log refusals take, as any client may cause them."""

import time
from collections.abc import Callable, MutableMapping
from typing import Any, Final

from ostiary_core.throttling.rate_windows import address_of

REFUSED: Final = "refused"
REFUSED_AT_THE_DOOR: Final = "refused at the door"
_LIMITED: Final = frozenset({REFUSED, REFUSED_AT_THE_DOOR})

_LINES_A_SOURCE: Final = 600
_LINES_IN_ALL: Final = 6_000
"""Most lines of refusals a minute: about 1 MB, and as many addresses to remember."""


class RefusalLimit:
    """Admits so many refusals a minute to the log, by source address, and counts the others."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._minute = -1
        self._lines: dict[str, int] = {}
        self._left_in_all = 0
        self._not_reported = 0
        self.not_logged = 0
        """Count of refusals without a line."""

    def admit(self, entry: MutableMapping[str, Any]) -> bool:
        """Count an entry of the log, and return whether it may be written.

        An admitted refusal is given the number of those before it that were not.
        """
        if entry["event"] not in _LIMITED:
            return True
        minute = int(self._monotonic() // 60)
        if minute != self._minute:
            self._minute, self._left_in_all = minute, _LINES_IN_ALL
            self._lines.clear()
        source = address_of(entry.get("source") or "")
        lines = self._lines.get(source, 0)
        if lines >= _LINES_A_SOURCE or self._left_in_all <= 0:
            self.not_logged += 1
            self._not_reported += 1
            return False
        self._lines[source] = lines + 1
        self._left_in_all -= 1
        if self._not_reported:
            entry["not_logged"], self._not_reported = self._not_reported, 0
        return True


REFUSAL_LIMIT: Final = RefusalLimit()
"""Limit for the log of this process."""
