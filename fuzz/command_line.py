"""The command line: `sequences`, `explore`, `replay`, `corpus`, `crash`, `races`, `--selftest`."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fuzz.parsers import command as parsers
from fuzz.processes import crash_command as crashes
from fuzz.processes import races_command as races
from fuzz.rules import corpus, report, selftest, trace
from fuzz.rules import exploration as explore
from fuzz.rules import sequences as campaign
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.options import at_least, read_file
from fuzz.simulation import command as simulation

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for; 0 where everything held."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="What must hold whatever happens.")
    parser.add_argument("--selftest", action="store_true", help="plant known faults; each must be caught")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="with --selftest: faults whose name has TEXT"
    )
    commands = parser.add_subparsers(dest="command")
    sequences = commands.add_parser("sequences", help="random lives of clients and people against the model")
    sequences.add_argument("--seed", type=int, default=None, help="decides everything; drawn if not given")
    sequences.add_argument("--steps", type=at_least(1), default=100_000)
    sequences.add_argument("--world", type=at_least(0), default=None, help="only this world of the seed")
    sequences.add_argument("--jobs", type=at_least(0), default=1, help="processes; 0 is one for each core")
    sequences.add_argument("--failures", type=at_least(1), default=1, help="stop after so many")
    exploration = commands.add_parser("explore", help="every event at every state, to a depth")
    exploration.add_argument("--depth", type=at_least(1), default=3)
    replayed = commands.add_parser("replay", help="run a trace again")
    replayed.add_argument("file", type=Path)
    commands.add_parser("corpus", help="run the committed traces")
    simulation.add_command(commands)
    crashes.add_command(commands)
    races.add_command(commands)
    parsers.add_command(commands)
    asked = parser.parse_args(arguments)
    if asked.command is None and asked.selftest:
        return selftest.run(asked.only)
    match asked.command:
        case "sequences":
            return _sequences(asked)
        case "explore":
            return explore.run(asked.depth)
        case "replay":
            return _replay(asked.file)
        case "corpus":
            return corpus.run()
        case None:
            parser.print_help()
            return 2
        case _:
            return int(asked.run(asked))


def _sequences(asked: argparse.Namespace) -> int:
    seed = int.from_bytes(os.urandom(4)) if asked.seed is None else asked.seed
    if asked.world is not None:
        return _world(seed, asked.world)
    print(f"seed {seed}, {asked.steps:,} steps", flush=True)
    began = time.monotonic()
    result = campaign.run(
        seed,
        asked.steps,
        jobs=asked.jobs or os.cpu_count() or 1,
        most_failures=asked.failures,
        progress=report.progress(asked.steps),
    )
    print(report.figures(result, time.monotonic() - began))
    return _told(result.failures)


def _world(seed: int, number: int) -> int:
    with with_more_scopes():
        life = campaign.live(seed, number, rehearse_every=1)
    print(f"world {seed}/{number}: {life.steps} steps, digest {life.digest}")
    return _told([] if life.failure is None else [life.failure])


def _told(failures: Sequence[campaign.Failure]) -> int:
    with with_more_scopes():
        for failure in failures:
            print(report.story(failure), file=sys.stderr)
    return 1 if failures else 0


def _replay(file: Path) -> int:
    read = read_file(file, trace.read)
    if read is None:
        return 2
    world, steps = read
    with with_more_scopes():
        result = trace.replay(world, steps)
    print(trace.write(world, result.steps, result.told), end="")
    for violation in result.violations:
        print(f"FAILED {violation}")
    if not result.violations:
        print("Everything held.")
    return 1 if result.violations else 0
