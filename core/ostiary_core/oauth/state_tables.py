"""The two state machines, of codes and of sessions, as data: their states, and every move between them.

`code.py` and `session.py` decide by these rows, docs/states.md draws them, and the campaigns count which
they reached. Rows stand in the order of the specification's tables.
"""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from ostiary_core.model.fact import FactKind
from ostiary_core.model.why import Why

NO_RECORD = "(none)"
"""Source of a transition that makes the record."""


class CodeState(StrEnum):
    """What a code is at an instant."""

    ISSUED = "issued"
    USED = "used"
    VOID = "void"
    EXPIRED = "expired"


class SessionState(StrEnum):
    """What a session is at an instant."""

    ACTIVE = "active"
    ENDED = "ended"
    EXPIRED = "expired"
    """The maximum duration is reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
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


_INHERITED_ENDINGS: Final = (
    (
        "user's {records} end",
        "password, telephone, reset, disabled, deleted, wrong passwords, forced out, signed out elsewhere",
        FactKind.USER_SESSIONS_ENDED,
    ),
    ("client disabled", "administrator disables the client", FactKind.CLIENT_DISABLED),
    ("client deleted", "administrator deletes the client", FactKind.CLIENT_DELETED),
    (
        "client forced out",
        "administrator ends all sessions of the client, or of every client",
        FactKind.CLIENT_SESSIONS_ENDED,
    ),
    (
        "consent withdrawn",
        "user withdraws the client's consent, or an administrator for the user",
        FactKind.CONSENT_WITHDRAWN,
    ),
)
"""Moves by which a user, client or consent ends all its codes and sessions at once (`inherited_endings`).

Each is one fact, of the user, client or consent, however many records end with it.
"""


# --- the authorization code


CODE_ISSUED: Final = Transition(
    name="code issued",
    source=NO_RECORD,
    trigger="user approves, or the scopes are pre-approved",
    target=CodeState.ISSUED,
    fact=FactKind.CODE_ISSUED,
)
CODE_REDEEMED: Final = Transition(
    name="code redeemed",
    source=CodeState.ISSUED,
    trigger="valid code, verifier, client, redirect URI",
    target=CodeState.USED,
    fact=FactKind.CODE_USED,
)
EXCHANGE_FAILS: Final = Transition(
    name="exchange fails",
    source=CodeState.ISSUED,
    trigger="wrong verifier, redirect URI or client, or any other failure of the exchange",
    target=CodeState.VOID,
    fact=FactKind.CODE_VOIDED,
)

CODE_TRANSITIONS: Final = (
    CODE_ISSUED,
    CODE_REDEEMED,
    EXCHANGE_FAILS,
    Transition(name="code expires", source=CodeState.ISSUED, trigger="300 seconds", target=CodeState.EXPIRED),
    Transition(
        name="expired code refused",
        source=CodeState.EXPIRED,
        trigger="redeemed too late",
        target=CodeState.VOID,
        refusal=Why.CODE_EXPIRED,
    ),
    *(
        Transition(
            name=name.format(records="codes"),
            source=CodeState.ISSUED,
            trigger=trigger,
            target=CodeState.VOID,
            fact=fact,
        )
        for name, trigger, fact in _INHERITED_ENDINGS
    ),
    Transition(
        name="used code refused",
        source=CodeState.USED,
        trigger="redeemed again",
        target=CodeState.USED,
        refusal=Why.CODE_USED,
    ),
    Transition(
        name="void code refused",
        source=CodeState.VOID,
        trigger="redeemed",
        target=CodeState.VOID,
        refusal=Why.CODE_VOID,
    ),
)

CODE_REFUSALS: Final = MappingProxyType(
    {row.source: row.refusal for row in CODE_TRANSITIONS if row.refusal is not None}
)
"""Why a code in a state cannot be redeemed."""


# --- the session


def _session_ends(*, name: str, trigger: str, why: Why) -> Transition:
    """Make the row of what ends one session."""
    return Transition(
        name=name,
        source=SessionState.ACTIVE,
        trigger=trigger,
        target=SessionState.ENDED,
        fact=FactKind.SESSION_ENDED,
        why=why,
    )


SESSION_STARTS: Final = Transition(
    name="session starts",
    source=NO_RECORD,
    trigger="code redeemed, client credentials, sign-in",
    target=SessionState.ACTIVE,
    fact=FactKind.SESSION_STARTED,
)
_TOKEN_CREATED: Final = Transition(
    name="personal access token created",
    source=NO_RECORD,
    trigger="a user makes one",
    target=SessionState.ACTIVE,
    fact=FactKind.PERSONAL_TOKEN_CREATED,
)
PAIR_ROTATES: Final = Transition(
    name="pair rotates",
    source=SessionState.ACTIVE,
    trigger="current refresh token",
    target=SessionState.ACTIVE,
    fact=FactKind.PAIR_ROTATED,
)
PAIR_ROTATES_AND_REFUSES: Final = Transition(
    name="scope too wide, rotated all the same",
    source=SessionState.ACTIVE,
    trigger="current refresh token, scope beyond the grant",
    target=SessionState.ACTIVE,
    fact=FactKind.PAIR_ROTATED,
    why=Why.SCOPE_TOO_WIDE,
    refusal=Why.SCOPE_TOO_WIDE,
)
PAIR_REPEATS: Final = Transition(
    name="safe retry",
    source=SessionState.ACTIVE,
    trigger="spent refresh token, in the grace, same User-Agent",
    target=SessionState.ACTIVE,
    fact=FactKind.PAIR_REPEATED,
)

SESSION_TRANSITIONS: Final = (
    SESSION_STARTS,
    _TOKEN_CREATED,
    PAIR_ROTATES,
    PAIR_REPEATS,
    _session_ends(
        name="replayed after the grace", trigger="spent refresh token, too late", why=Why.REPLAYED_AFTER_GRACE
    ),
    _session_ends(
        name="replayed by another User-Agent",
        trigger="spent refresh token, different User-Agent",
        why=Why.REPLAYED_BY_ANOTHER_USER_AGENT,
    ),
    _session_ends(
        name="replayed two generations late",
        trigger="refresh token of an older generation",
        why=Why.REPLAYED_TWO_GENERATIONS_LATE,
    ),
    Transition(
        name="retry that may have come in time",
        source=SessionState.ACTIVE,
        trigger="spent refresh token, found after the server stood still over the end of the grace",
        target=SessionState.ACTIVE,
        refusal=Why.ARRIVAL_UNKNOWN,
    ),
    PAIR_ROTATES_AND_REFUSES,
    Transition(
        name="maximum duration", source=SessionState.ACTIVE, trigger="time", target=SessionState.EXPIRED
    ),
    Transition(
        name="refused at the maximum",
        source=SessionState.EXPIRED,
        trigger="current refresh token or safe retry, in the last second before too",
        target=SessionState.EXPIRED,
        refusal=Why.MAXIMUM_REACHED,
    ),
    _session_ends(
        name="revoked by its client",
        trigger="its access token or any refresh token at /revoke",
        why=Why.REVOKED_BY_CLIENT,
    ),
    *(
        Transition(
            name=name.format(records="sessions"),
            source=SessionState.ACTIVE,
            trigger=trigger,
            target=SessionState.ENDED,
            fact=fact,
        )
        for name, trigger, fact in _INHERITED_ENDINGS
    ),
    _session_ends(name="forced out", trigger="administrator ends this session", why=Why.SESSION_FORCED_OUT),
    Transition(
        name="refresh by another client",
        source=SessionState.ACTIVE,
        trigger="refresh token presented by another client",
        target=SessionState.ACTIVE,
        refusal=Why.TOKEN_OF_ANOTHER_CLIENT,
    ),
    _session_ends(name="signed out", trigger="sign-out of a login session", why=Why.SIGNED_OUT),
    _session_ends(
        name="token ended", trigger="its holder ends a personal access token", why=Why.PERSONAL_TOKEN_ENDED
    ),
    _session_ends(
        name="code replayed",
        trigger="its code redeemed again, where the setting asks for it",
        why=Why.CODE_REPLAYED,
    ),
    Transition(
        name="refused once ended",
        source=SessionState.ENDED,
        trigger="any refresh token of the session",
        target=SessionState.ENDED,
        refusal=Why.SESSION_ENDED,
    ),
)

SESSION_ENDINGS: Final = MappingProxyType(
    {row.why: row for row in SESSION_TRANSITIONS if row.fact is FactKind.SESSION_ENDED}
)
"""Moves that end one session, by their reason."""
