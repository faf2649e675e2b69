"""Each campaign is able to fail, by some of its faults; the whole lists run under `--selftest`."""

import re
from contextlib import nullcontext

import pytest

from fuzz.command_line import main
from fuzz.faults import FAULTS, Fault
from fuzz.parsers.running import FAULTS as OF_READERS, TARGETS
from fuzz.parsers.target import CORPUS
from fuzz.processes.faults import faults_of, plant_named
from fuzz.rules.sequences import run_planted_world
from fuzz.shared.campaign import Report
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.invariants import PROGRESS, Violation
from fuzz.shared.selftest import catch, choose_faults, run_selftest
from fuzz.simulation.faults import FAULTS as OF_THE_SERVER

OF_PROCESSES = [faults_of(subject) for subject in ("kills", "machines", "failovers", "timing")]
HARMLESS = Fault("nothing", "nothing is planted", nullcontext)


@pytest.mark.parametrize(
    "command, name",
    [
        *(("", name) for name in ("retry-mints", "code-of-any-client", "deletes-lost", "token-written")),
        ("simulate", "answered-before-commit"),
        ("simulate", "token-logged"),
        ("machine", "turns-beside"),
        ("machine", "error-swallowed"),
        ("parsers", "form-lenient"),
        ("parsers", "pieces-differ"),
    ],
)
def test_a_planted_fault_is_caught(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--selftest", "--only", name]) == 0
    told = capsys.readouterr().out
    assert re.match(rf"caught +{name} +in run \d+ +by ", told)
    assert "1 of 1 faults caught" in told


def test_a_fault_is_gone_afterwards_and_one_that_nothing_shows_survives(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with with_more_scopes():
        caught = catch(FAULTS[0], run_planted_world, 100)
        assert caught.violations
        assert not catch(HARMLESS, run_planted_world, caught.runs).violations
    alarmed = Report(violations=(Violation(PROGRESS, "this run shows it"),))
    runs = iter([Report(), alarmed, Report(), Report(), Report(stories=[lambda: "there is no cluster"])])
    assert run_selftest("", 4 * [HARMLESS], lambda number: next(runs), 2) == 1
    told = capsys.readouterr().out
    assert re.findall(r"^(\w+) +nothing", told, re.MULTILINE) == ["caught", "SURVIVED", "FAILED", "FAILED"]
    assert "in run 2" in told
    assert "1 of 4 faults caught" in told


def test_a_part_of_the_faults_is_chosen_by_its_number() -> None:
    parts = [choose_faults(f"{number}/3", FAULTS) for number in (1, 2, 3)]
    assert sorted(fault.name for part in parts for fault in part) == sorted(fault.name for fault in FAULTS)
    assert {len(part) - len(FAULTS) // 3 for part in parts} <= {0, 1}


@pytest.mark.parametrize("faults", [FAULTS, OF_THE_SERVER, OF_READERS, *OF_PROCESSES])
def test_faults_have_names_of_their_own_and_the_texts_that_they_replace_are_there(
    faults: tuple[Fault, ...],
) -> None:
    """Plant every fault once, as `.ci/run` plants only a part of them."""
    assert len({fault.name for fault in faults}) == len(faults) >= 3
    for fault in faults:
        with fault.plant(), plant_named():
            pass


def test_every_corpus_has_a_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} == {target.name for target in TARGETS}
