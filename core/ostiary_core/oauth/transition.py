"""A row of a state table, as `code.py` and `session.py` hold them (drawn in docs/states.md)."""

from dataclasses import dataclass

from ostiary_core.model.fact import FactKind
from ostiary_core.model.why import Why

NO_RECORD = "(none)"
"""Source of a transition that makes the record."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One move of a record: from which state, by what, to which, and how a decision shows it.

    `fact` and `why` go to the audit trail; `refusal` is the answer of a row that refuses. A row with neither
    is the passing of time, which no decision performs.
    """

    name: str
    source: str
    trigger: str
    target: str
    fact: FactKind | None = None
    why: Why | None = None
    refusal: Why | None = None

    @property
    def is_decided(self) -> bool:
        """Whether a decision takes this row, and not the passing of time."""
        return self.fact is not None or self.refusal is not None
