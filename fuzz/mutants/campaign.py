"""`python -m fuzz mutants`: plant every small change of a room; some judge must notice each.

After all imports, a worker is forked for each mutant. It plants the mutant and runs the judges that reach the
changed statement: first those that noticed another mutant of the same function, then the quick ones. A mutant
that survives all of them must be in `survivors` with a reason, or counts towards the share of its room
that may survive (`_MAY_SURVIVE`).
"""

import gc
import importlib
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from resource import RLIMIT_CPU, setrlimit
from signal import ITIMER_REAL, setitimer
from types import CodeType, FunctionType
from typing import Final

from fuzz.mutants.judges import Child, Judge, try_judges, with_judges
from fuzz.mutants.mutations import Key, Mutant, find_changed_statements, mutants_of
from fuzz.mutants.planting import index_functions, list_calls_of_imports, plant
from fuzz.mutants.rooms import ROOMS, choose_rooms, find_changed_rooms, modules_of
from fuzz.shared.campaign import Report, conduct

SURVIVORS: Final = Path(__file__).with_name("survivors")
"""A file for each room."""
_PROCESSES: Final = 2
_MOST_SECONDS: Final = 900.0
"""Longest wall time for all judges of one mutant, in seconds."""
_LEAST_WAIT_SECONDS: Final = 20.0
"""Shortest wall time for one judge, in seconds; a judge that hangs has noticed the mutant."""
_MAY_SURVIVE: Final = 0.03
"""Share of a room's mutants that may survive unlisted."""
_LEAST_JUDGED: Final = 50
"""Number of judged mutants from which a room's share of survivors counts."""
_KILLED, _SURVIVED, _LISTED, _UNDECIDED = "killed", "survived", "listed", "undecided"
_ITS_END: Final = "its end"
"""Judge's name for a mutant whose process ended without a report."""


def run(
    names: Sequence[str], since: str, only: Sequence[str], sample: int, seed: int, most_seconds: float
) -> int:
    """Judge the mutants of the rooms; return 0 if no more survive than may.

    The rooms are the named ones, those that changed `since` a revision, or all.
    """
    if since and not (names := find_changed_rooms(since)):
        print(f"no room changed since {since}")
        return 0
    rooms = choose_rooms(names)
    homes = {module: name for name, room in rooms.items() for module in modules_of(room)}
    modules = list(homes)
    for module in modules:
        importlib.import_module(module)
    mutants = [
        mutant
        for module in modules
        for mutant in mutants_of(module)
        # Outside the core, swapped neighbouring arguments nearly always differ in type, and mypy notices.
        if mutant.kind != "arguments" or rooms[homes[module]].has_worlds
    ]
    listed = read_survivors()
    keys = {mutant.key for mutant in mutants}
    stale = sorted(key for key in listed.keys() - keys if key[0] in homes)
    for key in stale:
        print(f"listed, and there is no such mutant: {' | '.join(key)}", file=sys.stderr)
    mutants = [each for each in mutants if not only or any(text in str(each) for text in only)]
    if sample:
        mutants = Random(seed).sample(mutants, min(sample, len(mutants)))
    began = time.monotonic()

    def judge_all(judges: list[Judge]) -> int:
        tried = try_judges(judges, modules, _PROCESSES)
        took = f"{time.monotonic() - began:.0f} s"
        print(f"{len(mutants):,} mutants, {len(tried):,} judges, {took} to try these")
        reached = {place for judge in tried for place in judge.reached}
        of_imports = list_calls_of_imports(modules)
        # Values that a function made for its module's tables are there before any mutant.
        judged = [
            each
            for each in mutants
            if (each.module, each.function) not in of_imports
            or any((each.module, statement) in reached for statement in find_changed_statements(each))
        ]
        left = most_seconds - (time.monotonic() - began)
        runs = judge_mutants(judged, tried, listed, homes)
        most = len(mutants) + 1
        return conduct(
            runs, _figures, _progress, most_failures=most, most_seconds=left, find_missed=_find_porous
        )

    return with_judges(list(rooms.values()), judge_all) or int(bool(stale))


def read_survivors() -> dict[Key, str]:
    """Return the mutants that may survive, with the reason of each."""
    return {
        (each["module"], each["function"], each["kind"], text): each["reason"]
        for file in sorted(SURVIVORS.iterdir())
        for each in tomllib.loads(file.read_text(encoding="utf-8"))["survivor"]
        for text in each["texts"]
    }


def judge_mutants(
    mutants: Sequence[Mutant], judges: Sequence[Judge], listed: dict[Key, str], homes: Mapping[str, str]
) -> Iterator[Report]:
    """Yield a report for each mutant, in order of completion, two at a time.

    `homes` names the room of each module.
    """
    functions = index_functions()
    gc.collect()
    gc.freeze()
    waiting = list(reversed(mutants))
    running: dict[Connection, tuple[Child, Mutant]] = {}
    noticed: dict[str, list[tuple[str, str]]] = defaultdict(list)
    try:
        while waiting or running:
            while waiting and len(running) < _PROCESSES:
                mutant = waiting.pop()
                asked = ask_in_order(mutant, judges, noticed[mutant.module])
                room = ROOMS[homes[mutant.module]]
                if not room.has_worlds:
                    asked = take_within(asked, room.most_seconds)
                child = Child(partial(judge_one, mutant, asked, functions), _MOST_SECONDS)
                running[child.answer] = child, mutant
            ready = wait(list(running), 1.0)
            for answer, (child, mutant) in list(running.items()):
                if time.monotonic() > child.until:
                    child.kill()
                elif answer not in ready:
                    continue
                del running[answer]
                late = time.monotonic() > child.until
                outcome, by = child.result() or ((_UNDECIDED, "late") if late else (_KILLED, _ITS_END))
                if outcome == _KILLED:
                    noticed[mutant.module].append((mutant.function, by))
                report = report_of(mutant, outcome, by, listed, homes[mutant.module])
                if outcome == _SURVIVED:
                    report.stories.clear()
                yield report
    finally:
        for child, _ in running.values():
            child.kill()


def ask_in_order(mutant: Mutant, judges: Sequence[Judge], noticed: Sequence[tuple[str, str]]) -> list[Judge]:
    """Return the judges of a mutant in the order to run them.

    Those that reach the mutant's statement: first those that noticed another mutant of its function, then
    those that notice most of its module for their time. For a constant, which other modules may use, those
    that reach its module; if there are none, all. `noticed` has a function and a judge for each mutant that
    was noticed in the module.
    """
    places = {(mutant.module, statement) for statement in find_changed_statements(mutant)}
    reaching = {judge.name for judge in judges if places & judge.reached}
    asked = [judge for judge in judges if judge.name in reaching]
    if not mutant.function:
        at_home = [judge for judge in judges if any(module == mutant.module for module, _ in judge.reached)]
        asked = at_home or list(judges)
    here = Counter(name for function, name in noticed if function == mutant.function)
    nearby = Counter(name for _, name in noticed)
    return sorted(
        asked,
        key=lambda judge: (
            -here[judge.name],
            judge.name not in reaching,
            judge.seconds / (1 + nearby[judge.name]),
        ),
    )


def take_within(judges: Sequence[Judge], most_seconds: float) -> list[Judge]:
    """Return the first judges that can start within so many seconds."""
    taken = accumulate((judge.seconds for judge in judges), initial=0.0)
    return [judge for judge, since in zip(judges, taken, strict=False) if since < most_seconds]


def judge_one(
    mutant: Mutant, judges: Sequence[Judge], functions: dict[CodeType, list[FunctionType]]
) -> tuple[str, str]:
    """Judge a mutant in this process; return its outcome and the judge that noticed it.

    A mutant that hangs ends the process.
    """
    seconds = round(3 + 5 * sum(judge.seconds for judge in judges))
    setrlimit(RLIMIT_CPU, (seconds, seconds + 1))
    name = "its import"
    try:
        for judge in judges if plant(mutant, functions) else ():
            name = judge.name
            setitimer(ITIMER_REAL, _LEAST_WAIT_SECONDS + 20 * judge.seconds)
            if judge.notices():
                return _KILLED, name
    except Exception:
        return _KILLED, name
    return _SURVIVED, f"{len(judges)} judges"


def report_of(mutant: Mutant, outcome: str, by: str, listed: dict[Key, str], room: str) -> Report:
    """Return the report on one mutant."""
    failure = ""
    if mutant.key in listed:
        # On a busy machine a judge may exceed its time without any mutant's fault.
        holds = outcome == _SURVIVED or by == _ITS_END
        failure = "" if holds else f"listed, but {outcome} by {by}: {mutant}"
        outcome = _LISTED if holds else outcome
    elif outcome != _KILLED:
        failure = f"{outcome.upper()} {mutant} ({by})"
    report = Report(counts=Counter(mutants=1), tables={outcome: Counter({room: 1})})
    if failure:
        print(f"  {failure}", flush=True)
        report.stories.append(partial(str, failure))
    return report


def _find_porous(total: Report) -> str:
    """Return the rooms with a larger share of survivors than allowed."""
    lines = []
    for name in ROOMS:
        survived = total.tables[_SURVIVED][name]
        judged = sum(counts[name] for counts in total.tables.values())
        if judged >= _LEAST_JUDGED and survived > _MAY_SURVIVE * judged:
            lines.append(f"{survived} of {judged} mutants of {name} survive, more than {_MAY_SURVIVE:.0%}")
    return "; ".join(lines)


def _progress(total: Report, seconds: float) -> str:
    return f"{total.counts['mutants']:,} mutants, {seconds:.0f} s"


def _figures(total: Report, seconds: float) -> str:
    columns = (_KILLED, _LISTED, _SURVIVED, _UNDECIDED)
    lines = [f"{'room':<12}{'mutants':>9}" + "".join(f"{each:>11}" for each in columns)]
    for room in (*ROOMS, ""):
        counts = [total.tables[each][room] if room else total.tables[each].total() for each in columns]
        if sum(counts):
            cells = "".join(f"{each:>11,}" for each in counts)
            lines.append(f"{room or 'together':<12}{sum(counts):>9,}{cells}")
    return "\n".join(lines)
