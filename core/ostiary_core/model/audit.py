"""Entries of the audit trail: one for each fact of a turn, with its time and the request behind it.

A store keeps them in the transaction of the turn, so nothing happens without its entry and no entry tells of
what did not happen. They are never changed and hold no secret.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Final

from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Instant
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.model.why import Why

NOT_KEPT: Final = frozenset({FactKind.REFUSED, FactKind.SALT_ERASED})
"""Facts for the metrics alone: refusals that change nothing, and housekeeping."""


class LateTraceId:
    """A trace id that is drawn when it is first told: most reading requests leave nothing under theirs."""

    __slots__ = ("_draw", "_drawn")

    def __init__(self, draw: Callable[[], str]) -> None:
        self._draw = draw
        self._drawn: list[str] = []

    def __str__(self) -> str:
        # Two threads may draw at one moment, the turn's and the one that answers a caller: the first counts.
        if not self._drawn:
            self._drawn.append(self._draw())
        return self._drawn[0]


TraceId = str | LateTraceId
"""Identifier of a request; `str` tells it."""


@immutable()
class Origin:
    """The request behind an event: its trace id, source address and User-Agent."""

    trace_id: TraceId
    """Identifier of the request in the log and in failures."""
    source: str
    """Address of the sender."""
    user_agent: str | None
    """User-Agent, its bytes decoded as Latin-1; None if there was none."""


@immutable()
class AuditEntry:
    """One fact with its time and origin. The store gives it a rising `number`; 0 until it is kept."""

    number: int = field(default=0, kw_only=True)
    at: Instant
    kind: FactKind | UnknownWord
    actor_id: str | None
    """User who did it, if that is not `user_id`; `COMMAND_LINE` for the operator."""
    user_id: str | None
    client_id: str | None
    session_id: str | None
    role_id: str | None
    why: Why | UnknownWord | None
    scopes: tuple[str, ...]
    trace_id: str | None
    """Trace id of the request; None, like `source`, for the command line and the sweeper."""
    source: str | None
    user_agent: str | None
    earlier_at: Instant | None
    """First use of the token, for a retry or a replay."""
    earlier_user_agent: str | None
    changes: tuple[FieldChange, ...] = ()
    """Changed fields of the record."""
    actor_session_id: str | None = None
    """Login session or personal access token that did it (READINGS 59)."""
    actor_name: str | None = None
    """User name of the actor at that time; on the command line, the user of the operating system."""
    actor_token: str | None = None
    """Name of the personal access token that did it."""
    actor_fingerprint: str | None = None
    """Fingerprint of the personal access token that did it."""


def audit_entries(
    decisions: Iterable[Decision], origins: Sequence[Origin | None], now: Instant
) -> list[AuditEntry]:
    """Return the audit entries of a turn at `now`, in the order of its facts.

    `origins` is empty or has one for each decision, None if there was no request; else `ValueError`.
    """
    all_decisions = list(decisions)
    if origins and len(origins) != len(all_decisions):
        raise ValueError(
            f"{len(all_decisions)} decisions with {len(origins)} origins: give one for each, or none"
        )
    return [
        _entry(fact, origins[place] if origins else None, now)
        for place, decision in enumerate(all_decisions)
        for fact in decision.facts
        if fact.kind not in NOT_KEPT
    ]


def _entry(fact: Fact, origin: Origin | None, now: Instant) -> AuditEntry:
    user_agent, acting = fact.user_agent, fact.acting
    if user_agent is None and origin is not None:
        user_agent = origin.user_agent
    trace_id, source = (None, None) if origin is None else (str(origin.trace_id), origin.source)
    return AuditEntry(
        now,
        fact.kind,
        fact.actor_id,
        fact.user_id,
        fact.client_id,
        fact.session_id,
        fact.role_id,
        fact.why,
        fact.scopes,
        trace_id,
        source,
        user_agent,
        fact.earlier_at,
        fact.earlier_user_agent,
        fact.changes,
        acting.session_id,
        acting.name,
        acting.token,
        acting.fingerprint,
    )
