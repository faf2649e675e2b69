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
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final
from urllib.parse import parse_qs, urlsplit

import psycopg
import trio
from psycopg import sql

from fuzz.processes.connection import Heard, Line, basic
from fuzz.processes.racers import RACERS, Racers
from fuzz.processes.server import ADMIN_PASSWORD, Server

__all__ = ["Failed", "Races", "run"]

CLIENT_ID: Final = "racer"
REDIRECT_URI: Final = "https://app.example/callback"
_EVERY_SECONDS: Final = 10.0
_SESSIONS_A_SIGN_IN: Final = 500


class Failed(AssertionError):
    """A race that came out as it must not; the text has no token."""


class Races:
    """Races against one running server."""

    def __init__(self, port: int, chance: Random) -> None:
        self.run = Counter[str]()
        """Races by their kind."""
        self._chance = chance
        self._line = Line()
        self._line.port = port
        self._racers = Racers(port, chance)
        self._login = ""
        self._secret = ""
        self._sessions = 0

    async def open(self) -> None:
        """Sign in, and register the client."""
        await self._sign_in()
        heard = await self._line.send_json(
            "POST",
            "/api/oauth/clients",
            self._login,
            {
                "clientId": CLIENT_ID,
                "name": CLIENT_ID,
                "redirectUris": [REDIRECT_URI],
                "grantTypes": ["authorization_code", "refresh_token"],
                "scopes": ["user.read"],
                "autoApproveScopes": [],
            },
        )
        self._secret = str(_must(heard, 201, "a client is registered").data["secret"])

    async def three(self) -> None:
        """The three races of one session. Raises `Failed`."""
        self._sessions += 1
        if self._sessions % _SESSIONS_A_SIGN_IN == 0:
            await self._sign_in()
        code, verifier = await self._code()
        refresh = judge_codes(
            await self._race(
                "code",
                ["one"],
                grant_type="authorization_code",
                code=code,
                redirect_uri=REDIRECT_URI,
                code_verifier=verifier,
            )
        )
        refresh = judge_refreshes(
            await self._race("refresh", ["one"], grant_type="refresh_token", refresh_token=refresh)
        )
        answers = await self._race(
            "two User-Agents", ["one", "another"], grant_type="refresh_token", refresh_token=refresh
        )
        for token in judge_two_agents(answers):
            heard = await self._line.post_form(
                "/api/oauth2/introspect", [basic(CLIENT_ID, self._secret)], token=token
            )
            if _must(heard, 200, "an introspection").json().get("active") is not False:
                raise Failed("two User-Agents: a token of the session is alive afterwards")

    def hang_up(self) -> None:
        """Close all connections."""
        self._line.hang_up()
        self._racers.hang_up()

    async def _race(self, kind: str, agents: Sequence[str], **form: str) -> list[tuple[str, Heard]]:
        answers = await self._racers.token(CLIENT_ID, self._secret, agents, **form)
        self.run[kind] += 1
        for _, heard in answers:
            if heard.status != 200 and (heard.status, heard.error) != (400, "invalid_grant"):
                raise Failed(f"{kind}: answered {heard.status} {heard.error}")
        return answers

    async def _sign_in(self) -> None:
        content = {"username": "admin", "password": ADMIN_PASSWORD}
        heard = await self._line.send_json("POST", "/api/auth/login", None, content)
        self._login = str(_must(heard, 200, "a sign-in").data["accessToken"])

    async def _code(self) -> tuple[str, str]:
        verifier = sha256(self._chance.randbytes(32)).hexdigest()
        challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        heard = await self._line.send_json(
            "POST",
            "/api/oauth2/authorize",
            self._login,
            {
                "response_type": "code",
                "client_id": CLIENT_ID,
                "redirect_uri": REDIRECT_URI,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
                "approve": True,
            },
        )
        address = str(_must(heard, 200, "a consent").data["redirectTo"])
        return parse_qs(urlsplit(address).query)["code"][0], verifier


def judge_codes(answers: list[tuple[str, Heard]]) -> str:
    """The winner's refresh token. Raises `Failed` unless there is exactly one."""
    winners = [heard for _, heard in answers if heard.status == 200]
    if len(winners) != 1:
        raise Failed(f"one code: {len(winners)} of {RACERS} redemptions are answered with tokens")
    return str(winners[0].json()["refresh_token"])


def judge_refreshes(answers: list[tuple[str, Heard]]) -> str:
    """The next refresh token. Raises `Failed` unless all were answered with one pair."""
    pairs = _pairs(answers)
    if len(pairs) != 1 or any(heard.status != 200 for _, heard in answers):
        refused = sum(heard.status != 200 for _, heard in answers)
        raise Failed(f"one User-Agent: {len(pairs)} pairs, and {refused} of {RACERS} refused")
    return pairs.pop()[1]


def judge_two_agents(answers: list[tuple[str, Heard]]) -> list[str]:
    """The tokens that were answered, all dead by now. Raises `Failed` where there is another pair, or
    another User-Agent that was answered with one."""
    pairs = _pairs(answers)
    agents = {agent for agent, heard in answers if heard.status == 200}
    if len({agent for agent, _ in answers}) < 2:
        return []  # one in half a million: chance gave all twenty the same
    if len(pairs) != 1 or len(agents) != 1:
        raise Failed(f"two User-Agents: {len(pairs)} pairs for {len(agents)} of them")
    return list(pairs.pop())


def _pairs(answers: list[tuple[str, Heard]]) -> set[tuple[str, str]]:
    found = [heard.json() for _, heard in answers if heard.status == 200]
    return {(str(each["access_token"]), str(each["refresh_token"])) for each in found}


def _must(heard: Heard, status: int, what: str) -> Heard:
    if heard.status != status:
        raise Failed(f"{what} is answered {heard.status} {heard.error}")
    return heard


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
            except* Failed as group:
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
        races.hang_up()


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
