"""Explain why a session ended: its history as steps in order, and the safe retries that saved it.

Rules, all in this file:

- The first step is how the session was issued; the last is how it ended, that it reached its maximum, or
  that it is running. The entries of the audit trail stand between.
- The first ending of its user, client or consent while the session ran is the one that ended it.
- A safe retry is a client that lost an answer and got the same pair again.

The server puts the steps into words.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.changes import FieldChange
from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import COMMAND_LINE
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import Client, Session, User
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.model.why import Why
from ostiary_core.oauth.inherited_endings import inherited_ending
from ostiary_core.oauth.state_tables import SessionState
from ostiary_core.storage.session_history import SessionHistory


class StepKind(StrEnum):
    """The kinds of steps in the history of a session."""

    ISSUED = "issued"
    ROTATED = "rotated"
    RETRIED = "retried"
    """Safe retry: the same pair again for a refresh token that was just spent."""
    NOTED = "noted"
    """Any other entry of the audit trail."""
    ENDED = "ended"
    MAXIMUM_REACHED = "maximum-reached"
    RUNNING = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStep:
    """One step in the history of a session, None if the audit trail has no value."""

    kind: StepKind
    at: Instant | None
    """Instant of the step; None for an ending whose time is not on record."""
    fact: FactKind | UnknownWord | None = None
    why: Why | UnknownWord | None = None
    actor_id: str | None = None
    """Administrator who did it, or `COMMAND_LINE`."""
    actor_session_id: str | None = None
    """Login session or personal access token that did it."""
    actor_name: str | None = None
    """User name of the actor at that time; on the command line, the user of the operating system."""
    actor_token: str | None = None
    """Name of the personal access token that did it."""
    trace_id: str | None = None
    source: str | None = None
    user_agent: str | None = None
    earlier_at: Instant | None = None
    """First use of the token of a retry or replay; the last rotation, for a still older token."""
    earlier_user_agent: str | None = None
    changes: tuple[FieldChange, ...] = ()
    """Changes of the client's record, for an ending by such a change."""

    @property
    def is_by_operator(self) -> bool:
        """Whether the command line did it; entries of earlier releases show it by having no request."""
        is_without_request = self.actor_id is None and self.trace_id is None
        return self.actor_id == COMMAND_LINE or (is_without_request and self.fact is not None)

    @property
    def delay_ms(self) -> int | None:
        """Delay of the token after its first use."""
        return None if self.at is None or self.earlier_at is None else self.at - self.earlier_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A session with its state, the reason of its end, and the steps that led there."""

    session: Session
    client: Client | None
    user: User | None
    state: SessionState
    why: Why | UnknownWord | None
    """Reason of the end; None while it runs, and at its maximum."""
    steps: tuple[HistoryStep, ...]

    @property
    def last(self) -> HistoryStep:
        """Last step: how the session ended, or that it is running."""
        return self.steps[-1]

    @property
    def safe_retry_delays_ms(self) -> tuple[int, ...]:
        """Delays of the safe retries that saved the session, in order."""
        delays = (step.delay_ms for step in self.steps if step.kind is StepKind.RETRIED)
        return tuple(delay for delay in delays if delay is not None)

    @property
    def actor_ids(self) -> frozenset[str]:
        """Identifiers of the administrators in the steps."""
        return frozenset(
            step.actor_id for step in self.steps if step.actor_id is not None and not step.is_by_operator
        )


def explain(history: SessionHistory, now: Instant) -> Explanation:
    """Explain the history of a session up to `now`."""
    session, snapshot = history.session, history.snapshot
    outcome = _last_step(history, now)
    return Explanation(
        session=session,
        client=snapshot.client(session.client_id),
        user=None if session.user_id is None else snapshot.user(session.user_id),
        state=_STATES[outcome.kind],
        why=outcome.why,
        steps=(_first_step(history), *_middle_steps(history), outcome),
    )


_STATES = MappingProxyType(
    {
        StepKind.ENDED: SessionState.ENDED,
        StepKind.MAXIMUM_REACHED: SessionState.EXPIRED,
        StepKind.RUNNING: SessionState.ACTIVE,
    }
)


def _first_step(history: SessionHistory) -> HistoryStep:
    """Make the first step from the session's record, and add the request from its audit entry."""
    session = history.session
    entry = next((entry for entry in history.entries if entry.kind in _STARTS), None)
    return HistoryStep(
        kind=StepKind.ISSUED,
        at=session.started_at,
        fact=FactKind.SESSION_STARTED if entry is None else entry.kind,
        trace_id=None if entry is None else entry.trace_id,
        source=session.source or None,
        user_agent=session.user_agent,
    )


def _middle_steps(history: SessionHistory) -> Iterator[HistoryStep]:
    """Make the steps between the first and the last."""
    for entry in history.entries:
        # A code is used as its session starts: one step.
        if entry.kind not in (*_STARTS, FactKind.CODE_USED, FactKind.SESSION_ENDED):
            yield step_of(entry, _KINDS.get(entry.kind, StepKind.NOTED))


_KINDS: Mapping[str, StepKind] = MappingProxyType(
    {FactKind.PAIR_ROTATED: StepKind.ROTATED, FactKind.PAIR_REPEATED: StepKind.RETRIED}
)

_STARTS = (FactKind.SESSION_STARTED, FactKind.PERSONAL_TOKEN_CREATED)

_REPLAYS = frozenset(
    {Why.REPLAYED_AFTER_GRACE, Why.REPLAYED_BY_ANOTHER_USER_AGENT, Why.REPLAYED_TWO_GENERATIONS_LATE}
)


def is_of_a_spent_token(entry: AuditEntry) -> bool:
    """Whether an entry is about a spent token; in other entries the earlier use is that of the pair."""
    return entry.kind is FactKind.PAIR_REPEATED or entry.why in _REPLAYS


def _last_step(history: SessionHistory, now: Instant) -> HistoryStep:
    """Make the last step: how the session ended, or its state at `now`."""
    session = history.session
    if session.ended_at is not None:
        entry = next((entry for entry in history.entries if entry.kind is FactKind.SESSION_ENDED), None)
        if entry is None:
            return HistoryStep(kind=StepKind.ENDED, at=session.ended_at, why=session.ended_why)
        return step_of(entry, StepKind.ENDED)
    if history.inherited_ending is not None:
        return step_of(history.inherited_ending, StepKind.ENDED)
    if now >= session.expires_at:
        return HistoryStep(kind=StepKind.MAXIMUM_REACHED, at=session.expires_at)
    why = inherited_ending(session, history.snapshot)
    if why is not None:
        return HistoryStep(kind=StepKind.ENDED, at=None, why=why)
    return HistoryStep(kind=StepKind.RUNNING, at=now)


def step_of(entry: AuditEntry, kind: StepKind) -> HistoryStep:
    """Make a step from an audit entry."""
    is_repeated = is_of_a_spent_token(entry)
    return HistoryStep(
        kind=kind,
        at=entry.at,
        fact=entry.kind,
        why=entry.why,
        actor_id=entry.actor_id,
        actor_session_id=entry.actor_session_id,
        actor_name=entry.actor_name,
        actor_token=entry.actor_token,
        trace_id=entry.trace_id,
        source=entry.source,
        user_agent=entry.user_agent,
        earlier_at=entry.earlier_at if is_repeated else None,
        earlier_user_agent=entry.earlier_user_agent if is_repeated else None,
        changes=entry.changes,
    )
