"""A seed that fails becomes a short story."""

from itertools import islice

from fuzz.shared.campaign import failure_file
from fuzz.simulation import campaign
from fuzz.simulation.faults import FAULTS
from fuzz.simulation.runs import live


def test_failing_seeds_are_cut_down_to_plans_that_still_fail() -> None:
    """How far depends on the seed: what another seed's plan needs is in the order of many steps."""
    [fault] = [fault for fault in FAULTS if fault.name == "failure-unknown"]
    lengths = []
    with fault.plant():
        for failure in islice((run for run in map(live, map(str, range(50))) if run.violations), 2):
            told = campaign.story(failure)
            kept = failure_file(f"seed-{failure.seed}.plan").read_text(encoding="utf-8")
            lengths.append(kept.count('{"step":'))
            assert 1 <= lengths[-1] < len(failure.lines)
            assert f"--seed {failure.seed}" in told
            assert "what happened:" in told
    assert min(lengths) <= 6
