"""The audit trail: one entry for each fact of a turn, with its time and the request behind it.

A store keeps the entries of a turn in the transaction of the turn, so nothing happens without its entry
and no entry tells of what did not happen. Entries are never changed. They hold no secret: facts hold none,
and an origin is an address, a User-Agent and the identifier under which the log has the request.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Final

from ostiary_core.model.changes import FieldChange
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.immutable import immutable
from ostiary_core.model.instant import Instant
from ostiary_core.model.why import Why

NOT_KEPT: Final = frozenset({FactKind.REFUSED, FactKind.SALT_ERASED})
"""Facts for the metrics alone: refusals that change nothing, and housekeeping."""


@immutable()
class Origin:
    """The request behind an event: its trace id, source address and User-Agent."""

    trace_id: str
    """Names the request in the log and in failures."""
    source: str
    """The address of whoever asked."""
    user_agent: str | None
    """As Latin-1 has its bytes; None where there was none."""


@immutable()
class AuditEntry:
    """One fact with its time and origin. The store gives it a rising `number`; 0 until it is kept."""

    number: int = field(default=0, kw_only=True)
    at: Instant
    kind: FactKind
    actor_id: str | None
    """The user who did it, where that is not the user it happened to."""
    user_id: str | None
    client_id: str | None
    session_id: str | None
    role_id: str | None
    why: Why | None
    scopes: tuple[str, ...]
    trace_id: str | None
    """None where no request asked for it, as with the command line and the sweeper; so is `source`."""
    source: str | None
    user_agent: str | None
    earlier_at: Instant | None
    """When the token was first used, for a retry or a replay."""
    earlier_user_agent: str | None
    changes: tuple[FieldChange, ...] = ()
    """The fields of the record that this was done to, as far as they changed."""


def audit_entries(
    decisions: Iterable[Decision], origins: Sequence[Origin | None], now: Instant
) -> list[AuditEntry]:
    """The audit entries of a turn at `now`, in the order of its facts.

    `origins` has one for each decision, None where there was no request; or none at all. Any other number of
    them raises `ValueError`.
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
    user_agent = fact.user_agent
    if user_agent is None and origin is not None:
        user_agent = origin.user_agent
    trace_id, source = (None, None) if origin is None else (origin.trace_id, origin.source)
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
    )
