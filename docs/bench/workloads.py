"""What is asked: one conversation a connection for each operation, and how its answers are checked.

Every answer is looked at for its status and for the words that only the right answer has. What was handed out
(new tokens) is kept and looked up afterwards.
"""

import json
import random
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import urlencode

from docs.bench.driver import WrongAnswer
from docs.bench.names import CHAINS, REDIRECT_URI, VERIFIER, client_id, machine_id, secret_of, token

OPERATIONS: Final = ("introspect", "userinfo", "credentials", "refresh", "code")
TRACED: Final = "introspect, traced"
"""Introspections of clients that trace: each with another `traceparent`."""
REFRESH_ANY: Final = "refresh, any session"
"""Refreshes of sessions drawn from the whole store; `refresh` rotates those of its connections alone."""

_KEPT_TOKENS: Final = 20


class Paths:
    """Where a server has its operations."""

    def __init__(self, token: str, introspect: str, userinfo: str) -> None:
        self.token, self.introspect, self.userinfo = token, introspect, userinfo


def basic(client: str) -> str:
    """The Authorization field of a client."""
    return "Basic " + b64encode(f"{client}:{secret_of(client)}".encode()).decode()


def post(path: str, client: str, **fields: str) -> bytes:
    """A form as httpx or requests would send it."""
    body = urlencode(fields)
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench/1\r\nAccept: */*\r\n"
        f"Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nAuthorization: {basic(client)}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def get(path: str, bearer: str) -> bytes:
    """A question by access token."""
    return (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench/1\r\nAccept: */*\r\n"
        f"Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nAuthorization: Bearer {bearer}\r\n\r\n"
    ).encode()


def _right(status: int, body: bytes, *words: bytes) -> None:
    if status != 200 or not all(word in body for word in words):
        raise WrongAnswer(f"{status} {body[:200]!r} instead of 200 with {words}")


class Fixed:
    """A server that answers everything with the same 120 bytes, asked as if for an introspection."""

    def __init__(self, path: str) -> None:
        self._request = post(path, client_id(0), token=token("access", 0))

    def ask(self) -> bytes:
        return self._request

    def hear(self, status: int, body: bytes) -> None:
        _right(status, body, b'"active":true')
        if len(body) != 120:
            raise WrongAnswer(f"{len(body)} bytes instead of 120")


class Tokens:
    """The live tokens of a store's sessions, by the numbers of these."""

    def __init__(self, sessions: int, text_of: Callable[[str, int], str] = token) -> None:
        self.sessions = sessions
        self._text_of = text_of
        self._rotated: dict[int, tuple[str, str]] = {}

    def access(self, number: int) -> str:
        rotated = self._rotated.get(number)
        return rotated[0] if rotated else self._text_of("access", number)

    def refresh(self, number: int) -> str:
        rotated = self._rotated.get(number)
        return rotated[1] if rotated else self._text_of("refresh", number)

    def code(self, number: int) -> str:
        return self._text_of("code", number)

    def rotate(self, number: int, access: str, refresh: str) -> None:
        self._rotated[number] = access, refresh


class Introspection:
    """Live access tokens, drawn from all sessions of the store."""

    def __init__(self, paths: Paths, tokens: Tokens, seed: int, *, is_traced: bool = False) -> None:
        self._path, self._tokens = paths.introspect, tokens
        self._chance = random.Random(seed)
        self._is_traced = is_traced
        self._client = b""

    def ask(self) -> bytes:
        number = self._chance.randrange(CHAINS, self._tokens.sessions)
        self._client = client_id(number).encode()
        request = post(self._path, client_id(number), token=self._tokens.access(number))
        if self._is_traced:
            trace, span = self._chance.getrandbits(128), self._chance.getrandbits(64)
            field = f"\r\nTraceparent: 00-{trace:032x}-{span:016x}-01\r\n\r\n"
            request = request.replace(b"\r\n\r\n", field.encode(), 1)
        return request

    def hear(self, status: int, body: bytes) -> None:
        _right(status, body, b'"active":', b"true", self._client)


class UserInfo:
    """Profiles by live access tokens."""

    def __init__(self, paths: Paths, tokens: Tokens, seed: int) -> None:
        self._path, self._tokens = paths.userinfo, tokens
        self._chance = random.Random(seed)

    def ask(self) -> bytes:
        number = self._chance.randrange(CHAINS, self._tokens.sessions)
        return get(self._path, self._tokens.access(number))

    def hear(self, status: int, body: bytes) -> None:
        _right(status, body, b'"sub":')


class Issuing:
    """Asks for tokens, and keeps the latest few to be looked up afterwards."""

    def __init__(self, paths: Paths, client: str) -> None:
        self._paths = paths
        self.client = client
        self.issued: list[tuple[str, str]] = []
        """The client and its token."""

    def _issued(self, status: int, body: bytes, *words: bytes) -> dict[str, str]:
        _right(status, body, b'"access_token":', *words)
        answer: dict[str, str] = json.loads(body)
        self.issued.append((self.client, answer["access_token"]))
        del self.issued[:-_KEPT_TOKENS]
        return answer


class ClientCredentials(Issuing):
    """A new token with every request."""

    def __init__(self, paths: Paths, number: int) -> None:
        super().__init__(paths, machine_id(number))
        self._request = post(paths.token, self.client, grant_type="client_credentials", scope="user.read")

    def ask(self) -> bytes:
        return self._request

    def hear(self, status: int, body: bytes) -> None:
        self._issued(status, body, b'"expires_in":')


class Refresh(Issuing):
    """One session, whose refresh token is spent for the next with every request."""

    def __init__(self, paths: Paths, number: int, refresh_token: str) -> None:
        super().__init__(paths, client_id(number))
        self.refresh_token = refresh_token
        self.access_token = ""

    def ask(self) -> bytes:
        return post(
            self._paths.token, self.client, grant_type="refresh_token", refresh_token=self.refresh_token
        )

    def hear(self, status: int, body: bytes) -> None:
        answer = self._issued(status, body, b'"refresh_token":')
        if answer["refresh_token"] == self.refresh_token:
            raise WrongAnswer("the refresh token was not rotated")
        self.refresh_token, self.access_token = answer["refresh_token"], answer["access_token"]


class RefreshAny(Refresh):
    """Sessions drawn from all of the store but those of `Refresh`, no session on two connections."""

    def __init__(self, paths: Paths, tokens: Tokens, place: int, connections: int, seed: int) -> None:
        super().__init__(paths, 0, "")
        self._tokens = tokens
        self._numbers = range(CHAINS + place, tokens.sessions, connections)
        self._chance = random.Random(seed)
        self._number = 0

    def ask(self) -> bytes:
        self._number = self._chance.choice(self._numbers)
        self.client = client_id(self._number)
        self.refresh_token = self._tokens.refresh(self._number)
        return super().ask()

    def hear(self, status: int, body: bytes) -> None:
        super().hear(status, body)
        self._tokens.rotate(self._number, self.access_token, self.refresh_token)


class CodeExchange(Issuing):
    """A code of its own with every request."""

    def __init__(self, paths: Paths, tokens: Tokens, codes: Iterator[int]) -> None:
        super().__init__(paths, "")
        self._tokens = tokens
        self._codes = codes

    def ask(self) -> bytes:
        number = next(self._codes)
        self.client = client_id(number)
        return post(
            self._paths.token,
            self.client,
            grant_type="authorization_code",
            code=self._tokens.code(number),
            redirect_uri=REDIRECT_URI,
            code_verifier=VERIFIER,
        )

    def hear(self, status: int, body: bytes) -> None:
        self._issued(status, body, b'"expires_in":')
