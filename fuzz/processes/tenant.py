"""One client and its user on a real server: their knowledge, and the state that must hold.

They never do two things at once and no other caller touches their sessions, so everything is known about each
session but for the one call that is `pending`.
"""

import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import trio

from fuzz.processes import api
from fuzz.processes.connection import Connection, Lost
from fuzz.processes.failures import InvariantBroken
from fuzz.shared.calls import ADMINISTRATION, Answer, AnswerKind, Call, Verb
from fuzz.shared.campaign import Report
from fuzz.shared.invariants import ACKNOWLEDGED_STAYS, DOCUMENTED, REDEEMED_ONCE, SAME_PAIR, Invariant

MOST_SECONDS: Final = 10.0
"""Seconds within which every request is answered (READINGS 47)."""
_GRACE_SECONDS: Final = 28.0
"""Seconds of grace to count on, less than the specification's 30: the driver's clock starts earlier."""
_LONGEST_LIVES: Final = {"access_seconds": 86_400, "refresh_seconds": 2_592_000}
_QUESTIONS: Final = (Verb.INTROSPECT, Verb.USER_INFO)
_LATEST: Final = 400
OTHER_AGENT: Final = "somebody else"
"""User-Agent of a thief."""


@dataclass
class Session:
    """A session as its client knows it."""

    name: str
    access: str
    refresh: str | None
    spent: tuple[str, str] | None = None
    """The pair before, if there was one."""
    rotated: float = 0.0
    """Time of the latest rotation's request, by the driver's clock."""

    @property
    def tokens(self) -> list[str]:
        return [self.access, *([] if self.refresh is None else [self.refresh])]


@dataclass
class Pending:
    """A call without an answer."""

    call: Call
    since: float
    ends: list[Session]
    """Sessions that it ends."""
    rotates: Session | None = None
    is_counted: bool = False

    @property
    def may_be_sent_again(self) -> bool:
        """Whether repeating the call resolves it; if not, reading the present state does."""
        return self.rotates is not None or self.call.verb in (Verb.REDEEM, Verb.ENABLE_CLIENT)


@dataclass
class Ledger:
    """Data that the tenants of one database share."""

    report: Report
    """Report that counts failures, acknowledged changes, lost answers and their resolutions."""
    admin: str = ""
    """Access token of an administrator."""
    secrets: set[str] = field(default_factory=set)
    """Every token, code and secret that was received."""
    slowest: float = 0.0
    """Slowest answer since the report began, in seconds."""
    patience_seconds: float = MOST_SECONDS
    """Seconds until a request's connection is closed; longer while a worker is stopped."""


_NO_SESSION: Final = Session("", "", None)


class Tenant:
    """A client, its user, and their sessions."""

    def __init__(
        self, number: int, connections: Sequence[Connection], random: Random, ledger: Ledger
    ) -> None:
        """Create a tenant; single requests use the first of the connections."""
        self.client_id = f"client-{number}"
        self.username = f"user-{number}"
        self.password = f"the-password-of-user-{number}"
        self.secret = ""
        self.user_id = ""
        self.connections = connections
        self.random = random
        self.ledger = ledger
        self.login: str | None = None
        self.live: list[Session] = []
        self.ended: deque[Session] = deque(maxlen=6)
        self.used_codes: deque[Call] = deque(maxlen=3)
        """Calls that redeemed the last codes."""
        self.pending: Pending | None = None
        self.drawn = 0
        self._began = time.monotonic()
        self._history: deque[tuple[Session | None, str]] = deque(maxlen=_LATEST)
        self._sessions: dict[str, Session] = {}
        """Sessions by each of their tokens."""

    # --- requests, each of which raises `Lost`

    def call(self, verb: Verb, **fields: Any) -> Call:
        """Return a call of this client, its user or the administrator."""
        known = {
            "client_id": self.client_id,
            "secret": self.secret,
            "login": self.ledger.admin if verb in ADMINISTRATION else self.login,
            "user_id": self.user_id,
            "username": self.username,
            "password": self.password,
            "redirect_uri": api.REDIRECT_URI,
            "user_agent": "tenant",
        }
        return Call(verb, **{**known, **fields})

    async def ask(self, verb: Verb, **fields: Any) -> Answer:
        """Return the answer to a call of this tenant."""
        return await self.send(self.call(verb, **fields))

    async def get(self, verb: Verb, **fields: Any) -> Answer:
        """Return the answer to a call of this tenant, which must not be refused."""
        return self.expect(await self.ask(verb, **fields), verb)

    async def send(self, call: Call) -> Answer:
        """Return the answer to a call."""
        return (await self.race(call, 1))[0]

    async def race(self, call: Call, times: int) -> list[Answer]:
        """Send a call so many times at once; return the answers. Raises `Lost` if none comes."""
        answers: list[Answer] = []

        async def ask(connection: Connection) -> None:
            try:
                answers.append(await connection.ask(call))
            except Lost:
                pass
            except InvariantBroken as broken:
                raise self.violation(str(broken), invariant=broken.violation.invariant) from None

        async with trio.open_nursery() as nursery:
            for connection in self.connections[:times]:
                nursery.start_soon(ask, connection)
        for connection in self.connections[1:times]:
            connection.close()  # an unused connection could be closed by the server at its next use
        if call.verb not in _QUESTIONS:
            self._note(call, times, answers)
        if not answers:
            raise Lost
        return answers

    async def change(self, verb: Verb, ends: Sequence[Session] = (), **fields: Any) -> Answer:
        """Request a change that ends these sessions, and record its acknowledgement."""
        call = self.call(verb, **fields)
        self.expect_loss(call, ends)
        answer = self.expect(await self.send(call), verb)
        self.end(ends, verb)
        self.acknowledge(verb)
        return answer

    async def move_in(self) -> None:
        """Register the client and the user through the interface."""
        self.user_id = str((await self.get(Verb.REGISTER_USER)).sub)
        client = await self.get(Verb.REGISTER_CLIENT, **api.SETTINGS, **_LONGEST_LIVES)
        self.secret = self.keep(client.secret)
        self.keep(self.password)

    async def sign_in_if_need_be(self) -> None:
        if self.login is None:
            answer = await self.get(Verb.SIGN_IN)
            self.login, _ = self.keep(answer.access), self.keep(answer.refresh)
            self.acknowledge(Verb.SIGN_IN)

    async def is_active(self, token: str) -> bool:
        self.ledger.report.counts["checks"] += 1
        return (await self.get(Verb.INTROSPECT, token=token)).kind is AnswerKind.ACTIVE

    # --- knowledge

    @property
    def of_user(self) -> list[Session]:
        """The live sessions of the user, without the machine's."""
        return [session for session in self.live if session.refresh is not None]

    def choose_session(self) -> Session | None:
        sessions = self.of_user
        return self.random.choice(sessions) if sessions else None

    def enter(self, answers: Sequence[Answer], times: int = 1) -> None:
        """Record the session that one of the answers began. Raises `Lost` if none of `times` calls did."""
        winners = [answer for answer in answers if answer.kind is AnswerKind.TOKENS]
        if len(winners) > 1 or (not winners and len(answers) == times):
            text = f"{len(winners)} of {times} redemptions of one code bring tokens"
            raise self.violation(text, invariant=REDEEMED_ONCE)
        if not winners:
            raise Lost
        self.begin(winners[0])
        self.acknowledge(Verb.REDEEM)

    def begin(self, answer: Answer) -> None:
        """Record the session that began with these tokens."""
        self.drawn += 1
        refresh = None if answer.refresh is None else self.keep(answer.refresh)
        session = Session(f"session {self.drawn}", self.keep(answer.access), refresh)
        self.live.append(session)
        self.log(f"{session.name} begins", session)
        self._sessions |= dict.fromkeys(session.tokens, session)

    def rotate(self, session: Session, answers: Sequence[Answer], since: float) -> None:
        """Record a session's new pair."""
        for answer in answers:
            self.expect(answer, "a refresh", session)
        if len({(answer.access, answer.refresh) for answer in answers}) > 1:
            raise self.violation("one refresh brings two pairs", session, SAME_PAIR)
        assert session.refresh is not None
        session.spent = session.access, session.refresh
        session.access, session.refresh = self.keep(answers[0].access), self.keep(answers[0].refresh)
        self._sessions |= dict.fromkeys(session.tokens, session)
        session.rotated = since
        self.acknowledge(Verb.REFRESH)

    def end(self, sessions: Sequence[Session], by: str) -> None:
        """Record that sessions ended."""
        for session in list(sessions):
            self.live.remove(session)
            self.ended.append(session)
            self.log(f"{session.name} ended by {by}", session)

    def is_late(self, since: float) -> bool:
        return time.monotonic() - since > _GRACE_SECONDS

    def keep(self, text: str | None) -> str:
        """Keep a secret, to search all files for it afterwards, and return it."""
        assert text is not None
        self.ledger.secrets.add(text)
        return text

    def expect_loss(
        self, call: Call, ends: Sequence[Session] = (), rotates: Session | None = None
    ) -> Pending:
        """Record that the answer to the next call may be lost."""
        self.pending = Pending(call, time.monotonic(), list(ends), rotates)
        return self.pending

    def acknowledge(self, what: str) -> None:
        """Record that the answer came and confirmed the pending call."""
        self.ledger.report.tables["acknowledged"][what] += 1
        self.pending = None

    def log(self, what: str, about: Session | None = None) -> None:
        """Record an event of a session, or of all, for readers of a failure."""
        self._history.append((about, f"{time.monotonic() - self._began:.3f} s {what}"))

    def _note(self, call: Call, times: int, answers: Sequence[Answer]) -> None:
        session = self._sessions.get(call.token or "")
        words = [call.verb.value]
        if session is not None:
            is_spent = session.spent is not None and call.token in session.spent
            words.append(f"{session.name} by its spent token" if is_spent else session.name)
        if call.user_agent == OTHER_AGENT:
            words.append(f"from {OTHER_AGENT}")
        if times > 1:
            words.append(f"{times} times at once")
        tally = Counter(f"{answer.kind} {answer.error}".strip() for answer in answers) or {"no answer": times}
        answered = ", ".join(f"{count} {each}" if times > 1 else each for each, count in tally.items())
        self.log(f"{' '.join(words)}: {answered}", session or _NO_SESSION)

    # --- checks

    def expect(self, answer: Answer, what: str, session: Session | None = None) -> Answer:
        """Return the answer, which must not be a refusal."""
        if answer.kind is AnswerKind.REFUSED:
            invariant = DOCUMENTED if session is None else ACKNOWLEDGED_STAYS
            raise self.violation(f"{what} is {answer}", session, invariant)
        return answer

    def expect_same_pair(self, session: Session, answer: Answer, what: str) -> None:
        if (answer.access, answer.refresh) != (session.access, session.refresh):
            raise self.violation(f"{what} brings another pair, or none: {answer}", session, SAME_PAIR)

    def expect_refusal(self, answer: Answer, what: str, session: Session | None = None) -> None:
        self.ledger.report.counts["checks"] += 1
        if answer.error != "invalid_grant":
            raise self.violation(f"{what} is answered: {answer}", session)

    def violation(
        self, text: str, session: Session | None = None, invariant: Invariant = ACKNOWLEDGED_STAYS
    ) -> InvariantBroken:
        """Return the error of a violation, with the latest events of this tenant or session."""
        lines = [line for about, line in self._history if session is None or about in (session, None)]
        named = f"{self.client_id}, {session.name}" if session else self.client_id
        return InvariantBroken(f"{named}: {text}", invariant, lines)

    async def check(self) -> None:
        """Check that everything acknowledged holds, and nothing that ended is back. Raises `Lost`."""
        for session in self.live:
            await self.check_live(session)
            for spent in session.spent or ():
                if await self.is_active(spent):
                    raise self.violation("a token that was rotated away is active again", session)
        for session in self.ended:
            for token in (*session.tokens, *(session.spent or ())):
                if await self.is_active(token):
                    raise self.violation("a session that ended is back", session)
            for refresh in (session.refresh, session.spent and session.spent[1]):
                if refresh is not None:
                    answer = await self.ask(Verb.REFRESH, token=refresh)
                    self.expect_refusal(answer, "a refresh token of a session that ended", session)
        for call in self.used_codes:
            if self.pending is None or self.pending.call.token != call.token:
                self.expect_refusal(await self.send(call._replace(secret=self.secret)), "a used code")

    async def check_live(self, session: Session) -> None:
        """Check that all tokens of a session are valid and belong to the tenant's user. Raises `Lost`."""
        for token in session.tokens:
            if not await self.is_active(token):
                raise self.violation("a session that was issued, and never ended, is gone", session)
        if session.refresh is not None:
            answer = await self.ask(Verb.USER_INFO, token=session.access)
            if answer.sub != self.user_id:
                raise self.violation(f"user-info of a live session is answered: {answer}", session)
