"""The callers: everybody who asks something, what goes wrong with it, and what they hear."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Final

import trio

from fuzz.calls import ADMINISTRATION, Answer, Call, Said, Verb
from fuzz.driver import BEGINNING_OF_TIME_MS
from fuzz.history import History
from fuzz.invariants import DOCUMENTED, PROGRESS, Invariant, Violation
from fuzz.meaning import call_of
from fuzz.simulation.asking import ASK_SECONDS, Garbled, ask, garbage, hear, spoken
from fuzz.simulation.instance import PROXY, Instance
from fuzz.simulation.judging import RightSource
from fuzz.simulation.operations import Operation, Outcome
from fuzz.simulation.plan import CUT_BEFORE, Line, Mishap
from fuzz.simulation.speech import ISSUING, Heard, answer_of, is_undocumented, request_of
from fuzz.simulation.storage import AT_THE_STORE, Shared
from fuzz.simulation.streams import Line as Connection
from fuzz.simulation.witness import Witness
from fuzz.steps import Step
from ostiary_core.records import Session, Table, Token
from ostiary_core.secret import digest_of

__all__ = ["AT_THE_DESK", "DESK", "DESK_PASSWORD", "IN_THE_END", "Callers"]

DESK: Final = "desk"
"""Who administers: a super administrator to whom nobody does anything."""
DESK_PASSWORD: Final = "password of the administration desk"
DESK_SECONDS: Final = 1_200
AT_THE_DESK: Final = 1_000_000
IN_THE_END: Final = 2_000_000
"""What is asked besides the plan has numbers from here on."""
TURNED_AWAY: Final = {
    (Verb.REGISTER_CLIENT, "A0429"),
    (Verb.REGISTER_USER, "A0429"),
    (Verb.CHANGE_PASSWORD, "A0409"),
}
"""Answers to one of several who do the same at the same time: nothing was done, and nobody is to blame."""


@dataclass
class Callers:
    """All callers of one run, and what they remember."""

    seed: str
    history: History
    witness: Witness
    shared: Shared
    instances: Sequence[Instance] = ()
    operations: list[Operation] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    told: list[tuple[float, str]] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    sources: list[RightSource] = field(default_factory=list)
    secrets: set[str] = field(default_factory=lambda: {DESK_PASSWORD})
    latest_secret: str = DESK_PASSWORD
    pool: dict[tuple[int, str], list[Connection]] = field(default_factory=dict)
    desk_token: str | None = None
    desk_since: float = -math.inf
    desk_lock: trio.Lock = field(default_factory=trio.Lock)
    desk_calls: int = 0

    # --- a line of the plan

    async def take(self, line: Line, finished: trio.Event) -> None:
        """One line of the plan."""
        try:
            step, mishap = line.step, line.mishap
            random = Random(f"{self.seed} step {step.number}")
            instance = self.instances[mishap.instance % len(self.instances)]
            if mishap.clock_ms:
                self.faults["clock set"] += 1
                instance.set_clock(mishap.clock_ms)
                self.tell(f"the clock of instance {instance.number} is set by {mishap.clock_ms / 1000:+} s")
            async with trio.open_nursery() as nursery:
                if mishap.crash_ms is not None:
                    nursery.start_soon(self._crash, instance, mishap.crash_ms)
                if mishap.garbage:
                    nursery.start_soon(self._garbage, instance, random)
                if step.verb is Verb.SWEEP:
                    self.tell(f"instance {instance.number} sweeps")
                    await self._sweep(instance)
                elif step.verb not in (Verb.CHANGE_PHONE, Verb.RECOVER_PASSWORD):
                    await self._step(step, mishap, random)
        finally:
            finished.set()

    async def _sweep(self, instance: Instance) -> None:
        try:
            await instance.sweep()
        except Exception as error:
            # It was stopped by a crash or by a fault of the store; it comes round again.
            self.tell(f"the sweeper of instance {instance.number} was stopped: {type(error).__name__}")

    async def _crash(self, instance: Instance, after_ms: int) -> None:
        await trio.sleep(after_ms / 1000)
        if instance.is_up:
            self.faults["crash"] += 1
            self.tell(f"instance {instance.number} crashes")
            instance.crash()

    async def _garbage(self, instance: Instance, random: Random) -> None:
        line = instance.connect("198.51.100.66", slow=False)
        if line is not None:
            self.faults["garbage"] += 1
            await garbage(line, random)

    async def _step(self, step: Step, mishap: Mishap, random: Random) -> None:
        call = call_of(self.history, step)
        if call.verb in ADMINISTRATION and call.login is None:
            call = call._replace(login=await self._desk())
        calls = [call] * mishap.race
        if mishap.two_agents:
            self.faults["two user-agents"] += 1
            calls = [
                one._replace(user_agent="thief") if place % 2 else one for place, one in enumerate(calls)
            ]
        if mishap.mixed and call.verb in ISSUING:
            other = call._replace(verb=Verb.INTROSPECT, scope=None)
            calls = [other if place % 2 else one for place, one in enumerate(calls)]
        if mishap.race > 1:
            self.faults["race"] += 1
        if mishap.pipelined:
            self.faults["pipelined"] += 1
            await self._pipelined(step, calls, mishap, random)
            return
        async with trio.open_nursery() as nursery:
            for place, one in enumerate(calls):
                where = (mishap.instance + place) % len(self.instances)
                own = Random(f"{self.seed} step {step.number} {place}")
                nursery.start_soon(self._insist, step, one, mishap, where, own)

    async def _insist(self, step: Step, call: Call, mishap: Mishap, where: int, random: Random) -> None:
        """Ask, and ask again where no answer came and the caller is one who does."""
        answer = await self.ask(step.number, call, mishap, where, random)
        for _ in range(2):
            if answer is not None or mishap.retry_ms is None:
                return
            await trio.sleep(mishap.retry_ms / 1000)
            self.faults["retry"] += 1
            again = Mishap(instance=where, new=True, form=mishap.form)
            answer = await self.ask(step.number, call, again, where, random)

    async def _desk(self) -> str:
        """A token of the administration desk, which signs in where it has none that lasts."""
        async with self.desk_lock:
            now = trio.current_time()
            for attempt in range(6):
                if self.desk_token is not None and now < self.desk_since + DESK_SECONDS:
                    return self.desk_token
                self.desk_calls += 1
                call = Call(verb=Verb.SIGN_IN, username=DESK, password=DESK_PASSWORD, user_agent=DESK)
                where = attempt % len(self.instances)
                answer = await self.ask(
                    AT_THE_DESK + self.desk_calls, call, Mishap(new=True), where, Random(self.desk_calls)
                )
                if answer is not None and answer.access is not None:
                    self.desk_token, self.desk_since = answer.access, trio.current_time()
                else:
                    await trio.sleep(1)
            return "nobody"

    # --- one request

    def _operation(self, number: int, call: Call, instance: Instance) -> Operation:
        operation = Operation(
            number=len(self.operations),
            step=number,
            call=call,
            instance=instance.number,
            invoked=self.witness.tick(),
            invoked_now=instance.earliest(),
            invoked_at=trio.current_time(),
        )
        self.operations.append(operation)
        return operation

    async def ask(self, number: int, call: Call, mishap: Mishap, where: int, random: Random) -> Answer | None:
        """One request and what is heard of it; None where that is nothing, or only a failure."""
        instance = self.instances[where]
        operation = self._operation(number, call, instance)
        setting = (instance.offset_ms, instance.incarnation)
        source = source_of(call)
        asked = spoken(
            request_of(call, by_form=mishap.form), operation.number, self._forwarded(mishap, source)
        )
        peer = PROXY if mishap.proxied else source
        line = self._line(instance, peer, mishap)
        self._note_faults(mishap, line, operation, instance)
        heard = None
        fresh = line is not None and line.is_fresh
        if line is not None:
            try:
                heard = await ask(line, asked, mishap, random)
            except trio.TooSlowError:
                self.fault(PROGRESS, f"{call.verb}: neither an answer nor the end of the connection")
            except Garbled as error:
                self.fault(DOCUMENTED, f"{call.verb} is answered in bytes that are no HTTP: {error}")
        if mishap.fate == CUT_BEFORE or line is None:
            operation.outcome = Outcome.NEVER
        self._returned(operation, instance, heard, mishap, source)
        operation.clock_was_set = setting != (instance.offset_ms, instance.incarnation)
        cut = mishap.fate is not None or not instance.is_up or setting[1] != instance.incarnation
        if heard is None and fresh and not cut and not self.violations:
            self.fault(PROGRESS, f"{call.verb} is not answered though nothing was cut")
        if line is not None and line.usable and heard is not None:
            self.pool.setdefault((where, peer), []).append(line)
        elif line is not None:
            line.hang_up()
        if operation.answer is None or operation.answer.said is Said.FAILED:
            return None
        return operation.answer

    async def _pipelined(self, step: Step, calls: list[Call], mishap: Mishap, random: Random) -> None:
        """All of a race in one write, answered in order."""
        instance = self.instances[mishap.instance % len(self.instances)]
        source = source_of(calls[0])
        line = instance.connect(source, slow=mishap.slow)
        operations = [self._operation(step.number, call, instance) for call in calls]
        requests = [
            spoken(request_of(call, by_form=mishap.form), operation.number, [])
            for call, operation in zip(calls, operations, strict=True)
        ]
        setting = (instance.offset_ms, instance.incarnation)
        for place, operation in enumerate(operations):
            heard = None
            if line is not None:
                try:
                    with trio.fail_after(ASK_SECONDS):
                        if place == 0:
                            await line.say(b"".join(each.data for each in requests))
                        if line.usable:
                            heard = await hear(line, requests[place].connection, random)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    line.usable = False
                except trio.TooSlowError:
                    self.fault(PROGRESS, f"{operation.call.verb}: no answer on a pipelined connection")
                except Garbled as error:
                    self.fault(DOCUMENTED, f"pipelined {operation.call.verb}: {error}")
            self._returned(operation, instance, heard, mishap, source)
            operation.clock_was_set = setting != (instance.offset_ms, instance.incarnation)
        if line is not None:
            line.hang_up()

    def _line(self, instance: Instance, peer: str, mishap: Mishap) -> Connection | None:
        kept = self.pool.get((instance.number, peer), [])
        while kept and not mishap.new and not mishap.slow:
            line = kept.pop()
            if line.usable:
                return line
        return instance.connect(peer, slow=mishap.slow)

    def _forwarded(self, mishap: Mishap, source: str) -> list[tuple[str, str]]:
        """What proxies, and callers who would like to be somebody else, write into the request."""
        entries = (["6.6.6.6"] if mishap.spoofed else []) + ([source] if mishap.proxied else [])
        return [("X-Forwarded-For", ", ".join(entries))] if entries else []

    def _note_faults(
        self, mishap: Mishap, line: Connection | None, operation: Operation, instance: Instance
    ) -> None:
        if line is None:
            self.faults["nobody listens"] += 1
        for name in ("slow", "spoofed", "proxied"):
            self.faults[name] += bool(getattr(mishap, name))
        self.faults["torn"] += mishap.torn > 1
        if mishap.fate in AT_THE_STORE and instance.store is not None:
            instance.store.armed[operation.number] = mishap.fate
        elif mishap.fate is not None:
            self.faults[mishap.fate] += 1

    def _returned(
        self, operation: Operation, instance: Instance, heard: Heard | None, mishap: Mishap, source: str
    ) -> None:
        operation.returned = self.witness.tick()
        operation.returned_now = instance.latest()
        operation.returned_at = trio.current_time()
        call = operation.call
        if heard is None:
            if operation.outcome is not Outcome.NEVER:
                operation.outcome = Outcome.UNKNOWN
            self._tell_operation(operation, "no answer is heard")
            return
        wrong = is_undocumented(call, heard, by_form=mishap.form)
        if wrong is not None:
            self.fault(DOCUMENTED, wrong)
            operation.outcome = Outcome.UNKNOWN
            self._tell_operation(operation, f"{heard.status}, and not as documented")
            return
        answer = self._completed(call, answer_of(call, heard), source)
        operation.answer = answer
        if answer.said is Said.FAILED:
            operation.outcome = Outcome.UNKNOWN
            if operation.number not in self.witness.met_fault:
                self.fault(DOCUMENTED, f"{call.verb} fails with {heard.status} though no fault was injected")
        elif (call.verb, answer.error) in TURNED_AWAY:
            operation.outcome = Outcome.NEVER
        else:
            operation.outcome = Outcome.ANSWERED
            self._note(operation, answer)
        self._tell_operation(operation, f"{heard.status} {answer}")

    def _completed(self, call: Call, answer: Answer, source: str) -> Answer:
        """With what HTTP does not say: which session began, and whose login it is."""
        begins = call.verb in (Verb.REDEEM, Verb.CLIENT_CREDENTIALS, Verb.SIGN_IN)
        if answer.said not in (Said.TOKENS, Said.LOGIN):
            return answer
        session = self._session(answer)
        if session is not None and begins:
            answer = answer._replace(session_id=session.session_id)
            self.sources.append(RightSource(session.session_id, source, session.source))
        if answer.said is Said.LOGIN and session is not None:
            answer = answer._replace(sub=session.user_id)
        return answer

    def _session(self, answer: Answer) -> Session | None:
        texts = [text for text in (answer.access, answer.refresh) if text is not None]
        digests = [digest_of(text) for text in texts]
        tokens = [one for one in self.shared.records(Table.TOKEN) if isinstance(one, Token)]
        ids = {token.session_id for token in tokens if token.digest in digests}
        for session in self.shared.records(Table.SESSION):
            if isinstance(session, Session) and session.session_id in ids:
                return session
        return None

    def _note(self, operation: Operation, answer: Answer) -> None:
        """Let the history take in what it can make sense of."""
        call = operation.call
        self.remember(call, answer)
        if operation.step >= AT_THE_DESK:
            return
        if call.login is not None and call.login == self.desk_token and answer.error == "A1001":
            self.desk_token = None
        unknown = call.client_id is not None and call.client_id not in self.history.clients
        if unknown and call.verb is not Verb.REGISTER_CLIENT:
            return
        now = BEGINNING_OF_TIME_MS + round(trio.current_time() * 1000)
        self.history.note(operation.step, call, now, answer)

    def remember(self, call: Call, answer: Answer) -> None:
        """Keep what must be found nowhere."""
        texts = (answer.access, answer.refresh, answer.code, answer.secret, call.verifier)
        passwords = (call.new_password, call.password if call.verb is Verb.REGISTER_USER else None)
        for text in (*texts, *passwords):
            if text is not None and len(text) > 8:
                self.secrets.add(text)
                self.latest_secret = text

    # --- judging on the way

    def fault(self, invariant: Invariant, detail: str) -> None:
        """Something that must not happen happened."""
        self.violations.append(Violation(invariant, detail))

    def tell(self, text: str) -> None:
        """One more sentence of the story."""
        self.told.append((trio.current_time(), text))

    def _tell_operation(self, operation: Operation, came: str) -> None:
        call = operation.call
        about = " ".join(
            word
            for word in (
                call.client_id and f"client={call.client_id}",
                call.username and f"user={call.username}",
                call.user_agent and f"agent={call.user_agent}",
            )
            if word
        )
        who = f"step {operation.step}" if operation.step < AT_THE_DESK else "the desk"
        who = who if operation.step < IN_THE_END else "in the end"
        self.tell(
            f"{who}: {call.verb} {about} asked at {operation.invoked_at:.3f} s of instance "
            f"{operation.instance}: {came}"
        )


def source_of(call: Call) -> str:
    """The address that somebody calls from."""
    who = call.client_id if call.verb not in ADMINISTRATION else DESK
    place = int.from_bytes(sha256((who or call.username or "somebody").encode()).digest()[:1])
    return f"203.0.113.{place}"
