"""One small world: the core behind its driver, the model beside it, the history, and both judges.

Worlds are begun, run for a few hundred steps and dropped, so a campaign's memory stays flat and every
failure is found in a short life.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from fuzz.model import Model, User
from fuzz.rules.driver import Driver, Turn
from fuzz.rules.invariant_checker import InvariantChecker
from fuzz.shared.calls import Answer, AnswerKind
from fuzz.shared.core_events import hash_of
from fuzz.shared.history import History
from fuzz.shared.initial_states import ADMINISTRATOR, BEGINNING_OF_TIME_MS, SUPER_ADMINISTRATOR, InitialState
from fuzz.shared.invariants import EXPLAINED, Violation
from fuzz.shared.knowledge import KnownUser
from fuzz.shared.meaning import call_of
from fuzz.shared.seeds import entropy
from fuzz.shared.state_tables import transitions_of
from fuzz.shared.steps import Step, registrations_of
from fuzz.workload.weights import LONGEST_WAIT_MS
from ostiary_core import events as e
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Instant
from ostiary_core.model.policy import Policy
from ostiary_core.model.reply import UserKnown
from ostiary_core.model.secret import Entropy

ADMINISTRATORS_PASSWORD = "password of the first administrator"


class InvalidStart(Exception):
    """Something that must never happen happened before the first step."""

    def __init__(self, violations: list[Violation]) -> None:
        super().__init__(f"the world could not begin: {violations[0]}")
        self.violations = violations


class World:
    """A life of clients and people under the rules."""

    def __init__(self, name: str, initial_state: InitialState, *, rehearse_every: int = 1) -> None:
        policy = Policy(
            revoke_on_code_replay=initial_state.code_replay_ends_session,
            clock_margin_seconds=LONGEST_WAIT_MS // 1_000,
        )
        self.name = name
        self.driver = Driver(name, policy, rehearse_every=rehearse_every)
        self.model = Model(code_replay_ends_session=initial_state.code_replay_ends_session)
        self.history = History(initial_state)
        self.checker = InvariantChecker(self.history, self.driver)
        self.clauses: Counter[str] = Counter()
        """How often each sentence of the model decided."""
        self.transitions: Counter[str] = Counter()
        """How often each row of the core's two state tables was taken."""
        self.decisions: list[Decision] = []
        """Of the latest turn."""
        self.steps = 0
        self._trace = sha256()
        self._begin(initial_state)

    @property
    def digest(self) -> str:
        """One value for everything that was asked and answered here."""
        return self._trace.hexdigest()

    def run(self, steps: Sequence[Step]) -> tuple[list[Violation], list[str]]:
        """Take one turn of steps; what must not have happened, and what each step came to."""
        if steps[0].restart:
            self.driver.restart()
        # All of a turn is asked before any of it is answered.
        calls = [(step.number, call_of(self.history, step)) for step in steps]
        turn = self.driver.take(calls, BEGINNING_OF_TIME_MS + steps[0].at, crash=steps[0].crash)
        self.steps += len(steps)
        violations, told = self._explained(turn)
        violations += self.checker.after(turn)
        self.decisions = [outcome.decision for outcome in turn.outcomes if outcome.decision is not None]
        for step, outcome in zip(steps, turn.outcomes, strict=False):
            self._trace.update(f"{step} {outcome.answer!r}\n".encode())
        return violations, told

    def whole(self, at: int) -> list[Violation]:
        """Look at everything there is, `at` milliseconds after the beginning."""
        return list(self.checker.whole(BEGINNING_OF_TIME_MS + at))

    def _explained(self, turn: Turn) -> tuple[list[Violation], list[str]]:
        """The model's word on every answer."""
        violations, told = [], []
        for outcome in turn.outcomes:
            if outcome.decision is None:
                told.append("no answer: nothing was kept")
                continue
            if outcome.decision.facts or outcome.answer.kind is AnswerKind.REFUSED:
                self.transitions.update(transitions_of(outcome.decision))
            verdict = self.model.judge(outcome.call, int(turn.now), outcome.answer)
            self.clauses[verdict.clause] += 1
            told.append(f"{outcome.answer}  ({verdict.clause})")
            if verdict.answer != outcome.answer:
                violations.append(
                    Violation(
                        EXPLAINED,
                        f"{outcome.call.verb} must be answered {_differing(verdict.answer, outcome.answer)} "
                        f"({verdict.clause})",
                    )
                )
        return violations, told

    # --- the beginning

    def _begin(self, initial_state: InitialState) -> None:
        """An operator with the first administrator, the clients and the people."""
        now = Instant(BEGINNING_OF_TIME_MS)
        [created] = self.driver.store.turn(
            [
                e.FirstAdministratorCreated(
                    username=ADMINISTRATOR,
                    password_hash=hash_of(ADMINISTRATORS_PASSWORD),
                    must_change_password=False,
                    entropy=Entropy(entropy(self.name, 0)),
                )
            ],
            now,
        )
        if not isinstance(created.reply, UserKnown):
            raise TypeError(f"the first administrator could not be created: {created.reply}")
        user_id = created.reply.user.user_id
        self.model.realm.users[user_id] = User(
            user_id, ADMINISTRATOR, ADMINISTRATORS_PASSWORD, roles=frozenset({SUPER_ADMINISTRATOR})
        )
        seen = KnownUser(user_id, ADMINISTRATOR, ADMINISTRATORS_PASSWORD)
        self.history.users[user_id] = self.history.names[ADMINISTRATOR] = seen
        self.checker.begin()
        for place, step in enumerate(registrations_of(initial_state)):
            call = call_of(self.history, step)
            turn = self.driver.take([(-1 - place, call)], BEGINNING_OF_TIME_MS)
            violations, _ = self._explained(turn)
            violations += self.checker.after(turn)
            if violations:
                raise InvalidStart(violations)


def _differing(expected: Answer, given: Answer) -> str:
    """Both answers; where they say the same, the fields they differ in, without their values."""
    if str(expected) != str(given):
        return f"'{expected}', and was answered '{given}'"
    names = [name for name in Answer._fields if getattr(expected, name) != getattr(given, name)]
    return f"'{expected}' with another {' and '.join(names)}"
