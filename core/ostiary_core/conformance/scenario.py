"""A scenario to check stores with: events of a small backend that write to every table.

The events were decided on the reference store as they were made, so that one may present what another was
answered. Inside a batch none does: a batch may be one turn, or split into any.
"""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

from ostiary_core import events
from ostiary_core.events.event import Event
from ostiary_core.model.audit import Origin
from ostiary_core.model.instant import Instant, later
from ostiary_core.model.records import Key, TextCodePurpose
from ostiary_core.model.reply import (
    ClientKnown,
    CodeIssued,
    Done,
    LoginIssued,
    Refused,
    RoleKnown,
    SecretIssued,
    TextCodeDrawn,
    TokensIssued,
    UserKnown,
)
from ostiary_core.model.secret import Entropy, Secret
from ostiary_core.retention import Expirable
from ostiary_core.storage.store import MemoryStore, Store

R = TypeVar("R")

_START = Instant(1_800_000_000_123)
_REDIRECT_URI = "https://app.example/callback"
_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
_HASH = "the hash of a password"


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events of one instant that do not depend on one another's answers."""

    at: Instant
    events: tuple[Event, ...]


def origin_of(place: int) -> Origin | None:
    """Make the origin of an event; every fifth has none."""
    if place % 5 == 4:
        return None
    return Origin(trace_id=f"trace {place}", source=f"203.0.113.{place % 250}", user_agent=f"agent {place}")


def play(batches: Sequence[EventBatch], *stores: Store) -> None:
    """Take the batches on stores, each as one turn."""
    for batch in batches:
        origins = [origin_of(place) for place in range(len(batch.events))]
        for store in stores:
            store.turn(batch.events, batch.at, origins)


def registration_of(username: str, seed: str, phone: str | None = None) -> events.UserRegistered:
    """Make the event that registers a new account."""
    fields = {"username": username, "name": username, "phone": phone, "mustChangePassword": False}
    return events.UserRegistered(
        caller=events.Operator(), fields=fields, password_hash=_HASH, entropy=_entropy(f"{seed} {username}")
    )


def _entropy(seed: str) -> Entropy:
    return Entropy(sha256(seed.encode()).digest())


@dataclass
class Backend:
    """Users and clients on a store, with their secrets, and the batches of events so far."""

    store: Store = field(default_factory=MemoryStore)
    now: Instant = _START
    secrets: dict[str, Secret] = field(default_factory=dict)
    user_ids: dict[str, str] = field(default_factory=dict)
    batches: list[EventBatch] = field(default_factory=list)
    _events: list[Event] = field(default_factory=list)
    _drawn: int = 0

    def ask(self, event: Event, kind: type[R]) -> R:
        """Decide an event and return its reply, which must be of this kind."""
        self._events.append(event)
        [decision] = self.store.turn([event], self.now)
        assert isinstance(decision.reply, kind), f"{type(event).__name__}: {decision.reply!r}"
        return decision.reply

    def wait(self, seconds: int) -> None:
        """End the batch and let time pass."""
        self.batches.append(EventBatch(self.now, tuple(self._events)))
        self._events = []
        self.now = later(self.now, seconds)

    def draw(self) -> Entropy:
        self._drawn += 1
        return _entropy(f"draw {self._drawn}")

    def populate(self) -> None:
        """Create the first administrator, two clients and two users."""
        first = events.FirstAdministratorCreated(
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
            registered = events.ClientRegistered(caller=events.Operator(), fields=fields, entropy=self.draw())
            self.secrets[client_id] = self.ask(registered, SecretIssued).secret
        for number, username in enumerate(("alice", "bob")):
            known = self.ask(registration_of(username, "life", f"+1555010{number}"), UserKnown)
            self.user_ids[username] = known.user.user_id
        self.ask(registration_of("ALICE", "life"), Refused)

    def by(self, client_id: str) -> events.ClientCredentials:
        return events.ClientCredentials(
            client_id=client_id, secret=self.secrets[client_id], method=events.AuthenticationMethod.BASIC
        )

    def login(self, username: str) -> events.SignedIn:
        attempt = events.SignInAttempted(
            username=username,
            verified_against=_HASH,
            password_matches=True,
            user_agent="a browser",
            source="203.0.113.7",
            entropy=self.draw(),
        )
        return events.SignedIn(access_token=self.ask(attempt, LoginIssued).tokens.access_token)

    def code(self, caller: events.SignedIn, client_id: str = "app") -> Secret:
        challenge = urlsafe_b64encode(sha256(_VERIFIER.encode()).digest()).rstrip(b"=").decode()
        parameters = events.AuthorizationParameters(
            response_type="code",
            client_id=client_id,
            redirect_uri=_REDIRECT_URI,
            code_challenge=challenge,
            code_challenge_method="S256",
        )
        given = events.ConsentGiven(caller=caller, parameters=parameters, entropy=self.draw())
        address = self.ask(given, CodeIssued).redirect_to.reveal()
        return Secret(parse_qs(urlsplit(address).query)["code"][0])

    def redemption(self, code: Secret, client_id: str = "app") -> events.CodeRedeemed:
        return events.CodeRedeemed(
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
    ) -> events.RefreshRequested:
        return events.RefreshRequested(
            credentials=self.by(client_id),
            refresh_token=pair.refresh_token,
            scopes=scopes,
            user_agent=user_agent,
            entropy=self.draw(),
        )

    def recovery(self, phone: str) -> events.TextCodeRequested:
        return events.TextCodeRequested(
            caller=None, purpose=TextCodePurpose.RESET_PASSWORD, phone=phone, entropy=self.draw()
        )

    def machine(self) -> events.ClientCredentialsRequested:
        return events.ClientCredentialsRequested(
            credentials=self.by("other"),
            scopes=None,
            user_agent=None,
            source="198.51.100.6",
            entropy=self.draw(),
        )


def make_scenario() -> Sequence[EventBatch]:
    """Return the batches of events of `run_scenario`."""
    return tuple(run_scenario().batches)


def run_scenario() -> Backend:
    """Run a backend through all that can happen to sessions, users and clients, and return it.

    Every table but that of second factors, which need a key, is written in every way in which the rules write
    it.
    """
    store = MemoryStore()
    here = Backend(store)
    here.populate()
    here.wait(1)
    _make_expired_records(here, store)
    alice, bob = here.login("alice"), here.login("bob")
    here.ask(here.machine(), TokensIssued)
    here.ask(here.recovery("+15550100"), TextCodeDrawn)
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
    here.ask(events.RevocationRequested(credentials=here.by("other"), token=pairs[2].access_token), object)
    here.ask(events.IntrospectionRequested(credentials=here.by("app"), token=rotated.access_token), object)
    here.wait(1)
    here.ask(events.ConsentWithdrawn(caller=bob, client_id="other"), object)
    here.ask(events.SignedOut(caller=alice), object)
    here.ask(events.ClientDisabled(caller=events.Operator(), client_id="other"), object)
    here.ask(events.ClientEnabled(caller=events.Operator(), client_id="other"), object)
    here.ask(here.refreshing(pairs[2], client_id="other"), object)
    here.wait(1)
    _delete_and_make_again(here)
    alice, bob = here.login("alice"), here.login("bob")
    here.wait(1)
    here.code(alice, "other")
    here.code(bob)
    changed = events.ClientChanged(
        caller=events.Operator(), client_id="other", fields={"autoApproveScopes": ["user.read"]}
    )
    here.ask(changed, ClientKnown)
    here.wait(1)
    unasked = here.code(bob, "other")
    here.wait(1)
    here.ask(here.redemption(unasked, "other"), TokensIssued)
    here.wait(1)
    return here


def _make_expired_records(here: Backend, store: MemoryStore) -> None:
    """Make a session, a code and a text message, and let retention delete all of them."""
    alice = here.login("alice")
    here.ask(here.recovery("+15550101"), TextCodeDrawn)
    here.wait(5)
    used = here.code(alice)
    here.wait(5)
    here.ask(here.redemption(used), TokensIssued)
    here.code(alice)
    here.wait(40 * 24 * 60 * 60)
    for kind_of_record in Expirable:
        for identifier in store.find_expired(kind_of_record, b"", here.now, 100).identifiers:
            here.ask(events.RecordExpired(key=Key(kind_of_record.table, identifier)), Done)
    here.wait(1)


def _delete_and_make_again(here: Backend) -> None:
    """Delete and make again roles, names, numbers, codes and accounts, in one batch and over two."""
    alice, bob = here.user_ids["alice"], here.user_ids["bob"]

    def role(code: str, name: str) -> events.RoleRegistered:
        return events.RoleRegistered(caller=events.Operator(), fields={"code": code, "name": name})

    def delete_role(code: str) -> events.RoleDeleted:
        return events.RoleDeleted(caller=events.Operator(), role_id=code)

    def change(user_id: str, **fields: object) -> events.UserChanged:
        return events.UserChanged(caller=events.Operator(), user_id=user_id, fields=fields)

    def change_role(code: str, name: str) -> events.RoleChanged:
        return events.RoleChanged(caller=events.Operator(), role_id=code, fields={"name": name})

    def delete_user(user_id: str) -> events.UserDeleted:
        return events.UserDeleted(caller=events.Operator(), user_id=user_id)

    def all_of(kind: type[object], *asked: Event) -> None:
        for event in asked:
            here.ask(event, kind)

    drawn = here.ask(here.recovery("+15550100"), TextCodeDrawn).code
    assert drawn is not None
    all_of(RoleKnown, role("clerk", "a clerk"), role("reader", "a reader"))
    here.wait(1)
    all_of(Refused, _reset_password(Secret("none")))
    all_of(Done, _reset_password(drawn))
    drawn = here.ask(here.recovery("+15550100"), TextCodeDrawn).code
    assert drawn is not None
    all_of(RoleKnown, change_role("clerk", "the clerk"))
    all_of(UserKnown, change(bob, roleIds=["clerk"]), change(bob, username="bobby"))
    all_of(UserKnown, change(bob, username="bob"), change(bob, phone=None), change(bob, phone="+15550101"))
    all_of(Done, delete_role("reader"))
    all_of(RoleKnown, role("reader", "a reader"))
    here.wait(1)
    all_of(Done, _reset_password(drawn))
    all_of(UserKnown, change(bob, roleIds=[]), change(alice, phone=None), change(bob, phone="+15550100"))
    all_of(Done, delete_role("clerk"))
    all_of(RoleKnown, role("clerk", "another"), change_role("clerk", "yet another"))
    all_of(Done, delete_role("reader"))
    here.wait(1)
    here.ask(here.recovery("+15550100"), TextCodeDrawn)
    all_of(RoleKnown, role("reader", "a reader"))
    all_of(UserKnown, change(alice, phone="+15550101"))
    all_of(UserKnown, events.UserDisabled(caller=events.Operator(), user_id=bob))
    all_of(Done, delete_user(bob))
    all_of(UserKnown, registration_of("bob", "made again", "+15550100"))
    all_of(Done, delete_user(alice))
    here.wait(1)
    all_of(UserKnown, registration_of("alice", "made again", "+15550101"))
    here.wait(1)


def _reset_password(code: Secret) -> events.PasswordResetByTextMessage:
    return events.PasswordResetByTextMessage(phone="+15550100", code=code, new_password_hash=_HASH)
