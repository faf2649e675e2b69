"""How fast this server is beside others, in one run on one machine.

    python -m docs.bench                # under 10 minutes
    python -m docs.bench --full         # more rounds, and five million sessions in the store
    python -m docs.bench --write        # and put it into docs/performance.md
    python -m docs.bench --only-write   # the last run, without measuring again

Server and driver are pinned to a core each where there are two. Every answer is checked.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from docs.bench import postgres
from docs.bench.cells import FLOORS, LANE, PLAIN, ROOT, TWO_WORKERS, WORKERS_ASKED_BY, Cell, peers
from docs.bench.crowding import measure_crowding
from docs.bench.findings import Findings, Stored, read_findings, this_machine
from docs.bench.idle import measure_idle
from docs.bench.measure import measure
from docs.bench.peers.installing import Unavailable
from docs.bench.running import Running, running
from docs.bench.workloads import OPERATIONS, REFRESH_ANY, TRACED
from docs.performance_page import REPORT, bars_table, beside_table, write_into_page, write_report

_BEGUN = time.monotonic()
_SMALLEST = 1_000
_LARGEST = 5_000_000
_UNTIL_MAPPED_SECONDS = 4.0
"""A page of the file is mapped when it is first read, and a large store has many."""
_IDLE_CONNECTIONS = 10_000
_CALLERS = (1, 6)
"""Connections that pipeline without a pause."""
_WORKERS_DO = ("introspect", "credentials", "refresh")


@dataclass(frozen=True, slots=True)
class _Asked:
    rounds: int
    seconds: float
    sessions: int
    sizes: Sequence[int]
    operations: Sequence[str]
    only: Sequence[str]

    def wants(self, cell: Cell) -> bool:
        return not self.only or cell.name in self.only


def main() -> None:
    """Measure, print, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--full", action="store_true", help="with five million sessions, and more rounds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each round")
    parser.add_argument("--sessions", type=int, default=100_000)
    parser.add_argument("--operations", nargs="*", default=list(OPERATIONS))
    parser.add_argument("--only", nargs="*", default=[], metavar="SERVER", help="side by side, nothing else")
    parser.add_argument("--report", type=Path, default=ROOT / "build/bench", help="where the report goes")
    parser.add_argument("--write", action="store_true", help="into docs/performance.md too")
    parser.add_argument("--only-write", action="store_true", help="write the last report into it")
    chosen = parser.parse_args()
    if chosen.only and chosen.write:
        parser.error("the page is written from a whole run: --write without --only")
    if chosen.only_write:
        findings = read_findings(chosen.report / REPORT)
    else:
        asked = _Asked(
            rounds=chosen.rounds * 2 if chosen.full else chosen.rounds,
            seconds=chosen.seconds,
            sessions=chosen.sessions,
            sizes=(_SMALLEST, *([_LARGEST] if chosen.full else [])),
            operations=chosen.operations,
            only=chosen.only,
        )
        findings = _measured(asked)
        write_report(findings, chosen.report)
    print(beside_table(findings))
    if not chosen.only:
        print(bars_table(findings))
    if chosen.write or chosen.only_write:
        write_into_page(findings, ROOT / "docs/performance.md")
    print(f"the whole of it: {chosen.report}/measured.md", file=sys.stderr)


def _measured(asked: _Asked) -> Findings:
    findings = Findings(this_machine(), asked.rounds, asked.seconds)
    with TemporaryDirectory(prefix="ostiary-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        _say("looking for the others, which are installed once")
        field, findings.left_out = peers()
        on_database: list[Cell] = []
        try:
            on_database = [] if asked.only else postgres.on_postgres(stack)
        except Unavailable as reason:
            findings.left_out["PostgreSQL"] = str(reason)
        for missing, why in findings.left_out.items():
            _say(f"{missing} is left out: {why}")
        server_cores = _apart()  # after the database has begun, which may use all of them

        def start(cell: Cell, sessions: int) -> Running:
            _say(f"filling and starting {cell.name} with {sessions:,} sessions")
            place = folder / f"{cell.name} {sessions}"
            server = stack.enter_context(running(cell, place, sessions, server_cores[: cell.cores]))
            if cell.operations != ("fixed",):
                memory = server.resident_bytes() / 2**20
                findings.stored.append(Stored(cell.name, sessions, server.disk_bytes, memory))
            return server

        beside = [start(cell, asked.sessions) for cell in (LANE, PLAIN, *FLOORS, *field) if asked.wants(cell)]
        _side_by_side(findings, asked, beside)
        if not asked.only:
            lane = beside[0]
            _say("one worker and two")
            pair = [lane, start(TWO_WORKERS, asked.sessions)]
            for connections in WORKERS_ASKED_BY:
                findings.workers += measure(
                    pair, _WORKERS_DO, connections, rounds=asked.rounds, seconds=asked.seconds
                )
            if on_database:
                _say("on PostgreSQL")
                findings.postgres = measure(
                    [lane, *(start(cell, asked.sessions) for cell in on_database)],
                    postgres.OPERATIONS,
                    postgres.CONNECTIONS,
                    rounds=asked.rounds,
                    seconds=asked.seconds,
                )
            _say("fewer and more sessions")
            stores = [lane, *(start(LANE, sessions) for sessions in asked.sizes)]
            findings.sizes = measure(
                stores,
                asked.operations,
                32,
                rounds=asked.rounds,
                seconds=asked.seconds,
                warm_up_seconds=_UNTIL_MAPPED_SECONDS if asked.sizes[-1] == _LARGEST else None,
                in_memory=True,
            )
            _say(f"{_IDLE_CONNECTIONS:,} idle connections")
            findings.idle = measure_idle(folder / "idle", _IDLE_CONNECTIONS)
            for callers in _CALLERS:
                _say(f"beside callers who pipeline: {callers}")
                seconds = 2 * asked.seconds
                findings.crowded.append(measure_crowding(folder / f"crowd {callers}", callers, seconds))
    return findings


def _side_by_side(findings: Findings, asked: _Asked, servers: Sequence[Running]) -> None:
    operations = ("fixed", *asked.operations, TRACED, REFRESH_ANY)
    for connections, rounds in ((32, asked.rounds), (1, asked.rounds // 2), (256, asked.rounds // 2)):
        _say(f"side by side, connections: {connections}")
        findings.beside += measure(
            servers, operations, connections, rounds=max(1, rounds), seconds=asked.seconds
        )


def _apart() -> Sequence[int]:
    """This process on the last core; the cores for the servers, none where all must share one."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        _say("only one core: driver and server share it")
        return ()
    os.sched_setaffinity(0, {cores[-1]})
    return cores


def _say(text: str) -> None:
    print(f"{time.monotonic() - _BEGUN:4.0f} s  {text}", file=sys.stderr)


if __name__ == "__main__":
    main()
