"""Short campaigns, and what must be true of every campaign: determinism, replay, the shortest history."""

import shlex
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from fuzz.command_line import main
from fuzz.faults import FAULTS, Fault
from fuzz.rules import trace
from fuzz.rules.sequences import Failure, run_world, run_worlds, shrink, story
from fuzz.shared.campaign import Report, add_up
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.steps import Step

SEED = 11
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def scopes() -> Iterator[None]:
    with with_more_scopes():
        yield


def fault(name: str) -> Fault:
    (found,) = (fault for fault in FAULTS if fault.name == name)
    return found


def failure_of(report: Report) -> Failure:
    """What a run keeps for its story."""
    [told] = report.stories
    assert isinstance(told, partial)
    [failure] = told.args
    assert isinstance(failure, Failure)
    return failure


def test_random_lives_keep_every_invariant_and_agree_with_the_model() -> None:
    total = add_up(run_worlds(SEED, 4_000))
    assert [told() for told in total.stories] == []
    assert total.counts["steps"] == 4_000
    assert len(total.tables["clauses"]) > 60


def test_the_same_seed_gives_the_same_trace_and_another_seed_another() -> None:
    one, again, other = (add_up(run_worlds(seed, 1_000)).digest for seed in (SEED, SEED, SEED + 1))
    assert one == again
    assert one != other


def test_the_digest_does_not_depend_on_the_number_of_processes() -> None:
    assert add_up(run_worlds(SEED, 1_000, jobs=2)).digest == add_up(run_worlds(SEED, 1_000)).digest


def test_a_trace_reads_back_as_it_was_written() -> None:
    name = f"{SEED}/0"
    with fault("maximum-extended").plant():
        failure = failure_of(run_world(SEED, 0))
    text = trace.write(name, failure.steps, remarks=["a remark"])
    assert trace.read(text) == (name, list(failure.steps))


def test_a_replayed_world_comes_to_the_same() -> None:
    with fault("replay-forgiven").plant():
        failure = failure_of(next(run for number in range(2) if (run := run_world(SEED, number)).stories))
        replayed = trace.replay(failure.world, failure.steps)
    assert replayed.violations == failure.violations
    assert trace.replay(failure.world, failure.steps).violations == ()


def test_a_failure_is_told_by_the_shortest_history_and_the_command_that_replays_it() -> None:
    with fault("code-redeemable-twice").plant():
        failure = failure_of(next(run for number in range(20) if (run := run_world(SEED, number)).stories))
        # Sign in, approve, redeem, redeem again.
        assert len(shrink(failure).steps) <= 4 < len(failure.steps)
        told = story(failure)
    (asked,) = (line for line in told.splitlines() if line.startswith("replay it:"))
    # As whoever copies the line does, without the environment that the tests run in.
    copied = shlex.split(asked.removeprefix("replay it:"))
    with fault("code-redeemable-twice").plant():
        assert main(["replay", copied[-1]]) == 1
    replayed = subprocess.run(copied, cwd=ROOT, env={}, capture_output=True, text=True, timeout=60)
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert replayed.stdout.endswith("Everything held.\n")


def test_a_world_that_cannot_begin_is_a_failure_like_any_other() -> None:
    with fault("identifiers-counted").plant():
        assert "16 pure" in story(failure_of(run_world(SEED, 0)))


def test_steps_survive_the_deletion_of_the_steps_they_refer_to() -> None:
    with fault("maximum-extended").plant():
        failure = failure_of(run_world(SEED, 0))
    for kept in (failure.steps[1:], failure.steps[::2], failure.steps[::-1][:5]):
        steps: list[Step] = sorted(kept, key=lambda step: step.number)
        assert trace.replay(failure.world, steps).violations == ()
