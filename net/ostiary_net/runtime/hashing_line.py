"""Give out the places at which passwords are hashed, and keep a bounded line of those who wait for one.

Fewest doubts come first, then who came first (docs/decisions/0074-a-bounded-line-before-the-hash.md).
"""

import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NoReturn

import trio

MOST_DOUBTS: Final = 3
"""Most that speaks against a guess before it is checked (`SignInThrottle.count_doubts`)."""
MOST_WAITING_A_PLACE: Final = 100
"""Most calls that wait for one place: 2.5 s of hashes."""
LONGEST_WAIT_SECONDS: Final = 5.0
"""Longest wait for a place: if hashes are slow, requests are answered within 10 s (READINGS 47)."""
RETRY_SECONDS: Final = 3
"""Time after which to try again: a whole line is gone by then."""


class PasswordsBusy(RuntimeError):
    """Raised in place of hashing if too many wait."""

    def __init__(self, wait_seconds: int) -> None:
        super().__init__(f"too many passwords wait to be hashed; try again in {wait_seconds} s")


@dataclass(slots=True, eq=False)
class _Waiter:
    """A call in the line."""

    may_be_refused: bool
    has_place: bool = False
    woken: trio.Event = field(default_factory=trio.Event)


class HashingLine:
    """The places of one process, and the line before them."""

    def __init__(self, places: int, make_refusal: Callable[[int], Exception] = PasswordsBusy) -> None:
        """Make the line; `make_refusal` makes what is raised, given the seconds after which to try again."""
        self.places = places
        self._make_refusal = make_refusal
        self.refused = 0
        """Calls that were refused a place."""
        self._taken = 0
        self._lines: tuple[deque[_Waiter], ...] = tuple(deque() for _ in range(MOST_DOUBTS + 1))

    def __len__(self) -> int:
        """Return how many calls wait for a place."""
        return sum(map(len, self._lines))

    @asynccontextmanager
    async def place(self, doubts: int, *, may_be_refused: bool = True) -> AsyncIterator[None]:
        """Hold a place while the block runs. Raises a refusal if too many wait."""
        if self._taken < self.places:
            self._taken += 1
        else:
            await self._wait(doubts, may_be_refused)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, doubts: int, may_be_refused: bool) -> None:
        is_full = may_be_refused and len(self) >= self.places * MOST_WAITING_A_PLACE
        if is_full and not self._push_out(doubts):
            self._refuse()
        line, waiter = self._lines[doubts], _Waiter(may_be_refused)
        line.append(waiter)
        try:
            with trio.move_on_after(LONGEST_WAIT_SECONDS if may_be_refused else math.inf):
                await waiter.woken.wait()
        except BaseException:
            # A caller who leaves at the moment in which the place is given would keep it for ever.
            if waiter.has_place:
                self._pass_on()
            raise
        finally:
            if waiter in line:
                line.remove(waiter)
        if not waiter.has_place:
            self._refuse()

    def _push_out(self, doubts: int) -> bool:
        """Send away the last call with the most doubts; False if none has more than `doubts`."""
        for line in reversed(self._lines[doubts + 1 :]):
            for waiter in reversed(line):
                if waiter.may_be_refused:
                    line.remove(waiter)
                    waiter.woken.set()
                    return True
        return False

    def _pass_on(self) -> None:
        """Give a place that is left to the next call, if any waits."""
        for line in self._lines:
            if line:
                waiter = line.popleft()
                waiter.has_place = True
                waiter.woken.set()
                return
        self._taken -= 1

    def _refuse(self) -> NoReturn:
        self.refused += 1
        raise self._make_refusal(RETRY_SECONDS)
