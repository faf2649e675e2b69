"""The two state tables: every move that a code and a session can make, and how a decision shows it.

The rows of the specification and those that its readings add. Diagrams are drawn from them
(`docs/states.md`), and the campaigns count which of them were reached.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import FactKind
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why

__all__ = ["DECIDED_ROWS", "STATE_TABLES", "Transition", "transitions_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One row of a state table: what it is called, where it leads, and how a decision shows it.

    `fact` and `why` are what a decision that took the transition tells among its facts; `refusal` is what
    it answers, for the rows that refuse. An ending from above is told once, by the decision that ends a user,
    client or consent, however many records it takes along. A row whose `fact` is None and that refuses
    nothing is the passing of time, which no decision performs.
    """

    name: str
    source: str
    trigger: str
    target: str
    fact: FactKind | None = None
    why: tuple[Why, ...] = ()
    refusal: tuple[Why, ...] = ()

    def is_taken_by(self, facts: frozenset[tuple[FactKind, Why | None]], refusal: Why | None) -> bool:
        """Whether a decision with these facts, which answered with this refusal or none, took the row."""
        if self.fact is None and not self.refusal:
            return False
        tells = self.fact is None or any(
            kind is self.fact and (not self.why or why in self.why) for kind, why in facts
        )
        return tells and (not self.refusal or refusal in self.refusal)


def _endings_from_above(whose: str, source: str, target: str) -> tuple[Transition, ...]:
    """The moves that the end of a user, client or consent makes of everything it takes along."""
    return (
        Transition(
            name=f"user's {whose} end",
            source=source,
            trigger="password, telephone, reset, disabled, deleted, wrong passwords, forced out",
            target=target,
            fact=FactKind.USER_SESSIONS_ENDED,
        ),
        Transition(
            name="client disabled",
            source=source,
            trigger="administrator disables the client",
            target=target,
            fact=FactKind.CLIENT_DISABLED,
        ),
        Transition(
            name="client deleted",
            source=source,
            trigger="administrator deletes the client",
            target=target,
            fact=FactKind.CLIENT_DELETED,
        ),
        Transition(
            name="consent withdrawn",
            source=source,
            trigger="user withdraws the client's consent",
            target=target,
            fact=FactKind.CONSENT_WITHDRAWN,
        ),
    )


_CODE: Final = (
    Transition(
        name="code issued",
        source="(none)",
        trigger="user approves, or nobody needs to be asked",
        target="issued",
        fact=FactKind.CODE_ISSUED,
    ),
    Transition(
        name="code redeemed",
        source="issued",
        trigger="valid code, verifier, client, redirect URI",
        target="used",
        fact=FactKind.CODE_USED,
    ),
    Transition(
        name="exchange fails",
        source="issued",
        trigger="wrong verifier, redirect URI or client, or any other failure of the exchange",
        target="void",
        fact=FactKind.CODE_VOIDED,
    ),
    Transition(name="code expires", source="issued", trigger="300 seconds", target="expired"),
    Transition(
        name="expired code refused",
        source="expired",
        trigger="redeemed too late",
        target="void",
        refusal=(Why.CODE_EXPIRED,),
    ),
    *_endings_from_above("codes", "issued", "void"),
    Transition(
        name="used code refused",
        source="used",
        trigger="redeemed again",
        target="used",
        refusal=(Why.CODE_USED,),
    ),
    Transition(
        name="void code refused",
        source="void",
        trigger="redeemed",
        target="void",
        refusal=(Why.CODE_VOID,),
    ),
)

_SESSION: Final = (
    Transition(
        name="session starts",
        source="(none)",
        trigger="code redeemed, client credentials, sign-in",
        target="active",
        fact=FactKind.SESSION_STARTED,
    ),
    Transition(
        name="pair rotates",
        source="active",
        trigger="current refresh token",
        target="active",
        fact=FactKind.PAIR_ROTATED,
    ),
    Transition(
        name="scope too wide, rotated all the same",
        source="active",
        trigger="current refresh token, scope beyond the grant",
        target="active",
        fact=FactKind.PAIR_ROTATED,
        refusal=(Why.SCOPE_TOO_WIDE,),
    ),
    Transition(
        name="safe retry",
        source="active",
        trigger="spent refresh token, in the grace, same User-Agent",
        target="active",
        fact=FactKind.PAIR_REPEATED,
    ),
    Transition(
        name="replayed after the grace",
        source="active",
        trigger="spent refresh token, too late",
        target="ended",
        fact=FactKind.SESSION_ENDED,
        why=(Why.REPLAYED_AFTER_GRACE,),
    ),
    Transition(
        name="replayed by another User-Agent",
        source="active",
        trigger="spent refresh token, different User-Agent",
        target="ended",
        fact=FactKind.SESSION_ENDED,
        why=(Why.REPLAYED_BY_ANOTHER_USER_AGENT,),
    ),
    Transition(
        name="replayed two generations late",
        source="active",
        trigger="refresh token of an older generation",
        target="ended",
        fact=FactKind.SESSION_ENDED,
        why=(Why.REPLAYED_TWO_GENERATIONS_LATE,),
    ),
    Transition(
        name="revoked by its client",
        source="active",
        trigger="any token of the session at /revoke",
        target="ended",
        fact=FactKind.SESSION_ENDED,
        why=(Why.REVOKED_BY_CLIENT,),
    ),
    Transition(
        name="forced out",
        source="active",
        trigger="administrator ends this session",
        target="ended",
        fact=FactKind.SESSION_ENDED,
        why=(Why.SESSION_FORCED_OUT,),
    ),
    Transition(
        name="signed out",
        source="active",
        trigger="sign-out of a login session",
        target="ended",
        fact=FactKind.SESSION_ENDED,
        why=(Why.SIGNED_OUT,),
    ),
    Transition(
        name="code replayed",
        source="active",
        trigger="its code redeemed again, where the setting asks for it",
        target="ended",
        fact=FactKind.SESSION_ENDED,
        why=(Why.CODE_REPLAYED,),
    ),
    Transition(
        name="retry that may have come in time",
        source="active",
        trigger="spent refresh token, found after the server stood still over the end of the grace",
        target="active",
        refusal=(Why.ARRIVAL_UNKNOWN,),
    ),
    Transition(
        name="refresh by another client",
        source="active",
        trigger="refresh token presented by another client",
        target="active",
        refusal=(Why.TOKEN_OF_ANOTHER_CLIENT,),
    ),
    Transition(
        name="maximum duration",
        source="active",
        trigger="time",
        target="expired",
    ),
    Transition(
        name="refused at the maximum",
        source="expired",
        trigger="current refresh token",
        target="expired",
        refusal=(Why.MAXIMUM_REACHED,),
    ),
    *_endings_from_above("sessions", "active", "ended"),
    Transition(
        name="refused once ended",
        source="ended",
        trigger="any refresh token of the session",
        target="ended",
        refusal=(Why.SESSION_ENDED,),
    ),
)

STATE_TABLES: Final = {"code": _CODE, "session": _SESSION}

DECIDED_ROWS: Final = tuple(
    f"{name}: {row.name}" for name, table in STATE_TABLES.items() for row in table if row.fact or row.refusal
)
"""The rows that a decision takes; the others are the passing of time."""


def transitions_of(decision: Decision) -> tuple[str, ...]:
    """The rows of both tables that a decision took, as `table: row`."""
    refusal = decision.reply.why if isinstance(decision.reply, Refused) else None
    return _rows_taken(frozenset((fact.kind, fact.why) for fact in decision.facts), refusal)


@cache
def _rows_taken(facts: frozenset[tuple[FactKind, Why | None]], refusal: Why | None) -> tuple[str, ...]:
    return tuple(
        f"{name}: {row.name}"
        for name, table in STATE_TABLES.items()
        for row in table
        if row.is_taken_by(facts, refusal)
    )
