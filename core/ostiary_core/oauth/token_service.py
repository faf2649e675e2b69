"""The rules of `/token`, `/introspect`, `/revoke` and user-info, in the order of their checks (READINGS 13).

Nothing before a successful client authentication changes any state. User-info changes none at all, and asks
for no client: it shows the profile of the user of an access token.
"""

from ostiary_core import events
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.client import USER_READ
from ostiary_core.model.decision import Decision, refuse
from ostiary_core.model.records import Client, GrantType, SessionKind, is_of_client
from ostiary_core.model.reply import Profile
from ostiary_core.model.why import Why
from ostiary_core.oauth import code, session
from ostiary_core.oauth.client_authentication import require_client
from ostiary_core.oauth.inherited_endings import epochs_now
from ostiary_core.oauth.parameters import is_beyond
from ostiary_core.oauth.state_tables import SessionState


@require_client(GrantType.AUTHORIZATION_CODE)
def redeem(event: events.CodeRedeemed, client: Client, snapshot: Snapshot) -> Decision:
    """Exchange a code at `/token` (RFC 6749 §4.1.3). The grant is checked before the code is read."""
    return code.redeem(event, client, snapshot)


@require_client(GrantType.REFRESH_TOKEN)
def refresh(event: events.RefreshRequested, client: Client, snapshot: Snapshot) -> Decision:
    """Exchange a refresh token at `/token` (RFC 6749 §6)."""
    return session.refresh(event, client, SessionKind.AUTHORIZATION_CODE, snapshot)


@require_client(GrantType.CLIENT_CREDENTIALS)
def issue_to_client(event: events.ClientCredentialsRequested, client: Client, snapshot: Snapshot) -> Decision:
    """Issue client credentials tokens (RFC 6749 §4.4): no user and no refresh token (READINGS 11)."""
    if not client.scopes:
        return refuse(Why.NO_SCOPE_REGISTERED)
    if is_beyond(event.scopes, client.scopes):
        return refuse(Why.SCOPE_UNREGISTERED)
    _, issued, changes, fact = session.start(
        kind=SessionKind.CLIENT_CREDENTIALS,
        client=client,
        user_id=None,
        scopes=event.scopes or client.scopes,
        epochs=epochs_now(None, client, None),
        user_agent=event.user_agent,
        source=event.source,
        entropy=event.entropy,
        now=snapshot.now,
    )
    return Decision(issued, changes, (fact,))


@require_client()
def refuse_grant(event: events.GrantUnrecognised, client: Client, snapshot: Snapshot) -> Decision:
    """Refuse a missing or unknown `grant_type`, after the client authenticated."""
    return refuse(event.why)


@require_client()
def introspect(event: events.IntrospectionRequested, client: Client, snapshot: Snapshot) -> Decision:
    """Tell an authenticated client about a token (RFC 7662 §2)."""
    if event.token is None:
        return refuse(Why.TOKEN_MISSING)
    return Decision(session.introspect(event.token, client, snapshot))


@require_client()
def revoke(event: events.RevocationRequested, client: Client, snapshot: Snapshot) -> Decision:
    """Revoke a token of an authenticated client (RFC 7009 §2)."""
    if event.token is None:
        return refuse(Why.TOKEN_MISSING)
    return session.revoke(event.token, client, snapshot)


def show_profile(event: events.ProfileRequested, snapshot: Snapshot) -> Decision:
    """Show the profile of the token's user; a login session needs no scope for its own."""
    held = snapshot.session_by_access_token(event.access_token.digest)
    if (
        held is None
        or snapshot.now >= held.access_expires_at
        or session.state_of(held, snapshot) is not SessionState.ACTIVE
        or (held.kind is not SessionKind.LOGIN and not is_of_client(held.kind))
        or (event.by_cookie and held.kind is not SessionKind.LOGIN)
    ):
        return refuse(Why.NOT_SIGNED_IN)
    user = None if held.user_id is None else snapshot.user(held.user_id)
    if user is None:
        return refuse(Why.REPRESENTS_NO_USER)
    if held.kind is not SessionKind.LOGIN and USER_READ not in held.access_scopes:
        return refuse(Why.USER_READ_MISSING)
    return Decision(
        Profile(
            user_id=user.user_id,
            username=user.username,
            name=user.name,
            avatar_url=user.avatar_url,
            locale=user.locale,
        )
    )
