"""Bound how many entries of the trail the refusals of administrators take.

Each is told at once. The same one again within the hour is counted, and the number told once that is over.
"""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from ostiary_core.model.instant import MINUTE_MS, Monotonic

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

WINDOW_MS: Final = 60 * MINUTE_MS


class RefusalCounts(Generic[K, V]):
    """The refusals of an hour, by what makes them the same. The caller brings the time.

    Past `most` that are remembered, further ones are not told of until an hour has passed.
    """

    def __init__(self, *, most: int = 10_000) -> None:
        self._most = most
        self._open: dict[K, tuple[Monotonic, int, V]] = {}

    def count(self, key: K, value: V, now: Monotonic) -> int:
        """Count a refusal, and return how many are to be told now; 0 if it waits for its hour to end."""
        known = self._open.get(key)
        if known is None and len(self._open) >= self._most:
            return 0
        since, repeated, _ = known or (now, 0, value)
        if known is None or now >= since + WINDOW_MS:
            self._open[key] = now, 0, value
            return repeated + 1
        self._open[key] = since, repeated + 1, value
        return 0

    def take_due(self, now: Monotonic | None) -> list[tuple[K, V, int]]:
        """Take those that came again and whose hour is over, with the last value of each and its number.

        Take all that came again if no time is given, as the process ends.
        """
        due = [key for key, (since, _, _) in self._open.items() if now is None or now >= since + WINDOW_MS]
        taken = [(key, *self._open.pop(key)) for key in due]
        return [(key, value, repeated) for key, _, repeated, value in taken if repeated]
