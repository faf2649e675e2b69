"""Seeds hold where nothing is planted, planted faults are caught, and a failure becomes a short story."""

from itertools import islice

import pytest

from fuzz.command_line import main
from fuzz.shared.campaign import add_up, failure_file
from fuzz.shared.selftest import catch
from fuzz.simulation import campaign
from fuzz.simulation.faults import FAULTS
from fuzz.simulation.runs import live

QUICK = ("retry-mints", "answered-before-commit", "token-logged", "failure-unknown", "no-challenge")


def test_without_a_planted_fault_seeds_hold() -> None:
    total = add_up(campaign.run_seeds(7_000, 2))
    assert total.violations == ()
    assert total.counts["seeds"] == 2
    assert total.tables["faults"].total() > 20


def test_at_least_twenty_faults_are_known_by_names_of_their_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 20


def test_the_command_line_plants_them_in_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--selftest", "--only", "retry-mints"]) == 0
    assert "1 of 1 faults caught" in capsys.readouterr().out


@pytest.mark.parametrize("name", QUICK)
def test_a_planted_fault_is_caught(name: str) -> None:
    [fault] = [fault for fault in FAULTS if fault.name == name]
    assert catch(fault, campaign.planted_seed, campaign.MOST_SEEDS).violations


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
