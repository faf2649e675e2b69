"""The same world under Hypothesis: it chooses the steps, and shrinks what it finds."""

from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from fuzz.faults import FAULTS
from fuzz.rules.world import World
from fuzz.shared.calls import ADMINISTRATION, AT_THE_CONSENT_PAGE, Verb
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.initial_states import (
    ADMINISTRATOR,
    BATCHES,
    CHANGES,
    KEEP_SECONDS,
    PEOPLE,
    PERMISSIONS,
    ROLES,
    USER_CHANGES,
    fixed_initial_state,
)
from fuzz.shared.steps import Kind, Ref, Step, Twist

CLIENTS = st.sampled_from(("app", "web"))
AGENTS = st.sampled_from(("phone", "desk", None))
SCOPES = st.sampled_from((None, None, None, "user.read", "user.read,user.mail", "user.read,user.files"))
TWISTS = st.sampled_from((None, None, None, None, *Twist))
WAYS = {
    Verb.CHANGE_CLIENT: tuple(CHANGES),
    Verb.CHANGE_USER: USER_CHANGES,
    Verb.RESET_SECRET: (None, *KEEP_SECONDS),
    Verb.REGISTER_ROLE: tuple(PERMISSIONS),
    Verb.CHANGE_ROLE: tuple(PERMISSIONS),
    Verb.BATCH: BATCHES,
}
"""How an administrator may do what there are several ways of."""
MOVES_MS = st.sampled_from((0, 0, 0, 1, 1_000, 29_999, 30_000, 30_001, 299_999, 300_000, 3_600_000))
BACK = st.sampled_from((0, 0, 0, 1, 1, 2))


class Lives(RuleBasedStateMachine):
    """People and clients; every turn is judged as in the campaigns."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = ExitStack()
        self.patches.enter_context(with_more_scopes())
        self.number = 0
        self.at = 0

    @initialize(strict=st.booleans(), agent=AGENTS)
    def begin(self, strict: bool, agent: str | None) -> None:
        self.world = World("hypothesis", fixed_initial_state(code_replay_ends_session=strict))
        self.take(Step(number=0, at=0, verb=Verb.SIGN_IN, user=PEOPLE[0], agent=agent))

    def take(self, step: Step) -> None:
        self.number += 1
        violations, _ = self.world.run([step._replace(number=self.number, at=self.at)])
        assert not violations, violations[0]

    def login(self) -> Ref | None:
        logins = self.world.history.logins
        return Ref(Kind.ACCESS, logins[-1].number) if logins else None

    @rule(move=MOVES_MS)
    def wait(self, move: int) -> None:
        self.at += move

    @rule(agent=AGENTS, twist=st.sampled_from((None, None, Twist.WRONG_PASSWORD)))
    def sign_in(self, agent: str | None, twist: Twist | None) -> None:
        self.take(Step(number=0, at=0, verb=Verb.SIGN_IN, user=PEOPLE[0], agent=agent, twist=twist))

    @rule(verb=st.sampled_from(sorted(AT_THE_CONSENT_PAGE)), client=CLIENTS, scope=SCOPES, twist=TWISTS)
    def consent(self, verb: Verb, client: str, scope: str | None, twist: Twist | None) -> None:
        self.take(Step(number=0, at=0, verb=verb, client=client, by=self.login(), scope=scope, twist=twist))

    @rule(data=st.data(), twist=TWISTS, client=st.one_of(st.none(), CLIENTS))
    def redeem(self, data: st.DataObject, twist: Twist | None, client: str | None) -> None:
        issued = self.world.history.issued
        if issued:
            code = data.draw(st.sampled_from(issued))
            token = Ref(Kind.CODE, code.number)
            owner = client or code.client_id
            self.take(Step(number=0, at=0, verb=Verb.REDEEM, client=owner, token=token, twist=twist))

    @rule(
        data=st.data(),
        verb=st.sampled_from((Verb.REFRESH, Verb.REFRESH, Verb.REFRESH, Verb.INTROSPECT, Verb.REVOKE)),
        client=st.one_of(st.none(), st.none(), CLIENTS),
        back=BACK,
        scope=SCOPES,
        agent=AGENTS,
    )
    def present(
        self,
        data: st.DataObject,
        verb: Verb,
        client: str | None,
        back: int,
        scope: str | None,
        agent: str | None,
    ) -> None:
        grants = self.world.history.grants
        if grants:
            session = data.draw(st.sampled_from(grants))
            token = Ref(
                data.draw(st.sampled_from((Kind.REFRESH, Kind.REFRESH, Kind.ACCESS))), session.number, back
            )
            owner = client or session.client_id
            self.take(Step(number=0, at=0, verb=verb, client=owner, token=token, scope=scope, agent=agent))

    @rule(data=st.data(), back=BACK)
    def user_info(self, data: st.DataObject, back: int) -> None:
        sessions = list(self.world.history.sessions)
        if sessions:
            token = Ref(Kind.ACCESS, data.draw(st.sampled_from(sessions)), back)
            self.take(Step(number=0, at=0, verb=Verb.USER_INFO, token=token))

    @rule(client=CLIENTS, scope=SCOPES)
    def client_credentials(self, client: str, scope: str | None) -> None:
        self.take(Step(number=0, at=0, verb=Verb.CLIENT_CREDENTIALS, client=client, scope=scope))

    @rule(
        verb=st.sampled_from(sorted(ADMINISTRATION)),
        client=CLIENTS,
        role=st.sampled_from(ROLES),
        by_login=st.booleans(),
        data=st.data(),
    )
    def administer(self, verb: Verb, client: str, role: str, by_login: bool, data: st.DataObject) -> None:
        sessions = list(self.world.history.sessions)
        token = Ref(Kind.ACCESS, data.draw(st.sampled_from(sessions))) if sessions else None
        change = data.draw(st.sampled_from(WAYS[verb])) if verb in WAYS else None
        step = Step(number=0, at=0, verb=verb, client=client, user=PEOPLE[0], token=token, change=change)
        other = {"delete-people": ADMINISTRATOR, "delete-roles": ROLES[0]}.get(change or "", "web")
        self.take(step._replace(role=role, other=other, by=self.login() if by_login else None))

    @rule(
        verb=st.sampled_from((Verb.CHANGE_PASSWORD, Verb.WITHDRAW, Verb.SIGN_OUT, Verb.CHANGE_PHONE)),
        client=CLIENTS,
        twist=st.sampled_from((None, Twist.WRONG_PASSWORD)),
    )
    def decide(self, verb: Verb, client: str, twist: Twist | None) -> None:
        self.take(
            Step(number=0, at=0, verb=verb, client=client, user=PEOPLE[0], by=self.login(), twist=twist)
        )

    @invariant()
    def everything_holds(self) -> None:
        if self.number and self.number % 10 == 0:
            violations = self.world.whole(self.at)
            assert not violations, violations[0]

    def teardown(self) -> None:
        self.patches.close()


def test_hypothesis_finds_a_planted_fault() -> None:
    (fault,) = (fault for fault in FAULTS if fault.name == "machine-refreshes")
    quick = settings(
        max_examples=50,
        stateful_step_count=20,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        deadline=None,
    )
    with fault.plant(), pytest.raises(AssertionError, match="explained"):
        run_state_machine_as_test(Lives, settings=quick)


TestLives = Lives.TestCase
TestLives.settings = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
