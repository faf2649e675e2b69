"""What a household does while the server lives: one thing after the other, each acknowledged or lost."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from fuzz.processes.home import REDIRECT_URI, Home
from fuzz.processes.known import Kind, Session
from fuzz.processes.standing import must_live

__all__ = ["Deeds"]

_MOST_LIVE: Final = 4


class Deeds:
    """Everything that a household may do next."""

    def __init__(self, home: Home) -> None:
        self.home = home

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
            (1, self.reset_secret),
        ]
        (deed,) = self.home.chance.choices([deed for _, deed in deeds], [weight for weight, _ in deeds])
        if len(self.home.live) >= _MOST_LIVE:
            deed = self.home.chance.choice([self._revoke, self._refresh])
        await deed()

    async def _machine(self) -> None:
        self.home.ask(Kind.NOTHING)
        heard = await self.home.token(grant_type="client_credentials")
        self.home.must(heard, 200, "client credentials")
        self.home.live.append(Session(self.home.told(heard.json()["access_token"]), None))
        self.home.acknowledge("issued to a machine")

    async def _authorize(self) -> None:
        await self.home.sign_in_if_need_be()
        self.home.drawn += 1
        drawn = f"{self.home.client_id} {self.home.drawn} {self.home.chance.random()}"
        verifier = sha256(drawn.encode()).hexdigest()
        challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        self.home.ask(Kind.NOTHING)
        heard = await self.home.line.send_json(
            "POST",
            "/api/oauth2/authorize",
            self.home.login,
            {
                "response_type": "code",
                "client_id": self.home.client_id,
                "redirect_uri": REDIRECT_URI,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
                "state": verifier[:8],
                "approve": True,
            },
        )
        self.home.must(heard, 200, "a consent")
        code = self.home.told(parse_qs(urlsplit(heard.data["redirectTo"]).query)["code"][0])
        self.home.acknowledge("code")
        self.home.used_codes.append((code, verifier))
        self.home.ask(Kind.REDEEM, code=code)
        heard = await self.home.redeem(code, verifier)
        self.home.must(heard, 200, "an exchange")
        self.home.enter(heard)

    async def _refresh(self) -> None:
        session = self.home.some_session()
        if session is None:
            return
        spent = session.refresh
        self.home.ask(Kind.REFRESH, session)
        heard = await self.home.token(grant_type="refresh_token", refresh_token=spent)
        self.home.must(heard, 200, "a refresh")
        assert self.home.pending is not None
        self.home.rotate(session, heard, self.home.pending.since)

    async def _retry(self) -> None:
        session = self.home.some_session()
        if session is None or session.spent_refresh is None or self.home.is_late(session.rotated):
            return
        self.home.ask(Kind.NOTHING)
        heard = await self.home.token(grant_type="refresh_token", refresh_token=session.spent_refresh)
        self.home.must(heard, 200, "a retry within the grace")
        content = heard.json()
        if (content["access_token"], content["refresh_token"]) != (session.access, session.refresh):
            raise self.home.violation("a retry within the grace brings another pair")
        self.home.done()
        self.home.tally.checks += 1

    async def _revoke(self) -> None:
        if not self.home.live:
            return
        session = self.home.chance.choice(self.home.live)
        self.home.ask(Kind.REVOKE, session)
        heard = await self.home.line.post_form(
            "/api/oauth2/revoke", [self.home.basic], token=self.home.chance.choice(session.tokens)
        )
        self.home.must(heard, 200, "a revocation")
        self.home.end([session])
        self.home.acknowledge("revoked")

    async def _replay(self) -> None:
        session = self.home.some_session()
        if session is None or session.spent_refresh is None:
            return
        self.home.ask(Kind.REPLAY, session)
        heard = await self.home.token(
            agent="somebody else", grant_type="refresh_token", refresh_token=session.spent_refresh
        )
        if (heard.status, heard.error) != (400, "invalid_grant"):
            raise self.home.violation(f"a replay from elsewhere is answered {heard.status} {heard.error}")
        self.home.end([session])
        self.home.acknowledge("ended by a replay")

    async def _look(self) -> None:
        if self.home.live:
            self.home.ask(Kind.NOTHING)
            await must_live(self.home, self.home.chance.choice(self.home.live))
            self.home.done()

    async def _force_out(self) -> None:
        self.home.ask(Kind.FORCE_OUT)
        heard = await self.home.line.send_json(
            "POST", f"/api/iam/users/{self.home.user_id}/force-logout", self.home.admin()
        )
        self.home.must(heard, 200, "a forced log-out")
        self.home.end(self.home.of_the_user())
        self.home.login = None
        self.home.acknowledge("user forced out")

    async def _withdraw(self) -> None:
        if not self.home.of_the_user():
            return
        await self.home.sign_in_if_need_be()
        self.home.ask(Kind.WITHDRAW)
        path = f"/api/auth/grants/{self.home.client_id}"
        heard = await self.home.line.send_json("DELETE", path, self.home.login)
        self.home.must(heard, 200, "a withdrawal")
        self.home.end(self.home.of_the_user())
        self.home.acknowledge("consent withdrawn")

    async def _disable(self) -> None:
        self.home.ask(Kind.DISABLE)
        self.home.must(await self.home.set_enabled(False), 200, "a client is disabled")
        self.home.end(self.home.live)
        self.home.acknowledge("client disabled")
        await self.enable()

    async def enable(self) -> None:
        self.home.ask(Kind.ENABLE)
        self.home.must(await self.home.set_enabled(True), 200, "a client is enabled")
        self.home.acknowledge("client enabled")

    async def reset_secret(self) -> None:
        self.home.ask(Kind.RESET_SECRET)
        heard = await self.home.line.send_json(
            "POST", f"/api/oauth/clients/{self.home.client_id}/secret", self.home.admin()
        )
        self.home.must(heard, 200, "a secret is reset")
        self.home.secret = self.home.told(str(heard.data["secret"]))
        self.home.acknowledge("secret reset")
