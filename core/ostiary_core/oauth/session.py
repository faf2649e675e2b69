"""The session: its pair of tokens, their rotation, the safe retry, and every way a session ends.

Rules, all in this file ("Session and tokens", READINGS 1-8):

- A session has one live pair: the tokens of its present generation. A rotation makes the next generation
  out of the refresh token it spends, so the same token can only ever lead to the same pair.
- The spent access token is dead at once. The spent refresh token leads to the same pair again for the
  grace period after its *first* use, with the same User-Agent; the window never slides.
- What counts is when the retry arrived, not when its turn came. Where nobody can know whether that was in
  time, it is not answered and ends nothing (READINGS 46).
- Where the rotation lies far ahead, the clock was set back. No grace begins anew for that: it is over.
- Any other use of a spent refresh token is a replay and ends the session.
- The owner is looked at first: another client's attempt never touches the session.
- No pair is given with less than a whole second left: that is the maximum already (READINGS 53).
- What ended stays ended, and the reason is kept.

A reader might miss: a session can be dead without a mark on its record, by its maximum or by an ending of
its user, client or consent. `state_of` is the one place that knows.
"""

from enum import StrEnum

from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Change, Decision, Insert, Update, refused
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.instant import Arrival, Instant, later, whole_seconds
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import Client, Epochs, GrantType, RefreshToken, Session, SessionKind, revised
from ostiary_core.model.reply import Done, Refused, Reply, TokenActive, TokenInactive, TokensIssued
from ostiary_core.model.secret import Entropy, Secret, draw_salt, draw_session_id, draw_token, successor
from ostiary_core.model.why import Why
from ostiary_core.oauth.inherited_endings import inherited_ending
from ostiary_core.oauth.scopes import is_beyond, narrow_scopes


class SessionState(StrEnum):
    """What a session is at an instant; its moves are drawn in docs/states.md."""

    ACTIVE = "active"
    ENDED = "ended"
    EXPIRED = "expired"
    """Its maximum duration is reached."""


ACCESS_LABEL = "access:"
REFRESH_LABEL = "refresh:"
"""The labels that keep the two tokens of a derived pair apart (READINGS 1)."""


def state_of(session: Session, snapshot: Snapshot, now: Instant) -> SessionState:
    """The state of `session` at `now`; endings of its user, client or consent count."""
    if session.ended_at is not None or inherited_ending(session, snapshot) is not None:
        return SessionState.ENDED
    return SessionState.EXPIRED if now >= session.expires_at else SessionState.ACTIVE


# --- start


def start(
    *,
    kind: SessionKind,
    client: Client,
    user_id: str | None,
    scopes: tuple[str, ...],
    epochs: Epochs,
    user_agent: str | None,
    source: str,
    entropy: Entropy,
    now: Instant,
) -> tuple[Session, TokensIssued, tuple[Change, ...], Fact]:
    """Start a session with its first pair: the session, the answer, the writes and the fact."""
    access = draw_token(entropy, "access token")
    refreshable = kind is not SessionKind.CLIENT_CREDENTIALS and GrantType.REFRESH_TOKEN in client.grant_types
    refresh_token = draw_token(entropy, "refresh token") if refreshable else None
    expires_at = later(now, client.refresh_token_seconds)
    session = Session(
        draw_session_id(entropy, now),
        kind,
        client.client_id,
        user_id,
        scopes,
        epochs,
        now,
        expires_at,
        access.digest,
        scopes,
        min(later(now, client.access_token_seconds), expires_at),
        user_agent,
        source,
    )
    inserted = Insert(session)
    changes: tuple[Change, ...] = (inserted,)
    if refresh_token is not None:
        changes = (inserted, _refresh_record(refresh_token, session))
    fact = Fact(
        kind=FactKind.SESSION_STARTED,
        session_id=session.session_id,
        client_id=client.client_id,
        user_id=user_id,
        scopes=scopes,
        user_agent=user_agent,
    )
    return session, _token_response(session, access, refresh_token, now), changes, fact


def _refresh_record(refresh_token: Secret, session: Session) -> Change:
    """The record of the present generation's refresh token, by which it is recognised from now on."""
    return Insert(RefreshToken(refresh_token.digest, session.session_id, session.generation))


def _token_response(
    session: Session, access: Secret, refresh_token: Secret | None, now: Instant
) -> TokensIssued:
    expires_in_seconds = whole_seconds(session.access_expires_at - now)
    return TokensIssued(access, expires_in_seconds, refresh_token, session.access_scopes)


# --- refresh


def refresh(
    *,
    spent: Secret,
    client: Client,
    kind: SessionKind,
    scopes: tuple[str, ...] | None,
    user_agent: str | None,
    entropy: Entropy,
    arrival: Arrival | None,
    snapshot: Snapshot,
    now: Instant,
    policy: Policy,
) -> Decision:
    """Decide what a client's refresh token leads to: rotation, safe retry, replay or refusal."""
    token = snapshot.refresh_token(spent.digest)
    session = None if token is None else snapshot.session(token.session_id)
    if token is None or session is None or session.kind is not kind:
        return refused(Why.TOKEN_UNKNOWN)
    if session.client_id != client.client_id:
        return refused(Why.TOKEN_OF_ANOTHER_CLIENT)
    state = state_of(session, snapshot, now)
    if state is not SessionState.ACTIVE:
        return refused(Why.SESSION_ENDED if state is SessionState.ENDED else Why.MAXIMUM_REACHED)
    # Rounded down it would be `expires_in: 0`, which clients take for "never" (RFC 6749 §5.1).
    has_a_second = whole_seconds(session.expires_at - now) > 0
    generations_late = session.generation - token.generation
    if generations_late == 0:
        if not has_a_second:
            return refused(Why.MAXIMUM_REACHED)
        return _rotate(session, spent, client, scopes, user_agent, entropy, now)
    if generations_late > 1:
        return _end_by_replay(session, Why.REPLAYED_TWO_GENERATIONS_LATE, user_agent, now)
    rotated_at = session.rotated_at or session.started_at
    grace_ends_at = later(rotated_at, policy.grace_seconds)
    earliest, latest = arrival or (now, now)
    if min(earliest, now) > grace_ends_at or rotated_at > later(now, policy.salt_seconds):
        return _end_by_replay(session, Why.REPLAYED_AFTER_GRACE, user_agent, now)
    if policy.compare_user_agent and user_agent != session.rotated_user_agent:
        return _end_by_replay(session, Why.REPLAYED_BY_ANOTHER_USER_AGENT, user_agent, now)
    if not has_a_second:
        return refused(Why.MAXIMUM_REACHED)
    if session.salt is None or min(latest, now) > grace_ends_at:
        return refused(Why.ARRIVAL_UNKNOWN)
    return _repeat(session, session.salt, spent, scopes, user_agent, now)


def _rotate(
    session: Session,
    spent: Secret,
    client: Client,
    scopes: tuple[str, ...] | None,
    user_agent: str | None,
    entropy: Entropy,
    now: Instant,
) -> Decision:
    """Rotate to the next generation. A scope too wide is refused after the rotation (READINGS 5).

    With the digest of its new access token the session forgets the spent one, which is dead at once.
    """
    salt = draw_salt(entropy)
    access = successor(salt, ACCESS_LABEL, spent)
    refresh_token = successor(salt, REFRESH_LABEL, spent)
    rotated = revised(
        session,
        generation=session.generation + 1,
        access_digest=access.digest,
        access_scopes=narrow_scopes(scopes, session.scopes),
        access_expires_at=min(later(now, client.access_token_seconds), session.expires_at),
        salt=salt,
        rotated_at=now,
        rotated_user_agent=user_agent,
    )
    refusal = Why.SCOPE_TOO_WIDE if is_beyond(scopes, session.scopes) else None
    reply: Reply = (
        _token_response(rotated, access, refresh_token, now) if refusal is None else Refused(refusal)
    )
    return Decision(
        reply,
        (Update(session, rotated), _refresh_record(refresh_token, rotated)),
        (_fact_of(FactKind.PAIR_ROTATED, rotated, why=refusal, user_agent=user_agent),),
    )


def _repeat(
    session: Session,
    salt: bytes,
    spent: Secret,
    scopes: tuple[str, ...] | None,
    user_agent: str | None,
    now: Instant,
) -> Decision:
    """Answer a safe retry with the same pair; nothing is written, so the grace never gets longer
    (READINGS 2)."""
    if is_beyond(scopes, session.scopes):
        return refused(Why.SCOPE_TOO_WIDE)
    access = successor(salt, ACCESS_LABEL, spent)
    refresh_token = successor(salt, REFRESH_LABEL, spent)
    return Decision(
        _token_response(session, access, refresh_token, now),
        facts=(_fact_of(FactKind.PAIR_REPEATED, session, user_agent=user_agent),),
    )


def _end_by_replay(session: Session, why: Why, user_agent: str | None, now: Instant) -> Decision:
    changes, fact = end(session, why, now, user_agent=user_agent)
    return refused(why, *changes, facts=(fact,))


# --- introspection and revocation


def introspect(secret: Secret, client: Client, snapshot: Snapshot, now: Instant) -> Reply:
    """Tell `client` about a token, if it is a live one of its own; of any other, that it is inactive."""
    found = _find_own(secret, client, snapshot)
    if found is None:
        return TokenInactive()
    session, refresh_token = found
    is_access_token = refresh_token is None
    expires_at = session.access_expires_at if is_access_token else session.expires_at
    if (
        (refresh_token is not None and refresh_token.generation != session.generation)
        or now >= expires_at
        or state_of(session, snapshot, now) is not SessionState.ACTIVE
    ):
        return TokenInactive()
    user = None if session.user_id is None else snapshot.user(session.user_id)
    scopes = session.access_scopes if is_access_token else session.scopes
    user_id, username = (None, None) if user is None else (user.user_id, user.username)
    return TokenActive(client.client_id, scopes, is_access_token, expires_at, user_id, username)


def revoke(secret: Secret, client: Client, snapshot: Snapshot, now: Instant) -> Decision:
    """End the session a token belongs to, by spent refresh tokens too (READINGS 7); always the same answer.

    A spent access token belongs to none any more (READINGS 54).
    """
    found = _find_own(secret, client, snapshot)
    if found is None or state_of(found[0], snapshot, now) is not SessionState.ACTIVE:
        return Decision(Done())
    changes, fact = end(found[0], Why.REVOKED_BY_CLIENT, now)
    return Decision(Done(), changes, (fact,))


def _find_own(
    secret: Secret, client: Client, snapshot: Snapshot
) -> tuple[Session, RefreshToken | None] | None:
    """Find the session of `client` that a token belongs to, and the record of a refresh token."""
    token = None
    session = snapshot.session_by_access_token(secret.digest)
    if session is None:
        token = snapshot.refresh_token(secret.digest)
        session = None if token is None else snapshot.session(token.session_id)
    if session is None or session.client_id != client.client_id or session.kind is SessionKind.LOGIN:
        return None
    return session, token


# --- endings


def end(
    session: Session, why: Why, now: Instant, *, user_agent: str | None = None, actor_id: str | None = None
) -> tuple[tuple[Change, ...], Fact]:
    """End one session. Its refresh token records stay, so that a replay is still recognised."""
    ended = revised(session, ended_at=now, ended_why=why, salt=None)
    return (Update(session, ended),), _fact_of(
        FactKind.SESSION_ENDED, session, why=why, user_agent=user_agent, actor_id=actor_id
    )


def erase_salt(session: Session, now: Instant, policy: Policy) -> Decision:
    """Erase the salt of the present pair once no safe retry can need it any more (READINGS 1)."""
    if session.salt is None or session.rotated_at is None:
        return Decision(Done())
    if now <= later(session.rotated_at, policy.salt_seconds):
        return Decision(Done())
    return Decision(
        Done(), (Update(session, revised(session, salt=None)),), (_fact_of(FactKind.SALT_ERASED, session),)
    )


def _fact_of(
    kind: FactKind,
    session: Session,
    *,
    why: Why | None = None,
    user_agent: str | None = None,
    actor_id: str | None = None,
) -> Fact:
    return Fact(
        kind,
        actor_id,
        session.user_id,
        session.client_id,
        session.session_id,
        why,
        user_agent,
        session.rotated_at,
        session.rotated_user_agent,
    )
