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


@dataclass(frozen=True, slots=True)
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
            f"user's {whose} end",
            source,
            "password, telephone, reset, disabled, deleted, wrong passwords, forced out",
            target,
            FactKind.USER_SESSIONS_ENDED,
        ),
        Transition(
            "client disabled", source, "administrator disables the client", target, FactKind.CLIENT_DISABLED
        ),
        Transition(
            "client deleted", source, "administrator deletes the client", target, FactKind.CLIENT_DELETED
        ),
        Transition(
            "consent withdrawn",
            source,
            "user withdraws the client's consent",
            target,
            FactKind.CONSENT_WITHDRAWN,
        ),
    )


_CODE: Final = (
    Transition(
        "code issued", "(none)", "user approves, or nobody needs to be asked", "issued", FactKind.CODE_ISSUED
    ),
    Transition(
        "code redeemed", "issued", "valid code, verifier, client, redirect URI", "used", FactKind.CODE_USED
    ),
    Transition(
        "exchange fails",
        "issued",
        "wrong verifier, redirect URI or client, or any other failure of the exchange",
        "void",
        FactKind.CODE_VOIDED,
    ),
    Transition("code expires", "issued", "300 seconds", "expired"),
    Transition("expired code refused", "expired", "redeemed too late", "void", refusal=(Why.CODE_EXPIRED,)),
    *_endings_from_above("codes", "issued", "void"),
    Transition("used code refused", "used", "redeemed again", "used", refusal=(Why.CODE_USED,)),
    Transition("void code refused", "void", "redeemed", "void", refusal=(Why.CODE_VOID,)),
)

_SESSION: Final = (
    Transition(
        "session starts",
        "(none)",
        "code redeemed, client credentials, sign-in",
        "active",
        FactKind.SESSION_STARTED,
    ),
    Transition("pair rotates", "active", "current refresh token", "active", FactKind.PAIR_ROTATED),
    Transition(
        "scope too wide, rotated all the same",
        "active",
        "current refresh token, scope beyond the grant",
        "active",
        FactKind.PAIR_ROTATED,
        refusal=(Why.SCOPE_TOO_WIDE,),
    ),
    Transition(
        "safe retry",
        "active",
        "spent refresh token, in the grace, same User-Agent",
        "active",
        FactKind.PAIR_REPEATED,
    ),
    Transition(
        "replayed after the grace",
        "active",
        "spent refresh token, too late",
        "ended",
        FactKind.SESSION_ENDED,
        why=(Why.REPLAYED_AFTER_GRACE,),
    ),
    Transition(
        "replayed by another User-Agent",
        "active",
        "spent refresh token, different User-Agent",
        "ended",
        FactKind.SESSION_ENDED,
        why=(Why.REPLAYED_BY_ANOTHER_USER_AGENT,),
    ),
    Transition(
        "replayed two generations late",
        "active",
        "refresh token of an older generation",
        "ended",
        FactKind.SESSION_ENDED,
        why=(Why.REPLAYED_TWO_GENERATIONS_LATE,),
    ),
    Transition(
        "revoked by its client",
        "active",
        "any token of the session at /revoke",
        "ended",
        FactKind.SESSION_ENDED,
        why=(Why.REVOKED_BY_CLIENT,),
    ),
    Transition(
        "forced out",
        "active",
        "administrator ends this session",
        "ended",
        FactKind.SESSION_ENDED,
        why=(Why.SESSION_FORCED_OUT,),
    ),
    Transition(
        "signed out",
        "active",
        "sign-out of a login session",
        "ended",
        FactKind.SESSION_ENDED,
        why=(Why.SIGNED_OUT,),
    ),
    Transition(
        "code replayed",
        "active",
        "its code redeemed again, where the setting asks for it",
        "ended",
        FactKind.SESSION_ENDED,
        why=(Why.CODE_REPLAYED,),
    ),
    Transition(
        "retry that may have come in time",
        "active",
        "spent refresh token, found after the server stood still over the end of the grace",
        "active",
        refusal=(Why.ARRIVAL_UNKNOWN,),
    ),
    Transition(
        "refresh by another client",
        "active",
        "refresh token presented by another client",
        "active",
        refusal=(Why.TOKEN_OF_ANOTHER_CLIENT,),
    ),
    Transition("maximum duration", "active", "time", "expired"),
    Transition(
        "refused at the maximum",
        "expired",
        "current refresh token",
        "expired",
        refusal=(Why.MAXIMUM_REACHED,),
    ),
    *_endings_from_above("sessions", "active", "ended"),
    Transition(
        "refused once ended",
        "ended",
        "any refresh token of the session",
        "ended",
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
