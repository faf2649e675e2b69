"""The session: its pair of tokens, their rotation, the safe retry, and every way a session ends.

Rules, all in this file ("Session and tokens", READINGS 1-8):

- A session has one live pair: the tokens of its present generation. A rotation derives the next generation
  from the refresh token it spends, so one token can only ever lead to one pair.
- The spent access token is dead at once. The spent refresh token leads to the same pair again for the
  grace period after its *first* use, with the same User-Agent; the window never slides.
- What counts is when the retry arrived, not when its turn came. If the server cannot know whether that
  was in time, it gives no pair and ends nothing (READINGS 46).
- Any other use of a spent refresh token is a replay and ends the session.
- No pair is given with less than a whole second left: that is the maximum already (READINGS 53).
- What ended stays ended, and the reason is kept.

A session can be dead without a mark on its record: by its maximum, or by an ending of its user, client or
consent. Only `state_of` knows. `SESSION_TRANSITIONS` (`state_tables.py`) has every move.
"""

from ostiary_core.events import LoginRefreshed, RefreshRequested
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Change, Decision, Insert, Update, refuse
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.instant import Instant, later, whole_seconds
from ostiary_core.model.policy import Policy
from ostiary_core.model.records import (
    Client,
    Epochs,
    GrantType,
    RefreshToken,
    Session,
    SessionKind,
    is_of_client,
    revise,
)
from ostiary_core.model.reply import Done, Refused, Reply, TokenActive, TokenInactive, TokensIssued
from ostiary_core.model.secret import (
    Entropy,
    Secret,
    derive_successor,
    draw_salt,
    draw_session_id,
    draw_token,
)
from ostiary_core.model.why import Why
from ostiary_core.oauth.inherited_endings import inherited_ending
from ostiary_core.oauth.parameters import is_beyond, narrow_scopes
from ostiary_core.oauth.state_tables import (
    PAIR_REPEATS,
    PAIR_ROTATES,
    PAIR_ROTATES_AND_REFUSES,
    SESSION_ENDINGS,
    SESSION_STARTS,
    SessionState,
    Transition,
)

ACCESS_LABEL = "access:"
REFRESH_LABEL = "refresh:"
"""The labels that keep the two tokens of a derived pair apart (READINGS 1)."""


def state_of(session: Session, snapshot: Snapshot) -> SessionState:
    """Return the state of `session` at `now`; endings of its user, client or consent count."""
    if session.ended_at is not None or inherited_ending(session, snapshot) is not None:
        return SessionState.ENDED
    return SessionState.EXPIRED if snapshot.now >= session.expires_at else SessionState.ACTIVE


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
    fact = _fact_of(SESSION_STARTS, session, user_agent=user_agent, scopes=scopes)
    return session, _token_response(session, access, refresh_token, now), changes, fact


def _refresh_record(refresh_token: Secret, session: Session) -> Change:
    """Insert the record by which the present generation's refresh token is recognised from now on."""
    return Insert(RefreshToken(refresh_token.digest, session.session_id, session.generation))


def _token_response(
    session: Session, access: Secret, refresh_token: Secret | None, now: Instant
) -> TokensIssued:
    expires_in_seconds = whole_seconds(session.access_expires_at - now)
    return TokensIssued(access, expires_in_seconds, refresh_token, session.access_scopes)


# --- refresh


RefreshEvent = RefreshRequested | LoginRefreshed


def refresh(event: RefreshEvent, client: Client, kind: SessionKind, snapshot: Snapshot) -> Decision:
    """Decide what a client's refresh token leads to: rotation, safe retry, replay or refusal."""
    now, policy, spent = snapshot.now, snapshot.policy, event.refresh_token
    if spent is None:
        return refuse(Why.REFRESH_TOKEN_MISSING)
    token = snapshot.refresh_token(spent.digest)
    session = None if token is None else snapshot.session(token.session_id)
    if token is None or session is None or session.kind is not kind:
        return refuse(Why.TOKEN_UNKNOWN)
    # The owner first: another client's attempt never touches the session ("refresh by another client").
    if session.client_id != client.client_id:
        return refuse(Why.TOKEN_OF_ANOTHER_CLIENT)
    state = state_of(session, snapshot)
    if state is not SessionState.ACTIVE:
        return refuse(Why.SESSION_ENDED if state is SessionState.ENDED else Why.MAXIMUM_REACHED)
    # Rounded down it would be `expires_in: 0`, which clients take for "never" (RFC 6749 §5.1).
    has_a_second = whole_seconds(session.expires_at - now) > 0
    generations_late = session.generation - token.generation
    if generations_late == 0:
        if not has_a_second:
            return refuse(Why.MAXIMUM_REACHED)
        return _rotate(event, spent, session, client, now)
    if generations_late > 1:
        return _end_by_replay(event, session, Why.REPLAYED_TWO_GENERATIONS_LATE, now)
    # From here on the token is the previous generation's: a safe retry, or a replay.
    rotated_at = session.rotated_at or session.started_at
    grace_ends_at = later(rotated_at, policy.grace_seconds)
    earliest, latest = event.arrival or (now, now)
    # A rotation that lies far ahead shows that the clock was set back: no grace begins anew for that.
    if min(earliest, now) > grace_ends_at or rotated_at > later(now, policy.salt_seconds):
        return _end_by_replay(event, session, Why.REPLAYED_AFTER_GRACE, now)
    if policy.compare_user_agent and event.user_agent != session.rotated_user_agent:
        return _end_by_replay(event, session, Why.REPLAYED_BY_ANOTHER_USER_AGENT, now)
    if not has_a_second:
        return refuse(Why.MAXIMUM_REACHED)
    # A retry that may have come in time ends nothing and is given nothing (READINGS 46).
    if session.salt is None or min(latest, now) > grace_ends_at:
        return refuse(Why.ARRIVAL_UNKNOWN)
    return _repeat(event, spent, session, session.salt, now)


def _rotate(event: RefreshEvent, spent: Secret, session: Session, client: Client, now: Instant) -> Decision:
    """Rotate to the next generation. A scope too wide is refused after the rotation (READINGS 5).

    With the digest of its new access token the session forgets the spent one, which is dead at once.
    """
    salt = draw_salt(event.entropy)
    access = derive_successor(salt, ACCESS_LABEL, spent)
    refresh_token = derive_successor(salt, REFRESH_LABEL, spent)
    rotated = revise(
        session,
        generation=session.generation + 1,
        access_digest=access.digest,
        access_scopes=narrow_scopes(event.scopes, session.scopes),
        access_expires_at=min(later(now, client.access_token_seconds), session.expires_at),
        salt=salt,
        rotated_at=now,
        rotated_user_agent=event.user_agent,
    )
    row = PAIR_ROTATES_AND_REFUSES if is_beyond(event.scopes, session.scopes) else PAIR_ROTATES
    reply: Reply = (
        _token_response(rotated, access, refresh_token, now) if row.refusal is None else Refused(row.refusal)
    )
    return Decision(
        reply,
        (Update(session, rotated), _refresh_record(refresh_token, rotated)),
        (_fact_of(row, rotated, user_agent=event.user_agent),),
    )


def _repeat(event: RefreshEvent, spent: Secret, session: Session, salt: bytes, now: Instant) -> Decision:
    """Answer a safe retry with the same pair again."""
    # Nothing is written, so the grace never gets longer (READINGS 2).
    if is_beyond(event.scopes, session.scopes):
        return refuse(Why.SCOPE_TOO_WIDE)
    access = derive_successor(salt, ACCESS_LABEL, spent)
    refresh_token = derive_successor(salt, REFRESH_LABEL, spent)
    return Decision(
        _token_response(session, access, refresh_token, now),
        facts=(_fact_of(PAIR_REPEATS, session, user_agent=event.user_agent),),
    )


def _end_by_replay(event: RefreshEvent, session: Session, why: Why, now: Instant) -> Decision:
    changes, fact = end(session, why, now, user_agent=event.user_agent)
    return refuse(why, *changes, facts=(fact,))


# --- introspection and revocation


def introspect(secret: Secret, client: Client, snapshot: Snapshot) -> Reply:
    """Tell `client` about a token, if it is a live one of its own; of any other, that it is inactive."""
    found = _find_own(secret, client, snapshot)
    if found is None:
        return TokenInactive()
    session, refresh_token = found
    is_access_token = refresh_token is None
    expires_at = session.access_expires_at if is_access_token else session.expires_at
    if (
        (refresh_token is not None and refresh_token.generation != session.generation)
        or snapshot.now >= expires_at
        or state_of(session, snapshot) is not SessionState.ACTIVE
        # Nobody here knows what a kind of a later release allows; its client may still revoke it.
        or not is_of_client(session.kind)
    ):
        return TokenInactive()
    user = None if session.user_id is None else snapshot.user(session.user_id)
    scopes = session.access_scopes if is_access_token else session.scopes
    user_id, username = (None, None) if user is None else (user.user_id, user.username)
    return TokenActive(client.client_id, scopes, is_access_token, expires_at, user_id, username)


def revoke(secret: Secret, client: Client, snapshot: Snapshot) -> Decision:
    """End the session a token belongs to, by spent refresh tokens too (READINGS 7); always the same answer.

    A spent access token belongs to none any more (READINGS 54).
    """
    found = _find_own(secret, client, snapshot)
    if found is None or state_of(found[0], snapshot) is not SessionState.ACTIVE:
        return Decision(Done())
    changes, fact = end(found[0], Why.REVOKED_BY_CLIENT, snapshot.now)
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
    ended = revise(session, ended_at=now, ended_why=why, salt=None)
    fact = _fact_of(SESSION_ENDINGS[why], session, user_agent=user_agent, actor_id=actor_id)
    return (Update(session, ended),), fact


def erase_salt(session: Session, now: Instant, policy: Policy) -> Decision:
    """Erase the salt of the present pair once no safe retry can need it any more (READINGS 1)."""
    if session.salt is None or session.rotated_at is None:
        return Decision(Done())
    if now <= later(session.rotated_at, policy.salt_seconds):
        return Decision(Done())
    fact = Fact(
        FactKind.SALT_ERASED,
        user_id=session.user_id,
        client_id=session.client_id,
        session_id=session.session_id,
        earlier_at=session.rotated_at,
        earlier_user_agent=session.rotated_user_agent,
    )
    return Decision(Done(), (Update(session, revise(session, salt=None)),), (fact,))


def _fact_of(
    row: Transition,
    session: Session,
    *,
    user_agent: str | None = None,
    actor_id: str | None = None,
    scopes: tuple[str, ...] = (),
) -> Fact:
    assert row.fact is not None
    return Fact(
        row.fact,
        actor_id,
        session.user_id,
        session.client_id,
        session.session_id,
        row.why,
        user_agent,
        session.rotated_at,
        session.rotated_user_agent,
        scopes=scopes,
    )
