"""One client and one user who never do two things at once, from moving in to the check after each kill."""

from collections.abc import Callable
from random import Random

from fuzz.processes.connection import Line
from fuzz.processes.home import Home
from fuzz.processes.known import Tally
from fuzz.processes.resolving import Resolving
from fuzz.processes.standing import check
from fuzz.processes.tenant_actions import Deeds

__all__ = ["Household"]


class Household:
    """A home, what is done there, and what is found out once an answer was lost."""

    def __init__(
        self, number: int, chance: Random, line: Line, tally: Tally, admin: Callable[[], str]
    ) -> None:
        self._home = Home(number, chance, line, tally, admin)
        self._deeds = Deeds(self._home)
        self._resolving = Resolving(self._home, self._deeds)
        self.line = line

    async def move_in(self) -> None:
        """Register client and user, over the interface."""
        await self._home.move_in()

    async def step(self) -> None:
        """Do one thing. Raises `Lost` where its answer did not come; `resolve` must follow."""
        await self._deeds.step()

    async def resolve(self) -> None:
        """Find out what came of the request whose answer was lost. Raises `Lost`, and may be called again."""
        await self._resolving.resolve()

    async def check(self) -> None:
        """Everything that was acknowledged stands, and nothing that ended is back. Raises `Lost`."""
        await check(self._home)
