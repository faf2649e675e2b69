"""One small world: the core behind its driver, the model beside it, the history, and both judges.

Worlds are run for a few hundred steps and dropped, so that a campaign's memory stays flat and every failure
has a short history.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from fuzz.model import Model
from fuzz.rules.driver import Driver, Turn
from fuzz.rules.hindsight import find_faults_in_hindsight
from fuzz.rules.invariant_checker import InvariantChecker
from fuzz.shared.calls import AnswerKind, Verb
from fuzz.shared.core_events import policy_of
from fuzz.shared.history import History
from fuzz.shared.initial_states import ADMINISTRATOR, BEGINNING_OF_TIME_MS, PEOPLE, InitialState
from fuzz.shared.invariants import EXPLAINED, RECORDED, Violation
from fuzz.shared.meaning import call_of
from fuzz.shared.state_tables import transitions_of
from fuzz.shared.steps import Step, registrations_of
from fuzz.workload.weights import LONGEST_WAIT_MS
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import FactKind
from ostiary_core.model.reply import Refused

FIRST_ADMINISTRATOR = tuple(
    Step(number=0, at=0, verb=Verb.CREATE_ADMINISTRATOR, user=name)
    for name in ("no user name", PEOPLE[0], ADMINISTRATOR)
)
"""Steps that create the first administrator: one has a malformed name, one a name that is taken."""


class InvalidStart(Exception):
    """A violation before the first step."""

    def __init__(self, violations: list[Violation]) -> None:
        super().__init__(f"the world could not begin: {violations[0]}")
        self.violations = violations


class World:
    """Clients and users under the rules, with both judges."""

    def __init__(self, name: str, initial_state: InitialState, *, rehearse_every: int = 1) -> None:
        policy = policy_of(initial_state.settings, name, LONGEST_WAIT_MS // 1_000)
        self.name = name
        self.driver = Driver(name, policy, rehearse_every=rehearse_every)
        self.model = Model(initial_state.settings)
        self.history = History(initial_state)
        self.checker = InvariantChecker(self.history, self.driver)
        self.clauses: Counter[str] = Counter()
        """Number of decisions by each sentence of the model."""
        self.transitions: Counter[str] = Counter()
        """Number of decisions by row of the core's two state tables."""
        self.decisions: list[Decision] = []
        """Decisions of the latest turn."""
        self.steps = 0
        self._trace = sha256()
        self._begin(initial_state)

    @property
    def digest(self) -> str:
        """Digest of all questions and answers of this world."""
        return self._trace.hexdigest()

    def run(self, steps: Sequence[Step]) -> tuple[list[Violation], list[str]]:
        """Take one turn of steps; return the violations, and the outcome of each step."""
        if steps[0].restart:
            self.driver.restart()
        # All calls of a turn are made before any of them is answered.
        calls = [(step.number, call_of(self.history, step)) for step in steps]
        turn = self.driver.take(calls, BEGINNING_OF_TIME_MS + steps[0].at, crash=steps[0].crash)
        self.steps += len(steps)
        violations, outcomes = self._judge_answers(turn)
        violations += self.checker.after(turn)
        self.decisions = [outcome.decision for outcome in turn.outcomes if outcome.decision is not None]
        for step, outcome in zip(steps, turn.outcomes, strict=False):
            self._trace.update(f"{step} {outcome.answer!r}\n".encode())
        return violations, outcomes

    def check_everything(self, at: int) -> list[Violation]:
        """Check everything, `at` milliseconds after the beginning."""
        return list(self.checker.check_everything(BEGINNING_OF_TIME_MS + at))

    def end(self, at: int) -> list[Violation]:
        """Check everything that can be read about this ended world; its trail is read and dropped."""
        store, realm = self.driver.store, self.model.realm
        return list(find_faults_in_hindsight(store, realm, self.history, BEGINNING_OF_TIME_MS + at))

    def _judge_answers(self, turn: Turn) -> tuple[list[Violation], list[str]]:
        """Compare every answer with the model's."""
        violations, outcomes = [], []
        for outcome in turn.outcomes:
            if outcome.decision is None:
                outcomes.append("no answer: nothing was kept")
                continue
            if outcome.decision.facts or outcome.answer.kind is AnswerKind.REFUSED:
                self.transitions.update(transitions_of(outcome.decision))
            verdict = self.model.judge(outcome.call, int(turn.now), outcome.answer)
            self.clauses[verdict.clause] += 1
            outcomes.append(f"{outcome.answer}  ({verdict.clause})")
            recorded_for = {fact.actor_id for fact in outcome.decision.facts if fact.kind is FactKind.REFUSED}
            if recorded_for != ({verdict.recorded_for} - {None}):
                violations.append(Violation(RECORDED, f"the fact of a refused {outcome.call.verb} is wrong"))
            if verdict.answer != outcome.answer:
                right, given = verdict.answer, outcome.answer
                names = " and ".join(right.find_differences(given))
                told_so = f"with another {names}" if names else f"and was answered '{given}'"
                detail = f"{outcome.call.verb} must be answered '{right}', {told_so} ({verdict.clause})"
                violations.append(Violation(EXPLAINED, detail))
            reply = outcome.decision.reply
            named = sorted(fault.path for fault in reply.faults) if isinstance(reply, Refused) else []
            if verdict.faults and named != list(verdict.faults):
                expected = f"{', '.join(verdict.faults)}, and names {', '.join(named)}"
                detail = f"the refusal of {outcome.call.verb} must name {expected}"
                violations.append(Violation(EXPLAINED, detail))
        return violations, outcomes

    # --- the beginning

    def _begin(self, initial_state: InitialState) -> None:
        """Create the first administrator, the clients and the users."""
        self.checker.begin()
        for place, step in enumerate([*registrations_of(initial_state), *FIRST_ADMINISTRATOR]):
            turn = self.driver.take([(-1 - place, call_of(self.history, step))], BEGINNING_OF_TIME_MS)
            violations, _ = self._judge_answers(turn)
            violations += self.checker.after(turn)
            if violations:
                raise InvalidStart(violations)
