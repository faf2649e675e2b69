"""The two state machines, of codes and of sessions, as data: their states, and every move between them.

`code.py` and `session.py` decide by these rows, docs/states.md draws them, and the campaigns count which
they reached. Rows stand in the order of the specification's tables.
"""

from collections.abc import Iterator
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


def _refuses(name: str, state: str, trigger: str, refusal: Why) -> Transition:
    """Make the row of what is refused in a state, and leaves the record in it."""
    return Transition(name, state, trigger, state, refusal=refusal)


def _session_ends(name: str, trigger: str, why: Why) -> Transition:
    """Make the row of what ends one session."""
    return Transition(name, SessionState.ACTIVE, trigger, SessionState.ENDED, FactKind.SESSION_ENDED, why)


def _inherited_endings(records: str, source: str, target: str) -> Iterator[Transition]:
    """Make the rows by which a user, client or consent ends all its codes or sessions at once.

    Each is one fact, of the user, client or consent, however many records end with it (`inherited_endings`).
    """
    of_user = (
        "password, telephone, second factor, reset, disabled, deleted, wrong passwords, forced out, "
        "signed out elsewhere"
    )
    of_client = "administrator ends all sessions of the client, or of every client"
    of_consent = "user withdraws the client's consent, or an administrator for the user"
    for name, trigger, fact in (
        (f"user's {records} end", of_user, FactKind.USER_SESSIONS_ENDED),
        ("client disabled", "administrator disables the client", FactKind.CLIENT_DISABLED),
        ("client deleted", "administrator deletes the client", FactKind.CLIENT_DELETED),
        ("client forced out", of_client, FactKind.CLIENT_SESSIONS_ENDED),
        ("consent withdrawn", of_consent, FactKind.CONSENT_WITHDRAWN),
    ):
        yield Transition(name, source, trigger, target, fact)


# --- the authorization code


CODE_ISSUED: Final = Transition(
    "code issued",
    NO_RECORD,
    "user approves, or the scopes are pre-approved",
    CodeState.ISSUED,
    FactKind.CODE_ISSUED,
)
CODE_REDEEMED: Final = Transition(
    "code redeemed",
    CodeState.ISSUED,
    "valid code, verifier, client, redirect URI",
    CodeState.USED,
    FactKind.CODE_USED,
)
EXCHANGE_FAILS: Final = Transition(
    "exchange fails",
    CodeState.ISSUED,
    "wrong verifier, redirect URI or client, or any other failure of the exchange",
    CodeState.VOID,
    FactKind.CODE_VOIDED,
)

CODE_TRANSITIONS: Final = (
    CODE_ISSUED,
    CODE_REDEEMED,
    EXCHANGE_FAILS,
    Transition("code expires", CodeState.ISSUED, "300 seconds", CodeState.EXPIRED),
    Transition(
        "expired code refused",
        CodeState.EXPIRED,
        "redeemed too late",
        CodeState.VOID,
        FactKind.CODE_VOIDED,
        why=Why.CODE_EXPIRED,
        refusal=Why.CODE_EXPIRED,
    ),
    *_inherited_endings("codes", CodeState.ISSUED, CodeState.VOID),
    _refuses("used code refused", CodeState.USED, "redeemed again", Why.CODE_USED),
    _refuses("void code refused", CodeState.VOID, "redeemed", Why.CODE_VOID),
)

CODE_REFUSALS: Final = MappingProxyType(
    {row.source: row.refusal for row in CODE_TRANSITIONS if row.refusal is not None}
)
"""Why a code in a state cannot be redeemed."""


# --- the session


SESSION_STARTS: Final = Transition(
    "session starts",
    NO_RECORD,
    "code redeemed, client credentials, sign-in",
    SessionState.ACTIVE,
    FactKind.SESSION_STARTED,
)
_TOKEN_CREATED: Final = Transition(
    "personal access token created",
    NO_RECORD,
    "a user makes one",
    SessionState.ACTIVE,
    FactKind.PERSONAL_TOKEN_CREATED,
)
PAIR_ROTATES: Final = Transition(
    "pair rotates", SessionState.ACTIVE, "current refresh token", SessionState.ACTIVE, FactKind.PAIR_ROTATED
)
PAIR_ROTATES_AND_REFUSES: Final = Transition(
    "scope too wide, rotated all the same",
    SessionState.ACTIVE,
    "current refresh token, scope beyond the grant",
    SessionState.ACTIVE,
    FactKind.PAIR_ROTATED,
    why=Why.SCOPE_TOO_WIDE,
    refusal=Why.SCOPE_TOO_WIDE,
)
PAIR_REPEATS: Final = Transition(
    "safe retry",
    SessionState.ACTIVE,
    "spent refresh token, in the grace, same User-Agent",
    SessionState.ACTIVE,
    FactKind.PAIR_REPEATED,
)

SESSION_TRANSITIONS: Final = (
    SESSION_STARTS,
    _TOKEN_CREATED,
    PAIR_ROTATES,
    PAIR_REPEATS,
    _session_ends("replayed after the grace", "spent refresh token, too late", Why.REPLAYED_AFTER_GRACE),
    _session_ends(
        "replayed by another User-Agent",
        "spent refresh token, different User-Agent",
        Why.REPLAYED_BY_ANOTHER_USER_AGENT,
    ),
    _session_ends(
        "replayed two generations late",
        "refresh token of an older generation",
        Why.REPLAYED_TWO_GENERATIONS_LATE,
    ),
    _refuses(
        "retry that may have come in time",
        SessionState.ACTIVE,
        "spent refresh token, found after the server stood still over the end of the grace",
        Why.ARRIVAL_UNKNOWN,
    ),
    PAIR_ROTATES_AND_REFUSES,
    Transition("maximum duration", SessionState.ACTIVE, "time", SessionState.EXPIRED),
    _refuses(
        "refused at the maximum",
        SessionState.EXPIRED,
        "current refresh token or safe retry, in the last second before too",
        Why.MAXIMUM_REACHED,
    ),
    _session_ends(
        "revoked by its client", "its access token or any refresh token at /revoke", Why.REVOKED_BY_CLIENT
    ),
    *_inherited_endings("sessions", SessionState.ACTIVE, SessionState.ENDED),
    _session_ends("forced out", "administrator ends this session", Why.SESSION_FORCED_OUT),
    _refuses(
        "refresh by another client",
        SessionState.ACTIVE,
        "refresh token presented by another client",
        Why.TOKEN_OF_ANOTHER_CLIENT,
    ),
    _session_ends("signed out", "sign-out of a login session", Why.SIGNED_OUT),
    _session_ends("token ended", "its holder ends a personal access token", Why.PERSONAL_TOKEN_ENDED),
    _session_ends(
        "code replayed", "its code redeemed again, where the setting asks for it", Why.CODE_REPLAYED
    ),
    _refuses("refused once ended", SessionState.ENDED, "any refresh token of the session", Why.SESSION_ENDED),
)

SESSION_ENDINGS: Final = MappingProxyType(
    {row.why: row for row in SESSION_TRANSITIONS if row.fact is FactKind.SESSION_ENDED}
)
"""Moves that end one session, by their reason."""
