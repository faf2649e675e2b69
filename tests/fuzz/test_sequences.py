"""Short campaigns, and what must be true of every campaign: determinism, replay, the shortest history."""

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz.command_line import main
from fuzz.faults import FAULTS, Fault
from fuzz.rules import report, trace
from fuzz.rules import sequences as campaign
from fuzz.shared import shrinking
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


def test_random_lives_keep_every_invariant_and_agree_with_the_model() -> None:
    result = campaign.run(SEED, 4_000)
    assert [report.story(failure) for failure in result.failures] == []
    assert result.steps == 4_000
    assert len(result.clauses) > 60


def test_the_same_seed_gives_the_same_trace_and_another_seed_another() -> None:
    one, again, other = (campaign.run(seed, 1_000).digest for seed in (SEED, SEED, SEED + 1))
    assert one == again
    assert one != other


def test_the_digest_does_not_depend_on_the_number_of_processes() -> None:
    assert campaign.run(SEED, 1_000, jobs=2).digest == campaign.run(SEED, 1_000).digest


def test_a_trace_reads_back_as_it_was_written() -> None:
    name = f"{SEED}/0"
    with fault("maximum-extended").plant():
        failure = campaign.live(SEED, 0).failure
    assert failure is not None
    text = trace.write(name, failure.steps, remarks=["a remark"])
    assert trace.read(text) == (name, list(failure.steps))


def test_a_replayed_world_comes_to_the_same() -> None:
    with fault("replay-forgiven").plant():
        failure = campaign.live(SEED, 0, rehearse_every=1).failure or campaign.live(SEED, 1).failure
        assert failure is not None
        replayed = trace.replay(failure.world, failure.steps)
    assert replayed.violations == failure.violations
    assert trace.replay(failure.world, failure.steps).violations == ()


def test_a_failure_is_told_by_the_shortest_history_and_the_command_that_replays_it(tmp_path: Path) -> None:
    with fault("code-redeemable-twice").plant():
        failure = next(
            life.failure for number in range(20) if (life := campaign.live(SEED, number)).failure is not None
        )
        assert failure is not None
        numbers = frozenset(violation.invariant.number for violation in failure.violations)
        shortest = shrinking.shrink(failure.world, failure.steps, numbers)
        told = report.story(failure, tmp_path)
        # Sign in, approve, redeem, redeem again.
        assert len(shortest.steps) <= 4 < len(failure.steps)
        (written,) = tmp_path.glob("*.trace")
        assert main(["replay", str(written)]) == 1
    (asked,) = (line for line in told.splitlines() if line.startswith("replay it:"))
    # As whoever copies the line does, without the environment that the tests run in.
    copied = shlex.split(asked.removeprefix("replay it:"))
    replayed = subprocess.run(copied, cwd=ROOT, env={}, capture_output=True, text=True, timeout=60)
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert replayed.stdout.endswith("Everything held.\n")


def test_a_world_that_cannot_begin_is_a_failure_like_any_other(tmp_path: Path) -> None:
    with fault("identifiers-counted").plant():
        failure = campaign.live(SEED, 0, rehearse_every=1).failure
        assert failure is not None
        assert "16 pure" in report.story(failure, tmp_path)


def test_steps_survive_the_deletion_of_the_steps_they_refer_to() -> None:
    with fault("maximum-extended").plant():
        failure = campaign.live(SEED, 0).failure
    assert failure is not None
    for kept in (failure.steps[1:], failure.steps[::2], failure.steps[::-1][:5]):
        steps: list[Step] = sorted(kept, key=lambda step: step.number)
        assert trace.replay(failure.world, steps).violations == ()
