"""Single requests: the connection, the mishaps on the way, and the answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Final

import trio

from fuzz.shared.calls import ADMINISTRATION, Answer, AnswerKind, Call, Face, Verb
from fuzz.shared.history import BEGINS_A_CLIENT, History
from fuzz.shared.http_client import Fields, NotHttp, Request, Response
from fuzz.shared.initial_states import BEGINNING_OF_TIME_MS
from fuzz.shared.invariants import DOCUMENTED, PROGRESS
from fuzz.shared.requests import request_of, with_cookies_of_https
from fuzz.shared.responses import answer_of
from fuzz.shared.sheets import answer_of_import, picture_request
from fuzz.shared.steps import Step
from fuzz.simulation import forms
from fuzz.simulation.connections import EXCHANGE_SECONDS, HOST, Connection, manner_fields, number_request
from fuzz.simulation.documented import OVERTAKEN, STATUS_OF_CODE, is_undocumented
from fuzz.simulation.instance import PROXY, Instance
from fuzz.simulation.judge import RightSource
from fuzz.simulation.malformed import STRANGERS, draw_mistake
from fuzz.simulation.operations import Operation, Outcome
from fuzz.simulation.plan import AT_THE_STORE, Fate, Manner, Mishap
from fuzz.simulation.storage import Shared
from fuzz.simulation.story import AT_THE_DESK, Story
from fuzz.simulation.witness import AHEAD, Witness
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.records import RefreshToken, Session, Table, User
from ostiary_core.model.secret import digest_of
from ostiary_core.model.sign_in_ticket import Ticket

ANSWER_SECONDS: Final = 10.0
"""Seconds within which every request is answered (READINGS 47)."""
NO_OPERATION: Final = -1
"""Number of a request that is not judged."""

DESK: Final = "desk"
OTHER_DESK: Final = "other-desk"
DESKS: Final = (DESK, OTHER_DESK)
"""Super administrators that no step changes."""
GUEST: Final = "guest"
"""A user without a role, who acts only at the end."""

FORGED_TICKETS: Final = 7
"""Number of forged tickets, more than the wrong guesses that most seeds allow for a name."""
_OF_FORGED_TICKETS: Final = {(401, "A1001"), (429, "A0429"), (500, "A0500"), (503, "A0500")}
_RENEWED: Final = ["LoginRefreshed", "AccountRequested"]


@dataclass
class Exchanges:
    """Requests and answers of one run, and the connections kept for later requests."""

    history: History
    witness: Witness
    shared: Shared
    story: Story
    instances: Sequence[Instance] = ()
    is_https: bool = False
    limits_are_wide: bool = True
    """Whether the limits of requests a minute are out of reach."""
    turned_away: set[str] = field(default_factory=set)
    """Login tokens that were answered as invalid."""
    pool: dict[tuple[int, str], list[Connection]] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        """Origin of every page of the server."""
        return f"{'https' if self.is_https else 'http'}://{HOST}"

    def _operation(self, number: int, call: Call, instance: Instance) -> Operation:
        operation = Operation(
            number=len(self.story.operations),
            step=number,
            call=call,
            instance=instance.number,
            incarnation=instance.incarnation,
            source=source_of(call),
            invoked=self.witness.tick(),
            invoked_now=instance.earliest(),
            invoked_at=trio.current_time(),
        )
        self.story.operations.append(operation)
        return operation

    async def ask(self, number: int, call: Call, mishap: Mishap, where: int, random: Random) -> Answer | None:
        """Send one request and return its answer; None if none came, or only a failure."""
        instance = self.instances[where]
        made = await self._request(call, mishap, instance)
        if made is None:
            return None
        operation = self._operation(number, call, instance)
        setting = (instance.times_set, instance.incarnation)
        source = source_of(call)
        more = [*self._forwarding_fields(mishap, source), *self._manner_fields(call, made, mishap)]
        request = number_request(made, operation.number, more)
        peer = PROXY if mishap.proxied else source
        if mishap.pause_ms:
            operation.paused_ms = await instance.pause(mishap.pause_ms)
            # The process may be another by now, and its counters as well.
            operation.incarnation = instance.incarnation
        connection = self._connection(instance, peer, mishap)
        self._note_faults(mishap, connection, operation, instance)
        response = None
        fresh = connection is not None and connection.is_fresh
        if connection is not None:
            with self._judge_connection(call.verb):
                response = await connection.exchange(request, mishap, random)
        if mishap.fate is Fate.CUT_BEFORE or connection is None:
            operation.outcome = Outcome.NEVER
        late_seconds = trio.current_time() - operation.invoked_at - ANSWER_SECONDS - mishap.pause_ms / 1000
        if response is not None and not mishap.slow and mishap.torn == 1 and late_seconds > 0:
            self.story.fault(PROGRESS, f"{call.verb} is answered {late_seconds:.1f} s too late")
        self._note_return(operation, instance, response, mishap, source)
        operation.clock_was_set = setting != (instance.times_set, instance.incarnation)
        cut = mishap.fate is not None or not instance.is_up or setting[1] != instance.incarnation
        if response is None and fresh and not cut and not self.story.violations:
            self.story.fault(PROGRESS, f"{call.verb} is not answered though nothing was cut")
        if connection is not None and connection.is_usable and response is not None and not mishap.slow:
            self.pool.setdefault((where, peer), []).append(connection)
        elif connection is not None:
            connection.close()
        if operation.answer is None or operation.answer.kind is AnswerKind.FAILED:
            return None
        return operation.answer

    @contextmanager
    def _judge_connection(self, what: str) -> Iterator[None]:
        """Report a violation unless the connection carries HTTP, and answers or ends in time."""
        try:
            yield
        except trio.TooSlowError:
            self.story.fault(PROGRESS, f"{what}: neither an answer nor the end of the connection")
        except NotHttp as error:
            self.story.fault(DOCUMENTED, f"{what} is answered in bytes that are no HTTP: {error}")

    async def _request(self, call: Call, mishap: Mishap, instance: Instance) -> Request | None:
        """Return the request that makes the call; None if the page with its form does not open."""
        if call.face is not Face.PAGE:
            return self._as_browsers_do(request_of(call, by_form=mishap.form))
        if call.verb is Verb.REFRESH_LOGIN:
            return self._as_browsers_do(forms.make_renewing_request(call))
        form = await self.open_form(call, source_of(call), instance)
        if form is None:
            return None
        return self._as_browsers_do(forms.make_sending_request(call, forms.find_form(call), form))

    def _as_browsers_do(self, request: Request) -> Request:
        return with_cookies_of_https(request) if self.is_https else request

    def _manner_fields(self, call: Call, request: Request, mishap: Mishap) -> Fields:
        """Return the caller's extra fields, except those that would make a form count as another page's."""
        is_a_form = call.face is Face.PAGE
        # A text message's route refuses other sites, whatever token the request has.
        may_sign_in = call.login is None or call.verb is Verb.REQUEST_TEXT_CODE
        is_a_sign_in = may_sign_in and request.target.startswith("/api/auth/")
        is_refused = (is_a_form or is_a_sign_in) and mishap.manner is Manner.OTHER_PAGE
        return manner_fields(None if is_refused else mishap.manner, self.origin)

    async def open_form(self, call: Call, source: str, instance: Instance) -> forms.Form | None:
        """Return the form of a call; None if its page does not open."""
        page_form = forms.find_form(call)
        page = await self.ask_aside(forms.make_opening_request(call, page_form), source, instance)
        return None if page is None or page.status != 200 else forms.read_form(page_form, page)

    async def ask_aside(self, request: Request, source: str, instance: Instance) -> Response | None:
        """Return the response to a request outside the history; None if none comes."""
        connection = instance.connect(source, slow=False)
        if connection is None:
            return None
        response = None
        with self._judge_connection(f"{request.method} {request.target}"):
            asked = number_request(self._as_browsers_do(request), NO_OPERATION, [])
            response = await connection.exchange(asked, Mishap(), Random(0))
        connection.close()
        return response

    async def upload_picture(self, call: Call, picture: bytes, instance: Instance) -> None:
        """Upload a picture for the caller: it is refused with a reason, or served unchanged."""
        source = source_of(call)
        response = await self.ask_aside(picture_request(call, picture), source, instance)
        if response is None or response.status >= 500:
            return
        if response.status != 200:
            if response.status != STATUS_OF_CODE.get(response.error):
                self.story.fault(DOCUMENTED, f"a picture is refused with {response.status} {response.error}")
            return
        self.story.faults["picture kept"] += 1
        shown = await self.ask_aside(Request("GET", response.data["avatarUrl"]), source, instance)
        # A newer picture of the same account replaces this one and its file.
        if shown is not None and shown.status != 404 and shown.status < 500 and shown.body != picture:
            self.story.fault(DOCUMENTED, f"a picture is served with {shown.status}, and not as it was sent")

    async def send_with_mistake(self, call: Call, instance: Instance, random: Random) -> None:
        """Send a call with a mistake in it, from a stranger's address; it must be refused."""
        spoiled = draw_mistake(call, random)
        if spoiled is None:
            return
        mistake, request, answers = spoiled
        self.story.faults["malformed"] += 1
        response = await self.ask_aside(request, random.choice(STRANGERS), instance)
        if response is not None and (response.status, response.error) not in answers:
            answer = f"{response.status} {response.error}"
            self.story.fault(DOCUMENTED, f"{call.verb} with {mistake} is answered {answer}")

    async def send_forged_tickets(self, call: Call, instance: Instance, random: Random) -> None:
        """Send codes with forged tickets for the user of a call; none counts as a guess."""
        for _ in range(FORGED_TICKETS):
            ticket = Ticket(
                user_id=call.user_id or "nobody",
                username=call.username or "",
                issued_at=Instant(instance.latest()),
                signature=random.randbytes(32),
            )
            forged = Call(Verb.ENTER_FACTOR, token=ticket.text().reveal(), text_code="000000")
            request = request_of(forged, by_form=False)
            response = await self.ask_aside(request, random.choice(STRANGERS), instance)
            if response is not None and (response.status, response.error) not in _OF_FORGED_TICKETS:
                answer = f"{response.status} {response.error}"
                self.story.fault(DOCUMENTED, f"a code with a made-up ticket is answered {answer}")

    async def exchange_pipelined(self, step: Step, calls: list[Call], mishap: Mishap, random: Random) -> None:
        """Send all requests of a race in one write; they are answered in order."""
        instance = self.instances[mishap.instance % len(self.instances)]
        source = source_of(calls[0])
        connection = instance.connect(source, slow=mishap.slow)
        operations = [self._operation(step.number, call, instance) for call in calls]
        requests = [
            number_request(self._as_browsers_do(request_of(call, by_form=mishap.form)), operation.number, [])
            for call, operation in zip(calls, operations, strict=True)
        ]
        setting = (instance.times_set, instance.incarnation)
        for place, operation in enumerate(operations):
            response = None
            if connection is not None:
                try:
                    what = f"pipelined {operation.call.verb}"
                    with self._judge_connection(what), trio.fail_after(EXCHANGE_SECONDS):
                        if place == 0:
                            await connection.send(b"".join(map(connection.http.write, requests)))
                        if connection.is_usable:
                            response = await connection.next_response(random)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    connection.is_usable = False
            self._note_return(operation, instance, response, mishap, source)
            operation.clock_was_set = setting != (instance.times_set, instance.incarnation)
        if connection is not None:
            connection.close()

    def _connection(self, instance: Instance, peer: str, mishap: Mishap) -> Connection | None:
        kept = self.pool.get((instance.number, peer), [])
        while kept and not mishap.new and not mishap.slow:
            connection = kept.pop()
            if connection.is_usable:
                return connection
        return instance.connect(peer, slow=mishap.slow)

    def _forwarding_fields(self, mishap: Mishap, source: str) -> list[tuple[str, str]]:
        """Return forwarding fields of proxies, and forged ones of callers who pretend another address."""
        entries = (["6.6.6.6"] if mishap.spoofed else []) + ([source] if mishap.proxied else [])
        scheme = [("X-Forwarded-Proto", "https")] if self.is_https and mishap.proxied else []
        return [("X-Forwarded-For", ", ".join(entries)), *scheme] if entries else []

    def _note_faults(
        self, mishap: Mishap, connection: Connection | None, operation: Operation, instance: Instance
    ) -> None:
        if connection is None:
            self.story.faults["nobody listens"] += 1
        self.story.faults["process stalls"] += mishap.pause_ms > 0
        for name in ("slow", "spoofed", "proxied"):
            self.story.faults[name] += bool(getattr(mishap, name))
        self.story.faults["torn"] += mishap.torn > 1
        if mishap.overtaken and instance.store is not None:
            instance.store.halting.add(operation.number)
        if mishap.fate is None:
            return
        if mishap.fate in AT_THE_STORE and instance.store is not None:
            instance.store.armed[operation.number] = mishap.fate
        else:
            self.story.faults[mishap.fate] += 1

    def _note_return(
        self, operation: Operation, instance: Instance, response: Response | None, mishap: Mishap, source: str
    ) -> None:
        operation.returned = self.witness.tick()
        operation.returned_now = instance.latest()
        operation.returned_at = trio.current_time()
        call = operation.call
        if response is None:
            if operation.outcome is not Outcome.NEVER:
                operation.outcome = Outcome.UNKNOWN
            self.story.log_operation(operation, "no answer is heard")
            return
        shown = forms.read_code_or_reason(response) if call.face is Face.PAGE else ""
        wrong = is_undocumented(call, response, by_form=mishap.form, shown=shown)
        if wrong is not None:
            self.story.fault(DOCUMENTED, wrong)
            operation.outcome = Outcome.UNKNOWN
            self.story.log_operation(operation, f"{response.status}, and not as documented")
            return
        answer = self._complete(call, _answer_of(call, response, instance.policy.second_factor_key), source)
        seen = [one for one in self.witness.seen.get(operation.number, ()) if one.kind not in AHEAD]
        if call.verb is Verb.REQUEST_TEXT_CODE and seen:
            answer = answer._replace(code=seen[-1].code)
        operation.answer = answer
        has_stalled = instance.stalled_until > operation.invoked_at
        # A retry with an uncertain arrival time is answered by a failure (READINGS 46), and so is one that
        # counts as having arrived before another instance erased the salt.
        margin_ms = instance.policy.clock_margin_seconds * SECOND_MS
        is_doubtful = any(one.unseen_ms or (one.is_restored and one.waited_ms > margin_ms) for one in seen)
        has_failed = operation.number in self.witness.met_fault or has_stalled or is_doubtful
        is_let_in = answer.error != "A0429" or (call.verb is Verb.REQUEST_TEXT_CODE and self.limits_are_wide)
        if answer.kind is AnswerKind.FAILED:
            operation.outcome = Outcome.UNKNOWN
            if not has_failed:
                wrong = f"{call.verb} fails with {response.status} though no fault was injected"
                self.story.fault(DOCUMENTED, wrong)
        elif self._is_renewed_in_vain(operation, answer):
            operation.outcome = Outcome.UNKNOWN
        elif not is_let_in or answer.error == OVERTAKEN or (seen and seen[-1].turned_away):
            operation.outcome = Outcome.NEVER
        elif call.verb is Verb.REQUEST_TEXT_CODE and has_failed and not answer.error and not seen:
            operation.outcome = Outcome.NEVER  # it is answered before it is done
        else:
            operation.outcome = Outcome.ANSWERED
            self._note(operation, answer)
        self.story.log_operation(operation, f"{response.status} {answer}")

    def _is_renewed_in_vain(self, operation: Operation, answer: Answer) -> bool:
        """Whether a page renewed its login while another renewal came before it looked at the account.

        Then no caller receives the tokens of the first renewal.
        """
        kinds = [one.kind for one in self.witness.seen.get(operation.number, ())]
        return operation.call.face is Face.PAGE and answer.error == "A1001" and kinds[-2:] == _RENEWED

    def _complete(self, call: Call, answer: Answer, source: str) -> Answer:
        """Return the answer with facts that HTTP does not give: the begun session, the login's user."""
        if answer.kind is AnswerKind.USER and answer.sub is None:
            return answer._replace(sub=self._user_id(call))
        begins = call.verb not in (Verb.REFRESH, Verb.REFRESH_LOGIN)
        if answer.kind not in (AnswerKind.TOKENS, AnswerKind.LOGIN):
            return answer
        session = self._session(answer)
        if session is not None and begins:
            answer = answer._replace(session_id=session.session_id)
            self.story.sources.append(RightSource(session.session_id, source, session.source))
        if answer.kind is AnswerKind.LOGIN and session is not None:
            answer = answer._replace(sub=session.user_id)
        return answer

    def _user_id(self, call: Call) -> str | None:
        """Return the user that a sheet registered, which its answer lacks: the newest with the name."""
        users = [user for user in self.shared.records(Table.USER) if isinstance(user, User)]
        named = [user for user in users if user.username == call.username]
        return max(named, key=lambda user: user.created_at).user_id if named else None

    def _session(self, answer: Answer) -> Session | None:
        texts = [text for text in (answer.access, answer.refresh) if text is not None]
        digests = [digest_of(text) for text in texts]
        tokens = [one for one in self.shared.records(Table.REFRESH_TOKEN) if isinstance(one, RefreshToken)]
        ids = {token.session_id for token in tokens if token.digest in digests}
        for session in self.shared.records(Table.SESSION):
            if not isinstance(session, Session):
                continue
            if session.session_id in ids or session.access_digest in digests:
                return session
        return None

    def _note(self, operation: Operation, answer: Answer) -> None:
        """Record the answer in the history, if the history knows its subject."""
        call = operation.call
        self.story.remember(call, answer)
        if operation.step >= AT_THE_DESK:
            return
        if call.login is not None and answer.error == "A1001":
            self.turned_away.add(call.login)
        unknown = call.client_id is not None and call.client_id not in self.history.clients
        if unknown and call.verb not in BEGINS_A_CLIENT:
            return
        now = BEGINNING_OF_TIME_MS + round(trio.current_time() * 1000)
        self.history.note(operation.step, call, now, answer)


def _answer_of(call: Call, response: Response, key: bytes) -> Answer:
    if response.status < 500 and call.face is Face.PAGE:
        return forms.answer_of_page(call, response, key)
    if response.status == 200 and call.face is Face.SHEET:
        return answer_of_import(call, response)
    return answer_of(call, response)


def source_of(call: Call) -> str:
    """Return the source address of a caller."""
    who = call.client_id if call.verb not in ADMINISTRATION else DESK
    place = sha256((who or call.username or "somebody").encode()).digest()[0]
    return f"2001:db8:113:{place:x}::1" if place % 3 == 0 else f"203.0.113.{place}"
