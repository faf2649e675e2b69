"""`python -m fuzz campaign`: every campaign in turn, each with its next seeds, added up over all runs.

A run goes on where the last one stopped. What was done is a line of `docs/campaigns.jsonl`: the commit, the
campaign, its seed, how much, how long; their sums are a table in `docs/proving.md`. Only a tree without
changes is run, so that each line is about a commit.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
LEDGER: Final = ROOT / "docs" / "campaigns.jsonl"
PAGE: Final = ROOT / "docs" / "proving.md"
_BEGIN, _END = "<!-- written by `make campaign` -->", "<!-- end -->"


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign, what it counts, how much of it is wanted, and how much is done at a time."""

    what: str
    wanted: int
    at_a_time: int
    seeds_at_a_time: int
    """How many seeds from the first on it uses up."""
    arguments: tuple[str, ...]

    def words(self, name: str, seed: int) -> list[str]:
        """Its command line."""
        given = [each.format(amount=self.at_a_time) for each in self.arguments]
        return [sys.executable, "-m", "fuzz", name, "--seed", str(seed), *given]


CAMPAIGNS: Final[Mapping[str, Campaign]] = {
    "sequences": Campaign("steps", 10**9, 100_000, 1, ("--steps", "{amount}")),
    "simulate": Campaign("seeds", 100_000, 50, 50, ("--seeds", "{amount}")),
    "crash": Campaign("kills", 10_000, 30, 1, ("--kills", "{amount}", "--warm")),
    "races": Campaign("races", 100_000, 600, 1, ("--rounds", "{amount}")),
    "parsers": Campaign("seconds over all readers", 14 * 3_600, 60, 1, ("--seconds", "{amount}")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One line of the ledger."""

    commit: str
    date: str
    campaign: str
    seed: int
    amount: int
    seconds: float
    passed: bool


def read_ledger(path: Path = LEDGER) -> list[Run]:
    """Every run there was; none where there is no ledger."""
    if not path.exists():
        return []
    return [Run(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def next_seed(runs: Iterable[Run], name: str) -> int:
    """The first seed that no run of a campaign has used, counted from 1 on."""
    seeds = [run.seed for run in runs if run.campaign == name]
    return max(seeds) + CAMPAIGNS[name].seeds_at_a_time if seeds else 1


def table(runs: Sequence[Run]) -> str:
    """The sums over all runs, a row for each campaign, as Markdown."""
    lines = [
        "| Campaign | Done | Wanted | Seeds | Machine hours | Failed | Last commit |",
        "|---|---:|---:|---|---:|---:|---|",
    ]
    for name, campaign in CAMPAIGNS.items():
        own = [run for run in runs if run.campaign == name]
        done = sum(run.amount for run in own)
        seeds = f"1 to {next_seed(own, name) - 1}" if own else ""
        hours = sum(run.seconds for run in own) / 3_600
        failed = sum(not run.passed for run in own)
        last = f"`{own[-1].commit}`, {own[-1].date}" if own else "not run"
        cells = (
            f"`{name}`",
            f"{done:,} {campaign.what}",
            f"{campaign.wanted:,}",
            seeds,
            f"{hours:.1f}",
            failed,
        )
        lines.append(f"| {' | '.join(map(str, cells))} | {last} |")
    return "\n".join(lines)


def run(minutes: float) -> int:
    """Run campaigns in turn for about so long; 0, or 1 after one that failed, or 2 for a changed tree."""
    commit = _commit()
    if commit is None:
        print("there are changes that are not committed: what ran would be no commit's", file=sys.stderr)
        return 2
    until = time.monotonic() + 60 * minutes
    for name in cycle(CAMPAIGNS):
        if time.monotonic() >= until:
            return 0
        runs = read_ledger()
        made = _run_once(name, next_seed(runs, name), commit)
        with LEDGER.open("a", encoding="utf-8") as ledger:
            ledger.write(json.dumps(asdict(made)) + "\n")
        _write_page(table([*runs, made]))
        if not made.passed:
            return 1
    return 0


def _run_once(name: str, seed: int, commit: str) -> Run:
    campaign = CAMPAIGNS[name]
    words = campaign.words(name, seed)
    print(" ".join(words[1:]), flush=True)
    began = time.monotonic()
    code = subprocess.run(words, cwd=ROOT, check=False).returncode
    return Run(
        commit=commit,
        date=datetime.now(UTC).date().isoformat(),
        campaign=name,
        seed=seed,
        amount=campaign.at_a_time if code == 0 else 0,
        seconds=round(time.monotonic() - began, 1),
        passed=code == 0,
    )


def _commit() -> str | None:
    """The commit that is checked out; None where anything else than the ledger differs from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout

    own = {LEDGER.relative_to(ROOT).as_posix(), PAGE.relative_to(ROOT).as_posix()}
    changed = {line[3:] for line in git("status", "--porcelain").splitlines()}
    return None if changed - own else git("rev-parse", "--short=12", "HEAD").strip()


def _write_page(sums: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.index(_BEGIN) + len(_BEGIN), text.index(_END)
    written = PAGE.with_suffix(".md.new")
    written.write_text(f"{text[:before]}\n\n{sums}\n\n{text[after:]}", encoding="utf-8")
    os.replace(written, PAGE)
