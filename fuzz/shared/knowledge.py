"""Knowledge about clients, users, codes and sessions that comes from answers alone."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from fuzz.shared.initial_states import ClientSettings, end_of_day


@dataclass(slots=True)
class KnownClient:
    """A client as its administrator knows it."""

    client_id: str
    settings: ClientSettings
    secret: str
    old_secret: str
    old_until: int = 0
    """Instant until which the old secret works."""
    last_until: float = math.inf
    """End of the old secret's last day, as set while it was the current secret."""
    is_used: bool = False
    """Whether a use of the current secret is recorded."""
    enabled: bool = True
    deleted: bool = False

    def is_proved_by(self, secret: str | None, now: int) -> bool:
        """Whether the client may authenticate with this secret."""
        if not self.enabled or self.deleted:
            return False
        is_present = secret == self.secret and now < self.secret_until
        return is_present or (secret == self.old_secret and now < self.old_until)

    @property
    def secret_until(self) -> float:
        """End of the current secret's last day."""
        return end_of_day(self.settings.expires_on) if self.settings.expires_on else math.inf


@dataclass(slots=True)
class KnownFactor:
    """A second factor as its owner knows it."""

    secret: str
    recovery: tuple[str, ...]
    used: list[str] = field(default_factory=list)
    """Accepted codes, in order."""
    wrong_at: list[int] = field(default_factory=list)
    """Times of refused codes since the last accepted one."""


class KnownTicket(NamedTuple):
    """A ticket that a sign-in gave in place of a session."""

    text: str
    user: "KnownUser"
    username: str
    """User name at the time of the sign-in."""
    sets_up: bool


@dataclass(slots=True)
class KnownUser:
    """An account as its owner and the administrators know it."""

    user_id: str
    username: str
    password: str
    phone: str | None = None
    roles: tuple[str, ...] = ()
    enabled: bool = True
    offered: KnownFactor | None = None
    factor: KnownFactor | None = None


@dataclass(slots=True)
class KnownPair:
    """A pair of tokens that an answer showed."""

    access: str
    refresh: str | None
    at: int
    agent: str | None
    expires_in: int


@dataclass(slots=True)
class KnownSession:
    """A session that an answer began."""

    number: int
    session_id: str | None
    client_id: str | None
    """None for a login or a personal access token."""
    user_id: str | None
    username: str | None
    scope: tuple[str, ...]
    started: int
    until: int
    pairs: list[KnownPair]
    spent_at: dict[int, tuple[int, str | None]] = field(default_factory=dict)
    """Instant and User-Agent of the first use of each pair's refresh token."""
    seems_over: bool = False
    """Whether the latest attempt with a token of its latest pair was refused."""

    @property
    def is_login(self) -> bool:
        return self.client_id is None


@dataclass(slots=True)
class KnownCode:
    """A code that reached its client."""

    number: int
    text: str
    client_id: str
    user_id: str
    redirect_uri: str
    verifier: str
    scope: tuple[str, ...]
    at: int
    redeemed: int = 0
    tried: bool = False


class Place(NamedTuple):
    """The session or code, and the generation, of a token's text."""

    session: KnownSession
    generation: int
    is_access: bool
