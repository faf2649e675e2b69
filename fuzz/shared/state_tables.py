"""Find the rows of the core's two state tables that a decision took; campaigns count them."""

from functools import cache
from typing import Final

from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import FactKind
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_core.oauth.state_tables import CODE_TRANSITIONS, SESSION_TRANSITIONS, Transition

_STATE_TABLES: Final = {"code": CODE_TRANSITIONS, "session": SESSION_TRANSITIONS}

_DECIDED: Final = {
    f"{name}: {row.name}": row for name, table in _STATE_TABLES.items() for row in table if row.is_decided
}
DECIDED_ROWS: Final = tuple(_DECIDED)
"""Rows that decisions take; the other rows are the passing of time."""

_Facts = frozenset[tuple[FactKind, Why | None]]


def transitions_of(decision: Decision) -> tuple[str, ...]:
    """Return the rows of both tables that a decision took, as `table: row`."""
    refusal = decision.reply.why if isinstance(decision.reply, Refused) else None
    return _rows_taken(frozenset((fact.kind, fact.why) for fact in decision.facts), refusal)


@cache
def _rows_taken(facts: _Facts, refusal: Why | None) -> tuple[str, ...]:
    return tuple(name for name, row in _DECIDED.items() if _is_taken(row, facts, refusal))


def _is_taken(row: Transition, facts: _Facts, refusal: Why | None) -> bool:
    has_fact = row.fact is None or any(kind is row.fact and row.why in (None, why) for kind, why in facts)
    return has_fact and row.refusal in (None, refusal)
