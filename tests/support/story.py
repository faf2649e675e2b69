"""Given, when, then: short stories about the rules, on the reference store and with a hand-set clock.

    world = given(client(), user())
    tokens = world.tokens()
    world.wait(31)
    world.when(refresh(tokens)).then_refused(Why..., changes=[...], facts=[...])

`given` makes a world by events alone, as an administrator would. `when` decides one event, and checks on the
way what must hold of every decision: that it is the same when decided again, that reading changed nothing,
and that each fact names what acted. It returns the facts without that.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from ostiary_core import SPECIFICATION, Instant, MemoryStore, Policy, Secret, Why, events as e, keys, load
from ostiary_core.decide import READ_ONLY, decide
from ostiary_core.http.token_service import refusal
from ostiary_core.model.decision import Change, Decision, Insert
from ostiary_core.model.fact import NOBODY, Acting, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.records import (
    RECORD_TABLES,
    AuthorizationCode,
    Client,
    Consent,
    Key,
    Role,
    Session,
    SessionKind,
    Table,
    User,
)
from ostiary_core.model.reply import (
    CodeIssued,
    LoginIssued,
    PasswordOnFile,
    Refused,
    Reply,
    SecretIssued,
    TokenActive,
    TokenInactive,
    TokensIssued,
    UserKnown,
)
from ostiary_core.throttling.rate_windows import Operation
from tests.support import asks

START = Instant(1_800_000_000_123)
"""Some instant in 2027 that is no whole second, so that rounding shows."""

R = TypeVar("R")


@dataclass(frozen=True)
class Outcome:
    """The decision on one event."""

    decision: Decision

    @property
    def reply(self) -> Reply:
        return self.decision.reply

    @property
    def changes(self) -> list[str]:
        """The writes in words, such as "update session"."""
        return [_in_words(change) for change in self.decision.changes]

    @property
    def facts(self) -> list[FactKind]:
        return [fact.kind for fact in self.decision.facts]

    def then(
        self, reply: type[R], *, changes: Sequence[str] | None = None, facts: Sequence[FactKind] | None = None
    ) -> R:
        """Return the reply, which must be of this kind; compare changes and facts if they are given."""
        assert isinstance(self.reply, reply), f"expected {reply.__name__}, got {self.reply!r}"
        self._look(changes, facts)
        return self.reply

    def then_refused(
        self,
        why: Why,
        *,
        changes: Sequence[str] = (),
        facts: Sequence[FactKind] | None = None,
        error: str | None = None,
    ) -> None:
        """Expect this refusal, which changes nothing but what is named.

        With `error`, the token endpoint must answer it with status 400 and this error.
        """
        assert isinstance(self.reply, Refused), f"expected a refusal ({why}), got {self.reply!r}"
        assert self.reply.why is why
        self._look(changes, facts)
        if error is not None:
            answer = refusal(Operation.TOKEN, why)
            assert (answer.status, json.loads(answer.body)["error"]) == (400, error)

    def then_faults(self) -> dict[str, FieldRule | Why]:
        """Return the bad fields for which the event is refused, and the rule that each broke."""
        self.then_refused(Why.FIELDS_INVALID)
        assert isinstance(self.reply, Refused)
        return {fault.path: fault.rule for fault in self.reply.faults}

    def _look(self, changes: Sequence[str] | None, facts: Sequence[FactKind] | None) -> None:
        if changes is not None:
            assert sorted(self.changes) == sorted(changes)
        if facts is not None:
            assert self.facts == list(facts)


def _in_words(change: Change) -> str:
    record = change.record if isinstance(change, Insert) else change.before
    return f"{type(change).__name__} {record.table.name}".lower().replace("_", " ")


def tokens_of(pairs: Sequence[TokensIssued]) -> list[Secret]:
    both = [token for pair in pairs for token in (pair.access_token, pair.refresh_token)]
    return [token for token in both if token is not None]


@dataclass
class World:
    """A store, the time, and what its people remember: client secrets and user ids."""

    policy: Policy = SPECIFICATION
    now: Instant = START
    secrets: dict[str, Secret] = field(default_factory=dict)
    user_ids: dict[str, str] = field(default_factory=dict)
    store: MemoryStore = field(default_factory=MemoryStore)

    # --- given, when

    def given(self, *events: e.Event) -> "World":
        """Let events happen, none of which may be refused; remember clients' secrets and users' ids."""
        for event in events:
            match self.when(event).reply:
                case SecretIssued(client=made, secret=secret):
                    self.secrets[made.client_id] = secret
                case UserKnown(user=made):
                    self.user_ids[made.username] = made.user_id
                case Refused() as refusal:
                    raise AssertionError(f"{type(event).__name__} was refused: {refusal}")
        return self

    def when(self, event: e.Event) -> Outcome:
        """Decide `event` now."""
        snapshot = load([keys(event)], self.store.fetch)
        acting = self._find_acting(event)
        foreseen = decide(event, snapshot, self.now, self.policy)
        assert decide(event, snapshot, self.now, self.policy) == foreseen, "not the same when decided again"
        [decision] = self.store.turn([event], self.now)
        assert decision == foreseen, "the store decided otherwise"
        if type(event) in READ_ONLY:
            assert not decision.changes, "an event that only reads changed something"
        for fault in decision.reply.faults if isinstance(decision.reply, Refused) else ():
            assert isinstance(fault.rule, FieldRule | Why), "a text equals the rule of the same letters"
        for fact in decision.facts:
            is_begun = type(event) is e.SecondFactorEntered and fact.acting.session_id is not None
            assert is_begun or fact.acting == acting, "a fact tells of another one that acted, or of none"
        return Outcome(
            replace(decision, facts=tuple(replace(fact, acting=NOBODY) for fact in decision.facts))
        )

    def _find_acting(self, event: e.Event) -> Acting:
        """Return what acts in an event, by its caller's token as it is stored before the decision."""
        if isinstance(event, e.AdministratorRefused):
            return event.acting
        first = event.events[0] if isinstance(event, e.BatchRequested) and event.events else event
        caller: Any = getattr(first, "caller", None)
        if isinstance(caller, e.Operator):
            return Acting(name=caller.name)
        of_callers = (each for each in self.sessions() if each.access_digest == caller.access_token.digest)
        session = None if caller is None else next(of_callers, None)
        if session is None or session.user_id is None:
            return NOBODY
        token, fingerprint = None, None
        if session.kind is SessionKind.PERSONAL_TOKEN:
            token, fingerprint = session.label, session.access_digest.hex()[:8]
        return Acting(session.session_id, self._user_of(session.user_id).username, token, fingerprint)

    def _user_of(self, user_id: str) -> User:
        [found] = [user for user in self._all(User, Table.USER) if user.user_id == user_id]
        return found

    def decide(self, kind: Callable[..., e.Event], by: str = "", **asked: Any) -> Decision:
        """Decide an event of the operator, or of a user who signs in for it.

        Return the decision without its facts about refused administrators (`users/refusals.py`).
        """
        decision = self.when(kind(caller=self.caller(by) if by else e.Operator(), **asked)).decision
        facts = tuple(fact for fact in decision.facts if fact.kind is not FactKind.REFUSED)
        return replace(decision, facts=facts)

    def wait(self, seconds: float) -> "World":
        """Let time pass."""
        self.now = Instant(self.now + round(seconds * 1_000))
        return self

    # --- what is known from outside

    def basic(self, client_id: str = "app") -> e.ClientCredentials:
        """Return the right credentials of a client, by HTTP Basic."""
        return e.ClientCredentials(
            client_id=client_id, secret=self.secrets[client_id], method=e.AuthenticationMethod.BASIC
        )

    def is_active(self, token: Secret | None, client_id: str = "app") -> bool:
        """Whether introspection by `client_id` calls a token good."""
        match self.when(e.IntrospectionRequested(credentials=self.basic(client_id), token=token)).reply:
            case TokenActive():
                return True
            case TokenInactive():
                return False
            case other:
                raise AssertionError(f"introspection answered {other!r}")

    def any_active(self, *pairs: TokensIssued) -> bool:
        """Whether any token of these pairs is still good."""
        return any(self.is_active(token) for token in tokens_of(pairs))

    def all_active(self, *pairs: TokensIssued, client_id: str = "app") -> bool:
        """Whether every token of these pairs is still good."""
        return all(self.is_active(token, client_id) for token in tokens_of(pairs))

    def assert_ended(self, pair: TokensIssued) -> None:
        """Check that neither token of this pair is good for anything."""
        assert not self.any_active(pair)
        self.when(asks.refresh(self.basic(), pair)).then_refused(Why.SESSION_ENDED, error="invalid_grant")
        self.when(asks.profile(pair.access_token)).then_refused(Why.NOT_SIGNED_IN)

    # --- what is stored, for what cannot be seen from outside

    def the_session(self, kind: str = "authorization_code") -> Session:
        """Return the only session of its kind."""
        [session] = [s for s in self._all(Session, Table.SESSION) if s.kind == kind]
        return session

    def sessions(self) -> list[Session]:
        return self._all(Session, Table.SESSION)

    def the_code(self) -> AuthorizationCode:
        [code] = self._all(AuthorizationCode, Table.CODE)
        return code

    def consents(self) -> list[Consent]:
        return self._all(Consent, Table.CONSENT)

    def client(self, client_id: str = "app") -> Client:
        [record] = self.store.fetch(Table.CLIENT, [client_id])
        assert isinstance(record, Client)
        return record

    def user(self, username: str = "alice") -> User:
        [record] = self.store.fetch(Table.USER, [self.user_ids[username]])
        assert isinstance(record, User)
        return record

    def role(self, code: str) -> Role:
        [record] = self.store.fetch(Table.ROLE, [code])
        assert isinstance(record, Role)
        return record

    def everything(self) -> dict[Key, object]:
        """Return all records, to see that nothing changed."""
        return {record.key: record for table in RECORD_TABLES for record in self.store.records(table)}

    def _all(self, kind: type[R], table: Table) -> list[R]:
        return [record for record in self.store.records(table) if isinstance(record, kind)]

    # --- the way to a token

    def login(self, username: str = "alice", password: str = "right") -> LoginIssued:
        """Sign in; the default of every password is "right"."""
        return self.sign_in(username, password).then(LoginIssued)

    def caller(self, username: str = "alice") -> e.SignedIn:
        """Sign a user in; return the caller."""
        return asks.caller_of(self.login(username))

    def sign_in(self, username: str = "alice", password: str = "right") -> Outcome:
        """Ask for the hash, verify as a runtime would, and try to sign in."""
        on_file = self.when(e.PasswordHashRequested(of=username)).then(PasswordOnFile)
        matches = on_file.password_hash == asks.hash_of(password)
        return self.when(asks.sign_in(username, on_file.password_hash, password_matches=matches))

    def code(self, username: str = "alice", client_id: str = "app", **asked: str | None) -> Secret:
        """Let a user sign in and approve; return the code."""
        login = self.login(username)
        return code_in(self.when(asks.approve(login, client_id=client_id, **asked)).then(CodeIssued))

    def tokens(self, username: str = "alice", client_id: str = "app") -> TokensIssued:
        """Let a user sign in and approve, and the client redeem the code; return the pair."""
        code = self.code(username, client_id)
        return self.when(asks.redeem(self.basic(client_id), code)).then(TokensIssued)

    def machine_token(self, client_id: str = "app") -> Secret:
        """Return a token by client credentials."""
        return self.when(asks.machine(self.basic(client_id))).then(TokensIssued).access_token


def code_in(issued: CodeIssued) -> Secret:
    """Return the code in the address to which the browser is sent."""
    [code] = parse_qs(urlsplit(issued.redirect_to.reveal()).query)["code"]
    return Secret(code)


def client(client_id: str = "app", /, **fields: object) -> e.ClientRegistered:
    """Register a client with all grants; `fields` in place of some of its fields."""
    return e.ClientRegistered(
        caller=e.Operator(),
        fields={
            "clientId": client_id,
            "name": f"The client {client_id}",
            "redirectUris": [asks.redirect_uri_of(client_id)],
            "grantTypes": ["authorization_code", "refresh_token", "client_credentials"],
            "scopes": ["user.read"],
            "autoApproveScopes": [],
            **fields,
        },
        entropy=asks.fresh_entropy(),
    )


user = asks.user


def given(*events: e.Event, policy: Policy = SPECIFICATION, store: MemoryStore | None = None) -> World:
    """Make a world in which these events happened; without any, a client "app" and a user "alice".

    There always are the built-in clients and a super administrator "root".
    """
    return World(policy, store=store or MemoryStore(policy)).given(
        e.FirstAdministratorCreated(
            username="root",
            password_hash=asks.hash_of("right"),
            must_change_password=False,
            entropy=asks.fresh_entropy(),
        ),
        *(events or (client(), user())),
    )


def refusal_for(why: Why, *faults: FieldFault) -> Decision:
    """Return the decision that refuses and changes nothing."""
    return Decision(Refused(why, faults))
