"""Kept stories: each trace and plan holds, and each trace would show the mistakes that it names."""

from pathlib import Path

import pytest

from fuzz.command_line import main
from fuzz.faults import FAULTS, Fault
from fuzz.rules.trace import CORPUS, read_faults_to_show, violations_of

TRACES = sorted(CORPUS.glob("*.trace"))
PLANS = sorted((Path(__file__).parent / "plans").glob("*.plan"))
BY_NAME = {fault.name: fault for fault in FAULTS}
SHOWN = [(path, BY_NAME[name]) for path in TRACES for name in read_faults_to_show(path)]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_committed_story_holds(path: Path) -> None:
    assert violations_of(path) == ()


@pytest.mark.parametrize("path, fault", SHOWN, ids=[f"{path.stem}-{fault.name}" for path, fault in SHOWN])
def test_a_committed_story_shows_the_mistake_that_it_names(path: Path, fault: Fault) -> None:
    with fault.plant():
        assert violations_of(path)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.stem)
def test_a_kept_plan_of_the_simulation_holds(plan: Path) -> None:
    assert main(["simulate", "--replay", str(plan)]) == 0
