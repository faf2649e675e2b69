"""A seed that fails becomes a short story, and a kept plan shows the mistakes that it was made for."""

import re
from itertools import islice
from pathlib import Path

import pytest

from fuzz.shared.campaign import make_failure_path
from fuzz.simulation import campaign
from fuzz.simulation.faults import FAULTS
from fuzz.simulation.plan import read
from fuzz.simulation.runs import live
from fuzz.simulation.visits import VISITS, choose_routes, list_routes

PLANS = Path(__file__).parents[1] / "plans"
OF_CALLERS = (
    *("cookie-on-plain", "error-cell-read", "import-replaces", "locale-told-wrong"),
    *("overtaken-believed", "refresh-cookie-ignored"),
)
OF_RARE_STEPS = ("forged-tickets-count", "later-words-fail", "later-words-lost", "unanswered-forgotten")
SHOWN = (
    *((name, "callers-of-every-kind") for name in OF_CALLERS),
    *((name, "store-away-and-later-words") for name in OF_RARE_STEPS),
    ("retry-mints", "clock-set-five-times"),
    ("no-challenge", "forced-out-in-a-crowd"),
)


def test_failing_seeds_are_cut_down_to_plans_that_still_fail() -> None:
    """Allow a seed's plan to keep many steps if its failure needs their order."""
    [fault] = [fault for fault in FAULTS if fault.name == "failure-unknown"]
    lengths = []
    with fault.plant():
        failures = (run for run in map(live, map(str, range(50))) if run.violations and len(run.lines) > 1)
        for failure in islice(failures, 2):
            told = campaign.story(failure)
            kept = make_failure_path(f"seed-{failure.seed}.plan").read_text(encoding="utf-8")
            lengths.append(kept.count('{"step":'))
            assert 1 <= lengths[-1] < len(failure.lines)
            assert f"--seed {failure.seed}" in told
            assert "19 documented: " in told
            assert len(told.splitlines()) <= 15
            steps = [line for line in told.splitlines()[2:-2] if " more in the file)" not in line]
            assert all(re.match(r"[0-9]+\+? [0-9.]+ s .*# ", step) for step in steps)
            assert max(map(len, told.splitlines()[:-2])) < 120
    assert min(lengths) <= 6


@pytest.mark.parametrize("name, plan", SHOWN)
def test_a_kept_plan_shows_the_mistake(name: str, plan: str) -> None:
    [fault] = [fault for fault in FAULTS if fault.name == name]
    with fault.plant():
        assert live(*read((PLANS / f"{plan}.plan").read_text(encoding="utf-8"))).violations


def test_seeds_in_a_row_visit_every_route() -> None:
    seeds = -(-len(list_routes()) // VISITS)
    assert {route for seed in range(7, 7 + seeds) for route in choose_routes(seed)} == {*list_routes()}


def test_sentences_that_decided_nothing_are_counted_and_the_first_of_them_named() -> None:
    sentences = [f"'sentence {number}'" for number in range(campaign.MOST_UNDECIDED + 1)]
    named = campaign.format_undecided(sentences, verbose=False)
    assert named.startswith("21 ('sentence 0', ")
    assert named.endswith("'sentence 19', ...)")
    assert campaign.format_undecided(sentences, verbose=True).endswith("'sentence 20')")
    assert campaign.format_undecided([], verbose=False) == "none"
