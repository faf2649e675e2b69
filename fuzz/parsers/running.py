"""`python -m fuzz parsers`: the committed inputs, then new ones.

Hypothesis puts inputs together from a target's pieces, everywhere. Where atheris is installed (`pip install
atheris`; it is not in the lock), it goes on from the same corpus, guided by which lines of the server it
reaches, in a process for each target.
"""

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, Phase, given, seed as seeded, settings, strategies as st

from fuzz.parsers import of_addresses, of_cookies, of_lists, of_requests, of_sheets
from fuzz.parsers.target import CORPUS, Target
from fuzz.shared.campaign import Report, conduct
from fuzz.shared.invariants import READ_ALIKE, Violation
from fuzz.shared.selftest import SEED, run_selftest

TARGETS: Final = (
    *of_requests.TARGETS,
    *of_cookies.TARGETS,
    *of_addresses.TARGETS,
    *of_lists.TARGETS,
    *of_sheets.TARGETS,
)
_EXAMPLES_A_ROUND: Final = 400
_EXAMPLES_A_RUN: Final = 150
_MOST_PIECES: Final = 14


def target_named(name: str) -> Target:
    """Raises `LookupError`."""
    for target in TARGETS:
        if target.name == name:
            return target
    raise LookupError(f"no target {name!r}; there are {', '.join(target.name for target in TARGETS)}")


def inputs_of(target: Target) -> Iterator[tuple[str, bytes]]:
    """The committed inputs with their names."""
    for path in target.corpus:
        yield path.name, path.read_bytes()


def search(target: Target, seed: int, examples: int) -> None:
    """Judge so many new inputs; raises with the smallest that fails."""
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
        target.judge(data)

    judged()


def _splice(both: tuple[bytes, bytes]) -> bytes:
    """A committed input with a part of it replaced."""
    content, part = both
    at = sum(part) % (len(content) + 1)
    return content[:at] + part + content[at + len(part) // 2 :]


def run(names: Sequence[str], seed: int, seconds: float) -> int:
    """Replay every corpus, then search for about so long in all; 0 where nothing was found."""
    targets = [target_named(name) for name in names] or list(TARGETS)
    guided = importlib.util.find_spec("atheris") is not None
    print(f"seed {seed}, {'Hypothesis, then atheris' if guided else 'Hypothesis; atheris is not installed'}")
    share = seconds / len(targets) / (2 if guided else 1)
    runs = (_run_target(target, seed, share, guided) for target in targets)
    return conduct(runs, lambda total, took: f"{len(targets)} readers", most_failures=len(targets))


def _run_target(target: Target, seed: int, seconds: float, guided: bool) -> Report:
    try:
        told = _hypothesis(target, seed, seconds)
        if guided:
            told += f", {_atheris(target, seed, seconds)}"
    except Exception as failure:
        return _report_failure(target, failure)
    return Report(line=f"{target.name:<13} {told}")


def _report_failure(target: Target, failure: Exception) -> Report:
    violation = Violation(READ_ALIKE, f"{target.name}: {type(failure).__name__}: {failure}")
    told = " ".join([f"FAILED {violation}", *getattr(failure, "__notes__", [])])
    return Report(line=f"{target.name:<13} FAILED", violations=(violation,), stories=[partial(str, told)])


def _hypothesis(target: Target, seed: int, seconds: float) -> str:
    until = time.monotonic() + seconds
    replayed = 0
    for name, content in inputs_of(target):
        try:
            target.judge(content)
        except AssertionError as failure:
            raise AssertionError(f"{CORPUS.name}/{target.name}/{name}: {failure}") from failure
        replayed += 1
    rounds = 0
    while rounds == 0 or time.monotonic() < until:
        search(target, seed + rounds, _EXAMPLES_A_ROUND)
        rounds += 1
    return f"{replayed} of the corpus, {rounds * _EXAMPLES_A_ROUND:,} examples"


def _atheris(target: Target, seed: int, seconds: float) -> str:
    with tempfile.TemporaryDirectory(prefix="ostiary-parsers-") as folder:
        found = Path(folder) / "found"
        found.mkdir()
        dictionary = Path(folder) / "pieces"
        dictionary.write_text("".join(f'"{_escape(each)}"\n' for each in target.pieces if 0 < len(each) < 64))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "fuzz.parsers.guided", target.name),
                *(str(found), str(CORPUS / target.name)),
                *(f"-dict={dictionary}", f"-seed={seed % 2**31 + 1}", "-print_final_stats=1"),
                *(
                    f"-max_total_time={max(1, round(seconds))}",
                    f"-artifact_prefix={folder}/",
                    "-max_len=4096",
                ),
            ],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        said = done.stdout + done.stderr
        if done.returncode != 0:
            crashes = [path.read_bytes() for path in Path(folder).glob("crash-*")]
            raise AssertionError(f"atheris: input {crashes[:1]!r}\n{said[-2_000:]}")
        runs = [line.rpartition(" ")[2] for line in said.splitlines() if "number_of_executed_units" in line]
        return (
            f"{int(runs[-1]) if runs else 0:,} guided, {len(list(found.iterdir()))} inputs reached new lines"
        )


def _escape(piece: bytes) -> str:
    return "".join(f"\\x{byte:02X}" for byte in piece)


def selftest(only: str) -> int:
    """Plant the known mistakes of readers; 0 where none survives."""
    from fuzz.parsers.faults import FAULTS

    return run_selftest(only, FAULTS, run_planted, 2 * len(TARGETS))


def run_planted(number: int) -> Report:
    """New inputs of one target after the other, by the selftest's own seed."""
    target = TARGETS[number % len(TARGETS)]
    try:
        search(target, SEED + number, _EXAMPLES_A_RUN)
    except Exception as failure:
        return _report_failure(target, failure)
    return Report()
