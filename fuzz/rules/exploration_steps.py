"""What can happen at a state of the exploration: every event to try, and every instant to wait for."""

from collections.abc import Iterator
from typing import Any, Final

from fuzz.shared.calls import Verb
from fuzz.shared.history import History
from fuzz.shared.initial_states import BEGINNING_OF_TIME_MS, PEOPLE
from fuzz.shared.knowledge import KnownSession
from fuzz.shared.steps import Kind, Ref, Step, Twist

MOST_CODES: Final = 2
MOST_SESSIONS: Final = 2
"""How many of each are made; more of a kind behave like those."""

USER: Final = PEOPLE[0]
AGENT, OTHER_AGENT = "phone", "desk"
NARROW, WIDE = "user.read", "user.read,user.mail,user.files"
GRACE_MS, CODE_MS = 30_000, 300_000


def events(history: History) -> Iterator[Step]:
    """Every event at this state, as steps without number and time."""
    login = Ref(Kind.ACCESS, history.logins[-1].number)
    for client in history.initial_state.clients:
        yield from _of_client(history, client, login)
    for code in history.issued:
        token = Ref(Kind.CODE, code.number)
        for client in history.initial_state.clients:
            yield _step(Verb.REDEEM, client=client, token=token, agent=AGENT)
        for twist in (Twist.WRONG_VERIFIER, Twist.WITHOUT_URI, Twist.OTHER_URI, Twist.WRONG_SECRET):
            yield _step(Verb.REDEEM, client=code.client_id, token=token, twist=twist, agent=AGENT)
    for session in history.grants:
        yield from _of_session(history, session)
    yield from _of_user(history, history.logins[-1], login)


def _step(verb: Verb, **values: Any) -> Step:
    return Step(number=0, at=0, verb=verb, **values)


def _of_client(history: History, client: str, login: Ref) -> Iterator[Step]:
    yield _step(Verb.CHECK, client=client, by=login)
    yield _step(Verb.DENY, client=client, by=login)
    yield _step(Verb.WITHDRAW, client=client, by=login)
    if len(history.issued) < MOST_CODES:
        yield _step(Verb.APPROVE, client=client, by=login)
        yield _step(Verb.APPROVE, client=client, by=login, scope=NARROW, uri=1)
        yield _step(Verb.RECALL, client=client, by=login)
        yield _step(Verb.APPROVE, client=client, by=login, twist=Twist.PLAIN_CHALLENGE)
    if len(history.grants) < MOST_SESSIONS:
        yield _step(Verb.CLIENT_CREDENTIALS, client=client)
    yield _step(Verb.CLIENT_CREDENTIALS, client=client, scope=WIDE)
    for verb in (Verb.DISABLE_CLIENT, Verb.ENABLE_CLIENT, Verb.DELETE_CLIENT, Verb.FORCE_OUT_CLIENT):
        yield _step(verb, client=client)
    yield _step(Verb.RESET_SECRET, client=client)
    yield _step(Verb.GIVE_SECRET, client=client)
    yield _step(Verb.WITHDRAW_FOR, client=client, user=USER)
    yield _step(Verb.RESET_SECRET, client=client, change="keep-shortly")
    yield _step(Verb.END_OLD_SECRET, client=client)
    for change in ("read-only", "one-uri", "no-refresh"):
        yield _step(Verb.CHANGE_CLIENT, client=client, change=change)


def _of_session(history: History, session: KnownSession) -> Iterator[Step]:
    latest = len(session.pairs) - 1
    foreign = next(client for client in history.initial_state.clients if client != session.client_id)
    own = session.client_id
    for back in range(min(latest, 2) + 1):
        access, refresh = Ref(Kind.ACCESS, session.number, back), Ref(Kind.REFRESH, session.number, back)
        yield _step(Verb.USER_INFO, token=access)
        yield _step(Verb.USER_INFO, token=refresh)
        for token in (access, refresh):
            yield _step(Verb.INTROSPECT, client=own, token=token)
            yield _step(Verb.INTROSPECT, client=foreign, token=token)
            yield _step(Verb.REVOKE, client=own, token=token)
            yield _step(Verb.REVOKE, client=foreign, token=token)
        yield _step(Verb.REFRESH, client=own, token=refresh, agent=AGENT)
        yield _step(Verb.REFRESH, client=own, token=refresh, agent=OTHER_AGENT)
        if back:
            yield _step(Verb.REFRESH, client=own, token=refresh, agent=AGENT, waited=1)
            yield _step(Verb.REFRESH, client=own, token=refresh, agent=AGENT, unseen=1)
        yield _step(Verb.REFRESH, client=own, token=refresh, agent=AGENT, scope=WIDE)
        yield _step(Verb.REFRESH, client=own, token=refresh, agent=AGENT, scope=NARROW)
        yield _step(Verb.REFRESH, client=own, token=access, agent=AGENT)
        yield _step(Verb.REFRESH, client=foreign, token=refresh, agent=AGENT)
        for twist in (Twist.WRONG_SECRET, Twist.OLD_SECRET):
            yield _step(Verb.REFRESH, client=own, token=refresh, agent=AGENT, twist=twist)
    yield _step(Verb.END_SESSION, token=Ref(Kind.ACCESS, session.number))
    yield _step(Verb.SWEEP, token=Ref(Kind.ACCESS, session.number))


def _of_user(history: History, login: KnownSession, token: Ref) -> Iterator[Step]:
    yield _step(Verb.USER_INFO, token=token)
    for client in history.initial_state.clients:
        yield _step(Verb.INTROSPECT, client=client, token=token)
    for back in range(min(len(login.pairs) - 1, 1) + 1):
        refresh = Ref(Kind.REFRESH, login.number, back)
        yield _step(Verb.REFRESH_LOGIN, token=refresh, agent=AGENT)
        yield _step(Verb.REFRESH_LOGIN, token=refresh, agent=OTHER_AGENT)
    yield _step(Verb.SIGN_OUT, by=token)
    if len(history.logins) < 2:
        yield _step(Verb.SIGN_IN, user=USER, agent=AGENT)
    yield _step(Verb.CHANGE_PASSWORD, user=USER, by=token)
    yield _step(Verb.CHANGE_PASSWORD, user=USER, by=token, twist=Twist.WRONG_PASSWORD)
    for verb in (Verb.DISABLE_USER, Verb.ENABLE_USER, Verb.RESET_PASSWORD, Verb.FORCE_OUT_USER):
        yield _step(verb, user=USER)
    yield _step(Verb.DELETE_USER, user=USER)
    yield _step(Verb.FORCE_OUT_ALL)
    for change in ("new-phone", "no-phone", "must-change"):
        yield _step(Verb.CHANGE_USER, user=USER, change=change)


def instants(history: History, at: int) -> list[int]:
    """The times worth waiting for: the last instant inside and the first outside of everything that ends."""
    now = BEGINNING_OF_TIME_MS + at
    edges: set[int] = set()
    for code in history.issued:
        edges |= {code.at + CODE_MS - 1, code.at + CODE_MS}
    for client in history.clients.values():
        edges |= {client.old_until - 1, client.old_until}
    for session in history.grants:
        pair = session.pairs[-1]
        edges |= {session.until - 1_000, session.until - 1, session.until}
        edges |= {pair.at + pair.expires_in * 1_000 - 1, pair.at + pair.expires_in * 1_000}
        if session.spent_at:
            first = session.spent_at[max(session.spent_at)][0]
            edges |= {first + GRACE_MS, first + GRACE_MS + 1}
    return sorted(edge - BEGINNING_OF_TIME_MS for edge in edges if edge > now)
