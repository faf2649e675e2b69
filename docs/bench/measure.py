"""Rounds: every cell asked the same for a moment, one after the other, again and again.

A busy machine slows whoever is measured just then. Interleaved rounds share that out, those that are compared
come right after one another, and the CPU that a request costs its server depends on it less than its time
does: it is what the ratios are made of.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from docs.bench.driver import drive
from docs.bench.findings import Measured
from docs.bench.running import Running


def measure(
    cells: Sequence[Running],
    operations: Sequence[str],
    connections: int,
    *,
    rounds: int,
    seconds: float,
    warm_up_seconds: float | None = None,
    in_memory: bool = False,
) -> list[Measured]:
    """All `operations` of all cells that have them; the first round, a quarter as long, only warms up.

    Each instance of a cell has that many connections.
    `in_memory` has the system read each cell's file before every round.
    """
    lengths = [seconds / 4 if warm_up_seconds is None else warm_up_seconds, *([seconds] * rounds)]
    found: list[tuple[Running, Measured]] = [
        (cell, Measured(cell.cell.name, operation, connections * cell.cell.instances, cell.sessions))
        for cell in cells
        for operation in operations
        if operation in cell.cell.operations
    ]
    for number, length in enumerate(lengths):
        for operation in operations:
            for cell, here in found:
                if here.operation == operation:
                    if in_memory:
                        cell.read_store()
                    _round(cell, here, length, keep=number > 0, seed=number * 1_000)
    return [here for _, here in found]


def _round(cell: Running, here: Measured, seconds: float, *, keep: bool, seed: int) -> None:
    conversations = cell.conversations(here.operation, here.connections, seed, seconds)
    before, driver_before, busy_before = cell.cpu_seconds(), time.process_time(), _busy_seconds()
    done = drive(cell.address, conversations, seconds)
    driver_spent, spent = time.process_time() - driver_before, cell.cpu_seconds() - before
    busy = _busy_seconds() - busy_before
    cell.look_up(conversations[:3])
    if not keep:
        return
    latencies = sorted(done.latencies)
    here.requests += done.requests
    here.cpu_microseconds.append(spent / done.requests * 1e6)
    here.driver_microseconds.append(driver_spent / done.requests * 1e6)
    cores = os.cpu_count() or 1
    here.others.append(max(0.0, busy - spent - driver_spent) / done.seconds / cores)
    here.per_second.append(done.requests / done.seconds)
    for quantile, kept in ((0.5, here.p50_ms), (0.99, here.p99_ms), (0.999, here.p999_ms)):
        kept.append(latencies[min(int(quantile * len(latencies)), len(latencies) - 1)] * 1e3)
    here.resident_mib = max(here.resident_mib, cell.resident_bytes() / 2**20)


def _busy_seconds() -> float:
    """What all cores have worked since the machine began, what was stolen from them included."""
    user, nice, system, _idle, _waiting, interrupts, soft, stolen = map(
        int, Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
    )
    return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")
