"""Judges of a mutant: each test of its room that reaches it, and for the core random worlds.

A judge is tried once without a mutant, to measure the statements that it reaches and its time.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from resource import RLIMIT_AS, RLIMIT_CORE, setrlimit
from typing import Any, Final, TypeVar

import pytest

from fuzz.mutants.planting import index_functions, note_statements
from fuzz.mutants.rooms import Room
from fuzz.rules.sequences import run_world
from fuzz.shared.core_events import with_more_scopes
from fuzz.shared.selftest import SEED

T = TypeVar("T")

_WORLDS: Final = 16
_MOST_BYTES: Final = 4 * 1024**3
_FORK: Final = get_context("fork")
_MOST_SECONDS_TO_TRY: Final = 1800.0


@dataclass(frozen=True, slots=True)
class Judge:
    """A test or a random world that can be run and reports whether it failed."""

    name: str
    notices: Callable[[], bool]
    reached: frozenset[tuple[str, int]] = frozenset()
    """Reached statements, by module and number."""
    seconds: float = 0.0
    """Processor time without a mutant, or half of its real time if that is more, in seconds.

    One that waits for a database or a timer costs more than its own processor's time.
    """


def with_judges(rooms: Sequence[Room], run: Callable[[list[Judge]], int]) -> int:
    """Collect the tests of the rooms in this process and call `run` with all judges, not tried yet."""
    conductor = _Conductor(run, rooms)
    tests = dict.fromkeys(path for room in rooms for path in room.tests)
    unneeded = [f"-pno:{name}" for name in ("terminal", "cacheprovider", "xdist", "faulthandler")]
    code = pytest.main([*unneeded, *tests], plugins=[conductor])
    return conductor.code if code == 0 else int(code)


class _Conductor:
    """Replaces pytest's own loop over the tests."""

    def __init__(self, run: Callable[[list[Judge]], int], rooms: Sequence[Room]) -> None:
        self._run = run
        self._rooms = rooms
        self._has_failed = False
        self.code = 2

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        from hypothesis import Phase, settings  # imported here, so that pytest's own plugin of it comes first

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings(), phases=phases, database=None, derandomize=True)
        settings.load_profile("mutants")
        count = _WORLDS if any(room.has_worlds for room in self._rooms) else 0
        worlds = [Judge(f"world {number}", partial(_world, number)) for number in range(count)]
        tests = [
            Judge(item.nodeid, partial(self._fails, item))
            for item in session.items
            if any(room.asks(item.nodeid) for room in self._rooms)
        ]
        self.code = self._run([*worlds, *tests])
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._has_failed = self._has_failed or report.failed

    def _fails(self, item: pytest.Item) -> bool:
        self._has_failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return self._has_failed


def _world(number: int) -> bool:
    with with_more_scopes():
        return bool(run_world(SEED, number, looks_back=False).violations)


def try_judges(judges: Sequence[Judge], modules: Sequence[str], processes: int) -> list[Judge]:
    """Return the judges with the reached statements and time of each, without those that fail.

    A judge may fail without a mutant because code runs slower here. Raises `ValueError` if a judge ends the
    process.
    """
    shares = [judges[share::processes] for share in range(processes)]
    running = [Child(partial(_try_all, share, modules), _MOST_SECONDS_TO_TRY) for share in shares]
    tried = [judge for child in running for judge in child.result() or ()]
    if len(tried) < len(judges):
        raise ValueError("without a mutant, a judge ends its process")
    by_name = {name: (reached, seconds) for name, reached, seconds in tried if seconds >= 0}
    for judge in judges:
        if judge.name not in by_name:
            print(f"left out, as it notices something without a mutant: {judge.name}", flush=True)
    sound = (judge for judge in judges if judge.name in by_name)
    return [Judge(judge.name, judge.notices, *by_name[judge.name]) for judge in sound]


def _try_all(judges: Sequence[Judge], modules: Sequence[str]) -> list[tuple[str, frozenset[Any], float]]:
    reached: set[tuple[str, int]] = set()
    functions = index_functions()
    for module in modules:
        note_statements(module, functions, reached.add)
    tried = []
    for judge in judges:
        reached.clear()
        began, busy = time.monotonic(), time.process_time()
        has_noticed = judge.notices()
        seconds = max(time.process_time() - busy, (time.monotonic() - began) / 2)
        tried.append((judge.name, frozenset(reached), -1.0 if has_noticed else seconds))
    return tried


class Child:
    """A process that makes one silent call with a time limit."""

    def __init__(self, call: Callable[[], object], most_seconds: float) -> None:
        self.until = time.monotonic() + most_seconds
        sys.stdout.flush()
        self.answer, writing = _FORK.Pipe(duplex=False)
        self._process = _FORK.Process(target=_answer_alone, args=(call, writing))
        self._process.start()
        writing.close()

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    def result(self) -> Any:
        """Wait for the call and return its result; None if the process ended without one."""
        try:
            return self.answer.recv()
        except EOFError:
            return None
        finally:
            self.answer.close()
            self._process.join()


def _answer_alone(call: Callable[[], object], writing: Connection) -> None:
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        setrlimit(RLIMIT_CORE, (0, 0))
        setrlimit(RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
        writing.send(call())
    finally:
        os._exit(0)
