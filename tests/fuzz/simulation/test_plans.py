"""Lives that went wrong once, or were thought to have: they hold now."""

from pathlib import Path

import pytest

from fuzz.command_line import main

PLANS = sorted((Path(__file__).parent / "plans").glob("*.plan"))


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.stem)
def test_a_kept_plan_holds(plan: Path) -> None:
    assert main(["simulate", "--replay", str(plan)]) == 0
