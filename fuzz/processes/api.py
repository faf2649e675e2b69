"""What every campaign over real processes asks of the interface: people, clients, codes, their exchange."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qs, urlsplit

from fuzz.processes.connection import Connection
from fuzz.shared.http_client import Response

REDIRECT_URI: Final = "https://app.example/callback"


class Violation(AssertionError):
    """Something that must never happen; the text has no token."""


def violations_in(group: BaseExceptionGroup[BaseException]) -> Iterator[str]:
    """What each exception of a group says."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from violations_in(error)
        else:
            yield str(error)


def expect(response: Response, status: int, what: str) -> Response:
    """The response, if it has this status. Raises `Violation`."""
    if response.status != status:
        raise Violation(f"{what} is answered {response.status} {response.error}")
    return response


async def sign_in(connection: Connection, username: str, password: str) -> Response:
    """Sign in; the envelope has both tokens. Raises `Lost`, `Violation`."""
    content = {"username": username, "password": password}
    return expect(await connection.send_json("POST", "/api/auth/login", None, content), 200, "a sign-in")


async def register_user(connection: Connection, login: str, username: str, password: str) -> str:
    """The identifier of a new account. Raises `Lost`, `Violation`."""
    content: dict[str, object] = {"username": username, "name": username, "password": password}
    content["mustChangePassword"] = False
    response = await connection.send_json("POST", "/api/iam/users", login, content)
    return str(expect(response, 201, "a user is registered").data["id"])


async def register_client(connection: Connection, login: str, client_id: str, **settings: object) -> str:
    """The secret of a new client, with every grant unless `settings` differ. Raises `Lost`, `Violation`."""
    content = {
        "clientId": client_id,
        "name": client_id,
        "redirectUris": [REDIRECT_URI],
        "grantTypes": ["authorization_code", "refresh_token", "client_credentials"],
        "scopes": ["user.read"],
        "autoApproveScopes": [],
        **settings,
    }
    response = await connection.send_json("POST", "/api/oauth/clients", login, content)
    return str(expect(response, 201, "a client is registered").data["secret"])


async def authorize(connection: Connection, login: str, client_id: str, verifier: str) -> Response:
    """Consent, bound to the challenge of a verifier; `code_of` finds the code. Raises `Lost`."""
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    content: dict[str, object] = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": REDIRECT_URI,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "approve": True,
    }
    return await connection.send_json("POST", "/api/oauth2/authorize", login, content)


def code_of(response: Response) -> str:
    """The code that a consent was answered with. Raises `Violation` where it was refused."""
    address = str(expect(response, 200, "a consent").data["redirectTo"])
    return parse_qs(urlsplit(address).query)["code"][0]


def redemption_form(code: str, verifier: str) -> dict[str, str]:
    """The form that redeems a code."""
    return {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": REDIRECT_URI,
        "code_verifier": verifier,
    }
