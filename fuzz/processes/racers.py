"""One race: twenty connections to several worker processes, each with the same request, let go at once.

Half of the requests lie at the server but for their last byte, so that what decides is who is read first.
"""

from collections.abc import Sequence
from random import Random
from urllib.parse import urlencode

import trio

from fuzz.processes.connection import Heard, Line, Lost, basic

__all__ = ["RACERS", "Racers"]

RACERS = 20
_FORM = ("Content-Type", "application/x-www-form-urlencoded")


class Racers:
    """Connections that are kept from race to race, and now and then made anew, to other workers."""

    def __init__(self, port: int, chance: Random) -> None:
        self._lines = [Line() for _ in range(RACERS)]
        self._chance = chance
        for line in self._lines:
            line.port = port

    async def token(
        self, client_id: str, secret: str, agents: Sequence[str], **form: str
    ) -> list[tuple[str, Heard]]:
        """The answers to twenty equal requests, each with the User-Agent that it was asked by."""
        body = urlencode(form).encode()
        answers: list[tuple[str, Heard]] = []
        aimed: list[tuple[Line, str, bytes]] = []
        for line in self._lines:
            if self._chance.random() < 0.05:
                line.hang_up()
            agent = self._chance.choice(agents)
            fields = [_FORM, basic(client_id, secret), ("User-Agent", agent)]
            held = self._chance.choice((0, 1))
            aimed.append((line, agent, await line.aim("POST", "/api/oauth2/token", fields, body, held=held)))

        async def fire(line: Line, agent: str, data: bytes) -> None:
            try:
                answers.append((agent, await line.fire(data)))
            except Lost:
                answers.append((agent, Heard(0, b"")))  # nobody is killed here, so this is a failure as well

        async with trio.open_nursery() as nursery:
            for line, agent, data in aimed:
                nursery.start_soon(fire, line, agent, data)
        return answers

    def hang_up(self) -> None:
        """Close all connections."""
        for line in self._lines:
            line.hang_up()
