"""What clients, users and tokens are called: the same at every server, worked out from numbers.

So nothing has to be remembered of five million sessions, and no server is asked about other tokens than its
neighbour. Standard library only: the peers read it in environments of their own. oidc_provider.mjs does the
same in JavaScript.
"""

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Final

CLIENTS: Final = 10
USERS: Final = 10_000
"""A multiple of the clients, so that each user has sessions of one client."""

CHAINS: Final = 400
"""The first sessions of a store are refreshed; the tokens of all others stay as they are."""

REDIRECT_URI: Final = "https://client.example/callback"
VERIFIER: Final = "v" * 64
CHALLENGE: Final = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


def token(kind: str, number: int) -> str:
    """The text of the token or code of session `number`."""
    return urlsafe_b64encode(sha256(f"{kind} {number}".encode()).digest()).rstrip(b"=").decode()


def client_id(number: int) -> str:
    """The client that session `number` belongs to."""
    return f"client-{number % CLIENTS}"


def machine_id(number: int) -> str:
    """A client without users: some servers give a client one grant type only."""
    return f"machine-{number % CLIENTS}"


def secret_of(client: str) -> str:
    """Its secret: letters and digits, which no server decodes differently than another."""
    return f"secretof{client}".replace("-", "").ljust(43, "x")
