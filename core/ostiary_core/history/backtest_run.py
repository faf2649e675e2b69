"""Run an audit trail through one set of rules, on a store of its own.

A trail holds no token, so each session starts afresh with new tokens. Then its rotations, retries and endings
happen at the recorded instants, with the recorded User-Agents.
"""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from types import MappingProxyType
from typing import Final, TypeVar

from ostiary_core.events import AuthenticationMethod, ClientCredentials, LoginRefreshed, RefreshRequested
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.client import CLIENT, REFRESH_TOKEN_SECONDS
from ostiary_core.model.decision import Decision, Insert, Update
from ostiary_core.model.fact import CLIENT_ENDINGS, CONSENT_ENDINGS, USER_ENDINGS, FactKind
from ostiary_core.model.identifiers import CONSOLE_CLIENT
from ostiary_core.model.instant import SECOND_MS, Instant, arrival_at, later
from ostiary_core.model.policy import SPECIFICATION, Policy
from ostiary_core.model.records import (
    Client,
    Consent,
    GrantType,
    Key,
    Record,
    Session,
    SessionKind,
    Table,
    User,
    revise,
)
from ostiary_core.model.reply import LoginIssued, Refused, TokensIssued
from ostiary_core.model.secret import Entropy, Secret
from ostiary_core.model.user import USER
from ostiary_core.model.why import Why
from ostiary_core.oauth.inherited_endings import epochs_now
from ostiary_core.oauth.session import end as end_session, start as start_session
from ostiary_core.storage.store import MemoryStore

R = TypeVar("R", bound=Record)

_CLIENT_SECRET: Final = Secret("of no use: a replay authenticates every client")

_REPLAYS: Final = MappingProxyType(
    {Why.REPLAYED_AFTER_GRACE: 1, Why.REPLAYED_BY_ANOTHER_USER_AGENT: 1, Why.REPLAYED_TWO_GENERATIONS_LATE: 2}
)
"""Generations between the token that ended a session and the present one, at least."""

_LONGEST_WAIT_MS: Final = 10 * SECOND_MS
"""Longest wait of a request for its turn (READINGS 47)."""

_MADE_IN_A_SESSION: Final = frozenset(
    {
        *(Why.PASSWORD_CHANGED, Why.PHONE_CHANGED, Why.SIGNED_OUT_ELSEWHERE),
        *(Why.SECOND_FACTOR_SET_UP, Why.SECOND_FACTOR_REMOVED),
    }
)
"""Endings of all sessions of a user but the one that asked for it (`end_other_sessions`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules for one run of a trail: the policy, and the lifetimes of every client."""

    policy: Policy = SPECIFICATION
    access_token_seconds: int = 1_800
    refresh_token_seconds: int = REFRESH_TOKEN_SECONDS.most
    """Maximum of a session; the trail does not have it, and the longest ends none of them."""


RECORDED: Final = Rules()
"""Rules of the specification, those of a trail unless its server was configured differently."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one request: refused, or tokens issued by a rotation or a repetition."""

    kind: FactKind | None
    why: Why | None

    @property
    def is_issued(self) -> bool:
        return self.kind in (FactKind.PAIR_ROTATED, FactKind.PAIR_REPEATED)


@dataclass
class _TrailSession:
    """A session of the trail in this run, and its refresh tokens, the oldest first."""

    session_id: str
    tokens: list[Secret]


@dataclass
class BacktestRun:
    """One run over a trail: its rules, its store, and the sessions so far."""

    rules: Rules
    retry_seconds: int
    """Longest delay of a spent token that the trail says was answered."""
    sessions: dict[str, _TrailSession] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    early_refreshes: int = 0
    _store: MemoryStore = field(init=False)

    def __post_init__(self) -> None:
        self._store = MemoryStore(self.rules.policy)

    def run(self, entry: AuditEntry) -> Outcome | None:
        """Run an entry; return the outcome if it presented a refresh token."""
        match entry.kind:
            case FactKind.SESSION_STARTED:
                self._start(entry)
            case FactKind.PAIR_ROTATED:
                self._start(entry)  # for a trail that begins in the middle of the session
                return self._present(entry, 0)
            case FactKind.PAIR_REPEATED:
                return self._present(entry, 1)
            case FactKind.SESSION_ENDED if entry.why is not None and entry.why in _REPLAYS:
                return self._present(entry, _REPLAYS[entry.why])
            case FactKind.SESSION_ENDED:
                self._end(entry)
            case kind if kind in USER_ENDINGS and entry.user_id is not None:
                self._end_epoch(Key(Table.USER, entry.user_id), entry.why)
            case kind if kind in CLIENT_ENDINGS and entry.client_id is not None:
                self._end_epoch(Key(Table.CLIENT, entry.client_id), entry.why)
            case kind if (
                kind in CONSENT_ENDINGS and entry.user_id is not None and entry.client_id is not None
            ):
                self._end_epoch(Key(Table.CONSENT, (entry.user_id, entry.client_id)))
            case _:
                pass
        return None

    def _start(self, entry: AuditEntry) -> None:
        """Start the session of an entry, unless it started before."""
        if entry.session_id is None or entry.client_id is None or entry.session_id in self.sessions:
            return
        client, user, consent = self._client(entry.client_id), None, None
        if entry.kind is FactKind.PAIR_ROTATED:
            # The age of its access token is unknown; as old as can be, it was not refreshed early.
            client = replace(client, access_token_seconds=0)
        kind = SessionKind.CLIENT_CREDENTIALS
        if entry.user_id is not None:
            user, consent = self._user(entry.user_id), self._consent(entry.user_id, entry.client_id)
            is_login = entry.client_id == CONSOLE_CLIENT
            kind = SessionKind.LOGIN if is_login else SessionKind.AUTHORIZATION_CODE
        made, issued, changes, _ = start_session(
            kind=kind,
            client=client,
            user_id=entry.user_id,
            scopes=entry.scopes,
            epochs=epochs_now(user, client, consent),
            user_agent=entry.user_agent,
            source="",
            entropy=_entropy(f"session {entry.session_id}"),
            now=entry.at,
        )
        self._store.write(changes)
        tokens = [] if issued.refresh_token is None else [issued.refresh_token]
        self.sessions[entry.session_id] = _TrailSession(made.session_id, tokens)

    def _present(self, entry: AuditEntry, generations_back: int) -> Outcome:
        """Present the refresh token of so many generations back."""
        self._move_to_new_epoch(entry)
        known, session = self._find(entry)
        if known is None or session is None or len(known.tokens) <= generations_back:
            return Outcome(None, None)
        token = known.tokens[-1 - generations_back]
        entropy = _entropy(f"refresh {entry.number} {entry.session_id}")
        arrived_at = entry.at
        if entry.kind is FactKind.PAIR_REPEATED and entry.earlier_at is not None:
            # The entry has the time of its turn; as it was answered, it arrived in time and waited since.
            in_time = later(entry.earlier_at, self.retry_seconds)
            arrived_at = in_time if in_time < entry.at <= in_time + _LONGEST_WAIT_MS else entry.at
        arrival = arrival_at(arrived_at)
        event: LoginRefreshed | RefreshRequested
        if session.kind is SessionKind.LOGIN:
            event = LoginRefreshed(
                refresh_token=token, user_agent=entry.user_agent, entropy=entropy, arrival=arrival
            )
        else:
            event = RefreshRequested(
                credentials=ClientCredentials(
                    client_id=session.client_id, secret=_CLIENT_SECRET, method=AuthenticationMethod.BASIC
                ),
                refresh_token=token,
                scopes=None,
                user_agent=entry.user_agent,
                entropy=entropy,
                arrival=arrival,
            )
        [decision] = self._store.turn([event], entry.at)
        return self._record_outcome(decision, entry, known, session)

    def _record_outcome(
        self, decision: Decision, entry: AuditEntry, known: _TrailSession, before: Session
    ) -> Outcome:
        kinds = [fact.kind for fact in decision.facts]
        if isinstance(decision.reply, Refused):
            if FactKind.SESSION_ENDED in kinds and entry.session_id is not None:
                self.ended.add(entry.session_id)
            # A login session's refusal is only NOT_SIGNED_IN; its fact has the reason.
            whys = [fact.why for fact in decision.facts if fact.why is not None]
            return Outcome(None, whys[0] if whys else decision.reply.why)
        if FactKind.PAIR_ROTATED in kinds:
            self.early_refreshes += entry.at < before.access_expires_at
            match decision.reply:
                case LoginIssued(tokens=TokensIssued(refresh_token=Secret() as token)):
                    known.tokens.append(token)
                case TokensIssued(refresh_token=Secret() as token):
                    known.tokens.append(token)
                case _:
                    pass
        return Outcome(kinds[0] if kinds else None, None)

    def _end(self, entry: AuditEntry) -> None:
        _, session = self._find(entry)
        if session is not None and session.ended_at is None:
            changes, _ = end_session(session, entry.why or Why.SESSION_FORCED_OUT, entry.at)
            self._store.write(changes)

    def _move_to_new_epoch(self, entry: AuditEntry) -> None:
        """Move to the new epoch a login session that survived the ending of its user's other sessions.

        The trail shows that only by the later use of one of its tokens.
        """
        _, session = self._find(entry)
        if session is None or session.kind is not SessionKind.LOGIN or session.user_id is None:
            return
        user = self._user(session.user_id)
        if user.epoch_why in _MADE_IN_A_SESSION and session.epochs.user != user.epoch:
            brought = revise(session, epochs=session.epochs._replace(user=user.epoch))
            self._store.write([Update(session, brought)])

    def _end_epoch(self, key: Key, why: Why | None = None) -> None:
        """End the sessions of a user, client or consent, if this run has any, by its next epoch."""
        for record in self._store.fetch(key.table, [key.id]):
            if isinstance(record, User | Client):
                self._store.write([Update(record, revise(record, epoch=record.epoch + 1, epoch_why=why))])
            elif isinstance(record, Consent):
                self._store.write([Update(record, revise(record, epoch=record.epoch + 1))])

    # --- records, made when they are first seen

    def _find(self, entry: AuditEntry) -> tuple[_TrailSession, Session] | tuple[None, None]:
        """Find the session of an entry in this run, if the trail had it before."""
        known = self.sessions.get(entry.session_id or "")
        if known is None:
            return None, None
        [session] = self._store.fetch(Table.SESSION, [known.session_id])
        assert isinstance(session, Session)
        return known, session

    def _keep(self, made: R) -> R:
        """Store a record unless there is one under its key; return what is stored."""
        for stored in self._store.fetch(made.table, [made.key.id]):
            assert isinstance(stored, type(made))
            return stored
        self._store.write([Insert(made)])
        return made

    def _client(self, client_id: str) -> Client:
        return self._keep(
            replace(
                CLIENT.blank,
                client_id=client_id,
                name=client_id,
                secret_digest=_CLIENT_SECRET.digest,
                grant_types=tuple(GrantType),
                access_token_seconds=self.rules.access_token_seconds,
                refresh_token_seconds=self.rules.refresh_token_seconds,
            )
        )

    def _user(self, user_id: str) -> User:
        return self._keep(replace(USER.blank, user_id=user_id, username=user_id, name=user_id))

    def _consent(self, user_id: str, client_id: str) -> Consent:
        return self._keep(Consent(user_id=user_id, client_id=client_id, scopes=(), granted_at=Instant(0)))


def _entropy(seed: str) -> Entropy:
    """Derive entropy from a seed, for tokens that are valid in this run alone."""
    return Entropy(sha256(seed.encode("utf-8", "surrogatepass")).digest())
