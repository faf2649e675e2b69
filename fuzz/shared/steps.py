"""A step: who does what at which instant, written so that other steps can be deleted around it.

Tokens are named by where they came from (`refresh@9` is the refresh token that step 9's session holds now,
`refresh@9~1` the one before it), never by their text. Where the step they came from is gone, they are
nonsense, and the step still stands.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar

from fuzz.shared.calls import Verb
from fuzz.shared.initial_states import BATCHES, CHANGES, KEEP_SECONDS, PERMISSIONS, USER_CHANGES, InitialState

__all__ = ["Kind", "Ref", "Step", "Twist", "after", "read_lines"]

_HEAD: Final = re.compile(r"([0-9]+)(\+?)\s+([0-9]+(?:\.[0-9]+)?)\s+s\s+(\S+)(.*)")
_REF: Final = re.compile(r"([a-z]+)@([0-9]+)(?:~([0-9]+))?")

_WAYS: Final[Mapping[Verb, Iterable[str]]] = {
    Verb.CHANGE_CLIENT: CHANGES,
    Verb.CHANGE_USER: USER_CHANGES,
    Verb.RESET_SECRET: KEEP_SECONDS,
    Verb.REGISTER_ROLE: PERMISSIONS,
    Verb.CHANGE_ROLE: PERMISSIONS,
    Verb.BATCH: BATCHES,
}
"""What `change` may say of a verb."""

E = TypeVar("E", bound=StrEnum)


class Kind(StrEnum):
    """What a reference refers to."""

    ACCESS = "access"
    REFRESH = "refresh"
    CODE = "code"


class Ref(NamedTuple):
    """A bearer value by its origin: `back` generations before the latest that was seen."""

    kind: Kind
    number: int
    back: int = 0

    def __str__(self) -> str:
        return f"{self.kind}@{self.number}" + (f"~{self.back}" if self.back else "")

    @classmethod
    def parse(cls, text: str) -> "Ref":
        """The reference that prints as `text`."""
        parts = _REF.fullmatch(text)
        if parts is None or parts[1] not in set(Kind):
            raise ValueError(f"expected access@NUMBER, refresh@NUMBER~BACK or code@NUMBER, got {text!r}")
        return cls(Kind(parts[1]), int(parts[2]), int(parts[3] or 0))


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


class Step(NamedTuple):
    """One line of a trace."""

    number: int
    at: int
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
    uri: int = 0
    """Which of the client's addresses."""
    change: str | None = None
    """What an administrator does: the name of one of the tables of `initial_states`."""
    twist: Twist | None = None
    waited: int = 0
    """Milliseconds that it waited inside the server, which end at `at`."""
    unseen: int = 0
    """Milliseconds before these in which the server stood still and it may have come."""
    joined: bool = False
    """Taken in the same turn as the step before it."""
    crash: bool = False
    """The commit fails: nothing is kept and nobody is answered."""
    restart: bool = False
    """Everything that is not stored is lost before this step."""

    def __str__(self) -> str:
        """`+` marks the same turn; seconds since the world began; the verb; what it is about."""
        words = [f"{self.number:>5}{'+' if self.joined else ' '} {self.at / 1000:>12.3f} s  {self.verb:<18}"]
        if self.client is not None:
            words.append(f"client={self.client}")
        if self.user is not None:
            words.append(f"user={self.user}")
        if self.other is not None:
            words.append(f"other={self.other}")
        if self.role is not None:
            words.append(f"role={self.role}")
        if self.by is not None:
            words.append(f"by={self.by}")
        if self.token is not None:
            words.append(f"token={self.token}")
        if self.scope is not None:
            words.append(f"scope={self.scope}")
        if self.agent is not None:
            words.append(f"agent={self.agent}")
        if self.uri:
            words.append(f"uri={self.uri}")
        if self.change is not None:
            words.append(f"change={self.change}")
        if self.twist is not None:
            words.append(f"twist={self.twist}")
        if self.waited:
            words.append(f"waited={self.waited}")
        if self.unseen:
            words.append(f"unseen={self.unseen}")
        if self.crash:
            words.append("crash")
        if self.restart:
            words.append("restart")
        return " ".join(words)

    @classmethod
    def parse(cls, line: str) -> "Step":
        """The step that prints as `line`; whatever stands behind `#` is a remark.

        Raises `ValueError` for a word that no step prints: a story of which a part is overlooked is another.
        """
        head = _HEAD.fullmatch(line.partition("#")[0].strip())
        if head is None:
            raise ValueError(f"expected 'NUMBER SECONDS s VERB ...', got {line.strip()!r}")
        number, joined, seconds, verb, words = head.groups()
        step = cls(
            number=int(number),
            at=round(float(seconds) * 1000),
            verb=_one_of(Verb)(verb),
            joined=bool(joined),
        )._replace(**_values(words.split()))
        ways = _WAYS.get(step.verb, ())
        if step.change is not None and step.change not in ways:
            expected = f"change={'|'.join(dict.fromkeys(ways))}" if ways else "no change="
            raise ValueError(f"expected {expected} with {verb}, got {step.change!r}")
        return step


def registrations_of(initial_state: InitialState) -> list[Step]:
    """The steps by which the clients and people are there before the first step of a world."""
    clients = [Step(number=0, at=0, verb=Verb.REGISTER_CLIENT, client=name) for name in initial_state.clients]
    people = [Step(number=0, at=0, verb=Verb.REGISTER_USER, user=name) for name in initial_state.people]
    return clients + people


def after(before: Step | None, step: Step) -> Step:
    """`step`, if it may stand behind `before`; raises `ValueError`."""
    if before is not None and step.at < before.at:
        raise ValueError(f"expected {before.at / 1000:.3f} s or later, got {step.at / 1000:.3f} s")
    if before is not None and step.number <= before.number:
        raise ValueError(f"expected a number above {before.number}, got {step.number}")
    return step


def read_lines(text: str, head: Callable[[str], str], add: Callable[[str], None]) -> str | None:
    """Give the first line that says something to `head` and the others to `add`; what `head` made of it, None
    where nothing is said. Raises `ValueError`, which names the line."""
    found = None
    for place, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].strip()
        if not said:
            continue
        try:
            if found is None:
                found = head(said)
            else:
                add(said)
        except ValueError as error:
            raise ValueError(f"line {place}: {error}") from None
    return found


# --- reading words


def _one_of(kind: type[E]) -> Callable[[str], E]:
    def member(text: str) -> E:
        if text not in set(kind):
            raise ValueError(f"expected one of {', '.join(kind)}, got {text!r}")
        return kind(text)

    return member


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"expected a number, got {text!r}")
    return int(text)


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    **dict.fromkeys(("client", "user", "other", "role", "scope", "agent", "change"), str),
    **dict.fromkeys(("by", "token"), Ref.parse),
    **dict.fromkeys(("uri", "waited", "unseen"), _number),
    "twist": _one_of(Twist),
}
_FLAGS: Final = ("crash", "restart")


def _values(words: Iterable[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name in values:
            raise ValueError(f"expected {name} once, got {word!r} too")
        if word in _FLAGS:
            values[word] = True
        elif equals and name in _READERS:
            values[name] = _READERS[name](text)
        else:
            known = [*(f"{known}=" for known in _READERS), *_FLAGS]
            raise ValueError(f"expected one of {', '.join(known)}, got {word!r}")
    return values
