"""Records of the model, and the words of its answers."""

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fuzz.shared.calls import Answer, AnswerKind, Call, refusal
from fuzz.shared.initial_states import ClientSettings, end_of_day
from fuzz.shared.odd_fields import faults_of

SECOND_MS: Final = 1_000
BUILT_IN: Final = ("console", "mobile")
SUPER_ADMINISTRATOR: Final = "super_admin"
BASE64URL: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


Scope = frozenset[str]


class Verdict(NamedTuple):
    """The required answer, and the sentence of the specification that requires it."""

    answer: Answer
    clause: str
    faults: tuple[str, ...] = ()
    """Fields that a refusal must name."""
    recorded_for: str | None = None
    """Administrator whose refusal the audit trail records."""


@dataclass(slots=True)
class Client:
    """A registered client."""

    client_id: str
    secret: str
    settings: ClientSettings
    enabled: bool = True
    deleted: bool = False
    old_secret: str | None = None
    """Previous secret, if a reset let it keep working."""
    old_until: int = 0
    last_until: float = math.inf
    """End of the old secret's last day, as set while it was the current secret."""
    used_at: int | None = None
    old_used_at: int | None = None
    wrong: int = 0
    """Number of wrong secrets since the current one was set, and the time of the last."""
    wrong_at: int | None = None

    @property
    def secret_until(self) -> float:
        return end_of_day(self.settings.expires_on) if self.settings.expires_on else math.inf


@dataclass(slots=True)
class Factor:
    """A second factor, or one that waits for its first code."""

    secret: str
    recovery: set[str]
    confirmed: bool = False
    used_step: int = 0
    ticket_at: int = 0
    """Time of the ticket of the latest sign-in."""
    wrong_at: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Ticket:
    """A ticket that the right password gives a user with a second factor."""

    user: "User"
    issued_at: int
    void: bool = False


@dataclass(slots=True)
class User:
    """An account."""

    user_id: str
    username: str
    password: str
    phone: str | None = None
    roles: frozenset[str] = frozenset()
    must_change_password: bool = False
    enabled: bool = True
    deleted: bool = False
    consents: dict[str, frozenset[str]] = field(default_factory=dict)
    lets_in: set[str] = field(default_factory=set)
    """Clients that got a code from this user and whose consent was not withdrawn since."""
    wrong_at: list[int] = field(default_factory=list)
    asked_at: list[int] = field(default_factory=list)
    """Times at which text messages to a new number were requested."""
    factor: Factor | None = None
    picture: str | None = None
    locale: str | None = None
    name: str = ""
    """Name on pages: the user name as of registration or the last import."""

    def __post_init__(self) -> None:
        self.name = self.username

    @property
    def has_factor(self) -> bool:
        return self.factor is not None and self.factor.confirmed

    @property
    def super_administrator(self) -> bool:
        return SUPER_ADMINISTRATOR in self.roles


@dataclass(slots=True)
class Code:
    """An authorization code."""

    client: Client
    user: User
    redirect_uri: str
    challenge: str
    scope: frozenset[str]
    issued_at: int
    void: bool = False
    session: "Session | None" = None


@dataclass(slots=True)
class TextCode:
    """The code that was sent to a telephone number."""

    text: str
    user: User
    """The number's owner, or the user who requested a code for a new number."""
    issued_at: int
    sent_at: list[int]
    """Times at which codes were sent, from the first one of the counted day on."""
    wrong: int = 0
    void: bool = False


@dataclass(slots=True)
class Invitation:
    """The link by which a user sets a password."""

    text: str
    user: User
    issued_at: int
    void: bool = False


@dataclass(slots=True)
class Pair:
    """One generation of a session; a text is None until an answer shows it."""

    access: str | None
    refresh: str | None
    scope: frozenset[str]
    access_until: int
    made_at: int
    made_for: str | None
    """User-Agent of the request that created this pair."""


@dataclass(slots=True)
class Session:
    """One authorization, one login, or one personal access token."""

    session_id: str | None
    client: Client | None
    """None for a login to the backend itself."""
    user: User | None
    scope: frozenset[str]
    until: int
    refreshable: bool
    pairs: list[Pair]
    ended: bool = False
    expired: bool = False
    """Whether the session reached its maximum before any ending."""
    allows: frozenset[str] | None = None
    """Permissions chosen for a personal access token; None for every other session."""
    proved_at: int = 0
    """Time of the user's last proof of identity: a sign-in, a proof, or a change of password."""


class Held(NamedTuple):
    """The session and generation of a token's text."""

    session: Session
    generation: int
    is_access: bool


class Refusal(Exception):
    """Ends a rule early with this verdict."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.clause)
        self.verdict = verdict


def refuse(error: str, clause: str, *faults: str) -> Verdict:
    """Return the verdict of a refusal that names these fields."""
    return Verdict(refusal(error), clause, tuple(sorted(faults)))


def is_recorded(verdict: Verdict) -> bool:
    """Whether this refuses for lack of permission or power, not for a faulty form or an absent record."""
    of_permissions = ("A0403", "A1010", "B1001", "B1002", "B1003", "B4010")
    return verdict.answer.error in of_permissions or verdict == STILL_HELD


def require_fields(call: Call, **stored: tuple[object, object]) -> None:
    """Raise `Refusal` with every faulty field, or with every field that another caller changed meanwhile.

    `stored` has for each field the stored value and the sent one.
    """
    if call.seen == "otherwise":
        overtaken = [name for name, (stands, sent) in stored.items() if sent is not None and sent != stands]
        if overtaken:
            raise Refusal(refuse("A0409", "a change does not undo another caller's change", *overtaken))
    faults = () if call.seen == "as-sent" else faults_of(call)
    if faults:
        raise Refusal(refuse("A0401", "the refusal names every faulty field", *faults))


DONE: Final = Answer(AnswerKind.DONE)
OVERTAKEN: Final = refuse("A0409", "the password changed while it was verified: to be asked again")
STILL_HELD: Final = refuse("A0409", "a role that a user holds is still referenced")
NOT_SIGNED_IN: Final = refuse("A1001", "not logged in, or the token is not valid")
