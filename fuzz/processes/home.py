"""A client and its user as they stand: what they were told, and how they ask the server anything.

Nobody else touches their sessions, and they never do two things at once; so all is known of each session but
for the one request that is `pending`.
"""

import time
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Final

from fuzz.processes.connection import Heard, Line, basic
from fuzz.processes.known import Kind, Pending, Session, Tally, Violation

__all__ = ["REDIRECT_URI", "Home"]

REDIRECT_URI: Final = "https://app.example/callback"
_GRACE_SECONDS: Final = 28.0
"""A little less than the specification's 30: the driver's clock begins before the server's."""
_LONGEST_LIVES: Final = {"accessTokenTtl": 86_400, "refreshTokenTtl": 2_592_000}


class Home:
    """A client, its user, and their sessions."""

    def __init__(
        self, number: int, chance: Random, line: Line, tally: Tally, admin: Callable[[], str]
    ) -> None:
        self.client_id = f"client-{number}"
        self.username = f"user-{number}"
        self.password = f"the-password-of-user-{number}"
        self.secret = ""
        self.user_id = ""
        self.line = line
        self.chance = chance
        self.tally = tally
        self.admin = admin
        self.login: str | None = None
        self.live: list[Session] = []
        self.ended: deque[Session] = deque(maxlen=6)
        self.used_codes: deque[tuple[str, str]] = deque(maxlen=3)
        self.pending: Pending | None = None
        self.drawn = 0

    async def move_in(self) -> None:
        """Register both, over the interface."""
        user = {"username": self.username, "name": self.username, "mustChangePassword": False}
        heard = await self.line.send_json(
            "POST", "/api/iam/users", self.admin(), {**user, "password": self.password}
        )
        self.must(heard, 201, "a user is registered")
        self.user_id = str(heard.data["id"])
        heard = await self.line.send_json(
            "POST",
            "/api/oauth/clients",
            self.admin(),
            {
                "clientId": self.client_id,
                "name": self.client_id,
                "redirectUris": [REDIRECT_URI],
                "grantTypes": ["authorization_code", "refresh_token", "client_credentials"],
                "scopes": ["user.read"],
                "autoApproveScopes": [],
                **_LONGEST_LIVES,
            },
        )
        self.must(heard, 201, "a client is registered")
        self.secret = self.told(str(heard.data["secret"]))
        self.tally.secrets.add(self.password)

    @property
    def basic(self) -> tuple[str, str]:
        return basic(self.client_id, self.secret)

    async def token(self, *, agent: str = "household", **form: str | None) -> Heard:
        return await self.line.post_form("/api/oauth2/token", [self.basic, ("User-Agent", agent)], **form)

    async def redeem(self, code: str, verifier: str) -> Heard:
        return await self.token(
            grant_type="authorization_code", code=code, redirect_uri=REDIRECT_URI, code_verifier=verifier
        )

    async def set_enabled(self, enabled: bool) -> Heard:
        path = f"/api/oauth/clients/{self.client_id}/enabled"
        return await self.line.send_json("PUT", path, self.admin(), {"enabled": enabled})

    async def sign_in_if_need_be(self) -> None:
        if self.login is not None:
            return
        content = {"username": self.username, "password": self.password}
        self.ask(Kind.NOTHING)
        heard = await self.line.send_json("POST", "/api/auth/login", None, content)
        self.must(heard, 200, "a sign-in")
        self.login = self.told(str(heard.data["accessToken"]))
        self.told(str(heard.data["refreshToken"]))
        self.acknowledge("signed in")

    async def is_active(self, token: str) -> bool:
        heard = await self.line.post_form("/api/oauth2/introspect", [self.basic], token=token)
        self.tally.checks += 1
        self.must(heard, 200, "an introspection")
        return bool(heard.json()["active"])

    def some_session(self) -> Session | None:
        sessions = self.of_the_user()
        return self.chance.choice(sessions) if sessions else None

    def of_the_user(self) -> list[Session]:
        return [session for session in self.live if session.refresh is not None]

    def enter(self, heard: Heard) -> None:
        content = heard.json()
        self.live.append(Session(self.told(content["access_token"]), self.told(content["refresh_token"])))
        self.acknowledge("code redeemed")

    def rotate(self, session: Session, heard: Heard, since: float) -> None:
        content = heard.json()
        session.spent_access, session.spent_refresh = session.access, session.refresh
        session.access = self.told(content["access_token"])
        session.refresh = self.told(content["refresh_token"])
        session.rotated = since
        self.acknowledge("rotated")

    def end(self, sessions: list[Session]) -> None:
        for session in list(sessions):
            self.live.remove(session)
            self.ended.append(session)

    def is_late(self, since: float) -> bool:
        return time.monotonic() - since > _GRACE_SECONDS

    def told(self, text: str) -> str:
        self.tally.secrets.add(text)
        return text

    def ask(self, kind: Kind, session: Session | None = None, code: str = "") -> None:
        self.pending = Pending(kind, time.monotonic(), session, code)

    def acknowledge(self, what: str) -> None:
        self.tally.acknowledged[what] += 1
        self.done()

    def done(self) -> None:
        self.pending = None

    def must(self, heard: Heard, status: int, what: str) -> None:
        if heard.status != status:
            raise self.violation(f"{what} is answered {heard.status} {heard.error}")

    def must_be_refused(self, heard: Heard, what: str) -> None:
        self.tally.checks += 1
        if (heard.status, heard.error) != (400, "invalid_grant"):
            raise self.violation(f"{what} is answered {heard.status} {heard.error}")

    def violation(self, text: str) -> Violation:
        return Violation(f"{self.client_id}: {text}")
