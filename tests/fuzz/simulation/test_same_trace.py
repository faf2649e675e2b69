"""One seed gives one trace, byte for byte, in this process and in others."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from fuzz.simulation import plan
from fuzz.simulation.runs import Run, live, world_of
from ostiary_core.model.instant import Instant
from ostiary_net.runtime.system import EntropySource, SystemEntropy, draw_trace_id
from ostiary_net.turns import service

ROOT = Path(__file__).parents[3]


@cache
def short_seed(*, on_file: bool) -> str:
    """Return a seed with several instances and few steps."""
    for seed in map(str, range(500)):
        _, swarm = world_of(seed)
        if swarm.instances > 1 and swarm.on_file is on_file and swarm.turns == 40 and "crash" in swarm.rates:
            return seed
    raise AssertionError("no seed has what is needed")


def elsewhere(seed: str, hash_seed: str) -> str:
    """Return the digest of the seed in a process that orders its sets differently."""
    code = f"from fuzz.simulation.runs import live; print(live({seed!r}).digest)"
    environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(str(ROOT / part) for part in PARTS)}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


PARTS = ("", "core", "net", "web")


@pytest.mark.parametrize("on_file", [False, True])
def test_a_seed_is_the_same_to_the_last_byte_in_a_process_with_other_hashes(on_file: bool) -> None:
    seed = short_seed(on_file=on_file)
    run = live(seed)
    assert run.operations > 20
    assert elsewhere(seed, hash_seed="4242") == run.digest
    assert live(str(int(seed) + 1)).digest != run.digest


def test_the_plan_that_a_seed_makes_runs_again_as_it_ran() -> None:
    run: Run = live(short_seed(on_file=False))
    seed, lines = plan.read(plan.write(run.seed, run.lines, run.story))
    assert tuple(lines) == run.lines
    assert live(seed, lines).digest == run.digest


def test_a_draw_past_the_seeded_source_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw_past_it(source: EntropySource, now: Instant) -> str:
        return draw_trace_id(SystemEntropy(), now)

    monkeypatch.setattr(service, "draw_trace_id", draw_past_it)
    assert live(short_seed(on_file=False)).violations
