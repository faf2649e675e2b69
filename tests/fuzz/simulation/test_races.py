"""Many at once, over several instances: one code makes one session, one refresh token one pair."""

import pytest
from msgspec.structs import replace

from fuzz.shared.calls import Verb
from fuzz.shared.initial_states import CODE, REFRESH
from fuzz.shared.steps import Kind, Ref, Step
from fuzz.simulation.plan import Line, Mishap
from fuzz.simulation.runs import Run, live, world_of

RACERS = 20


def seed_with(*, on_file: bool) -> str:
    """A seed with several instances whose first client may do what the race needs."""
    for seed in map(str, range(1_000)):
        initial_state, swarm = world_of(seed)
        app = initial_state.clients["app"]
        has_room = swarm.instances > 1 and swarm.on_file is on_file and swarm.window_scale > 1
        if has_room and {CODE, REFRESH} <= set(app.grants):
            return seed
    raise AssertionError("no seed of a thousand has what is needed")


def raced(seed: str, *, redeemers: Mishap, refreshers: Mishap) -> Run:
    calm = Mishap()
    code, pair = Ref(Kind.CODE, 2), Ref(Kind.REFRESH, 3)
    lines = [
        Line(Step(number=1, at=0, verb=Verb.SIGN_IN, user="ann", agent="desk"), calm),
        Line(Step(number=2, at=10, verb=Verb.APPROVE, client="app", by=Ref(Kind.ACCESS, 1)), calm),
        Line(Step(number=3, at=20, verb=Verb.REDEEM, client="app", token=code, agent="desk"), redeemers),
        Line(Step(number=4, at=30, verb=Verb.REFRESH, client="app", token=pair, agent="desk"), refreshers),
        Line(
            Step(number=5, at=40, verb=Verb.INTROSPECT, client="app", token=replace(pair, kind=Kind.ACCESS)),
            calm,
        ),
    ]
    return live(seed, lines)


def answered(run: Run, step: int) -> list[str]:
    return [answer for number, answer in run.answers if number == step]


@pytest.mark.parametrize("on_file", [True, False])
@pytest.mark.parametrize("pipelined", [True, False])
def test_of_many_redemptions_one_is_given_tokens_and_of_many_refreshes_all_the_same_pair(
    on_file: bool, pipelined: bool
) -> None:
    race = Mishap(race=RACERS, pipelined=pipelined)
    run = raced(seed_with(on_file=on_file), redeemers=race, refreshers=race)
    assert run.violations == ()
    redeemed = answered(run, 3)
    assert len(redeemed) == RACERS
    assert sum(answer.startswith("tokens") for answer in redeemed) == 1
    assert sum(answer == "refused invalid_grant" for answer in redeemed) == RACERS - 1
    refreshed = answered(run, 4)
    initial_state, _ = world_of(run.seed)
    if initial_state.code_replay_ends_session:
        assert set(refreshed) == {"refused invalid_grant"}
    else:
        assert len(refreshed) == RACERS
        assert all(answer.startswith("tokens") for answer in refreshed)
        assert answered(run, 5)[0].startswith("active")


@pytest.mark.parametrize("on_file", [True, False])
def test_of_refreshes_by_two_user_agents_at_most_one_pair_comes_and_the_session_is_dead(
    on_file: bool,
) -> None:
    race = Mishap(race=RACERS, two_agents=True, torn=2)
    run = raced(seed_with(on_file=on_file), redeemers=Mishap(), refreshers=race)
    assert run.violations == ()
    assert set(answered(run, 4)) >= {"refused invalid_grant"}
    assert answered(run, 5) == ["inactive"]
