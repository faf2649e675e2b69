"""Rounds: every cell asked the same for a moment, one after the other, again and again.

A busy machine slows whoever is measured just then. Interleaved rounds share that out, and the CPU that a
request costs its server hardly depends on it: it is what the ratios are made of.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

from tests.bench.cells import Running
from tests.bench.driver import drive

__all__ = ["Measured", "measure"]


@dataclass(slots=True)
class Measured:
    """One cell, one operation, one number of connections: every round's figures."""

    cell: str
    operation: str
    connections: int
    sessions: int
    requests: int = 0
    cpu_microseconds: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)
    p999_ms: list[float] = field(default_factory=list)
    resident_mib: float = 0.0

    @property
    def cost(self) -> float:
        """Microseconds of CPU a request: the median of the rounds."""
        return median(self.cpu_microseconds)

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def measure(
    cells: Sequence[Running],
    operations: Sequence[str],
    connections: int,
    *,
    rounds: int,
    seconds: float,
    sessions: int,
) -> list[Measured]:
    """All `operations` of all cells; the first round only warms up."""
    found: dict[tuple[str, str], Measured] = {}
    for number in range(rounds + 1):
        for cell in cells:
            for operation in operations:
                if operation not in cell.cell.operations:
                    continue
                key = (cell.cell.name, operation)
                here = found.setdefault(key, Measured(*key, connections, sessions))
                _round(cell, here, seconds if number else seconds / 4, keep=number > 0, seed=number * 1_000)
    return list(found.values())


def _round(cell: Running, here: Measured, seconds: float, *, keep: bool, seed: int) -> None:
    conversations = cell.conversations(here.operation, here.connections, seed)
    before = cell.cpu_seconds()
    done = drive(cell.address, conversations, seconds)
    spent = cell.cpu_seconds() - before
    cell.look_up(conversations[:3])
    if not keep:
        return
    latencies = sorted(done.latencies)
    here.requests += done.requests
    here.cpu_microseconds.append(spent / done.requests * 1e6)
    here.per_second.append(done.requests / done.seconds)
    for quantile, kept in ((0.5, here.p50_ms), (0.99, here.p99_ms), (0.999, here.p999_ms)):
        kept.append(latencies[min(int(quantile * len(latencies)), len(latencies) - 1)] * 1e3)
    here.resident_mib = max(here.resident_mib, cell.resident_bytes() / 2**20)
