"""After an answer was lost: what came of the request. Only what is allowed either way is accepted."""

from fuzz.processes.home import Home
from fuzz.processes.known import Kind, Pending, Session
from fuzz.processes.tenant_actions import Deeds

__all__ = ["Resolving"]


class Resolving:
    """Finds out what became of the request that is pending."""

    def __init__(self, home: Home, deeds: Deeds) -> None:
        self.home = home
        self.deeds = deeds

    async def resolve(self) -> None:
        """Find out what came of the request whose answer was lost. Raises `Lost`, and may be called again."""
        pending = self.home.pending
        if pending is None:
            return
        if not pending.counted:
            pending.counted = True
            self.home.tally.unknown[pending.kind.value] += 1
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
                await self._resolve_ending(self.home.of_the_user())
                self.home.login = None
            case Kind.WITHDRAW:
                await self._resolve_ending(self.home.of_the_user())
            case Kind.DISABLE:
                await self._resolve_disabling()
            case Kind.ENABLE:
                await self.deeds.enable()
            case Kind.RESET_SECRET:
                await self._resolve_secret()
        self.home.done()

    async def _resolve_redemption(self, pending: Pending) -> None:
        (verifier,) = [verifier for code, verifier in self.home.used_codes if code == pending.code]
        heard = await self.home.redeem(pending.code, verifier)
        if heard.status == 200:
            self.home.enter(heard)
        else:  # it was redeemed, and nobody knows the tokens
            self.home.must_be_refused(heard, "a code whose redemption was not answered")

    async def _resolve_refresh(self, pending: Pending) -> None:
        """Within the grace the same request works, whether it was the first time or not."""
        session = pending.session
        assert session is not None
        heard = await self.home.token(grant_type="refresh_token", refresh_token=session.refresh)
        if heard.status == 200:
            self.home.rotate(session, heard, pending.since)
        elif self.home.is_late(pending.since):
            self.home.must_be_refused(heard, "a late retry of a refresh that was not answered")
            self.home.end([session])
        else:
            raise self.home.violation(
                f"a refresh whose answer was lost is refused: {heard.status} {heard.error}"
            )

    async def _resolve_ending(self, sessions: list[Session]) -> None:
        """All of them live, or none does; never a part."""
        live = {await self.home.is_active(token) for session in sessions for token in session.tokens}
        if len(live) > 1:
            raise self.home.violation("an ending that was not answered took a part of the sessions")
        if live == {False}:
            self.home.end(sessions)

    async def _resolve_disabling(self) -> None:
        heard = await self.home.line.send_json(
            "GET", f"/api/oauth/clients/{self.home.client_id}", self.home.admin()
        )
        self.home.must(heard, 200, "a client is looked at")
        if not heard.data["enabled"]:
            self.home.end(self.home.live)
            await self.deeds.enable()

    async def _resolve_secret(self) -> None:
        heard = await self.home.line.post_form("/api/oauth2/introspect", [self.home.basic], token="nobody's")
        if heard.status == 200:
            return
        if (heard.status, heard.error) != (401, "invalid_client"):
            raise self.home.violation(f"an old secret is answered {heard.status} {heard.error}")
        await self.deeds.reset_secret()
