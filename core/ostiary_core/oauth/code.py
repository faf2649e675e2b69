"""The authorization code: issued once, redeemed once, void at the first mistake.

Rules, all in this file ("Authorization code", READINGS 10 and 18):

- A code is bound to client, redirect URI, challenge, scope and user, and good for 300 seconds.
- It is redeemed at most once, for a session and its pair of tokens.
- Every failure by an authenticated client that presents a known, unused code voids it, also when that
  client is not its owner. An unknown code and a used one change nothing.
- Endings of its user, client or consent void it without touching it (`inherited_endings`).

`CODE_TRANSITIONS` (`state_tables.py`) has every move.
"""

from ostiary_core.events import CodeRedeemed
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Change, Decision, Insert, Update, refuse
from ostiary_core.model.fact import Fact
from ostiary_core.model.instant import later
from ostiary_core.model.records import AuthorizationCode, Client, SessionKind, revise
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_core.oauth import session
from ostiary_core.oauth.inherited_endings import inherited_ending
from ostiary_core.oauth.parameters import proves
from ostiary_core.oauth.state_tables import (
    CODE_ISSUED,
    CODE_REDEEMED,
    CODE_REFUSALS,
    EXCHANGE_FAILS,
    CodeState,
    SessionState,
    Transition,
)


def state_of(code: AuthorizationCode, snapshot: Snapshot) -> CodeState:
    """Return the state of `code` at `now`; it is usable while less than 300 s have passed (READINGS 8)."""
    if code.session_id is not None:
        return CodeState.USED
    if code.voided_why is not None or inherited_ending(code, snapshot) is not None:
        return CodeState.VOID
    expires_at = later(code.issued_at, snapshot.policy.code_seconds)
    return CodeState.EXPIRED if snapshot.now >= expires_at else CodeState.ISSUED


def issue(code: AuthorizationCode) -> tuple[Change, Fact]:
    """Store a new authorization code."""
    return Insert(code), _fact_of(CODE_ISSUED, code)


def redeem(event: CodeRedeemed, client: Client, snapshot: Snapshot) -> Decision:
    """Exchange a code for a session, for an authenticated client (RFC 6749 §4.1.3)."""
    if event.code is None:
        return refuse(Why.CODE_MISSING)
    known = snapshot.code(event.code.digest)
    code = _check_exchange(event, known, client, snapshot)
    if isinstance(code, Why):
        return _refuse_exchange(code, known, client, snapshot)
    made, issued, writes, started = session.start(
        kind=SessionKind.AUTHORIZATION_CODE,
        client=client,
        user_id=code.user_id,
        scopes=code.scopes,
        epochs=code.epochs,
        user_agent=event.user_agent,
        source=event.source,
        entropy=event.entropy,
        now=snapshot.now,
    )
    used = revise(code, session_id=made.session_id, used_or_voided_at=snapshot.now)
    return Decision(issued, (Update(code, used), *writes), (_fact_of(CODE_REDEEMED, used), started))


def _check_exchange(
    event: CodeRedeemed, code: AuthorizationCode | None, client: Client, snapshot: Snapshot
) -> AuthorizationCode | Why:
    """Return the code if the exchange is right in everything; else the first reason in the order of `Why`."""
    if event.redirect_uri is None:
        return Why.REDIRECT_URI_MISSING
    if code is None:
        return Why.CODE_UNKNOWN
    if code.client_id != client.client_id:
        return Why.CODE_OF_ANOTHER_CLIENT
    refusal = CODE_REFUSALS.get(state_of(code, snapshot))
    if refusal is not None:
        return refusal
    if event.redirect_uri != code.redirect_uri:
        return Why.REDIRECT_URI_DIFFERENT
    if event.code_verifier is None:
        return Why.VERIFIER_MISSING
    if not proves(event.code_verifier, code.code_challenge):
        return Why.VERIFIER_WRONG
    if code.redirect_uri not in client.redirect_uris:
        return Why.REDIRECT_URI_NO_LONGER_REGISTERED
    if not set(code.scopes) <= set(client.scopes):
        return Why.SCOPE_UNREGISTERED
    return code


def _refuse_exchange(
    why: Why, code: AuthorizationCode | None, client: Client, snapshot: Snapshot
) -> Decision:
    """Refuse an exchange, which voids a known, unused code, also another client's (READINGS 18)."""
    if code is None:
        return refuse(why)
    if code.session_id is not None:
        return _refuse_used_code(why, code.session_id, client, snapshot)
    if state_of(code, snapshot) is CodeState.VOID:
        return refuse(why)
    voided = revise(code, voided_why=why, used_or_voided_at=snapshot.now)
    return Decision(Refused(why), (Update(code, voided),), (_fact_of(EXCHANGE_FAILS, voided, why),))


def _refuse_used_code(why: Why, session_id: str, client: Client, snapshot: Snapshot) -> Decision:
    """Refuse a used code; if the policy says so, end the session it started (READINGS 10)."""
    made = snapshot.session(session_id)
    if (
        not snapshot.policy.revoke_on_code_replay
        or made is None
        or made.client_id != client.client_id
        or session.state_of(made, snapshot) is not SessionState.ACTIVE
    ):
        return refuse(why)
    changes, fact = session.end(made, Why.CODE_REPLAYED, snapshot.now)
    return refuse(why, *changes, facts=(fact,))


def _fact_of(row: Transition, code: AuthorizationCode, why: Why | None = None) -> Fact:
    assert row.fact is not None
    return Fact(
        kind=row.fact,
        client_id=code.client_id,
        user_id=code.user_id,
        session_id=code.session_id,
        why=why,
        scopes=code.scopes,
    )
