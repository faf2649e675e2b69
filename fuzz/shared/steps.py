"""A step: who does what at which instant, written so that other steps can be deleted around it.

A token is named by its origin and never by its text: for example, the current refresh token of the session
that step 9 began, or the one before it. If the step of origin is deleted, the token is nonsense and the step
is still valid.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import asdict

from fuzz.shared import initial_states
from fuzz.shared.calls import ABOUT_TEXT_CODES, WITH_A_CODE, Verb
from fuzz.shared.odd_fields import ODD_FIELDS

_WAYS: Final[Mapping[Verb, Iterable[str]]] = {
    Verb.CHANGE_CLIENT: initial_states.CHANGES,
    Verb.CHANGE_USER: initial_states.USER_CHANGES,
    Verb.RESET_SECRET: initial_states.KEEP_SECONDS,
    Verb.GIVE_SECRET: initial_states.GIVEN_SECRETS,
    Verb.IMPORT_USER: initial_states.IMPORTS,
    Verb.IMPORT_ROLE: initial_states.PERMISSIONS,
    Verb.IMPORT_CLIENT: (*initial_states.CHANGES, *initial_states.IMPORTS),
    Verb.REGISTER_ROLE: initial_states.PERMISSIONS,
    Verb.CHANGE_ROLE: initial_states.PERMISSIONS,
    Verb.BATCH: initial_states.BATCHES,
    Verb.SHOW_ACCOUNT: initial_states.PERMISSIONS,
    Verb.CREATE_TOKEN: initial_states.PERMISSIONS,
    Verb.CHOOSE: initial_states.CHOICES,
    Verb.ACCEPT_INVITATION: ("earlier",),
    **dict.fromkeys(WITH_A_CODE, initial_states.ENTERED),
    **dict.fromkeys(ABOUT_TEXT_CODES, (*initial_states.NUMBERS, "theirs", "fresh")),
}
"""Values of `change` by verb."""
CHANGES_A_RECORD: Final = (Verb.CHANGE_CLIENT, Verb.CHANGE_USER, Verb.CHANGE_ROLE)

Natural = Annotated[int, Meta(ge=0)]


class Kind(StrEnum):
    """The kinds of bearer value that a reference can name."""

    ACCESS = "access"
    REFRESH = "refresh"
    CODE = "code"
    TICKET = "ticket"


class Ref(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A bearer value by its origin: `back` generations before the latest one seen."""

    kind: Kind
    number: Natural
    """Number of the step that began the session."""
    back: Natural = 0

    def __str__(self) -> str:
        return f"{self.kind}@{self.number}" + (f"~{self.back}" if self.back else "")


class Twist(StrEnum):
    """A defect in a request that would otherwise be valid."""

    WRONG_SECRET = "wrong-secret"
    OLD_SECRET = "old-secret"
    WITHOUT_TOKEN = "without-token"
    WRONG_VERIFIER = "wrong-verifier"
    SHORT_VERIFIER = "short-verifier"
    WITHOUT_VERIFIER = "without-verifier"
    OTHER_URI = "other-uri"
    WITHOUT_URI = "without-uri"
    PLAIN_CHALLENGE = "plain-challenge"
    WITHOUT_CHALLENGE = "without-challenge"
    PADDED_CHALLENGE = "padded-challenge"
    RESPONSE_TYPE_TOKEN = "response-type-token"
    WRONG_PASSWORD = "wrong-password"
    OVERTAKEN = "overtaken"
    """The password changes while the presented one is verified."""
    WRONG_CODE = "wrong-code"
    WITHOUT_METHOD = "without-method"
    UNDECODABLE = "undecodable"
    REPEATED = "repeated"


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a trace."""

    number: Natural
    at: Natural
    """Milliseconds since the world began."""
    verb: Verb
    client: str | None = None
    user: str | None = None
    """Name of the account that acts or is acted on."""
    other: str | None = None
    """Second account, client or role of a batch."""
    role: str | None = None
    by: Ref | None = None
    """Login of the caller; None at the administration calls means the operator."""
    token: Ref | None = None
    scope: str | None = None
    agent: str | None = None
    uri: Natural = 0
    """Index of the client's address."""
    change: str | None = None
    """Change of an administrator: a name from one of the tables of `initial_states`."""
    odd: str | None = None
    """Name of the odd fields in the sent record."""
    seen: str | None = None
    """Values that the caller claims to have seen in the sent fields."""
    twist: Twist | None = None
    waited: Natural = 0
    """Milliseconds that the request waited inside the server, up to `at`."""
    unseen: Natural = 0
    """Milliseconds before the wait in which the server stood still and the request may have arrived."""
    joined: bool = False
    """Whether the step is in the same turn as the one before it."""
    crash: bool = False
    """The commit fails: nothing is kept and no caller gets an answer."""
    restart: bool = False
    """Everything that is not stored is lost before this step."""

    def __str__(self) -> str:
        """Return the step for human readers: `+` marks the same turn; then seconds since the world began."""
        head = f"{self.number:>5}{'+' if self.joined else ' '} {self.at / 1000:>12.3f} s  {self.verb:<18}"
        about = ((name, value) for name, value in asdict(self).items() if name in _ABOUT)
        given = ((name, value) for name, value in about if value not in (None, False))
        words = (name if value is True else f"{name}={value}" for name, value in given)
        return " ".join([head, *words])


_ABOUT: Final = frozenset(Step.__struct_fields__) - {"number", "at", "verb", "joined"}


def registrations_of(initial_state: initial_states.InitialState) -> list[Step]:
    """Return the steps that create the clients and users of the initial state."""
    clients = [Step(number=0, at=0, verb=Verb.REGISTER_CLIENT, client=name) for name in initial_state.clients]
    people = [Step(number=0, at=0, verb=Verb.REGISTER_USER, user=name) for name in initial_state.people]
    return clients + people


def check_step(before: Step | None, step: Step) -> None:
    """Raise `ValueError` if `step` may not follow the one before, or could never be made."""
    if before is not None and step.at < before.at:
        raise ValueError(f"expected {before.at} ms or later, got {step.at}")
    if before is not None and step.number <= before.number:
        raise ValueError(f"expected a number above {before.number}, got {step.number}")
    _check_word(step, "change", step.change, _WAYS.get(step.verb, ()))
    _check_word(step, "odd", step.odd, ODD_FIELDS.get(step.verb, ()))
    _check_word(step, "seen", step.seen, initial_states.SEEN if step.verb in CHANGES_A_RECORD else ())


def _check_word(step: Step, field: str, word: str | None, known: Iterable[str]) -> None:
    if word is not None and word not in known:
        expected = f"one of {', '.join(dict.fromkeys(known))}" if known else "nothing"
        raise ValueError(f"expected {expected} as the {field} of {step.verb}, got {word!r}")
