"""Exploration: a fault is found by its shortest history; states are one where nothing tells them apart."""

from functools import partial

import pytest

from fuzz.faults import FAULTS
from fuzz.rules.canonical_form import canonical_form
from fuzz.rules.coverage import Coverage, states
from fuzz.rules.exploration import OPENING, Fork, explore
from fuzz.rules.world import World
from fuzz.shared.calls import Verb
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.initial_states import fixed_initial_state
from fuzz.shared.state_tables import STATE_TABLES
from fuzz.shared.steps import Kind, Ref, Step


def opened(*steps: Step) -> World:
    """A world after the opening and some more steps, all of which held."""
    with with_more_scopes():
        world = World("fixed", fixed_initial_state())
        for step in (*OPENING, *steps):
            violations, _ = world.run([step])
            assert not violations
    return world


def refresh(number: int, at: int = 0, agent: str = "phone") -> Step:
    token = Ref(Kind.REFRESH, 3)
    return Step(number=number, at=at, verb=Verb.REFRESH, client="app", token=token, agent=agent)


@pytest.mark.parametrize(
    "name, steps", [("code-redeemable-twice", 1), ("owner-unchecked", 1), ("enabled-client-revives", 2)]
)
def test_a_planted_fault_is_found_by_its_shortest_history(name: str, steps: int) -> None:
    (fault,) = (fault for fault in FAULTS if fault.name == name)
    with fault.plant():
        seen = explore(2)
    assert seen.violations
    assert len(seen.path) == len(OPENING) + steps


def test_states_that_differ_in_names_alone_are_one() -> None:
    approvals = [
        Step(number=number, at=0, verb=Verb.APPROVE, client="web", by=Ref(Kind.ACCESS, 1))
        for number in (4, 9)
    ]
    assert canonical_form(opened(approvals[0]), 0) == canonical_form(opened(approvals[1]), 0)


def test_states_that_the_specification_tells_apart_are_not_one() -> None:
    """The second generation, the agent of the rotation, the time that is left, an ending."""
    ended = Step(number=4, at=0, verb=Verb.REVOKE, client="app", token=Ref(Kind.ACCESS, 3))
    worlds = [opened(), opened(refresh(4)), opened(refresh(4, agent="desk")), opened(ended)]
    assert len({canonical_form(world, 0) for world in worlds}) == len(worlds)
    rotated = opened(refresh(4))
    assert len({canonical_form(rotated, at) for at in (30_000, 30_001)}) == 2
    assert canonical_form(opened(ended), 3_700_000) != canonical_form(opened(), 3_700_000)


def test_a_branch_leaves_the_world_it_came_from_as_it_was() -> None:
    world = opened()
    before = canonical_form(world, 0)
    fork = Fork(world)
    with with_more_scopes():
        branch = fork.branch()
        assert canonical_form(branch, 0) == before
        branch.run([refresh(4)])
        assert canonical_form(branch, 0) != before
    assert canonical_form(world, 0) == before
    assert fork.is_untouched()


def test_the_tables_that_coverage_is_asked_for_are_both_whole() -> None:
    assert {len(table) for table in STATE_TABLES.values()} == {12, 21}


@pytest.mark.parametrize(
    "ending, row",
    [
        (Step(number=5, at=0, verb=Verb.FORCE_OUT_USER, user="ann"), "code: user's codes end"),
        (Step(number=5, at=0, verb=Verb.DISABLE_CLIENT, client="app"), "code: client disabled"),
        (Step(number=5, at=0, verb=Verb.DELETE_CLIENT, client="app"), "code: client deleted"),
        (Step(number=5, at=0, verb=Verb.FORCE_OUT_ALL), "code: client forced out"),
        (
            Step(number=5, at=0, verb=Verb.WITHDRAW, client="app", by=Ref(Kind.ACCESS, 1)),
            "code: consent withdrawn",
        ),
    ],
)
def test_coverage_sees_by_which_ending_from_above_a_code_went_void(ending: Step, row: str) -> None:
    world = opened(Step(number=4, at=0, verb=Verb.APPROVE, client="app", by=Ref(Kind.ACCESS, 1)))
    coverage, before = Coverage(), states(world, 0)
    with with_more_scopes():
        world.run([ending])
    coverage.note(world.decisions, before, partial(states, world, 0))
    assert [taken for taken in coverage.taken if taken.startswith("code: ")] == [row]
