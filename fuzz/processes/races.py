"""`python -m fuzz races`: who wins, how often, and what must hold whoever does.

Three races follow one another on one session:

- twenty redemptions of its code: exactly one answer has tokens, the others are `invalid_grant`;
- twenty refreshes with its refresh token from one User-Agent: all have the same pair;
- twenty refreshes with the next one from two User-Agents: those that are answered have the same pair, and the
  session is dead afterwards.

No answer of any is a failure of the server.
"""

import math
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import urlsplit

import psycopg
import trio
from psycopg import sql

from fuzz.processes import api
from fuzz.processes.api import Violation
from fuzz.processes.connection import Connection, Lost
from fuzz.processes.server import ADMIN_PASSWORD, Server
from fuzz.shared.http_client import Response, basic, form_request

__all__ = ["RACERS", "Races", "run"]

TOKEN: Final = "/api/oauth2/token"
RACERS: Final = 20
CLIENT_ID: Final = "racer"
_EVERY_SECONDS: Final = 10.0
_SESSIONS_A_SIGN_IN: Final = 500


class Racers:
    """Connections that are kept from race to race, and now and then made anew, to other workers."""

    def __init__(self, port: int, random: Random) -> None:
        self._connections = [Connection(port) for _ in range(RACERS)]
        self._random = random

    async def ask_token(self, secret: str, agents: Sequence[str], **form: str) -> list[tuple[str, Response]]:
        """The answers to twenty equal requests, let go at once, each with the User-Agent of its request.

        Half of them lie at the server but for their last byte, so that what decides is who is read first.
        """
        answers: list[tuple[str, Response]] = []
        prepared: list[tuple[Connection, str, bytes]] = []
        for connection in self._connections:
            if self._random.random() < 0.05:
                connection.close()
            agent = self._random.choice(agents)
            request = form_request(TOKEN, [basic(CLIENT_ID, secret), ("User-Agent", agent)], form)
            rest = await connection.begin(request, held=self._random.choice((0, 1)))
            prepared.append((connection, agent, rest))

        async def finish(connection: Connection, agent: str, rest: bytes) -> None:
            try:
                answers.append((agent, await connection.finish(rest)))
            except Lost:
                answers.append(
                    (agent, Response(0, [], b""))
                )  # nobody is killed here: this is a failure as well

        async with trio.open_nursery() as nursery:
            for connection, agent, rest in prepared:
                nursery.start_soon(finish, connection, agent, rest)
        return answers

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.close()


class Races:
    """Races against one running server."""

    def __init__(self, port: int, random: Random) -> None:
        self.run = Counter[str]()
        """Races by their kind."""
        self._random = random
        self._connection = Connection(port)
        self._racers = Racers(port, random)
        self._login = ""
        self._secret = ""
        self._sessions = 0

    async def open(self) -> None:
        """Sign in, and register the client."""
        await self._sign_in()
        self._secret = await api.register_client(self._connection, self._login, CLIENT_ID)

    async def three(self) -> None:
        """The three races of one session. Raises `Violation`."""
        self._sessions += 1
        if self._sessions % _SESSIONS_A_SIGN_IN == 0:
            await self._sign_in()
        code, verifier = await self._code()
        refresh = judge_codes(
            await self._race(
                "code",
                ["one"],
                **api.redemption_form(code, verifier),
            )
        )
        refresh = judge_refreshes(
            await self._race("refresh", ["one"], grant_type="refresh_token", refresh_token=refresh)
        )
        answers = await self._race(
            "two User-Agents", ["one", "another"], grant_type="refresh_token", refresh_token=refresh
        )
        for token in judge_two_agents(answers):
            response = await self._connection.post_form(
                "/api/oauth2/introspect", [basic(CLIENT_ID, self._secret)], token=token
            )
            if api.expect(response, 200, "an introspection").json().get("active") is not False:
                raise Violation("two User-Agents: a token of the session is alive afterwards")

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()
        self._racers.close()

    async def _race(self, kind: str, agents: Sequence[str], **form: str) -> list[tuple[str, Response]]:
        answers = await self._racers.ask_token(self._secret, agents, **form)
        self.run[kind] += 1
        for _, response in answers:
            if response.status != 200 and (response.status, response.error) != (400, "invalid_grant"):
                raise Violation(f"{kind}: answered {response.status} {response.error}")
        return answers

    async def _sign_in(self) -> None:
        response = await api.sign_in(self._connection, "admin", ADMIN_PASSWORD)
        self._login = str(response.data["accessToken"])

    async def _code(self) -> tuple[str, str]:
        verifier = sha256(self._random.randbytes(32)).hexdigest()
        consent = await api.authorize(self._connection, self._login, CLIENT_ID, verifier)
        return api.code_of(consent), verifier


def judge_codes(answers: list[tuple[str, Response]]) -> str:
    """The winner's refresh token. Raises `Violation` unless there is exactly one."""
    winners = [response for _, response in answers if response.status == 200]
    if len(winners) != 1:
        raise Violation(f"one code: {len(winners)} of {RACERS} redemptions are answered with tokens")
    return str(winners[0].json()["refresh_token"])


def judge_refreshes(answers: list[tuple[str, Response]]) -> str:
    """The next refresh token. Raises `Violation` unless all were answered with one pair."""
    pairs = _pairs(answers)
    if len(pairs) != 1 or any(response.status != 200 for _, response in answers):
        refused = sum(response.status != 200 for _, response in answers)
        raise Violation(f"one User-Agent: {len(pairs)} pairs, and {refused} of {RACERS} refused")
    return pairs.pop()[1]


def judge_two_agents(answers: list[tuple[str, Response]]) -> list[str]:
    """The tokens that were answered, all dead by now. Raises `Violation` where there is another pair, or
    another User-Agent that was answered with one."""
    pairs = _pairs(answers)
    agents = {agent for agent, response in answers if response.status == 200}
    if len({agent for agent, _ in answers}) < 2:
        return []  # one in half a million: chance gave all twenty the same
    if len(pairs) != 1 or len(agents) != 1:
        raise Violation(f"two User-Agents: {len(pairs)} pairs for {len(agents)} of them")
    return list(pairs.pop())


def _pairs(answers: list[tuple[str, Response]]) -> set[tuple[str, str]]:
    found = [response.json() for _, response in answers if response.status == 200]
    return {(str(each["access_token"]), str(each["refresh_token"])) for each in found}


def run(seed: int, rounds: int, *, workers: int, seconds: float | None = None, postgres: str = "") -> int:
    """Run so many races, for at most so long; 0 where all came out as they must."""
    began = time.monotonic()
    until = began + (math.inf if seconds is None else seconds)
    folder = Path(tempfile.mkdtemp(prefix="ostiary-races-"))
    store = "PostgreSQL" if postgres else "SQLite"
    print(f"seed {seed}, {rounds:,} races of {RACERS}, {workers} workers on {store}", flush=True)
    failures: list[str] = []
    with _database(postgres) as address:
        settings = {"DATABASE_URL": address} if address else {}
        with Server(folder, workers=workers, settings=settings) as server:
            server.start_and_wait()
            races = Races(server.port, Random(f"races {seed}"))
            try:
                trio.run(_raced, races, rounds, began, until)
            except* Violation as group:
                failures = [str(failure) for failure in group.exceptions]
    if failures:
        print(f"FAILED after {races.run.total():,} races: {'; '.join(failures)}\nits files: {folder}")
        return 1
    shutil.rmtree(folder)
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in races.run.items())
    took = time.monotonic() - began
    print(f"{races.run.total():,} races ({kinds}), {races.run.total() * RACERS:,} requests, {took:.0f} s")
    return 0


async def _raced(races: Races, rounds: int, began: float, until: float) -> None:
    last = began
    try:
        await races.open()
        while races.run.total() < rounds and time.monotonic() < until:
            await races.three()
            now = time.monotonic()
            if now - last >= _EVERY_SECONDS:
                last = now
                print(f"  {races.run.total():>7,} of {rounds:,} races, {now - began:,.0f} s", flush=True)
    finally:
        races.close()


@contextmanager
def _database(server: str) -> Iterator[str]:
    """An empty PostgreSQL database, gone afterwards; nothing where none is asked for."""
    if not server:
        yield ""
        return
    name = f"ostiary_races_{os.urandom(4).hex()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
