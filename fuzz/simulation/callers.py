"""The callers: they send requests, meet mishaps on the way, and receive answers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

import trio
from msgspec.structs import replace

from fuzz.shared.authenticator import STEP_MS, code_at
from fuzz.shared.calls import ADMINISTRATION, Answer, AnswerKind, Call, Face, Verb
from fuzz.shared.history import History
from fuzz.shared.meaning import call_of
from fuzz.shared.requests import may_be_asked
from fuzz.shared.sheets import IMPORTS, SHEETS, picture_of
from fuzz.shared.steps import Step
from fuzz.simulation.connections import send_garbage
from fuzz.simulation.documented import ISSUING
from fuzz.simulation.exchanges import DESK, DESKS, GUEST, OTHER_DESK, Exchanges
from fuzz.simulation.forms import may_be_in_a_form
from fuzz.simulation.instance import Instance
from fuzz.simulation.plan import Line, Mishap
from fuzz.simulation.storage import write_later_words
from fuzz.simulation.store_checker import StoreChecker
from fuzz.simulation.story import AT_THE_DESK, DESK_PASSWORD, Story

LATE_RETRY_MS, LATE_STALL_MS = 29_000, 4_000
"""Milliseconds before a retry inside the grace, and the time that it may then wait inside the server."""
PAUSE_MS: Final = 40_000
"""Milliseconds that a process stands still before it reads a retry, so that its arrival is uncertain."""
DESK_SECONDS: Final = 600
_SIGN_INS: Final = (Verb.SIGN_IN, Verb.ENTER_FACTOR)
_THIEF: Final = "thief" * 120
"""A User-Agent too long to be kept whole (`http/sender.py`)."""


@dataclass
class Desk:
    """An account that no step changes, mostly an administrator's, with its current login."""

    token: str | None = None
    since: float = -math.inf
    factor: str | None = None
    """Secret of the second factor, if the account must have one."""
    lock: trio.Lock = field(default_factory=trio.Lock)


@dataclass
class Callers:
    """All callers of one run, and their knowledge."""

    seed: str
    history: History
    story: Story
    exchanges: Exchanges
    stored: StoreChecker
    instances: Sequence[Instance] = ()
    desks: dict[str, Desk] = field(default_factory=lambda: {name: Desk() for name in (*DESKS, GUEST)})
    desk_calls: int = 0

    # --- a line of the plan

    async def take(self, line: Line, finished: trio.Event) -> None:
        """Run one line of the plan."""
        try:
            step, mishap = line.step, line.mishap
            random = Random(f"{self.seed} step {step.number}")
            instance = self.instances[mishap.instance % len(self.instances)]
            if mishap.clock_ms:
                self.story.faults["clock set"] += 1
                by_ms = instance.set_clock(mishap.clock_ms)
                self.story.log(f"the clock of instance {instance.number} is set by {by_ms / 1000:+} s")
            if mishap.stall_ms:
                self._stall(instance, mishap.stall_ms)
            if mishap.later_word:
                self._write_later_words()
            async with trio.open_nursery() as nursery:
                if mishap.crash_ms is not None:
                    nursery.start_soon(self._crash, instance, mishap.crash_ms)
                if mishap.garbage:
                    nursery.start_soon(self._garbage, instance, random)
                if step.verb is Verb.SWEEP:
                    self.story.log(f"instance {instance.number} sweeps")
                    await self._sweep(instance)
                else:
                    await self._step(step, mishap, random)
        finally:
            finished.set()

    def _write_later_words(self) -> None:
        records = write_later_words(self.exchanges.shared)
        self.stored.take_in(records)
        self.story.faults["later words"] += len(records)
        self.story.log(f"a later release writes a word of its own into {len(records)} records")

    async def _sweep(self, instance: Instance) -> None:
        try:
            await instance.sweep()
        except Exception as error:
            # A crash or a fault of the store stopped it; the sweeper will come again.
            self.story.log(f"the sweeper of instance {instance.number} was stopped: {type(error).__name__}")

    async def _crash(self, instance: Instance, after_ms: int) -> None:
        await trio.sleep(after_ms / 1000)
        if instance.is_up:
            self.story.faults["crash"] += 1
            self.story.log(f"instance {instance.number} crashes")
            instance.crash()

    async def _garbage(self, instance: Instance, random: Random) -> None:
        connection = instance.connect("198.51.100.66", slow=False)
        if connection is not None:
            self.story.faults["garbage"] += 1
            await send_garbage(connection, random)

    async def _step(self, step: Step, mishap: Mishap, random: Random) -> None:
        call = call_of(self.history, step)
        instance = self.instances[mishap.instance % len(self.instances)]
        if not may_be_asked(call):
            return
        if call.verb is Verb.BATCH and call.parts[0].moves is not None:
            # Over HTTP a role is given or taken, whatever the others are by then.
            call = call._replace(parts=tuple(part._replace(roles=None) for part in call.parts))
        at_the_desk = call.verb in ADMINISTRATION and call.login is None
        if at_the_desk:
            call = _by(call, await self.sign_in_at(DESK))
        call = self._at_its_face(call, mishap)
        if mishap.picture and call.login is not None:
            self.story.faults["picture"] += 1
            await self.exchanges.upload_picture(call, picture_of(random), instance)
        if mishap.malformed and call.face is not Face.PAGE:
            await self.exchanges.send_with_mistake(call, instance, random)
        if mishap.forged and call.verb in _SIGN_INS and call.username is not None:
            self.story.faults["forged tickets"] += 1
            await self.exchanges.send_forged_tickets(call, instance, random)
        calls = [call] * mishap.race
        if mishap.two_desks and at_the_desk:
            self.story.faults["two administrators"] += 1
            other = _by(call, await self.sign_in_at(OTHER_DESK))
            calls = [other if place % 2 else one for place, one in enumerate(calls)]
        if mishap.two_agents:
            self.story.faults["two user-agents"] += 1
            calls = [one._replace(user_agent=_THIEF) if place % 2 else one for place, one in enumerate(calls)]
        if mishap.mixed and call.verb in ISSUING:
            other = call._replace(verb=Verb.INTROSPECT, scope=None)
            calls = [other if place % 2 else one for place, one in enumerate(calls)]
        if call.verb is Verb.BATCH:
            other = call._replace(parts=call.parts[::-1])
            calls = [other if place % 2 else one for place, one in enumerate(calls)]
        if mishap.overtaken and call.verb is Verb.SIGN_IN and call.user_id is not None:
            self.story.faults["overtaken"] += 1
            reset = Call(Verb.RESET_PASSWORD, user_id=call.user_id, new_password=f"password {step.number}")
            calls.insert(1, _by(reset, await self.sign_in_at(DESK)))
        if mishap.race > 1:
            self.story.faults["race"] += 1
        if mishap.pipelined and not mishap.overtaken and call.face is Face.INTERFACE:
            self.story.faults["pipelined"] += 1
            await self.exchanges.exchange_pipelined(step, calls, mishap, random)
            return
        async with trio.open_nursery() as nursery:
            for place, one in enumerate(calls):
                where = (mishap.instance + place) % len(self.instances)
                own = Random(f"{self.seed} step {step.number} {place}")
                met = mishap if one.verb is call.verb else replace(mishap, overtaken=False)
                nursery.start_soon(self._insist, step, one, met, where, own)

    async def _insist(self, step: Step, call: Call, mishap: Mishap, where: int, random: Random) -> None:
        """Send a request, and again if no answer came and the caller retries."""
        answer = await self.exchanges.ask(step.number, call, mishap, where, random)
        for _ in range(2):
            if answer is not None or mishap.retry_ms is None:
                return
            await trio.sleep(mishap.retry_ms / 1000)
            self.story.faults["retry"] += 1
            if mishap.retry_ms == LATE_RETRY_MS and random.random() < 0.5:
                self._stall(self.instances[where], LATE_STALL_MS)
            pause_ms = PAUSE_MS if mishap.retry_ms > 0 and random.random() < 0.1 else 0
            again = Mishap(instance=where, new=True, form=mishap.form, pause_ms=pause_ms)
            answer = await self.exchanges.ask(step.number, call, again, where, random)

    def _stall(self, instance: Instance, by_ms: int) -> None:
        self.story.faults["store stalls"] += 1
        instance.stall(by_ms)
        self.story.log(f"the store of instance {instance.number} stalls for {by_ms} ms")

    def _at_its_face(self, call: Call, mishap: Mishap) -> Call:
        """Return the call as it is made: in a browser, by a sheet, or through the interface."""
        if call.verb in IMPORTS or (mishap.sheet and call.verb in SHEETS):
            self.story.faults["sheet"] += 1
            return call._replace(face=Face.SHEET)
        if call.verb is Verb.END_OWN_SESSION:
            named = self.history.by_session_id.get(call.session_id or "")
            is_of_a_page = named not in self.history.programs
        else:
            is_of_a_page = mishap.page and may_be_in_a_form(call, self.history.initial_state.settings)
        if not is_of_a_page:
            return call
        self.story.faults["page"] += 1
        # A user registered on the page must choose a password.
        return call._replace(face=Face.PAGE, must_change=True if call.verb is Verb.REGISTER_USER else None)

    async def sign_in_at(self, name: str) -> str:
        """Return a login token of an administrator or the guest, signing in if the last one has ended."""
        desk = self.desks[name]
        async with desk.lock:
            now = trio.current_time()
            for attempt in range(6):
                is_good = desk.token not in self.exchanges.turned_away
                if desk.token is not None and is_good and now < desk.since + DESK_SECONDS:
                    return desk.token
                call = Call(Verb.SIGN_IN, username=name, password=DESK_PASSWORD, user_agent=name)
                where = attempt % len(self.instances)
                answer = await self._ask_at_desk(call, where)
                if answer is not None and answer.kind is AnswerKind.ASKED:
                    answer = await self._enter_factor(desk, call, answer, where)
                if answer is not None and answer.access is not None:
                    desk.token, desk.since = answer.access, trio.current_time()
                else:
                    # A code of a second factor works once.
                    await trio.sleep(1 if desk.factor is None else STEP_MS / 1000)
            return "nobody"

    async def _enter_factor(self, desk: Desk, call: Call, asked: Answer, where: int) -> Answer | None:
        """Continue a sign-in that asks for a second factor, or for the setup of one."""
        call = call._replace(verb=Verb.OFFER_FACTOR, password=None, token=asked.secret)
        if asked.sets_up:
            offered = await self._ask_at_desk(call, where)
            desk.factor = desk.factor if offered is None else offered.secret or desk.factor
        if desk.factor is None:
            return None
        code = code_at(desk.factor, self.instances[where].latest() // STEP_MS)
        return await self._ask_at_desk(call._replace(verb=Verb.ENTER_FACTOR, text_code=code), where)

    async def _ask_at_desk(self, call: Call, where: int) -> Answer | None:
        self.desk_calls += 1
        number, random = AT_THE_DESK + self.desk_calls, Random(self.desk_calls)
        return await self.exchanges.ask(number, call, Mishap(new=True), where, random)


def _by(call: Call, login: str) -> Call:
    """Return the call as made with another login."""
    return call._replace(login=login, parts=tuple(part._replace(login=login) for part in call.parts))
