"""The command line: a command for each campaign, `replay` and `corpus` for traces, and `--selftest`."""

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from fuzz.rules import exploration, sequences, trace
from fuzz.shared.campaign import choose_seed
from fuzz.shared.core_events import with_more_scopes

# What the others stand on (the server's faces, Hypothesis) is imported where it is asked for.


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for; 0 where everything held."""
    try:
        return int(fuzz.main(list(arguments), prog_name="python -m fuzz", standalone_mode=False))
    except click.ClickException as error:
        error.show()
        return error.exit_code


NATURAL, POSITIVE = click.IntRange(min=0), click.IntRange(min=1)
FILE = click.Path(path_type=Path)


def _check_seconds(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not value > 0:  # which "nan" is not either
        raise click.BadParameter(f"expected seconds, more than 0, got {value}")
    return value


seed_option = click.option("--seed", type=int, help="decides everything; drawn if not given")
seconds_option = click.option(
    "--seconds", type=float, default=math.inf, callback=_check_seconds, help="stop after so many"
)
jobs_option = click.option("--jobs", type=NATURAL, default=1, help="processes; 0 is one for each core")
failures_option = click.option("--failures", type=POSITIVE, default=1, help="stop after so many")
selftest_option = click.option("--selftest", is_flag=True, help="plant known faults; each must be caught")
only_option = click.option("--only", metavar="TEXT", default="", help="with --selftest: whose name has TEXT")


@click.group(invoke_without_command=True)
@selftest_option
@only_option
@click.pass_context
def fuzz(context: click.Context, selftest: bool, only: str) -> int:
    """What must hold whatever happens."""
    if context.invoked_subcommand is not None:
        return 0
    if selftest:
        return sequences.selftest(only)
    click.echo(context.get_help())
    return 2


@fuzz.command("sequences")
@seed_option
@click.option("--steps", type=POSITIVE, default=100_000)
@click.option("--world", type=NATURAL, help="only this world of the seed")
@jobs_option
@failures_option
def run_sequences(seed: int | None, steps: int, world: int | None, jobs: int, failures: int) -> int:
    """Random lives of clients and people against the model."""
    seed = choose_seed(seed)
    if world is not None:
        return sequences.run_one(seed, world)
    return sequences.run(seed, steps, jobs=jobs, most_failures=failures)


@fuzz.command("explore")
@click.option("--depth", type=POSITIVE, default=3)
def explore(depth: int) -> int:
    """Every event at every state, to a depth."""
    return exploration.run(depth)


@fuzz.command("replay")
@click.argument("file", type=FILE)
def replay(file: Path) -> int:
    """Run a trace again."""
    return _with_file(file, _replay)


def _replay(file: Path) -> int:
    world, steps = trace.read(file.read_text(encoding="utf-8"))
    with with_more_scopes():
        result = trace.replay(world, steps)
    print("\n".join([f"world {world}", *result.told()]))
    print("\n".join(f"FAILED {violation}" for violation in result.violations) or "Everything held.")
    return 1 if result.violations else 0


@fuzz.command("corpus")
def run_corpus() -> int:
    """Run the committed traces."""
    wrong = 0
    for path in sorted(trace.CORPUS.glob("*.trace")):
        violations = trace.violations_of(path)
        wrong += bool(violations)
        print(f"{path.name:<50} {violations[0] if violations else 'held'}")
    return 1 if wrong else 0


@fuzz.command("simulate")
@seed_option
@click.option("--seeds", type=POSITIVE, default=1, help="so many, from --seed on")
@jobs_option
@failures_option
@click.option("--trace", type=FILE, help="write the plan and the story of one seed into this file")
@click.option("--replay", type=FILE, help="run the plan in this file")
@selftest_option
@only_option
def simulate(
    seed: int | None,
    seeds: int,
    jobs: int,
    failures: int,
    trace: Path | None,
    replay: Path | None,
    selftest: bool,
    only: str,
) -> int:
    """The whole server in one process, with everything going wrong."""
    from fuzz.simulation import campaign

    if selftest:
        return campaign.selftest(only)
    if replay is not None:
        return _with_file(replay, campaign.run_again)
    seed = choose_seed(seed)
    if seeds == 1:
        return campaign.run_one(seed, trace)
    return campaign.run(seed, seeds, jobs=jobs, most_failures=failures)


@fuzz.command("crash")
@click.option("--kills", type=POSITIVE, default=20)
@seed_option
@seconds_option
@click.option("--world", type=NATURAL, help="only this world of the seed")
@click.option("--warm", is_flag=True, help="fork servers from one that has imported everything")
def crash(kills: int, seed: int | None, seconds: float, world: int | None, warm: bool) -> int:
    """Kill the real server under load, again and again."""
    from fuzz.processes import crashes

    return crashes.run(choose_seed(seed), kills, most_seconds=seconds, warm=warm, only_world=world)


@fuzz.command("races")
@click.option("--rounds", type=POSITIVE, default=300)
@seed_option
@click.option("--workers", type=POSITIVE, default=3)
@seconds_option
@click.option("--postgres", default="", metavar="URL", help="on a database of its own there")
def run_races(rounds: int, seed: int | None, workers: int, seconds: float, postgres: str) -> int:
    """Twenty at once for one code or token, on real processes."""
    from fuzz.processes import races

    return races.run(choose_seed(seed), rounds, workers=workers, most_seconds=seconds, postgres=postgres)


@fuzz.command("parsers")
@click.option("--seconds", type=float, default=20.0, callback=_check_seconds, help="over all targets")
@click.option("--target", multiple=True, metavar="NAME", help="only this one")
@seed_option
def run_parsers(seconds: float, target: tuple[str, ...], seed: int | None) -> int:
    """What strangers send, judged by readers of another kind."""
    from fuzz.parsers import running

    try:
        return running.run(target, choose_seed(seed), seconds)
    except LookupError as unknown:
        print(f"--target: {unknown}", file=sys.stderr)
        return 2


def _with_file(path: Path, run: Callable[[Path], int]) -> int:
    """What `run` makes of a file; 2 where it cannot be read, and why is said on standard error."""
    try:
        return run(path)
    except UnicodeDecodeError:
        print(f"{path}: expected text in UTF-8", file=sys.stderr)
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
    except ValueError as error:
        print(f"{path}: {error}", file=sys.stderr)
    return 2
