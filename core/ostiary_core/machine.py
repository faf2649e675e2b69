"""How a state machine's table of transitions is written down, for readers, diagrams and coverage alike."""

from dataclasses import dataclass

from ostiary_core.decision import Decision, FactKind, Refused
from ostiary_core.why import Why

__all__ = ["Transition", "taken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One row of a state table: what it is called, where it leads, and how a decision shows it.

    `told` and `why` are what a decision that took the transition tells among its facts; `refusal` is what
    it answers, for the rows that refuse. An ending from above is told once, by the decision that ends a user,
    client or consent, however many records it takes along. A row whose `told` is None and that refuses
    nothing is the passing of time, which no decision performs.
    """

    name: str
    source: str
    trigger: str
    target: str
    told: FactKind | None = None
    why: tuple[Why, ...] = ()
    refusal: tuple[Why, ...] = ()


def taken(table: tuple[Transition, ...], decision: Decision) -> tuple[str, ...]:
    """The names of the rows of `table` that `decision` took."""
    refusal = decision.reply.why if isinstance(decision.reply, Refused) else None
    return tuple(
        row.name
        for row in table
        if (row.told is not None or row.refusal)
        and (not row.refusal or refusal in row.refusal)
        and (
            row.told is None
            or any(fact.kind is row.told and (not row.why or fact.why in row.why) for fact in decision.facts)
        )
    )
