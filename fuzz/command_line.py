"""The command line: a command for each campaign, `replay` for traces, and `--selftest`."""

import math
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from fuzz.rules import sequences, trace
from fuzz.shared.campaign import choose_seed
from fuzz.shared.core_events import with_more_scopes

# Modules with heavy imports (the server's faces, Hypothesis) are imported by the commands that use them.


def main(arguments: Sequence[str]) -> int:
    """Run a command line; return 0 if everything held."""
    try:
        return int(fuzz.main(list(arguments), prog_name="python -m fuzz", standalone_mode=False))
    except click.ClickException as error:
        error.show()
        return error.exit_code


NATURAL, POSITIVE = click.IntRange(min=0), click.IntRange(min=1)
FILE = click.Path(path_type=Path)


def _check_seconds(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not value > 0:  # true for "nan", too
        raise click.BadParameter(f"expected seconds, more than 0, got {value}")
    return value


seed_option = click.option(
    "--seed", type=int, default=lambda: choose_seed(None), help="decides everything; random if not given"
)
seconds_option = click.option(
    "--seconds", type=float, default=math.inf, callback=_check_seconds, help="stop after so many seconds"
)
rounds_option = click.option("--rounds", type=POSITIVE, default=16)
jobs_option = click.option("--jobs", type=NATURAL, default=1, help="processes; 0 is one for each core")
failures_option = click.option(
    "--failures", "most_failures", type=POSITIVE, default=1, help="stop after so many"
)
selftest_option = click.option("--selftest", is_flag=True, help="plant known faults; each must be caught")
only_option = click.option(
    "--only", metavar="TEXT", default="", help="with --selftest: whose name has TEXT, or a part, as 2/3"
)

Decorator = Callable[[Callable[..., int]], Callable[..., int]]


def _run(home: Any, **asked: Any) -> int:
    return int(home.run(**asked))


def campaign(name: str, module: str, about: str, *options: Decorator, run: Callable[..., int] = _run) -> None:
    """Add a command that imports `module` and runs its campaign with these options, or its selftest."""

    def command(selftest: bool, only: str, **asked: Any) -> int:
        home = import_module(module)
        return int(home.selftest(only)) if selftest else run(home, **asked)

    decorated: Callable[..., int] = command
    every: tuple[Decorator, ...] = (*reversed(options), only_option, selftest_option)
    for option in every:
        decorated = option(decorated)
    fuzz.command(name, help=about)(decorated)


@click.group(invoke_without_command=True)
@selftest_option
@only_option
@click.pass_context
def fuzz(context: click.Context, selftest: bool, only: str) -> int:
    """Search for violations of what must always hold."""
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
def run_sequences(seed: int, steps: int, world: int | None, **asked: int) -> int:
    """Run random sequences of clients' and users' steps, judged by the model and the invariants."""
    return sequences.run(seed, steps, **asked) if world is None else sequences.run_one(seed, world)


@fuzz.command("replay")
@click.argument("file", type=FILE)
def replay(file: Path) -> int:
    """Run a trace again."""
    return _with_file(file, _replay)


def _replay(file: Path) -> int:
    world, steps = trace.read(file.read_text(encoding="utf-8"))
    with with_more_scopes():
        result = trace.replay(world, steps)
    print("\n".join([f"world {world}", *result.lines()]))
    print("\n".join(f"FAILED {violation}" for violation in result.violations) or "Everything held.")
    return 1 if result.violations else 0


def _only(option: str) -> Decorator:
    return click.option(option, f"{option[2:]}s", multiple=True, metavar="NAME", help="only this one")


def _simulate(home: Any, seed: int, seeds: int, trace: Path | None, replay: Path | None, **asked: Any) -> int:
    if replay is not None:
        return _with_file(replay, home.run_again)
    return int(home.run_one(seed, trace) if seeds == 1 else home.run(seed, seeds, **asked))


campaign(
    "simulate",
    "fuzz.simulation.campaign",
    "Run the whole server in one process, with every kind of fault.",
    seed_option,
    click.option("--seeds", type=POSITIVE, default=1, help="so many, from --seed on"),
    jobs_option,
    failures_option,
    click.option("--trace", type=FILE, help="write the plan and the story of one seed into this file"),
    click.option("--replay", type=FILE, help="run the plan in this file"),
    click.option("--verbose", is_flag=True, help="name every sentence of the model that decided nothing"),
    run=_simulate,
)
campaign(
    "failover",
    "fuzz.processes.failovers",
    "Run servers on a PostgreSQL cluster under Patroni, with mishaps.",
    seed_option,
    rounds_option,
    seconds_option,
    _only("--mishap"),
    click.option("--strict", is_flag=True, help="with synchronous_mode_strict"),
    click.option("--debian", is_flag=True, help="with Debian's Patroni, whose failovers are shorter"),
)
campaign(
    "machine",
    "fuzz.processes.machine",
    "Kill a real server, or let its disk, clock, memory or processor fail.",
    seed_option,
    rounds_option,
    seconds_option,
    _only("--fault"),
    click.option(
        "--postgres", default="", metavar="URL", help="PostgreSQL to use; each round makes a database"
    ),
)
campaign(
    "timing",
    "fuzz.processes.timing",
    "Measure whether the time of a refusal reveals what exists.",
    seed_option,
    click.option("--samples", type=NATURAL, default=10_000, help="of each kind; 0 leaves these out"),
    click.option("--sign-ins", type=NATURAL, default=2_000, help="of each kind; each hashes a password"),
)
campaign(
    "parsers",
    "fuzz.parsers.running",
    "Judge the readers of untrusted input by independent readers.",
    seed_option,
    click.option("--seconds", type=float, default=20.0, callback=_check_seconds, help="over all targets"),
    _only("--target"),
)


@fuzz.command("mutants")
@click.option("--room", multiple=True, metavar="NAME", help="only this room")
@click.option("--since", default="", metavar="REVISION", help="only rooms changed since this revision of git")
@click.option("--only", multiple=True, metavar="TEXT", help="only mutants whose description has TEXT")
@click.option("--sample", type=NATURAL, default=0, help="a random sample of so many; 0 is all")
@seed_option
@seconds_option
def run_mutants(
    room: tuple[str, ...], since: str, only: tuple[str, ...], sample: int, seed: int, seconds: float
) -> int:
    """Make small changes to the modules of a room, each of which some judge must notice."""
    from fuzz.mutants import campaign

    return campaign.run(room, since, only, sample, seed, seconds)


def _with_file(path: Path, run: Callable[[Path], int]) -> int:
    """Call `run` with a file; print an error and return 2 if the file cannot be read."""
    try:
        return run(path)
    except UnicodeDecodeError:
        print(f"{path}: expected text in UTF-8", file=sys.stderr)
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
    except ValueError as error:
        print(f"{path}: {error}", file=sys.stderr)
    return 2
