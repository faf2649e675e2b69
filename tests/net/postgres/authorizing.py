"""An administrator and a third party over real sockets: what tests of whole servers begin with."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from itertools import count
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from fuzz.processes.connection import Heard, Line, basic

__all__ = ["Desk", "Pair", "Person"]

_REDIRECT_URI = "https://app.example/cb"
_numbers = count()


class Pair(NamedTuple):
    """The tokens of a session."""

    access: str
    refresh: str


class Person(NamedTuple):
    """Somebody who is signed in."""

    user_id: str
    login: str


class Desk:
    """Signs in as the first administrator, and has a client of its own."""

    def __init__(self, port: int, password: str) -> None:
        self._line = Line()
        self._line.port = port
        self._password = password
        self._client_id = f"app-{next(_numbers)}"
        self._admin = Person("", "")
        self.basic = ("", "")
        """The header field of the client."""

    async def open(self) -> None:
        """Sign in, and register the client."""
        self._admin = Person("", await self._login("admin", self._password))
        made = await self._send(
            "POST",
            "/api/oauth/clients",
            {
                "clientId": self._client_id,
                "name": self._client_id,
                "redirectUris": [_REDIRECT_URI],
                "grantTypes": ["authorization_code", "refresh_token"],
                "scopes": ["user.read"],
            },
        )
        self.basic = basic(self._client_id, str(made.data["secret"]))

    async def user(self) -> Person:
        """Somebody new, signed in."""
        name = f"person-{next(_numbers)}"
        fields: dict[str, object] = {
            "username": name,
            "name": name,
            "password": self._password,
            "mustChangePassword": False,
        }
        made = await self._send("POST", "/api/iam/users", fields)
        return Person(str(made.data["id"]), await self._login(name, self._password))

    async def force_out(self, person: Person) -> None:
        """End everything that somebody has open."""
        await self._send("POST", f"/api/iam/users/{person.user_id}/force-logout")

    async def redemption(self, person: Person | None = None) -> dict[str, str]:
        """The form that redeems a fresh code of somebody; of the administrator where nobody is named."""
        verifier = sha256(f"verifier {next(_numbers)}".encode()).hexdigest()
        challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        answer = await self._send(
            "POST",
            "/api/oauth2/authorize",
            {
                "response_type": "code",
                "client_id": self._client_id,
                "redirect_uri": _REDIRECT_URI,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
                "approve": True,
            },
            person,
        )
        code = parse_qs(urlsplit(str(answer.data["redirectTo"])).query)["code"][0]
        return {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": _REDIRECT_URI,
            "code_verifier": verifier,
        }

    async def tokens(self, person: Person | None = None) -> Pair:
        """The pair of a session of its own."""
        form = await self.redemption(person)
        heard = await self._line.post_form("/api/oauth2/token", [self.basic, ("User-Agent", "one")], **form)
        assert heard.status == 200, heard.error
        return Pair(str(heard.json()["access_token"]), str(heard.json()["refresh_token"]))

    def hang_up(self) -> None:
        """Close the connection."""
        self._line.hang_up()

    async def _login(self, username: str, password: str) -> str:
        content = {"username": username, "password": password}
        heard = await self._line.send_json("POST", "/api/auth/login", None, content)
        assert heard.status == 200, heard.error
        return str(heard.data["accessToken"])

    async def _send(
        self, method: str, path: str, content: dict[str, object] | None = None, person: Person | None = None
    ) -> Heard:
        heard = await self._line.send_json(method, path, (person or self._admin).login, content)
        assert heard.status in (200, 201), f"{method} {path}: {heard.status} {heard.error}"
        return heard
