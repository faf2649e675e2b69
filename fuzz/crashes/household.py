"""One client and one user who never do two things at once: what they were told, and what must therefore hold.

As nobody else touches their sessions, all is known of each but for the one request whose answer was lost. For
that one `Pending` remembers what was asked, and `resolve` finds out what came of it: only what the
specification allows either way is accepted.
"""

import time
from base64 import urlsafe_b64encode
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from random import Random
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from fuzz.crashes.line import Heard, Line, basic, bearer

__all__ = ["Household", "Session", "Tally", "Violation"]

REDIRECT_URI: Final = "https://app.example/callback"
_GRACE_SECONDS: Final = 28.0
"""A little less than the specification's 30: the driver's clock begins before the server's."""
_MOST_LIVE: Final = 4
_LONGEST_LIVES: Final = {"accessTokenTtl": 86_400, "refreshTokenTtl": 2_592_000}


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


class Household:
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
        self._chance = chance
        self._tally = tally
        self._admin = admin
        self._login: str | None = None
        self._live: list[Session] = []
        self._ended: deque[Session] = deque(maxlen=6)
        self._used_codes: deque[tuple[str, str]] = deque(maxlen=3)
        self._pending: Pending | None = None
        self._drawn = 0

    # --- how it begins

    async def move_in(self) -> None:
        """Register both, over the interface."""
        user = {"username": self.username, "name": self.username, "mustChangePassword": False}
        heard = await self.line.send_json(
            "POST", "/api/iam/users", self._admin(), {**user, "password": self.password}
        )
        self._must(heard, 201, "a user is registered")
        self.user_id = str(heard.data["id"])
        heard = await self.line.send_json(
            "POST",
            "/api/oauth/clients",
            self._admin(),
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
        self._must(heard, 201, "a client is registered")
        self.secret = self._told(str(heard.data["secret"]))
        self._tally.secrets.add(self.password)

    # --- a life

    async def step(self) -> None:
        """Do one thing. Raises `Lost` where its answer did not come; `resolve` must follow."""
        deeds: list[tuple[int, Callable[[], Coroutine[Any, Any, None]]]] = [
            (20, self._machine),
            (15, self._authorize),
            (30, self._refresh),
            (10, self._retry),
            (10, self._revoke),
            (8, self._look),
            (3, self._replay),
            (1, self._force_out),
            (1, self._withdraw),
            (1, self._disable),
            (1, self._reset_secret),
        ]
        (deed,) = self._chance.choices([deed for _, deed in deeds], [weight for weight, _ in deeds])
        if len(self._live) >= _MOST_LIVE:
            deed = self._chance.choice([self._revoke, self._refresh])
        await deed()

    async def _machine(self) -> None:
        self._ask(Kind.NOTHING)
        heard = await self._token(grant_type="client_credentials")
        self._must(heard, 200, "client credentials")
        self._live.append(Session(self._told(heard.json()["access_token"]), None))
        self._acknowledge("issued to a machine")

    async def _authorize(self) -> None:
        await self._sign_in_if_need_be()
        self._drawn += 1
        verifier = sha256(f"{self.client_id} {self._drawn} {self._chance.random()}".encode()).hexdigest()
        challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        self._ask(Kind.NOTHING)
        heard = await self.line.send_json(
            "POST",
            "/api/oauth2/authorize",
            self._login,
            {
                "response_type": "code",
                "client_id": self.client_id,
                "redirect_uri": REDIRECT_URI,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
                "state": verifier[:8],
                "approve": True,
            },
        )
        self._must(heard, 200, "a consent")
        code = self._told(parse_qs(urlsplit(heard.data["redirectTo"]).query)["code"][0])
        self._acknowledge("code")
        self._used_codes.append((code, verifier))
        self._ask(Kind.REDEEM, code=code)
        heard = await self._redeem(code, verifier)
        self._must(heard, 200, "an exchange")
        self._enter(heard)

    async def _refresh(self) -> None:
        session = self._some_session()
        if session is None:
            return
        spent = session.refresh
        self._ask(Kind.REFRESH, session)
        heard = await self._token(grant_type="refresh_token", refresh_token=spent)
        self._must(heard, 200, "a refresh")
        assert self._pending is not None
        self._rotate(session, heard, self._pending.since)

    async def _retry(self) -> None:
        session = self._some_session()
        if session is None or session.spent_refresh is None or self._is_late(session.rotated):
            return
        self._ask(Kind.NOTHING)
        heard = await self._token(grant_type="refresh_token", refresh_token=session.spent_refresh)
        self._must(heard, 200, "a retry within the grace")
        content = heard.json()
        if (content["access_token"], content["refresh_token"]) != (session.access, session.refresh):
            raise self._violation("a retry within the grace brings another pair")
        self._done()
        self._tally.checks += 1

    async def _revoke(self) -> None:
        if not self._live:
            return
        session = self._chance.choice(self._live)
        self._ask(Kind.REVOKE, session)
        heard = await self.line.post_form(
            "/api/oauth2/revoke", [self._basic], token=self._chance.choice(session.tokens)
        )
        self._must(heard, 200, "a revocation")
        self._end([session])
        self._acknowledge("revoked")

    async def _replay(self) -> None:
        session = self._some_session()
        if session is None or session.spent_refresh is None:
            return
        self._ask(Kind.REPLAY, session)
        heard = await self._token(
            agent="somebody else", grant_type="refresh_token", refresh_token=session.spent_refresh
        )
        if (heard.status, heard.error) != (400, "invalid_grant"):
            raise self._violation(f"a replay from elsewhere is answered {heard.status} {heard.error}")
        self._end([session])
        self._acknowledge("ended by a replay")

    async def _look(self) -> None:
        if self._live:
            self._ask(Kind.NOTHING)
            await self._must_live(self._chance.choice(self._live))
            self._done()

    async def _force_out(self) -> None:
        self._ask(Kind.FORCE_OUT)
        heard = await self.line.send_json(
            "POST", f"/api/iam/users/{self.user_id}/force-logout", self._admin()
        )
        self._must(heard, 200, "a forced log-out")
        self._end(self._of_the_user())
        self._login = None
        self._acknowledge("user forced out")

    async def _withdraw(self) -> None:
        if not self._of_the_user():
            return
        await self._sign_in_if_need_be()
        self._ask(Kind.WITHDRAW)
        heard = await self.line.send_json("DELETE", f"/api/auth/grants/{self.client_id}", self._login)
        self._must(heard, 200, "a withdrawal")
        self._end(self._of_the_user())
        self._acknowledge("consent withdrawn")

    async def _disable(self) -> None:
        self._ask(Kind.DISABLE)
        self._must(await self._set_enabled(False), 200, "a client is disabled")
        self._end(self._live)
        self._acknowledge("client disabled")
        await self._enable()

    async def _enable(self) -> None:
        self._ask(Kind.ENABLE)
        self._must(await self._set_enabled(True), 200, "a client is enabled")
        self._acknowledge("client enabled")

    async def _reset_secret(self) -> None:
        self._ask(Kind.RESET_SECRET)
        heard = await self.line.send_json(
            "POST", f"/api/oauth/clients/{self.client_id}/secret", self._admin()
        )
        self._must(heard, 200, "a secret is reset")
        self.secret = self._told(str(heard.data["secret"]))
        self._acknowledge("secret reset")

    # --- after an answer was lost

    async def resolve(self) -> None:
        """Find out what came of the request whose answer was lost. Raises `Lost`, and may be called again."""
        pending = self._pending
        if pending is None:
            return
        if not pending.counted:
            pending.counted = True
            self._tally.unknown[pending.kind.value] += 1
        match pending.kind:
            case Kind.NOTHING:
                pass
            case Kind.REDEEM:
                await self._resolve_redemption(pending)
            case Kind.REFRESH:
                await self._resolve_refresh(pending)
            case Kind.REVOKE | Kind.REPLAY:
                assert pending.session is not None
                await self._resolve_ending([pending.session])
            case Kind.FORCE_OUT:
                await self._resolve_ending(self._of_the_user())
                self._login = None
            case Kind.WITHDRAW:
                await self._resolve_ending(self._of_the_user())
            case Kind.DISABLE:
                await self._resolve_disabling()
            case Kind.ENABLE:
                await self._enable()
            case Kind.RESET_SECRET:
                await self._resolve_secret()
        self._done()

    async def _resolve_redemption(self, pending: Pending) -> None:
        (verifier,) = [verifier for code, verifier in self._used_codes if code == pending.code]
        heard = await self._redeem(pending.code, verifier)
        if heard.status == 200:
            self._enter(heard)
        else:  # it was redeemed, and nobody knows the tokens
            self._must_be_refused(heard, "a code whose redemption was not answered")

    async def _resolve_refresh(self, pending: Pending) -> None:
        """Within the grace the same request works, whether it was the first time or not."""
        session = pending.session
        assert session is not None
        heard = await self._token(grant_type="refresh_token", refresh_token=session.refresh)
        if heard.status == 200:
            self._rotate(session, heard, pending.since)
        elif self._is_late(pending.since):
            self._must_be_refused(heard, "a late retry of a refresh that was not answered")
            self._end([session])
        else:
            raise self._violation(f"a refresh whose answer was lost is refused: {heard.status} {heard.error}")

    async def _resolve_ending(self, sessions: list[Session]) -> None:
        """All of them live, or none does; never a part."""
        live = {await self._is_active(token) for session in sessions for token in session.tokens}
        if len(live) > 1:
            raise self._violation("an ending that was not answered took a part of the sessions")
        if live == {False}:
            self._end(sessions)

    async def _resolve_disabling(self) -> None:
        heard = await self.line.send_json("GET", f"/api/oauth/clients/{self.client_id}", self._admin())
        self._must(heard, 200, "a client is looked at")
        if not heard.data["enabled"]:
            self._end(self._live)
            await self._enable()

    async def _resolve_secret(self) -> None:
        heard = await self.line.post_form("/api/oauth2/introspect", [self._basic], token="nobody's")
        if heard.status == 200:
            return
        if (heard.status, heard.error) != (401, "invalid_client"):
            raise self._violation(f"an old secret is answered {heard.status} {heard.error}")
        await self._reset_secret()

    # --- what must hold

    async def check(self) -> None:
        """Everything that was acknowledged stands, and nothing that ended is back. Raises `Lost`."""
        for session in self._live:
            await self._must_live(session)
            for spent in (session.spent_access, session.spent_refresh):
                if spent is not None and await self._is_active(spent):
                    raise self._violation("a token that was rotated away is active again")
        for session in self._ended:
            for token in session.tokens:
                if await self._is_active(token):
                    raise self._violation("a session that ended is back")
            if session.refresh is not None:
                heard = await self._token(grant_type="refresh_token", refresh_token=session.refresh)
                self._must_be_refused(heard, "the refresh token of a session that ended")
        for code, verifier in self._used_codes:
            if self._pending is None or code != self._pending.code:
                self._must_be_refused(await self._redeem(code, verifier), "a code that was used")

    async def _must_live(self, session: Session) -> None:
        for token in session.tokens:
            if not await self._is_active(token):
                raise self._violation("a session that was issued, and never ended, is gone")
        if session.refresh is not None:
            heard = await self.line.ask("GET", "/api/oauth2/userinfo", [bearer(session.access)])
            if heard.status != 200 or heard.data.get("sub") != self.user_id:
                raise self._violation(f"user-info of a live session is answered {heard.status}")

    async def _is_active(self, token: str) -> bool:
        heard = await self.line.post_form("/api/oauth2/introspect", [self._basic], token=token)
        self._tally.checks += 1
        self._must(heard, 200, "an introspection")
        return bool(heard.json()["active"])

    # --- small things

    @property
    def _basic(self) -> tuple[str, str]:
        return basic(self.client_id, self.secret)

    async def _token(self, *, agent: str = "household", **form: str | None) -> Heard:
        return await self.line.post_form("/api/oauth2/token", [self._basic, ("User-Agent", agent)], **form)

    async def _redeem(self, code: str, verifier: str) -> Heard:
        return await self._token(
            grant_type="authorization_code", code=code, redirect_uri=REDIRECT_URI, code_verifier=verifier
        )

    async def _set_enabled(self, enabled: bool) -> Heard:
        path = f"/api/oauth/clients/{self.client_id}/enabled"
        return await self.line.send_json("PUT", path, self._admin(), {"enabled": enabled})

    async def _sign_in_if_need_be(self) -> None:
        if self._login is not None:
            return
        content = {"username": self.username, "password": self.password}
        self._ask(Kind.NOTHING)
        heard = await self.line.send_json("POST", "/api/auth/login", None, content)
        self._must(heard, 200, "a sign-in")
        self._login = self._told(str(heard.data["accessToken"]))
        self._told(str(heard.data["refreshToken"]))
        self._acknowledge("signed in")

    def _some_session(self) -> Session | None:
        sessions = self._of_the_user()
        return self._chance.choice(sessions) if sessions else None

    def _of_the_user(self) -> list[Session]:
        return [session for session in self._live if session.refresh is not None]

    def _enter(self, heard: Heard) -> None:
        content = heard.json()
        self._live.append(Session(self._told(content["access_token"]), self._told(content["refresh_token"])))
        self._acknowledge("code redeemed")

    def _rotate(self, session: Session, heard: Heard, since: float) -> None:
        content = heard.json()
        session.spent_access, session.spent_refresh = session.access, session.refresh
        session.access = self._told(content["access_token"])
        session.refresh = self._told(content["refresh_token"])
        session.rotated = since
        self._acknowledge("rotated")

    def _end(self, sessions: list[Session]) -> None:
        for session in list(sessions):
            self._live.remove(session)
            self._ended.append(session)

    def _is_late(self, since: float) -> bool:
        return time.monotonic() - since > _GRACE_SECONDS

    def _told(self, text: str) -> str:
        self._tally.secrets.add(text)
        return text

    def _ask(self, kind: Kind, session: Session | None = None, code: str = "") -> None:
        self._pending = Pending(kind, time.monotonic(), session, code)

    def _acknowledge(self, what: str) -> None:
        self._tally.acknowledged[what] += 1
        self._done()

    def _done(self) -> None:
        self._pending = None

    def _must(self, heard: Heard, status: int, what: str) -> None:
        if heard.status != status:
            raise self._violation(f"{what} is answered {heard.status} {heard.error}")

    def _must_be_refused(self, heard: Heard, what: str) -> None:
        self._tally.checks += 1
        if (heard.status, heard.error) != (400, "invalid_grant"):
            raise self._violation(f"{what} is answered {heard.status} {heard.error}")

    def _violation(self, text: str) -> Violation:
        return Violation(f"{self.client_id}: {text}")
