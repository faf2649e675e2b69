"""Twenty requests at once for one code or token: what must hold whichever wins.

Three races follow one another on one session:

- twenty redemptions of its code: exactly one answer has tokens, the others are `invalid_grant`;
- twenty refreshes with its refresh token from one User-Agent: all have the same pair;
- twenty refreshes with the next one from two User-Agents: those that are answered have the same pair, and the
  session is dead afterwards.

No answer of any is a failure of the server.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import Final

import trio

from fuzz.processes import api
from fuzz.processes.api import InvariantBroken
from fuzz.processes.connection import Connection, Lost
from fuzz.processes.server import ADMIN_PASSWORD
from fuzz.shared.http_client import Response, basic, form_request
from fuzz.shared.invariants import DOCUMENTED, PROGRESS, REDEEMED_ONCE, REPLAY_ENDS, SAME_PAIR

RACERS: Final = 20
_CLIENT: Final = "racer"


class Races:
    """Races of one client against a server, over twenty connections that are now and then made anew."""

    def __init__(self, port: int, random: Random) -> None:
        self.counts = Counter[str]()
        """Races by their kind."""
        self._random = random
        self._connection = Connection(port)
        self._racers = [Connection(port) for _ in range(RACERS)]
        self._login = ""
        self._secret = ""

    async def run(self, sessions: int) -> None:
        """Three races each of so many sessions. Raises `InvariantBroken`."""
        try:
            signed_in = await api.sign_in(self._connection, "admin", ADMIN_PASSWORD)
            self._login = str(signed_in.data["accessToken"])
            self._secret = await api.register_client(self._connection, self._login, _CLIENT)
            for _ in range(sessions):
                await self._race_session()
        finally:
            for connection in (self._connection, *self._racers):
                connection.close()

    async def _race_session(self) -> None:
        verifier = sha256(self._random.randbytes(32)).hexdigest()
        consent = await api.authorize(self._connection, self._login, _CLIENT, verifier)
        form = api.redemption_form(api.code_of(consent), verifier)
        refresh = judge_codes(await self._race("code", ["one"], **form))
        form = {"grant_type": "refresh_token", "refresh_token": refresh}
        form["refresh_token"] = judge_refreshes(await self._race("refresh", ["one"], **form))
        answers = await self._race("two User-Agents", ["one", "another"], **form)
        fields = [basic(_CLIENT, self._secret)]
        for token in judge_two_agents(answers):
            response = await self._connection.post_form("/api/oauth2/introspect", fields, token=token)
            if api.expect(response, 200, "an introspection").json().get("active") is not False:
                raise InvariantBroken("two User-Agents: a token of the session lives on", REPLAY_ENDS)

    async def _race(self, kind: str, agents: Sequence[str], **form: str) -> list[tuple[str, Response]]:
        """The answers to twenty equal requests, let go at once, each with the User-Agent of its request.

        Half of them lie at the server but for their last byte, so that what decides is who is read first.
        """
        answers: list[tuple[str, Response]] = []
        prepared: list[tuple[Connection, str, bytes]] = []
        for connection in self._racers:
            if self._random.random() < 0.05:
                connection.close()
            agent = self._random.choice(agents)
            fields = [basic(_CLIENT, self._secret), ("User-Agent", agent)]
            request = form_request("/api/oauth2/token", fields, form)
            rest = await connection.begin(request, held=self._random.choice((0, 1)))
            prepared.append((connection, agent, rest))

        async def finish(connection: Connection, agent: str, rest: bytes) -> None:
            answers.append((agent, await connection.finish(rest)))

        try:
            async with trio.open_nursery() as nursery:
                for each in prepared:
                    nursery.start_soon(finish, *each)
        except* Lost:
            raise InvariantBroken(f"{kind}: a connection was lost", PROGRESS) from None
        self.counts[kind] += 1
        for _, response in answers:
            if response.status != 200 and (response.status, response.error) != (400, "invalid_grant"):
                raise InvariantBroken(f"{kind}: answered {response.status} {response.error}", DOCUMENTED)
        return answers


def judge_codes(answers: list[tuple[str, Response]]) -> str:
    """The winner's refresh token. Raises `InvariantBroken` unless there is exactly one."""
    winners = [response for _, response in answers if response.status == 200]
    if len(winners) != 1:
        raise InvariantBroken(f"one code: {len(winners)} of {RACERS} redemptions bring tokens", REDEEMED_ONCE)
    return str(winners[0].json()["refresh_token"])


def judge_refreshes(answers: list[tuple[str, Response]]) -> str:
    """The next refresh token. Raises `InvariantBroken` unless all were answered with one pair."""
    pairs = _pairs(answers)
    if len(pairs) != 1 or any(response.status != 200 for _, response in answers):
        refused = sum(response.status != 200 for _, response in answers)
        raise InvariantBroken(f"one User-Agent: {len(pairs)} pairs, {refused} of {RACERS} refused", SAME_PAIR)
    return pairs.pop()[1]


def judge_two_agents(answers: list[tuple[str, Response]]) -> list[str]:
    """The tokens that were answered, all dead by now. Raises `InvariantBroken` where another
    pair, or another User-Agent, was answered."""
    pairs = _pairs(answers)
    agents = {agent for agent, response in answers if response.status == 200}
    if len({agent for agent, _ in answers}) < 2:
        return []  # one in half a million: chance gave all twenty the same
    if len(pairs) != 1 or len(agents) != 1:
        raise InvariantBroken(f"two User-Agents: {len(pairs)} pairs for {len(agents)} of them", REPLAY_ENDS)
    return list(pairs.pop())


def _pairs(answers: list[tuple[str, Response]]) -> set[tuple[str, str]]:
    found = [response.json() for _, response in answers if response.status == 200]
    return {(str(each["access_token"]), str(each["refresh_token"])) for each in found}
