"""What every campaign over real processes asks of the interface: people, clients, codes, their exchange."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qs, urlsplit

from fuzz.processes.connection import Connection
from fuzz.processes.server import NotServing
from fuzz.shared.campaign import Report
from fuzz.shared.http_client import Response
from fuzz.shared.invariants import ACKNOWLEDGED_STAYS, DOCUMENTED, PROGRESS, Invariant, Violation

REDIRECT_URI: Final = "https://app.example/callback"


class InvariantBroken(AssertionError):
    """Something that must never happen; the text has no token."""

    def __init__(self, detail: str, invariant: Invariant = ACKNOWLEDGED_STAYS) -> None:
        super().__init__(detail)
        self.violation = Violation(invariant, detail)


def _errors_in(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _errors_in(each)
    else:
        yield error


def fail(report: Report, error: BaseException, *where: str) -> None:
    """Make a run's report one of a failure, and have it tell `where` to look.

    What is neither a broken invariant nor a server that does not come up is the run's own failure, and no
    violation.
    """
    lines = []
    for each in _errors_in(error):
        violation = _violation_of(each)
        if violation is not None:
            report.violations = (*report.violations, violation)
        lines.append(f"FAILED {violation or f'{type(each).__name__}: {each}'}")
    report.stories.append(partial(str, "\n".join([*lines, *where])))


def _violation_of(error: BaseException) -> Violation | None:
    match error:
        case InvariantBroken():
            return error.violation
        case NotServing():
            return Violation(PROGRESS, f"the server does not come up: {error}")
        case _:
            return None


def expect(response: Response, status: int, what: str) -> Response:
    """The response, if it has this status. Raises `InvariantBroken`."""
    if response.status != status:
        raise InvariantBroken(f"{what} is answered {response.status} {response.error}", DOCUMENTED)
    return response


async def sign_in(connection: Connection, username: str, password: str) -> Response:
    """Sign in; the envelope has both tokens. Raises `Lost`, `InvariantBroken`."""
    content = {"username": username, "password": password}
    return expect(await connection.send_json("POST", "/api/auth/login", None, content), 200, "a sign-in")


async def register_user(connection: Connection, login: str, username: str, password: str) -> str:
    """The identifier of a new account. Raises `Lost`, `InvariantBroken`."""
    content: dict[str, object] = {"username": username, "name": username, "password": password}
    content["mustChangePassword"] = False
    response = await connection.send_json("POST", "/api/iam/users", login, content)
    return str(expect(response, 201, "a user is registered").data["id"])


async def register_client(connection: Connection, login: str, client_id: str, **settings: object) -> str:
    """The secret of a new client, with every grant unless `settings` differ. Raises as `sign_in`."""
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
    """The code that a consent was answered with. Raises `InvariantBroken` where it was refused."""
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
