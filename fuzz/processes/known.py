"""What a household knows: its sessions, the one request whose answer was lost, and the tally of them all."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Kind", "Pending", "Session", "Tally", "Violation"]


class Violation(AssertionError):
    """Something that must never happen; the text has no token."""


class Kind(StrEnum):
    """What was asked when the answer was lost."""

    REDEEM = "redeem"
    REFRESH = "refresh"
    REVOKE = "revoke"
    REPLAY = "replay"
    FORCE_OUT = "force-out"
    WITHDRAW = "withdraw"
    DISABLE = "disable"
    ENABLE = "enable"
    RESET_SECRET = "reset-secret"
    NOTHING = "of no consequence"
    """Whatever came of it, nobody can use it: a code or a token that was never told."""


@dataclass
class Session:
    """A session as its client knows it."""

    access: str
    refresh: str | None
    spent_access: str | None = None
    spent_refresh: str | None = None
    rotated: float = 0.0
    """When the latest rotation was asked for, by the driver's clock."""

    @property
    def tokens(self) -> list[str]:
        return [self.access, *([] if self.refresh is None else [self.refresh])]


@dataclass
class Pending:
    """A request without an answer."""

    kind: Kind
    since: float
    session: Session | None = None
    code: str = ""
    counted: bool = False


@dataclass
class Tally:
    """What was acknowledged and what was not, of all households."""

    acknowledged: Counter[str] = field(default_factory=Counter)
    """Changes by their kind."""
    unknown: Counter[str] = field(default_factory=Counter)
    """Requests that changed something or not, by kind; each was resolved afterwards."""
    checks: int = 0
    """Questions about what had been acknowledged."""
    secrets: set[str] = field(default_factory=set)
    """Every token, code and secret that was told."""
