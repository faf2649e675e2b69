"""One client and its user on a real server: what they know, and what must stand of it.

They never do two things at once and nobody else touches their sessions, so all is known of each session but
for the one request that is `pending`.
"""

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Final

from fuzz.processes import api
from fuzz.processes.api import InvariantBroken
from fuzz.processes.connection import Connection
from fuzz.shared.http_client import Response, basic

_GRACE_SECONDS: Final = 28.0
"""A little less than the specification's 30: the driver's clock begins before the server's."""
_LONGEST_LIVES: Final = {"accessTokenTtl": 86_400, "refreshTokenTtl": 2_592_000}


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
    CHANGE_PASSWORD = "change-password"
    CHANGE_NUMBER = "change-number"
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
    """What was acknowledged and what was not, of all tenants."""

    acknowledged: Counter[str] = field(default_factory=Counter)
    """Changes by their kind."""
    unknown: Counter[str] = field(default_factory=Counter)
    """Requests that changed something or not, by kind; each was resolved afterwards."""
    checks: int = 0
    """Questions about what had been acknowledged."""
    secrets: set[str] = field(default_factory=set)
    """Every token, code and secret that was told."""


class Tenant:
    """A client, its user, and their sessions."""

    def __init__(
        self, number: int, connection: Connection, random: Random, tally: Tally, admin: Callable[[], str]
    ) -> None:
        """`admin` gives the access token of an administrator."""
        self.client_id = f"client-{number}"
        self.username = f"user-{number}"
        self.password = f"the-password-of-user-{number}"
        self.secret = ""
        self.user_id = ""
        self.connection = connection
        self.random = random
        self.tally = tally
        self.admin = admin
        self.login: str | None = None
        self.live: list[Session] = []
        self.ended: deque[Session] = deque(maxlen=6)
        self.used_codes: deque[tuple[str, str]] = deque(maxlen=3)
        self.pending: Pending | None = None
        self.drawn = 0
        self.next_password = self.next_number = ""
        """What was asked for last, and stands or does not."""

    # --- what is asked, each raising `Lost`

    async def move_in(self) -> None:
        """Register both, over the interface."""
        connection, admin = self.connection, self.admin()
        self.user_id = await api.register_user(connection, admin, self.username, self.password)
        self.secret = self.keep(
            await api.register_client(connection, admin, self.client_id, **_LONGEST_LIVES)
        )
        self.tally.secrets.add(self.password)

    async def ask_token(self, *, agent: str = "tenant", **form: str | None) -> Response:
        fields = [self.basic, ("User-Agent", agent)]
        return await self.connection.post_form("/api/oauth2/token", fields, **form)

    async def redeem(self, code: str, verifier: str) -> Response:
        return await self.ask_token(**api.redemption_form(code, verifier))

    async def refresh(self, token: str | None, *, agent: str = "tenant") -> Response:
        return await self.ask_token(agent=agent, grant_type="refresh_token", refresh_token=token)

    async def administer(self, method: str, path: str, **content: object) -> Response:
        return await self.connection.send_json(method, f"/api/{path}", self.admin(), content or None)

    async def sign_in_if_need_be(self) -> None:
        if self.login is not None:
            return
        self.expect_loss(Kind.NOTHING)
        response = await api.sign_in(self.connection, self.username, self.password)
        self.login = self.keep(str(response.data["accessToken"]))
        self.keep(str(response.data["refreshToken"]))
        self.acknowledge("signed in")

    async def is_active(self, token: str) -> bool:
        response = await self.connection.post_form("/api/oauth2/introspect", [self.basic], token=token)
        self.tally.checks += 1
        return bool(self.expect(response, 200, "an introspection").json()["active"])

    # --- what is known

    @property
    def basic(self) -> tuple[str, str]:
        return basic(self.client_id, self.secret)

    @property
    def of_user(self) -> list[Session]:
        """The live sessions that are not a machine's."""
        return [session for session in self.live if session.refresh is not None]

    def choose_session(self) -> Session | None:
        sessions = self.of_user
        return self.random.choice(sessions) if sessions else None

    def enter(self, response: Response) -> None:
        """A session began."""
        content = response.json()
        self.live.append(Session(self.keep(content["access_token"]), self.keep(content["refresh_token"])))
        self.acknowledge("code redeemed")

    def rotate(self, session: Session, response: Response, since: float) -> None:
        """A session has a new pair."""
        content = response.json()
        session.spent_access, session.spent_refresh = session.access, session.refresh
        session.access = self.keep(content["access_token"])
        session.refresh = self.keep(content["refresh_token"])
        session.rotated = since
        self.acknowledge("rotated")

    def end(self, sessions: list[Session]) -> None:
        """Sessions ended."""
        for session in list(sessions):
            self.live.remove(session)
            self.ended.append(session)

    def is_late(self, since: float) -> bool:
        return time.monotonic() - since > _GRACE_SECONDS

    def keep(self, text: str) -> str:
        """A secret, which is looked for in all files afterwards."""
        self.tally.secrets.add(text)
        return text

    def expect_loss(self, kind: Kind, session: Session | None = None, code: str = "") -> None:
        """The answer to what is asked next may be lost."""
        self.pending = Pending(kind, time.monotonic(), session, code)

    def acknowledge(self, what: str) -> None:
        """The answer came, and says that this was done."""
        self.tally.acknowledged[what] += 1
        self.pending = None

    # --- what must stand

    def expect(self, response: Response, status: int, what: str) -> Response:
        return api.expect(response, status, f"{self.client_id}: {what}")

    def expect_refusal(self, response: Response, what: str) -> None:
        self.tally.checks += 1
        if (response.status, response.error) != (400, "invalid_grant"):
            raise self.violation(f"{what} is answered {response.status} {response.error}")

    def violation(self, text: str) -> InvariantBroken:
        return InvariantBroken(f"{self.client_id}: {text}")

    async def check(self) -> None:
        """Everything that was acknowledged stands, and nothing that ended is back. Raises `Lost`."""
        for session in self.live:
            await self.check_live(session)
            for spent in (session.spent_access, session.spent_refresh):
                if spent is not None and await self.is_active(spent):
                    raise self.violation("a token that was rotated away is active again")
        for session in self.ended:
            for token in (*session.tokens, session.spent_access, session.spent_refresh):
                if token is not None and await self.is_active(token):
                    raise self.violation("a session that ended is back")
            for refresh in (session.refresh, session.spent_refresh):
                if refresh is not None:
                    response = await self.refresh(refresh)
                    self.expect_refusal(response, "a refresh token of a session that ended")
        for code, verifier in self.used_codes:
            if self.pending is None or code != self.pending.code:
                self.expect_refusal(await self.redeem(code, verifier), "a code that was used")

    async def check_live(self, session: Session) -> None:
        """All tokens of the session are good, and they speak for the tenant's user. Raises `Lost`."""
        for token in session.tokens:
            if not await self.is_active(token):
                raise self.violation("a session that was issued, and never ended, is gone")
        if session.refresh is not None:
            response = await self.connection.send_json("GET", "/api/oauth2/userinfo", session.access)
            if response.status != 200 or response.data.get("sub") != self.user_id:
                raise self.violation(f"user-info of a live session is answered {response.status}")
