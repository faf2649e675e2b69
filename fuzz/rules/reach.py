"""`python -m fuzz reach`: whether the campaigns take every branch of the core, or it is said why not.

Sequences, exploration and simulation run under coverage.py, the tests do not. What none of them takes either
stands in `unreached.toml` with its reason, or fails.
"""

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import ostiary_core
from fuzz.faults.planting import functions_of

UNREACHED: Final = Path(__file__).with_name("unreached.toml")
CORE: Final = Path(ostiary_core.__path__[0])


@dataclass(frozen=True, slots=True)
class Branch:
    """A line that was not reached, or that was never left for where else it leads."""

    module: str
    """Its path in the core."""
    function: str
    """Empty outside of any."""
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.module}:{self.number} {self.function or '(module)'}: {self.text}"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some branches are not taken: of the core ("."), a folder, a module, functions or lines of it."""

    where: str
    reason: str
    functions: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    """How they begin."""

    def covers(self, branch: Branch) -> bool:
        """Whether this is said of a branch."""
        is_there = self.where in (".", branch.module) or branch.module.startswith(f"{self.where}/")
        is_in_function = not self.functions or branch.function in self.functions
        return is_there and is_in_function and (not self.lines or branch.text.startswith(self.lines))


def run(seed: int, steps: int, seeds: int, depth: int) -> int:
    """Run the campaigns and compare; 0 where each branch is taken or listed."""
    branches = list(unreached_by(campaigns_of(seed, steps, seeds, depth)))
    reasons = read_reasons()
    unlisted = [each for each in branches if not any(reason.covers(each) for reason in reasons)]
    for branch in unlisted:
        print(f"FAILED not taken: {branch}")
    for reason in reasons:
        if not any(reason.covers(each) for each in branches):
            print(f"listed, and taken: {reason.where} {' '.join((*reason.functions, *reason.lines))}")
    print(
        f"{len(branches):,} branches and lines of the core are not taken, {len(unlisted)} of them not listed"
    )
    return int(bool(unlisted))


def campaigns_of(seed: int, steps: int, seeds: int, depth: int) -> list[list[str]]:
    """The commands whose branches count."""
    return [
        ["sequences", f"--seed={seed}", f"--steps={steps}"],
        ["simulate", f"--seed={seed}", f"--seeds={seeds}"],
        ["explore", f"--depth={depth}"],
    ]


def read_reasons() -> list[Reason]:
    """What may stay untaken, each with why."""
    entries: list[dict[str, Any]] = tomllib.loads(UNREACHED.read_text(encoding="utf-8"))["unreached"]
    return [
        Reason(each["where"], each["reason"], tuple(each.get("functions", ())), tuple(each.get("lines", ())))
        for each in entries
    ]


def unreached_by(commands: Sequence[Sequence[str]]) -> Iterator[Branch]:
    """The branches of the core that none of the commands takes. Raises where one of these fails."""
    with TemporaryDirectory() as folder:
        data = f"--data-file={folder}/data"
        measured = (data, "--branch", "--parallel-mode", f"--source={CORE}")
        running = [subprocess.Popen([*_coverage("run", *measured, "-m", "fuzz"), *each]) for each in commands]
        codes = [process.wait() for process in running]
        if any(codes):
            raise SystemExit("a campaign failed")
        report = Path(folder, "report.json")
        for words in (("combine", data), ("json", data, "-o", str(report))):
            subprocess.run(_coverage(*words, "--quiet"), check=True)
        files = json.loads(report.read_bytes())["files"]
    for path, found in sorted(files.items()):
        missing = {*found["missing_lines"]}
        # Where a branch leads to a line that is missing itself, that one says it.
        left = {line for line, target in found["missing_branches"] if target not in missing}
        yield from _branches_of(Path(path), missing | left)


def _coverage(*words: str) -> list[str]:
    return [sys.executable, "-m", "coverage", *words]


def _branches_of(path: Path, numbers: set[int]) -> Iterator[Branch]:
    source = path.read_text(encoding="utf-8")
    texts = source.splitlines()
    functions = list(functions_of(ast.parse(source)))
    module = path.resolve().relative_to(CORE.resolve()).as_posix()
    for number in sorted(numbers):
        inside = [name for name, node in functions if node.lineno <= number <= (node.end_lineno or number)]
        yield Branch(module, inside[-1] if inside else "", number, texts[number - 1].strip())
