"""What one run of the bench came to: every round's figures, and what they are summed up to."""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from ostiary_net.runtime.interpreter import is_optimised

_QUIET: Final = 0.1
"""The share of other work up to which a machine is called quiet."""


@dataclass(slots=True)
class Measured:
    """One server, one operation, one number of connections: every round's figures."""

    cell: str
    operation: str
    connections: int
    sessions: int
    requests: int = 0
    cpu_microseconds: list[float] = field(default_factory=list)
    """Of the server, a request."""
    driver_microseconds: list[float] = field(default_factory=list)
    """Of the driver, a request."""
    per_second: list[float] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)
    p999_ms: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    """How much of the machine worked for neither server nor driver, 0 to 1."""
    resident_mib: float = 0.0

    @property
    def cost(self) -> float:
        """Microseconds of CPU a request: the median of the rounds."""
        return median(self.cpu_microseconds)

    @property
    def rate(self) -> float:
        """Requests a second: the median of the rounds."""
        return median(self.per_second)


@dataclass(frozen=True, slots=True)
class Stored:
    """What a server's sessions take before it is asked anything."""

    cell: str
    sessions: int
    disk_bytes: int
    """0 where it keeps them in memory."""
    resident_mib: float


@dataclass(frozen=True, slots=True)
class Idle:
    """Many connections that were answered once and then left alone."""

    connections: int
    empty_mib: float
    resident_mib: float
    slowest_ms: float
    """The slowest of a hundred requests beside them."""
    slowest_beside_torn_ms: float
    """And beside a client that stopped in the midst of its request."""


@dataclass(frozen=True, slots=True)
class Crowded:
    """One client's introspections, without and beside callers who pipeline without a pause."""

    callers: int
    alone_ms: float
    """The median without them."""
    beside_ms: float
    """The median beside them."""
    beside_p99_ms: float
    logged_kib_per_second: float
    """What the server logged meanwhile."""

    @property
    def ratio(self) -> float:
        """How many times as long an answer takes."""
        return self.beside_ms / self.alone_ms


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it was measured."""

    processor: str
    cores: int
    system: str
    python: str
    node: str

    def __str__(self) -> str:
        node = f", {self.node}" if self.node else ""
        return f"{self.processor}, {self.cores} cores, {self.system}, Python {self.python}{node}"


@dataclass(slots=True)
class Findings:
    """All of it."""

    machine: Machine
    rounds: int
    seconds: float
    beside: list[Measured] = field(default_factory=list)
    """The servers side by side."""
    sizes: list[Measured] = field(default_factory=list)
    """This server with more and fewer sessions in its store."""
    workers: list[Measured] = field(default_factory=list)
    """This server as one process and as two."""
    postgres: list[Measured] = field(default_factory=list)
    """This server on SQLite, on PostgreSQL, and as two instances on one PostgreSQL."""
    stored: list[Stored] = field(default_factory=list)
    idle: Idle | None = None
    crowded: list[Crowded] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Servers that could not be had, and why."""

    def find(self, cell: str, operation: str, connections: int = 32) -> Measured | None:
        """One of those side by side."""
        return found(self.beside, cell, operation, connections)

    @property
    def others(self) -> float:
        """How much of the machine was at other work while the servers were measured, 0 to 1."""
        return _others(self.beside)

    @property
    def is_quiet(self) -> bool:
        """Whether rates and latencies say anything."""
        return max(self.others, _others(self.workers)) <= _QUIET

    def as_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


def _others(group: Iterable[Measured]) -> float:
    shares = [share for here in group for share in here.others]
    return median(shares) if shares else 0.0


def found(group: Iterable[Measured], cell: str, operation: str, connections: int) -> Measured | None:
    """The row of a group, if it was measured."""
    for here in group:
        if (here.cell, here.operation, here.connections) == (cell, operation, connections):
            return here
    return None


def read_findings(path: Path) -> Findings:
    """What `Findings.as_json` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=Findings)


def this_machine() -> Machine:
    """The machine as it is before a run."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")
    node = shutil.which("node")
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False) if node else None
    return Machine(
        processor=model,
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version() + ("" if is_optimised() else " (not optimised)"),
        node=f"Node {said.stdout.strip()}" if said else "",
    )
