"""Short campaigns, and what must be true of every campaign: determinism, replay, the shortest history."""

# ruff: noqa: E501 (a failure's lines have up to 119 characters)

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from fuzz.command_line import main
from fuzz.faults import FAULTS, Fault
from fuzz.rules import trace
from fuzz.rules.sequences import Failure, run_world, run_worlds, story
from fuzz.shared import shrinking
from fuzz.shared.calls import Verb
from fuzz.shared.campaign import Report, add_up, conduct
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.steps import Kind, Ref, Step

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
    """Return the failure that a run keeps for its story."""
    [story_of_run] = report.stories
    assert isinstance(story_of_run, partial)
    [failure] = story_of_run.args
    assert isinstance(failure, Failure)
    return failure


def test_random_lives_keep_every_invariant_and_agree_with_the_model() -> None:
    total = add_up(run_worlds(SEED, 4_000))
    assert [told() for told in total.stories] == []
    assert total.counts["steps"] == 4_000
    assert len(total.tables["clauses"]) > 60


def test_a_seed_gives_one_trace_in_any_number_of_processes_and_another_seed_another() -> None:
    seeds = ((SEED, 1), (SEED, 2), (SEED + 1, 1))
    one, again, other = (add_up(run_worlds(seed, 1_000, jobs=jobs)).digest for seed, jobs in seeds)
    assert one == again
    assert one != other


def test_a_trace_reads_back_as_it_was_written() -> None:
    name = f"{SEED}/0"
    with fault("maximum-extended").plant():
        failure = failure_of(run_world(SEED, 0))
    assert trace.read(trace.write(name, failure.steps, remarks=["a remark"])) == (name, list(failure.steps))


def test_a_replayed_world_comes_to_the_same() -> None:
    with fault("replay-forgiven").plant():
        failure = failure_of(next(run for number in range(20) if (run := run_world(SEED, number)).stories))
        replayed = trace.replay(failure.world, failure.steps)
    assert replayed.violations == failure.violations
    assert trace.replay(failure.world, failure.steps).violations == ()


PAIR = Ref(Kind.REFRESH, 3)
"""The latest refresh token of the session that the third step begins."""
HISTORY = (
    Step(number=1, at=0, verb=Verb.SIGN_IN, user="ann", agent="phone"),
    Step(number=2, at=500, verb=Verb.APPROVE, client="app", by=Ref(Kind.ACCESS, 1)),
    Step(number=3, at=900, verb=Verb.REDEEM, client="app", token=Ref(Kind.CODE, 2), agent="phone"),
    Step(number=4, at=1_000, verb=Verb.SIGN_IN, user="ann", agent="desk"),
    Step(number=5, at=2_000, verb=Verb.REFRESH, client="app", token=PAIR, agent="phone"),
    Step(number=6, at=9_000, verb=Verb.REFRESH, client="app", token=replace(PAIR, back=1), agent="phone"),
)
LATE_RETRY = replace(HISTORY[-1], number=7, at=36_500, waited=4_000)
"""A retry that came half a second after the grace, and was held back until it was 4.5 s."""

STORIES = [
    (
        *("grace-one-long", [*HISTORY, LATE_RETRY]),
        """\
FAILED in world fixed: 5 of 7 steps show it
13 explained: refresh must be answered 'refused invalid_grant', and was answered 'tokens expires_in=269
scope=user.mail+user.read' (old refresh token presented after 30 s: session revoked); 4 replay-ends: a replay is
answered as if it were none; 4 replay-ends: user-info honours a token of a session that ended; 4 replay-ends: [...]
1 0.000 s sign-in user=ann agent=phone           # sign-in
2 0.000 s approve client=app by=access@1         # user approves
3 0.000 s redeem client=app token=code@2 agent=phone # valid code, verifier, client, redirect URI
5 0.000 s refresh client=app token=refresh@3 agent=phone # refresh with the current refresh token
7 30.001 s refresh client=app token=refresh@3~1 agent=phone # old refresh token presented after 30 s: session revoked
""",
    ),
    (
        *("access-token-kept", HISTORY),
        """\
FAILED in world fixed: 4 of 6 steps show it
2 spent-is-dead: user-info honours a spent access token
1 0.000 s sign-in user=ann agent=phone           # sign-in
2 0.000 s approve client=app by=access@1         # user approves
3 0.000 s redeem client=app token=code@2 agent=phone # valid code, verifier, client, redirect URI
5 0.000 s refresh client=app token=refresh@3 agent=phone # refresh with the current refresh token
""",
    ),
]


@pytest.mark.parametrize("name, steps, expected", STORIES)
def test_a_failure_is_printed_in_few_lines(name: str, steps: list[Step], expected: str) -> None:
    with fault(name).plant():
        told = story(Failure("fixed", tuple(steps), trace.replay("fixed", steps).violations))
    lines = told.splitlines()
    assert "\n".join(lines[:-2]) + "\n" == expected
    assert len(lines) <= 15
    assert max(map(len, lines[:-2])) < 120


def test_a_failure_is_printed_whole_once_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrinking, "MOST_SECONDS", 0)
    with fault("access-token-kept").plant():
        printed = story(Failure("fixed", HISTORY, trace.replay("fixed", HISTORY).violations))
    assert f"{len(HISTORY)} of {len(HISTORY)} steps show it" in printed


def test_the_command_that_a_failure_tells_replays_it() -> None:
    with fault("code-redeemable-twice").plant():
        told = story(failure_of(next(run for each in range(20) if (run := run_world(SEED, each)).stories)))
    (asked,) = (line for line in told.splitlines() if line.startswith("replay it:"))
    # As one does who copies the line, without the environment that the tests run in.
    copied = shlex.split(asked.removeprefix("replay it:"))
    with fault("code-redeemable-twice").plant():
        assert main(["replay", copied[-1]]) == 1
    replayed = subprocess.run(copied, cwd=ROOT, env={}, capture_output=True, text=True, timeout=60)
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert replayed.stdout.endswith("Everything held.\n")


def test_a_campaign_fails_that_did_not_reach_what_it_should(capsys: pytest.CaptureFixture[str]) -> None:
    total = add_up(run_worlds(SEED, 250))
    assert conduct([total], lambda *_: "figures") == 0
    assert conduct([total], lambda *_: "figures", find_missed=lambda total: "rows not taken") == 1
    assert "FAILED: rows not taken" in capsys.readouterr().err


def test_a_failure_is_printed_before_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    with redirect_stderr(sys.stdout):
        assert conduct([Report(stories=[lambda: "the story"])], lambda *_: "the figures") == 1
    assert capsys.readouterr().out.splitlines()[:2] == ["the story", "the figures"]


def test_a_world_that_cannot_begin_is_a_failure_like_any_other() -> None:
    with fault("identifiers-counted").plant():
        assert "16 pure" in story(failure_of(run_world(SEED, 0)))


def test_steps_survive_the_deletion_of_the_steps_they_refer_to() -> None:
    with fault("maximum-extended").plant():
        failure = failure_of(run_world(SEED, 0))
    for kept in (failure.steps[1:], failure.steps[::2], failure.steps[::-1][:5]):
        steps: list[Step] = sorted(kept, key=lambda step: step.number)
        assert trace.replay(failure.world, steps).violations == ()
