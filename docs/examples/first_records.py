"""What a token service needs before anybody can call it, made by events: the examples share it.

In a program of your own the same events come from your administration and your consent page.
"""

import os
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from urllib.parse import parse_qs, urlsplit

from ostiary_core import CodeIssued, Entropy, Instant, LoginIssued, Monotonic, SecretIssued, Store
from ostiary_core.events import (
    AuthorizationParameters,
    ClientRegistered,
    ConsentGiven,
    Event,
    FirstAdministratorCreated,
    Operator,
    SignedIn,
    SignInAttempted,
    UserRegistered,
)

REDIRECT_URI = "https://app.example/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
_HASH = "where passwords are kept, their argon2id hash"


def now() -> Instant:
    """The time, which the core never reads by itself."""
    return Instant(time.time_ns() // 1_000_000)


def monotonic() -> Monotonic:
    """The time on a clock that nobody can set, by which rates are counted."""
    return Monotonic(time.monotonic_ns() // 1_000_000)


def entropy() -> Entropy:
    """32 fresh random bytes, one draw for each event that may mint something."""
    return Entropy(os.urandom(32))


def drawn_from(seed: str) -> Callable[[], Entropy]:
    """The same draws in every run. Whoever knows `seed` can work out every token, so keep it secret."""
    numbers = count()
    return lambda: Entropy(sha256(f"{seed} {next(numbers)}".encode()).digest())


@dataclass(frozen=True)
class Records:
    """Two clients with their secrets, and a user who can approve."""

    secrets: dict[str, str]
    draw: Callable[[], Entropy]

    def code(self, store: Store, at: Instant) -> str:
        """Anna signs in and lets `app` read her profile; the code is what her browser brings to the app."""
        attempt = SignInAttempted(
            username="anna",
            verified_against=_HASH,
            password_matches=True,
            user_agent="a browser",
            source="198.51.100.7",
            entropy=self.draw(),
        )
        [signed_in] = store.turn([attempt], at)
        assert isinstance(signed_in.reply, LoginIssued)
        challenge = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
        approval = ConsentGiven(
            caller=SignedIn(access_token=signed_in.reply.tokens.access_token),
            parameters=AuthorizationParameters(
                response_type="code",
                client_id="app",
                redirect_uri=REDIRECT_URI,
                code_challenge=challenge,
                code_challenge_method="S256",
            ),
            entropy=self.draw(),
        )
        [approved] = store.turn([approval], at)
        assert isinstance(approved.reply, CodeIssued)
        return parse_qs(urlsplit(approved.reply.redirect_to.reveal()).query)["code"][0]


def make_first_records(store: Store, at: Instant, draw: Callable[[], Entropy] = entropy) -> Records:
    """An administrator, the user Anna, and the clients `app` and `other`, in one turn."""
    people: list[Event] = [
        FirstAdministratorCreated(
            username="admin", password_hash=_HASH, must_change_password=False, entropy=draw()
        ),
        UserRegistered(
            caller=Operator(),
            fields={"username": "anna", "name": "Anna", "mustChangePassword": False},
            password_hash=_HASH,
            entropy=draw(),
        ),
    ]
    clients: list[Event] = [
        ClientRegistered(
            caller=Operator(),
            fields={
                "clientId": client_id,
                "name": client_id.capitalize(),
                "redirectUris": [REDIRECT_URI],
                "grantTypes": ["authorization_code", "refresh_token", "client_credentials"],
                "scopes": ["user.read"],
            },
            entropy=draw(),
        )
        for client_id in ("app", "other")
    ]
    made = [one.reply for one in store.turn([*people, *clients], at) if isinstance(one.reply, SecretIssued)]
    return Records({issued.client.client_id: issued.secret.reveal() for issued in made}, draw)
