"""`python -m fuzz simulate`: seeds, one seed, or a plan once more; and the faults planted in the server."""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fuzz.shared.options import at_least, read_file

if TYPE_CHECKING:
    from fuzz.simulation.runs import Run

__all__ = ["add_command"]


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `simulate` to the command line. The server is imported only when it is asked for."""
    parser = commands.add_parser(
        "simulate", help="the whole server in one process, with everything going wrong"
    )
    parser.set_defaults(run=simulate)
    parser.add_argument("--seed", type=int, default=None, help="decides everything; drawn if not given")
    parser.add_argument("--seeds", type=at_least(1), default=1, help="so many, from --seed on")
    parser.add_argument("--jobs", type=at_least(0), default=1, help="processes; 0 is one for each core")
    parser.add_argument("--failures", type=at_least(1), default=1, help="stop after so many")
    parser.add_argument("--trace", type=Path, help="write the plan and the story of one seed into this file")
    parser.add_argument("--replay", type=Path, help="run the plan in this file")
    parser.add_argument("--selftest", action="store_true", help="plant known faults in the server")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="with --selftest: faults whose name has it"
    )


def simulate(asked: argparse.Namespace) -> int:
    """Run what is asked for; 0 where everything held."""
    from fuzz.simulation import campaign, plan, selftest
    from fuzz.simulation.runs import live

    if asked.selftest:
        return selftest.run(asked.only)
    if asked.replay is not None:
        read = read_file(asked.replay, plan.read)
        if read is None:
            return 2
        name, lines = read
        return _told(live(name, lines), None)
    seed = int.from_bytes(os.urandom(4)) if asked.seed is None else asked.seed
    if asked.seeds == 1:
        return _told(live(str(seed)), asked.trace)
    print(f"seed {seed}, {asked.seeds:,} seeds", flush=True)
    began = time.monotonic()
    result = campaign.run(
        seed,
        asked.seeds,
        jobs=asked.jobs or os.cpu_count() or 1,
        most_failures=asked.failures,
        progress=campaign.progress(asked.seeds),
    )
    print(campaign.figures(result, time.monotonic() - began))
    folder = Path(tempfile.gettempdir()) / "ostiary-fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    for failure in result.failures:
        print(campaign.story(failure, str(folder / f"seed-{failure.seed}.plan")), file=sys.stderr)
    return 1 if result.failures else 0


def _told(run: "Run", trace: Path | None) -> int:
    from fuzz.simulation import plan

    remarks = [*map(str, run.violations), *run.told]
    if trace is not None:
        trace.write_text(plan.write(run.seed, run.lines, remarks), encoding="utf-8")
    elif run.violations:
        print("\n".join(run.told))
    faults = ", ".join(f"{name} {count}" for name, count in sorted(run.faults.items()))
    print(
        f"seed {run.seed}: {run.swarm.instances} instances on {'SQLite' if run.swarm.on_file else 'memory'}, "
        f"{run.operations} requests, {run.turns} turns, {run.virtual_ms / 3_600_000:,.1f} virtual hours\n"
        f"faults: {faults or 'none'}\ntrace digest {run.digest}"
    )
    for violation in run.violations:
        print(f"FAILED {violation}")
    if not run.violations:
        print("Everything held.")
    return 1 if run.violations else 0
