"""Run seeds of the whole server on one or several cores; cut a failing seed down to a short story."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from fuzz.model.sentences import list_sentences
from fuzz.shared import campaign
from fuzz.shared.selftest import SEED, run_selftest
from fuzz.shared.shrinking import Shrinker
from fuzz.simulation.faults import FAULTS
from fuzz.simulation.plan import CALM, Line, Mishap, read, write
from fuzz.simulation.runs import Run, live
from fuzz.simulation.visits import VISITS, list_routes

MOST_REPLAYS: Final = 120
"""Most replays while a failure is cut down."""
MOST_UNDECIDED: Final = 20
"""Number of undecided sentences that the figures name unless `--verbose`."""
MOST_SEEDS: Final = 80
"""Number of seeds after which an unnoticed planted fault counts as a survivor."""


def run_seed(seed: int) -> campaign.Report:
    """Run one seed from beginning to end."""
    run = live(str(seed))
    counts = Counter(seeds=1, requests=run.operations, turns=run.turns, bytes=run.bytes)
    counts["virtual_ms"] = run.virtual_ms
    by_rules = {"transitions": run.transitions, "clauses": run.clauses}
    tables = {"faults": run.faults, **by_rules, "routes": run.routes, "doors": run.doors}
    stories: list[campaign.Story] = [partial(story, run)] if run.violations else []
    return campaign.Report(counts, tables, digest=run.digest, violations=run.violations, stories=stories)


def shrink(run: Run) -> Run:
    """Cut a run down as far as possible while it still violates one of the same invariants."""
    shrinker = Shrinker(run, lambda found: found.lines, partial(live, run.seed), MOST_REPLAYS)
    while shrinker.delete() or _simplify(shrinker):
        pass
    return shrinker.best


def _simplify(shrinker: Shrinker[Run, Line]) -> bool:
    """Remove all mishaps, or each one by itself; return whether any could be removed."""
    simpler = False
    for place in range(len(shrinker.lines)):
        calm = {name: getattr(CALM, name) for name in Mishap.__struct_fields__ if name != "instance"}
        for change in (calm, *({name: value} for name, value in calm.items())):
            lines = [*shrinker.lines]
            changed = replace(lines[place].mishap, **change) if place < len(lines) else CALM
            if place < len(lines) and changed != lines[place].mishap:
                lines[place] = replace(lines[place], mishap=changed)
                simpler |= shrinker.attempt(lines)
    return simpler


def story(failure: Run) -> str:
    """Describe a failure in the protocol's words, keep it in a file, and name the commands to repeat it."""
    shortest = shrink(failure)
    path = campaign.make_failure_path(f"seed-{failure.seed}.plan")
    lines = [*map(str, shortest.violations), "", "what happened:", *shortest.story]
    path.write_text(write(shortest.seed, shortest.lines, lines), encoding="utf-8")
    return campaign.format_failure(
        f"FAILED with seed {failure.seed}: {len(shortest.lines)} of {len(failure.lines)} steps show it",
        shortest.violations,
        list_steps(shortest),
        f"replay it:      {campaign.command('simulate', '--replay', path)}",
        f"the whole seed: {campaign.command('simulate', '--seed', failure.seed)}",
    )


def list_steps(failure: Run) -> list[str]:
    """Return a line for each step up to the one that shows the failure, with the rule that answers it."""
    shown = [violation.step for violation in failure.violations if violation.step is not None]
    last = min(shown, default=None)
    if last is None or last not in {line.step.number for line in failure.lines}:
        last = failure.lines[-1].step.number if failure.lines else 0
    return [
        " ".join(f"{line.step} {line.mishap} # {failure.rules.get(line.step.number, 'no answer')}".split())
        for line in failure.lines
        if line.step.number <= last
    ]


# --- commands


def run(first: int, seeds: int, *, jobs: int, most_failures: int, verbose: bool = False) -> int:
    """Run so many seeds; return 0 if everything held.

    With `verbose`, the figures name every sentence of the model that decided nothing.
    """
    print(f"seed {first}, {seeds:,} seeds", flush=True)

    def progress(total: campaign.Report, seconds: float) -> str:
        rate = total.counts["requests"] / seconds
        faults = total.tables["faults"].total()
        return f"{total.counts['seeds']:,} of {seeds:,} seeds, {rate:,.0f} requests/s, {faults:,} faults"

    def find_missed(total: campaign.Report) -> str:
        # One visit may be lost to a fault.
        is_long = seeds * VISITS >= 2 * len(list_routes())
        missed = [each for each in list_routes() if is_long and not total.tables["routes"][each]]
        return f"routes not reached: {', '.join(missed)}" if missed else ""

    runs = campaign.run_all(run_seed, range(first, first + seeds), jobs)
    figures = partial(_figures, verbose=verbose)
    return campaign.conduct(runs, figures, progress, most_failures=most_failures, find_missed=find_missed)


def run_one(seed: int, plan: Path | None) -> int:
    """Run one seed and write its plan into the file `plan` if given; return 0 if everything held."""
    return _tell_run(live(str(seed)), plan)


def run_again(file: Path) -> int:
    """Run the plan in a file. Raises `OSError`, `ValueError`."""
    seed, lines = read(file.read_text(encoding="utf-8"))
    return _tell_run(live(seed, lines), None)


def _tell_run(run: Run, plan: Path | None) -> int:
    if plan is not None:
        plan.write_text(write(run.seed, run.lines, [*map(str, run.violations), *run.story]), encoding="utf-8")
    elif run.violations:
        print("\n".join(run.story))
    store = "SQLite" if run.swarm.on_file else "memory"
    print(
        f"seed {run.seed}: {run.swarm.instances} instances on {store}, {run.operations} requests, "
        f"{run.turns} turns, {run.virtual_ms / 3_600_000:,.1f} virtual hours\n"
        f"faults: {_format_sorted(run.faults) or 'none'}\ntrace digest {run.digest}"
    )
    print("\n".join(f"FAILED {violation}" for violation in run.violations) or "Everything held.")
    return 1 if run.violations else 0


def _figures(total: campaign.Report, seconds: float, *, verbose: bool) -> str:
    counts, faults = total.counts, total.tables["faults"]
    hours = counts["virtual_ms"] / 3_600_000
    return (
        f"{counts['seeds']:,} seeds, {counts['requests']:,} requests, {counts['turns']:,} turns kept, "
        f"{counts['bytes']:,} bytes over the wire\n"
        f"{counts['requests'] / seconds:,.0f} requests/s; {hours:,.0f} virtual hours, "
        f"{hours / seconds * 60:,.0f} a minute\n"
        f"faults injected: {faults.total():,} ({_format_sorted(faults)})\n"
        f"doors: {format_shares(total.tables['doors'])}\n"
        f"sentences never decided: {format_undecided(find_undecided(total), verbose=verbose)}\n"
        f"{campaign.coverage(total)}, {len(total.tables['routes'])} of {len(list_routes())} routes reached\n"
        f"trace digest {total.digest}"
    )


def find_undecided(total: campaign.Report) -> list[str]:
    """Return the sentences of the model that decided no operation, each in quotes."""
    return [f"'{each}'" for each in list_sentences() if not total.tables["clauses"][each]]


def format_undecided(sentences: Sequence[str], *, verbose: bool) -> str:
    """Return how many sentences there are, and the first of them, all of them if `verbose`."""
    named = sentences if verbose else sentences[:MOST_UNDECIDED]
    more = ["..."] if len(named) < len(sentences) else []
    return f"{len(sentences)} ({', '.join([*named, *more])})" if sentences else "none"


def format_shares(counts: Counter[str]) -> str:
    """Return each name with its share of all, the largest first."""
    return ", ".join(f"{name} {number / counts.total():.0%}" for name, number in counts.most_common())


def _format_sorted(faults: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(faults.items()))


def selftest(only: str = "") -> int:
    """Plant the known mistakes in the server; return 0 if none survives."""
    return run_selftest(only, FAULTS, run_planted_seed, MOST_SEEDS)


def run_planted_seed(number: int) -> campaign.Report:
    """Run a seed of the selftest's own."""
    return run_seed(SEED + number)
