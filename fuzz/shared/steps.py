"""A step: who does what at which instant, written so that other steps can be deleted around it.

Tokens are named by where they came from (the refresh token that step 9's session holds now, the one before
it), never by their text. Where the step they came from is gone, they are nonsense, and the step still stands.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import asdict

from fuzz.shared.calls import ABOUT_TEXT_CODES, WITH_A_CODE, Verb
from fuzz.shared.initial_states import (
    BATCHES,
    CHANGES,
    CHOICES,
    ENTERED,
    GIVEN_SECRETS,
    IMPORTS,
    KEEP_SECONDS,
    NUMBERS,
    PERMISSIONS,
    SEEN,
    USER_CHANGES,
    InitialState,
)
from fuzz.shared.odd_fields import ODD_FIELDS

_WAYS: Final[Mapping[Verb, Iterable[str]]] = {
    Verb.CHANGE_CLIENT: CHANGES,
    Verb.CHANGE_USER: USER_CHANGES,
    Verb.RESET_SECRET: KEEP_SECONDS,
    Verb.GIVE_SECRET: GIVEN_SECRETS,
    Verb.IMPORT_USER: IMPORTS,
    Verb.IMPORT_ROLE: PERMISSIONS,
    Verb.IMPORT_CLIENT: (*CHANGES, *IMPORTS),
    Verb.REGISTER_ROLE: PERMISSIONS,
    Verb.CHANGE_ROLE: PERMISSIONS,
    Verb.BATCH: BATCHES,
    Verb.SHOW_ACCOUNT: PERMISSIONS,
    Verb.CREATE_TOKEN: PERMISSIONS,
    Verb.CHOOSE: CHOICES,
    Verb.ACCEPT_INVITATION: ("earlier",),
    **dict.fromkeys(WITH_A_CODE, ENTERED),
    **dict.fromkeys(ABOUT_TEXT_CODES, (*NUMBERS, "theirs", "fresh")),
}
"""What `change` may say of a verb."""
CHANGES_A_RECORD: Final = (Verb.CHANGE_CLIENT, Verb.CHANGE_USER, Verb.CHANGE_ROLE)

Natural = Annotated[int, Meta(ge=0)]


class Kind(StrEnum):
    """What a reference refers to."""

    ACCESS = "access"
    REFRESH = "refresh"
    CODE = "code"
    TICKET = "ticket"


class Ref(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A bearer value by its origin: `back` generations before the latest that was seen."""

    kind: Kind
    number: Natural
    """Of the step that began its session."""
    back: Natural = 0

    def __str__(self) -> str:
        return f"{self.kind}@{self.number}" + (f"~{self.back}" if self.back else "")


class Twist(StrEnum):
    """What is wrong with a request that would else be in order."""

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
    """Somebody changes the password while the one that is presented is verified."""
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
    """Whom it is done to or by: an account's name."""
    other: str | None = None
    """A second account, client or role of a batch."""
    role: str | None = None
    by: Ref | None = None
    """The login that a caller of the backend presents; at the administration calls None is the operator."""
    token: Ref | None = None
    scope: str | None = None
    agent: str | None = None
    uri: Natural = 0
    """Which of the client's addresses."""
    change: str | None = None
    """What an administrator does: the name of one of the tables of `initial_states`."""
    odd: str | None = None
    """What is odd in the record that is sent."""
    seen: str | None = None
    """What the caller says they saw of it."""
    twist: Twist | None = None
    waited: Natural = 0
    """Milliseconds that it waited inside the server, which end at `at`."""
    unseen: Natural = 0
    """Milliseconds before these in which the server stood still and it may have come."""
    joined: bool = False
    """Taken in the same turn as the step before it."""
    crash: bool = False
    """The commit fails: nothing is kept and nobody is answered."""
    restart: bool = False
    """Everything that is not stored is lost before this step."""

    def __str__(self) -> str:
        """As a person reads it: `+` marks the same turn; seconds since the world began; who does what."""
        head = f"{self.number:>5}{'+' if self.joined else ' '} {self.at / 1000:>12.3f} s  {self.verb:<18}"
        about = ((name, value) for name, value in asdict(self).items() if name in _ABOUT)
        words = (
            name if value is True else f"{name}={value}"
            for name, value in about
            if value not in (None, False)
        )
        return " ".join([head, *words])


_ABOUT: Final = frozenset(Step.__struct_fields__) - {"number", "at", "verb", "joined"}


def registrations_of(initial_state: InitialState) -> list[Step]:
    """The steps by which the clients and people are there before the first step of a world."""
    clients = [Step(number=0, at=0, verb=Verb.REGISTER_CLIENT, client=name) for name in initial_state.clients]
    people = [Step(number=0, at=0, verb=Verb.REGISTER_USER, user=name) for name in initial_state.people]
    return clients + people


def check_step(before: Step | None, step: Step) -> None:
    """Raises `ValueError` where `step` may not stand behind the one before, or no such step is ever made."""
    if before is not None and step.at < before.at:
        raise ValueError(f"expected {before.at} ms or later, got {step.at}")
    if before is not None and step.number <= before.number:
        raise ValueError(f"expected a number above {before.number}, got {step.number}")
    _check_word(step, "change", step.change, _WAYS.get(step.verb, ()))
    _check_word(step, "odd", step.odd, ODD_FIELDS.get(step.verb, ()))
    _check_word(step, "seen", step.seen, SEEN if step.verb in CHANGES_A_RECORD else ())


def _check_word(step: Step, field: str, word: str | None, known: Iterable[str]) -> None:
    if word is not None and word not in known:
        expected = f"one of {', '.join(dict.fromkeys(known))}" if known else "nothing"
        raise ValueError(f"expected {expected} as the {field} of {step.verb}, got {word!r}")
