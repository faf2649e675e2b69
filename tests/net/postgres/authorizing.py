"""An administrator and a third party over real sockets: what tests of whole servers begin with."""

from hashlib import sha256
from itertools import count
from typing import NamedTuple

from fuzz.processes import api
from fuzz.processes.connection import Connection
from fuzz.shared.http_client import basic

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
        self._admin = Person("", "")
        self.basic = ("", "")
        """The header field of the client."""

    async def open(self) -> None:
        """Sign in, and register the client."""
        self._admin = Person("", await self._login("admin"))
        secret = await api.register_client(self._connection, self._admin.login, self._client_id)
        self.basic = basic(self._client_id, secret)

    async def user(self) -> Person:
        """Return a new user, signed in."""
        name = f"person-{next(_numbers)}"
        user_id = await api.register_user(self._connection, self._admin.login, name, self._password)
        return Person(user_id, await self._login(name))

    async def force_out(self, person: Person) -> None:
        """End everything that somebody has open."""
        path = f"/api/iam/users/{person.user_id}/force-logout"
        api.expect(await self._connection.send_json("POST", path, self._admin.login), 200, "a forced log-out")

    async def redemption(self, person: Person | None = None) -> dict[str, str]:
        """Return the form that redeems a fresh code of a user, by default of the administrator."""
        verifier = sha256(f"verifier {next(_numbers)}".encode()).hexdigest()
        login = (person or self._admin).login
        consent = await api.authorize(self._connection, login, self._client_id, verifier)
        return api.redemption_form(api.code_of(consent), verifier)

    async def tokens(self, person: Person | None = None) -> Pair:
        """Return the pair of a new session."""
        form = await self.redemption(person)
        fields = [self.basic, ("User-Agent", "one")]
        response = await self._connection.post_form("/api/oauth2/token", fields, **form)
        content = api.expect(response, 200, "an exchange").json()
        return Pair(str(content["access_token"]), str(content["refresh_token"]))

    def hang_up(self) -> None:
        """Close the connection."""
        self._connection.close()

    async def _login(self, username: str) -> str:
        response = await api.sign_in(self._connection, username, self._password)
        return str(response.data["accessToken"])
