"""An administrator with a client, and callers that go on asking while instances come and go."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from hashlib import sha256
from itertools import count
from random import Random
from typing import NamedTuple

import trio

from fuzz.processes import api
from fuzz.processes.connection import Connection, Lost
from fuzz.shared.calls import Call, Verb
from fuzz.shared.http_client import HttpClient, basic, form_request

_numbers = count()


class Pair(NamedTuple):
    """The tokens of a session."""

    access: str
    refresh: str


class Person(NamedTuple):
    """A signed-in user."""

    user_id: str
    login: str


class Desk:
    """Signs in as the first administrator, and has a client of its own."""

    def __init__(self, port: int, password: str) -> None:
        self._connection = Connection(port)
        self._password = password
        self._client_id = f"app-{next(_numbers)}"
        self._secret = ""
        self._admin = Person("", "")

    @property
    def basic(self) -> tuple[str, str]:
        """The header field of the client."""
        return basic(self._client_id, self._secret)

    async def open(self) -> None:
        """Sign in, and register the client."""
        self._admin = Person("", await api.sign_in(self._connection, "admin", self._password))
        self._secret = await api.register_client(self._connection, self._admin.login, self._client_id)

    async def user(self) -> Person:
        """Return a new user, signed in."""
        named = {"username": f"person-{next(_numbers)}", "password": self._password}
        user = await api.get(self._connection, Verb.REGISTER_USER, login=self._admin.login, **named)
        return Person(str(user.sub), await api.sign_in(self._connection, **named))

    async def force_out(self, person: Person) -> None:
        """End all sessions of a user."""
        about = {"login": self._admin.login, "user_id": person.user_id}
        await api.get(self._connection, Verb.FORCE_OUT_USER, **about)

    async def tokens(self, person: Person | None = None) -> Pair:
        """Return the pair of a new session of a user, by default of the administrator."""
        login = (person or self._admin).login
        verifier = sha256(f"verifier {next(_numbers)}".encode()).hexdigest()
        return Pair(*await api.open_session(self._connection, login, self._client_id, self._secret, verifier))

    def call(self, verb: Verb, token: str) -> Call:
        """Return what the client asks about a token."""
        return Call(verb, client_id=self._client_id, secret=self._secret, token=token, user_agent="tenant")

    def hang_up(self) -> None:
        """Close the connection."""
        self._connection.close()


TOKEN, INTROSPECT = "/api/oauth2/token", "/api/oauth2/introspect"
THINKING_SECONDS = 0.02
ON_THE_WAY_SECONDS = 0.05
"""Time between a connection and its first byte, as with a caller far away."""


class Load:
    """Callers by their names; each asks through a port of an instance that runs just then."""

    def __init__(self, ports: Callable[[], Sequence[int]], desk: Desk) -> None:
        self.desk = desk
        self.answered: Counter[str] = Counter()
        self.failed: list[int] = []
        """Statuses of answers in which the server says that it could not."""
        self.wrong: list[str] = []
        self.lost: list[str] = []
        self.slowest_seconds = 0.0
        self._ports = ports
        self._chance = Random(7)
        self._heard = trio.Event()

    async def keep_introspecting(self, name: str, pair: Pair) -> None:
        """Ask over one connection for as long as the server keeps it."""
        with self._connection() as connection:
            while True:
                await self._ask(name, connection, INTROSPECT, token=pair.access)
                await trio.sleep(THINKING_SECONDS)

    async def keep_refreshing(self, name: str, pair: Pair, *, moves: bool = False) -> None:
        """Refresh with the token of the answer before; with `moves`, each over a new connection."""
        refresh = pair.refresh
        with self._connection() as connection:
            while True:
                form = {"grant_type": "refresh_token", "refresh_token": refresh}
                refresh = await self._ask(name, connection, TOKEN, **form) or refresh
                if moves:
                    connection.close()
                    connection.port = self._chance.choice(self._ports())
                await trio.sleep(THINKING_SECONDS)

    async def keep_connecting(self, name: str, pair: Pair) -> None:
        """Ask once over each new connection, a moment after it was made."""
        fields = [self.desk.basic, ("Connection", "close")]
        request = HttpClient("id.example").write(form_request(INTROSPECT, fields, {"token": pair.access}))
        while True:
            try:
                stream = await trio.open_tcp_stream("127.0.0.1", self._chance.choice(self._ports()))
                async with stream:
                    await trio.sleep(ON_THE_WAY_SECONDS)
                    await stream.send_all(request)
                    heard = b"".join([part async for part in stream])
            except (OSError, trio.BrokenResourceError) as error:
                self.lost.append(f"{name}: {error!r}")
                continue
            self._count(name, int(heard[9:12] or b"0"))

    async def until_answered(self, names: Collection[str], more: int, seconds: float = 60) -> float:
        """Wait until each of these callers has so many more answers; return the seconds."""
        began, wanted = time.monotonic(), {name: self.answered[name] + more for name in names}
        with trio.fail_after(seconds):
            while any(self.answered[name] < number for name, number in wanted.items()):
                self._heard = trio.Event()
                await self._heard.wait()
        return time.monotonic() - began

    async def _ask(self, name: str, connection: Connection, path: str, **form: str) -> str | None:
        began = time.monotonic()
        try:
            heard = await connection.post_form(path, [self.desk.basic, ("User-Agent", "tenant")], **form)
        except Lost as error:
            self.lost.append(f"{name}: {error.__cause__!r}")
            return None
        finally:
            self.slowest_seconds = max(self.slowest_seconds, time.monotonic() - began)
        if heard.status in (500, 503) and set(heard.json()) != {"code", "msg", "data", "traceId"}:
            self.wrong.append(f"{name}: a {heard.status} of another shape: {sorted(heard.json())}")
        self._count(name, heard.status)
        return str(heard.json()["refresh_token"]) if "refresh_token" in heard.json() else None

    def _count(self, name: str, status: int) -> None:
        if status == 200:
            self.answered[name] += 1
            self._heard.set()
        elif status in (500, 503):
            self.failed.append(status)
        else:
            self.wrong.append(f"{name}: {status}")

    def _connection(self) -> Connection:
        return Connection(self._chance.choice(self._ports()))
