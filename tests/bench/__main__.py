"""How fast this server is beside others, in one run on one machine.

    python -m tests.bench           # under 10 minutes
    python -m tests.bench --full    # more rounds, and five million sessions in the store

Server and driver are pinned to a core each where there are two. Every answer is checked.
"""

import argparse
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.cells import CELLS, running
from tests.bench.measure import Measured, measure
from tests.bench.population import fill
from tests.bench.report import table, write_report
from tests.bench.workloads import OPERATIONS

__all__ = ["main"]


def main() -> None:
    """Measure, print, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--full", action="store_true", help="with five million sessions, and more rounds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each round")
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--operations", nargs="*", default=list(OPERATIONS))
    parser.add_argument("--report", type=Path, default=Path("build/bench"), help="where the report goes")
    chosen = parser.parse_args()
    rounds = chosen.rounds * 2 if chosen.full else chosen.rounds
    others = [1_000, *([5_000_000] if chosen.full else [])]
    core = _apart()
    lane = [cell for cell in CELLS if cell.name == "lane"]
    found: list[Measured] = []
    with TemporaryDirectory(prefix="ostiary-bench-") as name:
        folder = Path(name)
        for sessions in (chosen.sessions, *others):
            print(f"filling a store with {sessions:,} sessions", file=sys.stderr)
            store = folder / f"{sessions}.db"
            fill(store, sessions)
            beside = sessions == chosen.sessions
            with ExitStack() as stack:
                cells = [
                    stack.enter_context(
                        running(cell, store, folder / f"{cell.name} {sessions}", sessions, core)
                    )
                    for cell in (CELLS if beside else lane)
                ]
                for connections in (32, 1, 256) if beside else (32,):
                    found += measure(
                        cells if connections == 32 else [cell for cell in cells if cell.cell in lane],
                        ("fixed", *chosen.operations),
                        connections,
                        rounds=rounds if connections == 32 else max(1, rounds // 2),
                        seconds=chosen.seconds,
                        sessions=sessions,
                    )
            store.unlink()
    print(table(found))
    write_report(found, chosen.report, "Measured side by side")
    print(f"written to {chosen.report}/", file=sys.stderr)


def _apart() -> int | None:
    """This process on one core; the core for the servers, None where there is but one."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("only one core: driver and server share it", file=sys.stderr)
        return None
    os.sched_setaffinity(0, {cores[1]})
    return cores[0]


if __name__ == "__main__":
    main()
