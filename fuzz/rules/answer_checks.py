"""Checks of an answer by the invariants, given all earlier answers."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from fuzz.shared.authenticator import steps_of
from fuzz.shared.calls import AT_THE_TOKEN_SERVICE, BY_LOGIN, WITH_A_CODE, Answer, AnswerKind, Call, Verb
from fuzz.shared.history import History
from fuzz.shared.invariants import (
    CLIENTS_APART,
    NOTHING_OUTLIVES,
    ONE_LIVE_PAIR,
    REDEEMED_ONCE,
    REPLAY_ENDS,
    SAME_PAIR,
    SCOPE_NEVER_WIDENS,
    SPENT_IS_DEAD,
    TWO_FACTORS,
    Invariant,
    Violation,
)
from fuzz.shared.knowledge import KnownSession, Place

CODE_MS, GRACE_MS = 300_000, 30_000
WRONG_CODES, WRONG_CODE_MS = 5, 900_000

Dead = Mapping[int, Invariant]
"""Sessions and codes that ended, by the step that began them, with the invariant that keeps them ended."""

REFRESHES = (Verb.REFRESH, Verb.REFRESH_LOGIN)
GRANTED = (AnswerKind.TOKENS, AnswerKind.LOGIN)
NOT_GOOD = frozenset({"A1001", "invalid_client", "unauthorized_client", "invalid_grant", "invalid_request"})


class Use(StrEnum):
    """The ways in which a refresh token that was used before can be used again."""

    NONE = "none"
    RETRY = "retry"
    REPLAY = "replay"
    DOUBTFUL = "doubtful"
    """Undecidable: the server stood still when the grace ended."""


def use_of(call: Call, place: Place | None, now: int, history: History, dead: Dead) -> Use:
    """Return what this use of a refresh token amounts to, by the time and the client of its first use."""
    if call.verb not in REFRESHES or place is None or place.is_access:
        return Use.NONE
    session, generation = place.session, place.generation
    if call.verb is Verb.REFRESH_LOGIN:
        allowed = session.is_login
    else:
        client = history.clients.get(call.client_id or "")
        grants = () if client is None else client.settings.grants
        is_own = call.client_id == session.client_id and history.is_authentic(call, now)
        allowed = is_own and "refresh_token" in grants
    if not allowed or generation not in session.spent_at or session.number in dead or now >= session.until:
        return Use.NONE
    if generation < max(session.spent_at):
        return Use.REPLAY
    at, agent = session.spent_at[generation]
    latest = now - call.waited_ms
    if agent != call.user_agent or latest - call.unseen_ms - at > GRACE_MS:
        return Use.REPLAY
    return Use.RETRY if latest - at <= GRACE_MS else Use.DOUBTFUL


def faults_of_answer(
    call: Call, now: int, answer: Answer, history: History, dead: Dead
) -> Iterator[Violation]:
    """Yield every violation in an answer; `history` does not contain it yet."""
    place = history.tokens.get(call.token or "")
    match call.verb:
        case Verb.REFRESH | Verb.REFRESH_LOGIN:
            yield from _faults_of_refresh(call, now, answer, place, history, dead)
        case Verb.REDEEM if answer.kind is AnswerKind.TOKENS:
            yield from _faults_of_redemption(call, now, answer, history, dead)
        case Verb.CLIENT_CREDENTIALS if answer.kind is AnswerKind.TOKENS:
            if not set(answer.scope) <= set(history.clients[call.client_id or ""].settings.scopes):
                yield Violation(SCOPE_NEVER_WIDENS, "a client is given a scope that it does not register")
        case Verb.INTROSPECT if answer.kind is AnswerKind.ACTIVE and place is not None:
            yield from _faults_of_introspection(call, answer, place)
        case Verb.SIGN_IN if answer.kind is AnswerKind.LOGIN:
            user = history.users.get(answer.sub or "")
            if user is not None and user.factor is not None:
                yield Violation(TWO_FACTORS, "a password alone signs in who has a second factor")
        case Verb.RESET_FACTOR if answer.kind is AnswerKind.DONE:
            by = history.tokens.get(call.login or "")
            if by is not None and by.session.user_id == call.user_id:
                yield Violation(TWO_FACTORS, "somebody resets their own second factor")
        case verb if verb in WITH_A_CODE and answer.kind is not AnswerKind.REFUSED:
            yield from _faults_of_code_entered(call, now, history)
        case _:
            pass
    if place is not None and _is_honoured(call, answer):
        yield from faults_of_honouring(call.verb, place, now, dead)
        if call.verb in AT_THE_TOKEN_SERVICE and place.session.client_id != call.client_id:
            yield Violation(CLIENTS_APART, f"{call.verb} of a token of another client, or of the backend")
    login = history.tokens.get(call.login or "")
    if login is not None and (answer.kind is not AnswerKind.REFUSED or answer.error != "A1001"):
        if not login.session.is_login and (call.verb in BY_LOGIN or call.login is not None):
            yield Violation(CLIENTS_APART, f"{call.verb} with a third party's token")
        if call.verb is not Verb.SIGN_IN:
            yield from faults_of_honouring(call.verb, login, now, dead)


def _faults_of_code_entered(call: Call, now: int, history: History) -> Iterator[Violation]:
    """Yield a violation if a code of a second factor must not have been accepted."""
    user, code = history.owner_of_factor(call), call.text_code or ""
    factor = None if user is None else user.factor or user.offered
    if call.verb is Verb.PROVE and user is not None and user.factor is None:
        return  # These calls were proved by the password.
    if factor is None:
        yield Violation(TWO_FACTORS, f"{call.verb} takes a code of nobody's second factor")
        return
    if code in factor.used:
        yield Violation(TWO_FACTORS, "a code is taken that was used before")
    is_recovery = code in factor.recovery and call.verb is not Verb.CONFIRM_FACTOR
    if not is_recovery and not steps_of(code, factor.secret, now):
        yield Violation(TWO_FACTORS, "a code is taken that no authenticator shows now")
    if len([at for at in factor.wrong_at if now - at < WRONG_CODE_MS]) >= WRONG_CODES:
        yield Violation(TWO_FACTORS, "a code is taken after too many wrong ones")


def _is_honoured(call: Call, answer: Answer) -> bool:
    """Whether the answer accepted the presented token."""
    if call.verb is Verb.INTROSPECT:
        return answer.kind is AnswerKind.ACTIVE
    if call.verb in (*REFRESHES, Verb.REDEEM):
        return answer.kind in GRANTED or answer.error == "invalid_scope"
    return call.verb is Verb.USER_INFO and answer.error not in NOT_GOOD


def faults_of_honouring(verb: Verb, place: Place, now: int, dead: Dead) -> Iterator[Violation]:
    """Yield the reasons why a token must not have been accepted."""
    session = place.session
    if session.number in dead:
        yield Violation(dead[session.number], f"{verb} honours a token of a session that ended")
    if now >= session.until:
        yield Violation(NOTHING_OUTLIVES, f"{verb} honours a token past its session's maximum")
    is_spent = place.generation in session.spent_at or place.generation < len(session.pairs) - 1
    if place.is_access:
        pair = session.pairs[place.generation]
        if is_spent:
            yield Violation(SPENT_IS_DEAD, f"{verb} honours a spent access token")
        if now >= pair.at + (pair.expires_in + 1) * 1_000:
            yield Violation(NOTHING_OUTLIVES, f"{verb} honours an access token past its time")
    elif is_spent and verb is Verb.INTROSPECT:
        yield Violation(ONE_LIVE_PAIR, "a spent refresh token is active beside its successor")


def _faults_of_refresh(
    call: Call, now: int, answer: Answer, place: Place | None, history: History, dead: Dead
) -> Iterator[Violation]:
    use = use_of(call, place, now, history, dead)
    granted = answer.kind in GRANTED
    if place is None:
        return
    session = place.session
    if granted:
        yield from _faults_of_tokens(answer, now, session)
    if use is Use.REPLAY and (granted or answer.error == "invalid_scope"):
        yield Violation(REPLAY_ENDS, "a replay is answered as if it were none")
    if use is Use.DOUBTFUL and granted:
        yield Violation(REPLAY_ENDS, "a retry is answered of which nobody can know whether it came in time")
    if use is not Use.RETRY or now > session.until - 1_000:
        return
    within = not call.scope or set(call.scope) <= set(session.scope)
    if not granted:
        if within:
            yield Violation(SAME_PAIR, f"a retry inside the grace is refused with {answer.error}")
        return
    if len(session.pairs) > place.generation + 1:
        shown = session.pairs[place.generation + 1]
        if (answer.access, answer.refresh) != (shown.access, shown.refresh):
            yield Violation(SAME_PAIR, "a retry inside the grace gives another pair")


def _faults_of_tokens(answer: Answer, now: int, session: KnownSession) -> Iterator[Violation]:
    if now + (answer.expires_in or 0) * 1_000 > session.until:
        yield Violation(NOTHING_OUTLIVES, "expires_in reaches beyond the session's maximum")
    if not answer.expires_in:
        yield Violation(NOTHING_OUTLIVES, "a pair is given that is good for less than a second")
    if not set(answer.scope) <= set(session.scope):
        yield Violation(SCOPE_NEVER_WIDENS, "a refresh gives more scope than was granted")


def _faults_of_redemption(
    call: Call, now: int, answer: Answer, history: History, dead: Dead
) -> Iterator[Violation]:
    code = history.code_texts.get(call.token or "")
    if code is None:
        return
    if code.redeemed:
        yield Violation(REDEEMED_ONCE, "a code is redeemed a second time")
    if code.client_id != call.client_id:
        yield Violation(CLIENTS_APART, "a code is redeemed by another client")
    if now - code.at >= CODE_MS:
        yield Violation(NOTHING_OUTLIVES, "a code is redeemed after 300 seconds")
    if code.number in dead:
        yield Violation(dead[code.number], "a code is redeemed that was void")
    if not set(answer.scope) <= set(code.scope):
        yield Violation(SCOPE_NEVER_WIDENS, "a code yields more scope than was asked for")
    client = history.clients.get(code.client_id)
    if client is not None and (answer.expires_in or 0) > client.settings.refresh_seconds:
        yield Violation(NOTHING_OUTLIVES, "expires_in reaches beyond the session's maximum")


def _faults_of_introspection(call: Call, answer: Answer, place: Place) -> Iterator[Violation]:
    if answer.client_id != call.client_id:
        yield Violation(CLIENTS_APART, "introspection tells of another client")
    if not set(answer.scope) <= set(place.session.scope):
        yield Violation(SCOPE_NEVER_WIDENS, "introspection shows more scope than was granted")
    if (answer.exp or 0) * 1_000 > place.session.until:
        yield Violation(NOTHING_OUTLIVES, "introspection shows an expiry beyond the session's maximum")
