"""A step: who does what at which instant, written so that other steps can be deleted around it.

Tokens are named by where they came from (`refresh@9` is the refresh token that step 9's session holds now,
`refresh@9~1` the one before it), never by their text. Where the step they came from is gone, they are
nonsense, and the step still stands.
"""

from enum import StrEnum
from typing import NamedTuple

from fuzz.calls import Verb

__all__ = ["Kind", "Ref", "Step", "Twist"]


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
        kind, _, place = text.partition("@")
        number, _, back = place.partition("~")
        return cls(Kind(kind), int(number), int(back or 0))


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
    """What an administrator does: the name of one of the tables of `beginnings`."""
    twist: Twist | None = None
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
        if self.crash:
            words.append("crash")
        if self.restart:
            words.append("restart")
        return " ".join(words)

    @classmethod
    def parse(cls, line: str) -> "Step":
        """The step that prints as `line`; whatever stands behind `#` is a remark."""
        number, seconds, unit, verb, *words = line.partition("#")[0].split()
        joined = number.endswith("+")
        if unit != "s":
            raise ValueError(f"expected 'number seconds s verb ...', got {line!r}")
        values = dict(word.partition("=")[::2] for word in words)
        by, token, twist = values.get("by"), values.get("token"), values.get("twist")
        return cls(
            number=int(number.rstrip("+")),
            at=round(float(seconds) * 1000),
            verb=Verb(verb),
            client=values.get("client"),
            user=values.get("user"),
            other=values.get("other"),
            role=values.get("role"),
            by=Ref.parse(by) if by else None,
            token=Ref.parse(token) if token else None,
            scope=values.get("scope"),
            agent=values.get("agent"),
            uri=int(values.get("uri", 0)),
            change=values.get("change"),
            twist=Twist(twist) if twist else None,
            joined=joined,
            crash="crash" in values,
            restart="restart" in values,
        )
