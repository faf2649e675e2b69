"""The rules of `/token`, `/introspect` and `/revoke`, each in the order of its checks (READINGS 13).

Nothing before a successful client authentication changes any state.
"""

from ostiary_core.events import (
    ClientCredentialsRequested,
    CodeRedeemed,
    GrantUnrecognised,
    IntrospectionRequested,
    RefreshRequested,
    RevocationRequested,
)
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, refused
from ostiary_core.model.instant import Instant
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import GrantType, SessionKind
from ostiary_core.model.why import Why
from ostiary_core.oauth import code, session
from ostiary_core.oauth.authentication import authenticate_client, authenticate_for_grant
from ostiary_core.oauth.inherited_endings import epochs_now
from ostiary_core.oauth.scopes import is_beyond

__all__ = ["introspect", "issue_to_client", "redeem", "refresh", "refuse_grant", "revoke"]


def redeem(event: CodeRedeemed, snapshot: Snapshot, now: Instant, policy: Policy) -> Decision:
    """Exchange a code at `/token` (RFC 6749 §4.1.3). The grant is checked before the code is read."""
    client = authenticate_for_grant(GrantType.AUTHORIZATION_CODE, event.credentials, snapshot, now)
    if isinstance(client, Why):
        return refused(client)
    return code.redeem(event, client, snapshot, now, policy)


def refresh(event: RefreshRequested, snapshot: Snapshot, now: Instant, policy: Policy) -> Decision:
    """Exchange a refresh token at `/token` (RFC 6749 §6)."""
    client = authenticate_for_grant(GrantType.REFRESH_TOKEN, event.credentials, snapshot, now)
    if isinstance(client, Why):
        return refused(client)
    if event.refresh_token is None:
        return refused(Why.REFRESH_TOKEN_MISSING)
    return session.refresh(
        spent=event.refresh_token,
        client=client,
        kind=SessionKind.AUTHORIZATION_CODE,
        scopes=event.scopes,
        user_agent=event.user_agent,
        entropy=event.entropy,
        arrival=event.arrival,
        snapshot=snapshot,
        now=now,
        policy=policy,
    )


def issue_to_client(event: ClientCredentialsRequested, snapshot: Snapshot, now: Instant) -> Decision:
    """Issue client credentials tokens (RFC 6749 §4.4): no user and no refresh token (READINGS 11)."""
    client = authenticate_for_grant(GrantType.CLIENT_CREDENTIALS, event.credentials, snapshot, now)
    if isinstance(client, Why):
        return refused(client)
    if not client.scopes:
        return refused(Why.NO_SCOPE_REGISTERED)
    if is_beyond(event.scopes, client.scopes):
        return refused(Why.SCOPE_UNREGISTERED)
    _, issued, changes, fact = session.start(
        kind=SessionKind.CLIENT_CREDENTIALS,
        client=client,
        user_id=None,
        scopes=event.scopes or client.scopes,
        epochs=epochs_now(None, client, None),
        user_agent=event.user_agent,
        source=event.source,
        entropy=event.entropy,
        now=now,
    )
    return Decision(issued, changes, (fact,))


def refuse_grant(event: GrantUnrecognised, snapshot: Snapshot, now: Instant) -> Decision:
    """Refuse a missing or unknown `grant_type`, after the client authenticated."""
    client = authenticate_client(event.credentials, snapshot, now)
    return refused(client if isinstance(client, Why) else event.why)


def introspect(event: IntrospectionRequested, snapshot: Snapshot, now: Instant) -> Decision:
    """Tell an authenticated client about a token (RFC 7662 §2)."""
    client = authenticate_client(event.credentials, snapshot, now)
    if isinstance(client, Why):
        return refused(client)
    if event.token is None:
        return refused(Why.TOKEN_MISSING)
    return Decision(session.introspect(event.token, client, snapshot, now))


def revoke(event: RevocationRequested, snapshot: Snapshot, now: Instant) -> Decision:
    """Revoke a token of an authenticated client (RFC 7009 §2)."""
    client = authenticate_client(event.credentials, snapshot, now)
    if isinstance(client, Why):
        return refused(client)
    if event.token is None:
        return refused(Why.TOKEN_MISSING)
    return session.revoke(event.token, client, snapshot, now)
