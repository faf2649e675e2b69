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
            "client forced out",
            source,
            "administrator ends all sessions of the client, or of everybody",
            target,
            FactKind.CLIENT_SESSIONS_ENDED,
        ),
        Transition(
            "consent withdrawn",
            source,
            "user withdraws the client's consent, or an administrator for the user",
            target,
            FactKind.CONSENT_WITHDRAWN,
        ),
    )


def _ended_by(name: str, trigger: str, why: Why) -> Transition:
    return Transition(name, "active", trigger, "ended", FactKind.SESSION_ENDED, why=(why,))


def _refused(name: str, state: str, trigger: str, why: Why) -> Transition:
    """A move that leads nowhere."""
    return Transition(name, state, trigger, state, refusal=(why,))


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
    _refused("used code refused", "used", "redeemed again", Why.CODE_USED),
    _refused("void code refused", "void", "redeemed", Why.CODE_VOID),
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
    _ended_by("replayed after the grace", "spent refresh token, too late", Why.REPLAYED_AFTER_GRACE),
    _ended_by(
        "replayed by another User-Agent",
        "spent refresh token, different User-Agent",
        Why.REPLAYED_BY_ANOTHER_USER_AGENT,
    ),
    _ended_by(
        "replayed two generations late",
        "refresh token of an older generation",
        Why.REPLAYED_TWO_GENERATIONS_LATE,
    ),
    _ended_by(
        "revoked by its client", "its access token or any refresh token at /revoke", Why.REVOKED_BY_CLIENT
    ),
    _ended_by("forced out", "administrator ends this session", Why.SESSION_FORCED_OUT),
    _ended_by("signed out", "sign-out of a login session", Why.SIGNED_OUT),
    _ended_by("code replayed", "its code redeemed again, where the setting asks for it", Why.CODE_REPLAYED),
    _refused(
        "retry that may have come in time",
        "active",
        "spent refresh token, found after the server stood still over the end of the grace",
        Why.ARRIVAL_UNKNOWN,
    ),
    _refused(
        "refresh by another client",
        "active",
        "refresh token presented by another client",
        Why.TOKEN_OF_ANOTHER_CLIENT,
    ),
    Transition("maximum duration", "active", "time", "expired"),
    _refused(
        "refused at the maximum",
        "expired",
        "current refresh token or safe retry, in the last second before too",
        Why.MAXIMUM_REACHED,
    ),
    *_endings_from_above("sessions", "active", "ended"),
    _refused("refused once ended", "ended", "any refresh token of the session", Why.SESSION_ENDED),
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
