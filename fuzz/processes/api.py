"""Calls of the interface that campaigns with real processes use: a client, a consent, a code's exchange."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any, Final

from fuzz.processes.connection import Connection
from fuzz.processes.failures import InvariantBroken
from fuzz.shared.calls import Answer, AnswerKind, Call, Verb
from fuzz.shared.initial_states import CODE, MACHINE, REFRESH
from fuzz.shared.invariants import DOCUMENTED

REDIRECT_URI: Final = "https://app.example/callback"
SETTINGS: Final[dict[str, Any]] = {
    "redirect_uris": (REDIRECT_URI,),
    "grants": (CODE, REFRESH, MACHINE),
    "scopes": ("user.read",),
    "automatic": (),
}
"""Settings of a client that may do everything."""


async def get(connection: Connection, verb: Verb, **fields: Any) -> Answer:
    """Return the answer to a call. Raises `Lost`, and `InvariantBroken` if the answer is a refusal."""
    answer = await connection.ask(Call(verb, **fields))
    if answer.kind in (AnswerKind.REFUSED, AnswerKind.FAILED):
        raise InvariantBroken(f"{verb} is {answer}", DOCUMENTED)
    return answer


async def sign_in(connection: Connection, username: str, password: str) -> str:
    """Sign in and return the access token. Raises as `get`."""
    return str((await get(connection, Verb.SIGN_IN, username=username, password=password)).access)


async def register_client(connection: Connection, login: str, client_id: str) -> str:
    """Register a client and return its secret. Raises as `get`."""
    answer = await get(connection, Verb.REGISTER_CLIENT, client_id=client_id, login=login, **SETTINGS)
    return str(answer.secret)


async def open_session(
    connection: Connection, login: str, client_id: str, secret: str, verifier: str
) -> tuple[str, str]:
    """Begin a session and return its tokens. Raises as `get`."""
    consent = await connection.ask(make_approval(login, client_id, verifier))
    answer = await connection.ask(make_redemption(client_id, secret, consent.code, verifier))
    if answer.access is None or answer.refresh is None:
        raise InvariantBroken(f"a redemption is {answer}", DOCUMENTED)
    return answer.access, answer.refresh


def make_approval(login: str | None, client_id: str, verifier: str) -> Call:
    """Return the call that consents, bound to the challenge of a verifier."""
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    asked = Call(Verb.APPROVE, client_id, login=login, redirect_uri=REDIRECT_URI, response_type="code")
    return asked._replace(challenge=challenge, method="S256")


def make_redemption(client_id: str, secret: str, code: str | None, verifier: str) -> Call:
    """Return the call that exchanges a code."""
    asked = Call(Verb.REDEEM, client_id, secret, code, redirect_uri=REDIRECT_URI, verifier=verifier)
    return asked._replace(user_agent="tenant")
