"""`python -m fuzz parsers`: judge the committed inputs, then new ones that Hypothesis builds from pieces."""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Final

from hypothesis import HealthCheck, Phase, given, seed as seeded, settings, strategies as st

from fuzz.faults.planting import read_faults
from fuzz.parsers import of_addresses, of_cookies, of_requests, of_sheets
from fuzz.parsers.target import CORPUS, Target
from fuzz.shared import campaign
from fuzz.shared.invariants import READ_ALIKE, Violation
from fuzz.shared.selftest import SEED, run_selftest

TARGETS: Final = (*of_requests.TARGETS, *of_cookies.TARGETS, *of_addresses.TARGETS, *of_sheets.TARGETS)
FAULTS: Final = read_faults(Path(__file__).with_name("faults.txt"))
"""Known mistakes of readers."""
_EXAMPLES_A_ROUND: Final = 400
_EXAMPLES_A_RUN: Final = 150
_MOST_PIECES: Final = 14


def inputs_of(target: Target) -> Iterator[tuple[str, bytes]]:
    """Yield the committed inputs with their names."""
    for path in target.corpus:
        yield path.name, path.read_bytes()


def search(target: Target, seed: int, examples: int) -> None:
    """Judge so many new inputs; raise with the smallest failing one, and write it into a file."""
    piece = st.sampled_from(target.pieces) | st.binary(max_size=4)
    committed = [content for _, content in inputs_of(target)]
    parts = st.lists(piece, max_size=_MOST_PIECES).map(b"".join)
    whole = parts if not committed else parts | st.tuples(st.sampled_from(committed), parts).map(_splice)

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(whole)
    def judged(data: bytes) -> None:
        try:
            target.judge(data)
        except Exception:
            _input_file(target).write_bytes(data)  # the last one is the smallest
            raise

    judged()


def _input_file(target: Target) -> Path:
    return campaign.make_failure_path(f"{target.name}.input")


def _splice(both: tuple[bytes, bytes]) -> bytes:
    """Return a committed input with a part of it replaced."""
    content, part = both
    at = sum(part) % (len(content) + 1)
    return content[:at] + part + content[at + len(part) // 2 :]


def run(seed: int, seconds: float, targets: Sequence[str]) -> int:
    """Replay every corpus, then search for about so many seconds in all; return 0 if nothing was found."""
    names = campaign.choose_names("target", targets, (target.name for target in TARGETS))
    chosen = [target for target in TARGETS if target.name in names]
    print(f"seed {seed}")
    runs = (_run_target(target, seed, seconds / len(chosen)) for target in chosen)
    return campaign.conduct(runs, lambda total, took: f"{len(chosen)} readers", most_failures=len(chosen))


def _run_target(target: Target, seed: int, seconds: float) -> campaign.Report:
    for name, content in inputs_of(target):
        try:
            target.judge(content)
        except Exception as failure:
            return _report_failure(target, seed, failure, CORPUS / target.name / name)
    until = time.monotonic() + seconds
    rounds = 0
    while rounds == 0 or time.monotonic() < until:
        try:
            search(target, seed + rounds, _EXAMPLES_A_ROUND)
        except Exception as failure:
            return _report_failure(target, seed + rounds, failure, _input_file(target))
        rounds += 1
    figures = f"{len(target.corpus)} of the corpus, {rounds * _EXAMPLES_A_ROUND:,} examples"
    return campaign.Report(line=f"{target.name:<13} {figures}")


def _report_failure(target: Target, seed: int, failure: Exception, file: Path) -> campaign.Report:
    """Report the difference, the oracle's rule, the input, and the command that repeats it."""
    kind = "" if isinstance(failure, AssertionError) else f"{type(failure).__name__}: "
    violation = Violation(READ_ALIKE, f"{target.name}: {kind}{failure}")
    rule = " ".join((target.judge.__doc__ or "").split())
    lines = [*wrap(f"the rule: {rule}", campaign.LINE_LENGTH), f"the input: {file}"]
    again = f"once more: {campaign.command('parsers', '--seed', seed, '--target', target.name)}"
    story = partial(campaign.format_failure, f"FAILED reader {target.name}", [violation], lines, again)
    return campaign.Report(line=f"{target.name:<13} FAILED", violations=(violation,), stories=[story])


def selftest(only: str) -> int:
    """Plant the known mistakes of readers; return 0 if none survives."""
    return run_selftest(only, FAULTS, run_planted, 2 * len(TARGETS))


def run_planted(number: int) -> campaign.Report:
    """Judge new inputs of one target after the other, by the selftest's own seed."""
    target = TARGETS[number % len(TARGETS)]
    try:
        search(target, SEED + number, _EXAMPLES_A_RUN)
    except Exception as failure:
        return _report_failure(target, SEED + number, failure, _input_file(target))
    return campaign.Report()
