"""Bounds how many lines of the log refusals take, as anybody may cause them."""

import time
from collections.abc import Callable, MutableMapping
from typing import Any, Final

from ostiary_core.throttling.rate_windows import address_of

REFUSED: Final = "refused"
REFUSED_AT_THE_DOOR: Final = "refused at the door"
_LIMITED: Final = frozenset({REFUSED, REFUSED_AT_THE_DOOR})

_LINES_A_SOURCE: Final = 600
_LINES_IN_ALL: Final = 6_000
"""In one minute: about 1 MB, and as many addresses are known."""


class RefusalLimit:
    """Lets so many refusals a minute into the log, by source address; the others are counted.

    The next refusal that is logged says how many were not.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._minute = -1
        self._lines: dict[str, int] = {}
        self._left_in_all = 0
        self._not_told = 0
        self.not_logged = 0
        """Refusals without a line, since the process began."""

    def admit(self, entry: MutableMapping[str, Any]) -> bool:
        """Count an entry of the log, and return whether it may be written; it is given the number of those
        that were not."""
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
            self._not_told += 1
            return False
        self._lines[source] = lines + 1
        self._left_in_all -= 1
        if self._not_told:
            entry["not_logged"], self._not_told = self._not_told, 0
        return True


REFUSAL_LIMIT: Final = RefusalLimit()
"""Of the one log that a process has."""
