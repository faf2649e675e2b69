"""User-info: the profile of an access token's user, and which tokens may see it."""

from ostiary_core.events import ProfileRequested
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, refused
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import SessionKind
from ostiary_core.model.reply import Profile
from ostiary_core.model.why import Why
from ostiary_core.oauth.scopes import USER_READ
from ostiary_core.oauth.session import SessionState, state_of


def show(event: ProfileRequested, snapshot: Snapshot, now: Instant) -> Decision:
    """Show the profile of the token's user; a login session needs no scope for its own."""
    session = snapshot.session_by_access_token(event.access_token.digest)
    if (
        session is None
        or now >= session.access_expires_at
        or state_of(session, snapshot, now) is not SessionState.ACTIVE
        or (event.by_cookie and session.kind is not SessionKind.LOGIN)
    ):
        return refused(Why.NOT_SIGNED_IN)
    user = None if session.user_id is None else snapshot.user(session.user_id)
    if user is None:
        return refused(Why.REPRESENTS_NO_USER)
    if session.kind is not SessionKind.LOGIN and USER_READ not in session.access_scopes:
        return refused(Why.USER_READ_MISSING)
    return Decision(
        Profile(
            user_id=user.user_id,
            username=user.username,
            name=user.name,
            avatar_url=user.avatar_url,
            locale=user.locale,
        )
    )
