"""A store that is full, locked or away under a real server: failures are said as failures, and none lasts.

Whatever is asked while the store fails is answered with the 500 envelope, or as it should be; never with
`invalid_*`, and never with a success that does not stand. The same request works once the store is back.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import apsw

from fuzz.processes import api
from fuzz.processes.connection import Connection
from fuzz.processes.server import ADMIN_PASSWORD, Server
from fuzz.shared.http_client import Response, basic

Outage = Callable[[Server], AbstractContextManager[None]]

_ROOM_BYTES: Final = 4_096
_WAL_LOCKS: Final = (120, 8)
"""Where in the `-shm` file SQLite holds the locks of the write-ahead log: the first byte and how many."""


@contextmanager
def full(server: Server) -> Iterator[None]:
    """No file may grow any further."""
    longest = max(path.stat().st_size for path in server.folder.glob("ostiary.db*"))
    server.limit_files(longest + _ROOM_BYTES)
    try:
        yield
    finally:
        server.limit_files(None)


@contextmanager
def locked_for_writers(server: Server) -> Iterator[None]:
    """Another program is in the middle of a transaction of its own."""
    connection = apsw.Connection(str(server.database))
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


@contextmanager
def locked_for_all(server: Server) -> Iterator[None]:
    """Another process holds every lock of the write-ahead log, so that nobody can read either."""
    shared = os.open(f"{server.database}-shm", os.O_RDWR)
    start, length = _WAL_LOCKS
    try:
        fcntl.lockf(shared, fcntl.LOCK_EX, length, start)
        yield
    finally:
        os.close(shared)


@contextmanager
def moved_away(server: Server) -> Iterator[None]:
    """The file has another name: open connections keep it, new ones find nothing."""
    elsewhere = server.folder / "elsewhere"
    server.database.rename(elsewhere)
    try:
        yield
    finally:
        elsewhere.rename(server.database)


class Backend:
    """A third party that keeps asking for a machine's tokens, and remembers what it was told."""

    CLIENT_ID: Final = "machine"

    def __init__(self, server: Server) -> None:
        self.connection = Connection(server.port)
        self.issued: list[str] = []
        self.revoked: list[str] = []
        self.failures = 0
        self._secret = ""

    async def register(self) -> None:
        """Become a client."""
        signed_in = await api.sign_in(self.connection, "admin", ADMIN_PASSWORD)
        self._secret = await api.register_client(
            self.connection, str(signed_in.data["accessToken"]), self.CLIENT_ID
        )

    async def ask_for(self, seconds: float) -> None:
        """Issue, introspect and revoke for so long."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await self.round()

    async def round(self) -> None:
        """One of each. Every answer is a success that counts, or a failure that says so."""
        response = await self._post("token", grant_type="client_credentials")
        if self._is_success(response):
            self.issued.append(str(response.json()["access_token"]))
        if not self.issued:
            return
        response = await self._post("introspect", token=self.issued[0])
        if self._is_success(response):
            assert response.json()["active"] is True, "a token that was issued is said to be none"
        response = await self.connection.send_json("GET", "/api/oauth2/userinfo", self.issued[0])
        if response.error != "B4003":
            assert not self._is_success(response), "a machine has a profile"
        if len(self.issued) > 1:
            response = await self._post("revoke", token=self.issued[-1])
            if self._is_success(response):
                self.revoked.append(self.issued.pop())

    async def check(self) -> None:
        """The store is back: everything works at once, and all that was said stands."""
        before = self.failures
        await self.round()
        assert self.failures == before, "a request still fails though the store is back"
        for tokens, active in ((self.issued, True), (self.revoked, False)):
            for token in tokens:
                response = await self._post("introspect", token=token)
                assert response.json().get("active") is active, (
                    f"active is not {active} for what was answered"
                )

    async def _post(self, operation: str, **form: str) -> Response:
        secret = basic(self.CLIENT_ID, self._secret)
        return await self.connection.post_form(f"/api/oauth2/{operation}", [secret], **form)

    def _is_success(self, response: Response) -> bool:
        if response.status == 200:
            return True
        failed = (
            response.status in (500, 503) and response.error == "A0500" and response.json().get("traceId")
        )
        assert failed, f"an outage is answered {response.status} {response.error}"
        self.failures += 1
        return False
