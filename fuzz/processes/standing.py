"""What must hold after a kill: everything acknowledged stands, and nothing that ended is back."""

from fuzz.processes.connection import bearer
from fuzz.processes.home import Home
from fuzz.processes.known import Session

__all__ = ["check", "must_live"]


async def check(home: Home) -> None:
    """Everything that was acknowledged stands, and nothing that ended is back. Raises `Lost`."""
    for session in home.live:
        await must_live(home, session)
        for spent in (session.spent_access, session.spent_refresh):
            if spent is not None and await home.is_active(spent):
                raise home.violation("a token that was rotated away is active again")
    for session in home.ended:
        for token in session.tokens:
            if await home.is_active(token):
                raise home.violation("a session that ended is back")
        if session.refresh is not None:
            heard = await home.token(grant_type="refresh_token", refresh_token=session.refresh)
            home.must_be_refused(heard, "the refresh token of a session that ended")
    for code, verifier in home.used_codes:
        if home.pending is None or code != home.pending.code:
            home.must_be_refused(await home.redeem(code, verifier), "a code that was used")


async def must_live(home: Home, session: Session) -> None:
    """All tokens of the session are good, and they speak for the household's user."""
    for token in session.tokens:
        if not await home.is_active(token):
            raise home.violation("a session that was issued, and never ended, is gone")
    if session.refresh is not None:
        heard = await home.line.ask("GET", "/api/oauth2/userinfo", [bearer(session.access)])
        if heard.status != 200 or heard.data.get("sub") != home.user_id:
            raise home.violation(f"user-info of a live session is answered {heard.status}")
