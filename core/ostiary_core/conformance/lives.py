"""A small backend to check stores with: events that touch every table, with the answers that led to them.

The events were decided on the reference store as they were made, so that one may present what another was
answered. Inside a wave none does: a wave may come in one turn, or cut into any.
"""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

from ostiary_core import events as e
from ostiary_core.audit import Origin
from ostiary_core.decision import CodeIssued, LoginIssued, SecretIssued, TokensIssued, UserKnown
from ostiary_core.instant import Instant, later
from ostiary_core.records import TextCodePurpose
from ostiary_core.secret import Entropy, Secret
from ostiary_core.store import MemoryStore, Store

__all__ = ["Backend", "Wave", "a_life", "origin_of", "registration_of"]

R = TypeVar("R")

_START = Instant(1_800_000_000_123)
_REDIRECT_URI = "https://app.example/callback"
_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
_HASH = "the hash of a password"


@dataclass(frozen=True, slots=True)
class Wave:
    """Events of one instant that do not depend on one another's answers."""

    at: Instant
    events: tuple[e.Event, ...]


def origin_of(place: int) -> Origin | None:
    """Where an event came from; every fifth came from no request."""
    if place % 5 == 4:
        return None
    return Origin(trace_id=f"trace {place}", source=f"203.0.113.{place % 250}", user_agent=f"agent {place}")


def registration_of(username: str, seed: str, phone: str | None = None) -> e.UserRegistered:
    """A new account."""
    fields = {"username": username, "name": username, "phone": phone, "mustChangePassword": False}
    return e.UserRegistered(
        caller=e.Operator(), fields=fields, password_hash=_HASH, entropy=_entropy(f"{seed} {username}")
    )


def _entropy(seed: str) -> Entropy:
    return Entropy(sha256(seed.encode()).digest())


@dataclass
class Backend:
    """People and clients on a store, and what they were answered; every event is noted in its wave."""

    store: Store = field(default_factory=MemoryStore)
    now: Instant = _START
    secrets: dict[str, Secret] = field(default_factory=dict)
    waves: list[Wave] = field(default_factory=list)
    _events: list[e.Event] = field(default_factory=list)
    _drawn: int = 0

    def ask(self, event: e.Event, kind: type[R]) -> R:
        """The reply, which is of this kind on a store that keeps what it is told."""
        self._events.append(event)
        [decision] = self.store.turn([event], self.now)
        assert isinstance(decision.reply, kind), f"{type(event).__name__}: {decision.reply!r}"
        return decision.reply

    def wait(self, seconds: int) -> None:
        """The wave is over, and time passes."""
        self.waves.append(Wave(self.now, tuple(self._events)))
        self._events = []
        self.now = later(self.now, seconds)

    def draw(self) -> Entropy:
        self._drawn += 1
        return _entropy(f"draw {self._drawn}")

    def found(self) -> None:
        """The first administrator, two clients and two users."""
        first = e.FirstAdministratorCreated(
            username="root", password_hash=_HASH, must_change_password=False, entropy=self.draw()
        )
        self.ask(first, object)
        for client_id in ("app", "other"):
            fields = {
                "clientId": client_id,
                "name": client_id,
                "redirectUris": [_REDIRECT_URI],
                "grantTypes": ["authorization_code", "refresh_token", "client_credentials"],
                "scopes": ["user.read"],
            }
            registered = e.ClientRegistered(caller=e.Operator(), fields=fields, entropy=self.draw())
            self.secrets[client_id] = self.ask(registered, SecretIssued).secret
        for number, username in enumerate(("alice", "bob")):
            self.ask(registration_of(username, "life", f"+1555010{number}"), UserKnown)

    def by(self, client_id: str) -> e.ClientCredentials:
        return e.ClientCredentials(
            client_id=client_id, secret=self.secrets[client_id], method=e.AuthenticationMethod.BASIC
        )

    def login(self, username: str) -> e.SignedIn:
        attempt = e.SignInAttempted(
            username=username,
            verified_against=_HASH,
            password_matches=True,
            user_agent="a browser",
            source="203.0.113.7",
            entropy=self.draw(),
        )
        return e.SignedIn(access_token=self.ask(attempt, LoginIssued).tokens.access_token)

    def code(self, caller: e.SignedIn, client_id: str = "app") -> Secret:
        challenge = urlsafe_b64encode(sha256(_VERIFIER.encode()).digest()).rstrip(b"=").decode()
        parameters = e.AuthorizationParameters(
            response_type="code",
            client_id=client_id,
            redirect_uri=_REDIRECT_URI,
            code_challenge=challenge,
            code_challenge_method="S256",
        )
        given = e.ConsentGiven(caller=caller, parameters=parameters, entropy=self.draw())
        address = self.ask(given, CodeIssued).redirect_to.reveal()
        return Secret(parse_qs(urlsplit(address).query)["code"][0])

    def redemption(self, code: Secret, client_id: str = "app") -> e.CodeRedeemed:
        return e.CodeRedeemed(
            credentials=self.by(client_id),
            code=code,
            redirect_uri=_REDIRECT_URI,
            code_verifier=_VERIFIER,
            user_agent="app/1.0",
            source="198.51.100.5",
            entropy=self.draw(),
        )

    def refreshing(
        self,
        pair: TokensIssued,
        *,
        client_id: str = "app",
        user_agent: str = "app/1.0",
        scopes: tuple[str, ...] | None = None,
    ) -> e.RefreshRequested:
        return e.RefreshRequested(
            credentials=self.by(client_id),
            refresh_token=pair.refresh_token,
            scopes=scopes,
            user_agent=user_agent,
            entropy=self.draw(),
        )

    def machine(self) -> e.ClientCredentialsRequested:
        return e.ClientCredentialsRequested(
            credentials=self.by("other"),
            scopes=None,
            user_agent=None,
            source="198.51.100.6",
            entropy=self.draw(),
        )


def a_life() -> Sequence[Wave]:
    """Issued, rotated, repeated, replayed, refused, revoked, withdrawn, disabled, deleted, made again."""
    here = Backend()
    here.found()
    here.wait(1)
    alice, bob = here.login("alice"), here.login("bob")
    here.ask(here.machine(), TokensIssued)
    recovery = e.TextCodeRequested(
        caller=None,
        purpose=TextCodePurpose.RESET_PASSWORD,
        phone="+15550100",
        entropy=here.draw(),
    )
    here.ask(recovery, object)
    here.wait(5)
    codes = [here.code(alice), here.code(bob), here.code(alice, "other"), here.code(bob, "other")]
    here.wait(5)
    pairs = [
        here.ask(here.redemption(code, client_id), TokensIssued)
        for code, client_id in zip(codes[:3], ("app", "app", "other"), strict=True)
    ]
    here.ask(here.redemption(codes[3], "app"), object)  # not its owner's: the code is void
    here.ask(here.redemption(codes[0]), object)  # used
    here.wait(60)
    rotated = here.ask(here.refreshing(pairs[0]), TokensIssued)
    here.ask(here.refreshing(pairs[0]), TokensIssued)
    here.ask(here.refreshing(pairs[1], scopes=("more",)), object)
    here.ask(here.refreshing(pairs[1], client_id="other"), object)
    here.wait(10)
    here.ask(here.refreshing(pairs[0]), TokensIssued)
    here.ask(here.refreshing(pairs[1], user_agent="another"), object)
    here.wait(40)
    here.ask(here.refreshing(rotated), TokensIssued)
    here.ask(e.RevocationRequested(credentials=here.by("other"), token=pairs[2].access_token), object)
    here.ask(e.IntrospectionRequested(credentials=here.by("app"), token=rotated.access_token), object)
    here.wait(1)
    here.ask(e.ConsentWithdrawn(caller=bob, client_id="other"), object)
    here.ask(e.SignedOut(caller=alice), object)
    here.ask(e.ClientDisabled(caller=e.Operator(), client_id="other"), object)
    here.ask(e.ClientEnabled(caller=e.Operator(), client_id="other"), object)
    here.ask(here.refreshing(pairs[2], client_id="other"), object)
    here.wait(1)
    return tuple(here.waves)
