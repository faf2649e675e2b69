"""One run: the instances, their callers, and the plan, which is generated on the way or given."""

import dataclasses
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final
from unittest.mock import patch

import trio
from msgspec.structs import replace

from fuzz.model import Model
from fuzz.shared.calls import AT_THE_TOKEN_SERVICE, Call, Face, Verb
from fuzz.shared.core_events import policy_of, with_more_scopes
from fuzz.shared.history import History
from fuzz.shared.initial_states import SCOPES, InitialState, draw_initial_state
from fuzz.shared.invariants import DOCUMENTED, PROGRESS, Violation
from fuzz.simulation.callers import Callers
from fuzz.simulation.connections import EXCHANGE_SECONDS, Wire
from fuzz.simulation.determinism import run_determined
from fuzz.simulation.exchanges import DESK, GUEST, Exchanges
from fuzz.simulation.instance import MOST_WRONG_SECONDS, ROUTES, Instance
from fuzz.simulation.judge import find_wrong_sources, judge_operations
from fuzz.simulation.limits import find_overruns
from fuzz.simulation.operations import Operation
from fuzz.simulation.order import Judged
from fuzz.simulation.plan import Line, Mishap, Swarm, swarm_of
from fuzz.simulation.population import populate
from fuzz.simulation.storage import OnFile, Shared, SharedMemory
from fuzz.simulation.store_checker import StoreChecker
from fuzz.simulation.story import IN_THE_END, Story
from fuzz.simulation.visits import OF_THE_MACHINE, VISITOR, choose_routes, draw_visit, find_wrong
from fuzz.simulation.witness import Witness
from fuzz.workload.generator import Workload
from ostiary_core import SPECIFICATION
from ostiary_core.model.decision import Decision

TURN_SECONDS: Final = 60.0
END_SECONDS: Final = 400.0


@dataclass(slots=True)
class Run:
    """The result of one run."""

    seed: str
    swarm: Swarm
    lines: tuple[Line, ...]
    story: tuple[str, ...]
    """Who did what at which second, and its outcome."""
    rules: dict[int, str]
    """Rule of the model that answers each step, by the step's number."""
    violations: tuple[Violation, ...]
    digest: str
    """Digest of the plan, the story, every byte on the wire, the log and the audit trail."""
    answers: tuple[tuple[int, str], ...]
    """Answer of every request, with its step; empty if none came."""
    operations: int
    turns: int
    virtual_ms: int
    faults: Counter[str]
    transitions: Counter[str]
    clauses: Counter[str]
    routes: Counter[str]
    doors: Counter[str]
    """Number of requests by door: pages, sheets, the lane, the interface beside it."""
    bytes: int


def live(seed: str, lines: Sequence[Line] | None = None) -> Run:
    """Run a seed: generate its plan on the way, or follow `lines`."""
    log: list[str] = []
    ROUTES.clear()
    folder = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    temporary = tempfile.TemporaryDirectory(prefix="ostiary-simulation-", dir=folder)
    on_pages = patch("ostiary_web.pages.administration.clients.SCOPES", SCOPES)
    with temporary as scratch, with_more_scopes(), on_pages:
        world = _World(seed, Path(scratch), lines, log)
        try:
            return run_determined(seed, world.run, log)
        except BaseException as error:
            error.add_note(f"the simulation broke off in seed {seed}")
            raise


def world_of(seed: str) -> tuple[InitialState, Swarm]:
    """Return the initial state and the mix of troubles of a seed."""
    random = Random(f"{seed} beginning")
    initial_state, swarm = draw_initial_state(random), swarm_of(random)
    # The server has no setting for it.
    at_most = SPECIFICATION.personal_tokens_at_most
    settings = dataclasses.replace(initial_state.settings, tokens_at_most=at_most)
    if swarm.window_scale < 1:
        # With two requests a minute no administrator could set up a second factor and sign in with it.
        settings = dataclasses.replace(settings, second_factor_of="no")
    return dataclasses.replace(initial_state, settings=settings), swarm


class _World:
    """All parts of one run."""

    def __init__(self, seed: str, folder: Path, given: Sequence[Line] | None, log: list[str]) -> None:
        self.seed = seed
        self.given = given
        self.log = log
        self.initial_state, self.swarm = world_of(seed)
        policy = policy_of(self.initial_state.settings, seed, 2 * MOST_WRONG_SECONDS)
        self.model = Model(self.initial_state.settings)
        self.history = History(self.initial_state)
        self.witness = Witness()
        self.wire = Wire()
        self.shared: Shared = OnFile(folder, policy) if self.swarm.on_file else SharedMemory(policy)
        self.stored = StoreChecker(self.shared)
        self.lines: list[Line] = []
        self.story = Story()
        (folder / "files").mkdir()
        self.exchanges = Exchanges(self.history, self.witness, self.shared, self.story)
        self.exchanges.is_https = self.swarm.is_https
        self.exchanges.limits_are_wide = self.swarm.window_scale >= 1
        self.callers = Callers(seed, self.history, self.story, self.exchanges, self.stored)
        self.instances = [
            Instance(
                number=number,
                name=seed,
                folder=folder / "files",
                policy=policy,
                shared=self.shared,
                witness=self.witness,
                wire=self.wire,
                swarm=self.swarm,
                committed=self._check_committed,
                secret=lambda: self.story.latest_secret,
                random=Random(f"{seed} instance {number}"),
            )
            for number in range(self.swarm.instances)
        ]
        self.exchanges.instances = self.callers.instances = self.instances

    def _check_committed(self, decisions: Sequence[Decision]) -> None:
        self.story.violations += self.stored.look(decisions)

    # --- the run

    async def run(self) -> Run:
        with trio.CancelScope(deadline=trio.current_time() + 400 * 86_400) as whole:
            async with trio.open_nursery() as nursery:
                for instance in self.instances:
                    await nursery.start(instance.live)
                service = self.instances[0].service
                assert service is not None
                await populate(service.turns, self.callers, self.model)
                async with trio.open_nursery() as callers:
                    for turn in self._turns():
                        await self._take(turn, callers)
                        if self.story.violations:
                            break
                    with trio.move_on_after(EXCHANGE_SECONDS * 4) as end:
                        await self._all_done(callers)
                    if end.cancelled_caught:
                        self.story.fault(PROGRESS, "callers are still waiting though every limit has passed")
                        callers.cancel_scope.cancel()
                if not self.story.violations:
                    await self._come_to_rest()
                nursery.cancel_scope.cancel()
        if whole.cancelled_caught and whole.deadline <= trio.current_time():
            self.story.fault(PROGRESS, "the run never came to its end")
        return self._result()

    def _turns(self) -> Iterator[list[Line]]:
        """Yield the plan in turns: the given lines, or lines generated from the history."""
        if self.given is not None:
            turn: list[Line] = []
            for line in self.given:
                if turn and not line.step.joined:
                    yield turn
                    turn = []
                turn.append(line)
            if turn:
                yield turn
            return
        workload = Workload(Random(f"{self.seed} workload"), self.history)
        random = Random(f"{self.seed} mishaps")
        for _ in range(self.swarm.turns):
            workload.at = max(workload.at, round(trio.current_time() * 1000))
            turn = []
            for step in workload.turn():
                mishap = self.swarm.mishap(random)
                if step.number <= workload.calm_steps:
                    mishap = Mishap(instance=mishap.instance, new=True, page=mishap.page)
                turn.append(Line(replace(step, crash=False, restart=False), mishap))
            yield turn

    async def _take(self, turn: list[Line], callers: trio.Nursery) -> None:
        await trio.sleep_until(turn[0].step.at / 1000)
        done: list[trio.Event] = []
        for line in turn:
            self.lines.append(line)
            finished = trio.Event()
            done.append(finished)
            callers.start_soon(self.callers.take, line, finished)
        if not turn[-1].mishap.hurry:
            with trio.move_on_after(TURN_SECONDS):
                for finished in done:
                    await finished.wait()

    async def _all_done(self, callers: trio.Nursery) -> None:
        while callers.child_tasks:  # noqa: ASYNC110 (a nursery has no event for it)
            await trio.sleep(1)

    # --- the end

    async def _come_to_rest(self) -> None:
        """End all faults; every remaining caller sends one more request, which must be answered."""
        for instance in self.instances:
            if instance.store is not None:
                instance.store.armed.clear()
        await trio.sleep_until(max(instance.stalled_until for instance in self.instances))
        await trio.sleep(2)
        for instance in self.instances:  # an instance that crashed late may not serve yet
            await instance.up.wait()
        calm = Mishap(new=True)
        number = IN_THE_END
        for seen in [*self.history.grants[-6:], *self.history.logins[-2:]]:
            client = self.history.clients.get(seen.client_id or "")
            if not seen.pairs:
                continue
            pair = seen.pairs[-1]
            calls = [Call(Verb.USER_INFO, token=pair.access)]
            if client is not None:
                about = Call(Verb.INTROSPECT, client.client_id, client.secret, pair.refresh)
                again = about._replace(verb=Verb.REFRESH, user_agent=pair.agent)
                calls += [about, again] if pair.refresh is not None else []
            for call in calls:
                number += 1
                where = number % len(self.instances)
                answer = await self.exchanges.ask(number, call, calm, where, Random(number))
                if answer is None and not self.story.violations:
                    wrong = f"{call.verb} is not answered though nothing is wrong any more"
                    self.story.fault(PROGRESS, wrong)
        await self._visit()
        for kept in self.exchanges.pool.values():
            for connection in kept:
                connection.close()
        await trio.sleep(END_SECONDS)
        left = [instance.number for instance in self.instances if instance.open_connections]
        if left:
            self.story.fault(PROGRESS, f"instances {left} still hold connections that their clients closed")

    async def _visit(self) -> None:
        random = Random(f"{self.seed} visits")
        login, guest = await self.callers.sign_in_at(DESK), await self.callers.sign_in_at(GUEST)
        any_form = Call(Verb.SIGN_OUT, login=login)
        for route in choose_routes(int(self.seed)):
            form = await self.exchanges.open_form(any_form, VISITOR, self.instances[0])
            if form is None:
                self.story.fault(DOCUMENTED, "a page with a form has none though nothing is wrong any more")
                return
            for by in (login, guest, None):
                request = draw_visit(route, by, form, self.history, random)
                self.wire.is_noted = route not in OF_THE_MACHINE
                response = await self.exchanges.ask_aside(request, VISITOR, random.choice(self.instances))
                self.wire.is_noted = True
                wrong = "" if response is None else find_wrong(route, response, is_super=by == login)
                if response is None and not self.story.violations:
                    self.story.fault(PROGRESS, f"{route} is not answered though nothing is wrong any more")
                elif wrong:
                    self.story.fault(DOCUMENTED, wrong)

    def _door_of(self, operation: Operation) -> str:
        call = operation.call
        if call.face is not Face.INTERFACE:
            return str(call.face)
        is_for_lane = call.verb in AT_THE_TOKEN_SERVICE | {Verb.USER_INFO}
        return "lane" if is_for_lane and self.swarm.lanes[operation.instance] else "interface"

    def _result(self) -> Run:
        for instance in self.instances:
            self.story.faults.update(instance.faults_met)
        judged: Judged = []
        self.story.violations += find_wrong_sources(self.story.sources)
        self.story.violations += find_overruns(self.story.operations, self.swarm.window_scale)
        trail = self.shared.audit()
        self.story.violations += judge_operations(
            *(self.model, self.story.operations, self.witness, judged),
            free_guesses=self.swarm.free_guesses,
            # If the entry of a refusal could not be written, the log has it.
            trail=None if any("refusal not kept" in line for line in self.log) else trail,
        )
        everything = [*map(str, self.lines), *self.log, *map(repr, trail), self.wire.digest]
        self.story.violations += self.stored.texts_of(self.story.secrets, "\n".join(self.log))
        story = [f"{at:>12.3f} s  {text}" for at, text in sorted(self.story.lines, key=lambda one: one[0])]
        digest = sha256("\n".join([*everything, *story]).encode())
        return Run(
            seed=self.seed,
            swarm=self.swarm,
            lines=tuple(self.lines),
            story=tuple(story),
            rules={operation.step: verdict.clause for operation, verdict in judged},
            violations=tuple(self.story.violations),
            digest=digest.hexdigest(),
            answers=tuple((one.step, str(one.answer or "")) for one in self.story.operations),
            operations=len(self.story.operations),
            turns=self.stored.turns,
            virtual_ms=round(1000 * max((one.returned_at for one in self.story.operations), default=0.0)),
            faults=+self.story.faults,
            transitions=self.stored.transitions,
            clauses=Counter(verdict.clause for _, verdict in judged),
            routes=Counter(ROUTES),
            doors=Counter(map(self._door_of, self.story.operations)),
            bytes=self.wire.bytes,
        )
