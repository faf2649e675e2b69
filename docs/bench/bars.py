"""The bars: what this server is asked to reach beside others, judged by the figures of one run."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Final

from docs.bench import postgres
from docs.bench.cells import BARE_ASGI, LANE, PLAIN, TWO_WORKERS, WORKERS_ASKED_BY
from docs.bench.findings import Findings, Measured, found
from docs.bench.workloads import TRACED

_ASKED: Final = (
    ("introspect", BARE_ASGI.name, 8.0),
    ("introspect", "Authlib", 12.0),
    ("introspect", "oidc-provider", 4.0),
    ("credentials", BARE_ASGI.name, 4.0),
    ("credentials", "Authlib", 8.0),
    ("credentials", "oidc-provider", 1.7),
    ("refresh", BARE_ASGI.name, 3.0),
    ("refresh", "Authlib", 8.0),
    ("refresh", "oidc-provider", 1.7),
    ("code", BARE_ASGI.name, 2.0),
    ("code", "oidc-provider", 1.3),
)
"""Of the lane: how many requests for the CPU of one at another server."""

_ON_POSTGRES: Final = {"introspect": 2.5, "refresh": 2.0}
"""At most so many times the CPU of the server that it takes on SQLite."""
_TWO_INSTANCES: Final = 1.6
_CORES_FOR_TWO: Final = 4
"""For two instances, their database and the driver."""

_FLAT: Final = 1.5
_SIZED: Final = ("introspect", "credentials", "refresh")
_IDLE_MIB: Final = 200.0
_CROWDED_TIMES: Final = 25.0
"""Where one connection was answered in one go, six callers made it 37,000 times as long."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One of them."""

    what: str
    asked: float
    seen: float | None
    """None where it was not measured."""
    unit: str
    at_least: bool = True

    @property
    def verdict(self) -> str:
        if self.seen is None:
            return "not measured"
        met = self.seen >= self.asked if self.at_least else self.seen <= self.asked
        return "met" if met else "missed"


def judge(findings: Findings) -> list[Bar]:
    """Every bar, in the order of the report."""
    return [
        *_beside(findings),
        *_on_postgres(findings),
        *_sizes(findings),
        *_workers(findings),
        _idle(findings),
        *_crowded(findings),
    ]


def _beside(findings: Findings) -> Iterator[Bar]:
    for operation, other, times in _ASKED:
        # The floor does the same whatever it is asked.
        theirs = findings.find(other, "fixed" if other == BARE_ASGI.name else operation)
        ours = findings.find(LANE.name, operation)
        yield Bar(f"{operation}, lane", times, _ratio(theirs, ours), f"× {other}")
    floor, plain = findings.find(BARE_ASGI.name, "fixed"), findings.find(PLAIN.name, "introspect")
    yield Bar("introspect, plain", 0.8, _ratio(floor, plain), f"× {BARE_ASGI.name}")
    if traced := findings.find(LANE.name, TRACED):  # older reports have none
        ratio = _ratio(traced, findings.find(LANE.name, "introspect"))
        yield Bar(f"{TRACED}, lane", 1.3, ratio, "× the CPU without a trace", at_least=False)
    refresh = findings.find(LANE.name, "refresh")
    seen = median(refresh.p99_ms) / median(refresh.p50_ms) if refresh else None
    yield Bar("p99 of refresh, lane", 4.0, seen, "× its p50", at_least=False)


def _on_postgres(findings: Findings) -> Iterator[Bar]:
    """Two instances with as many connections each as one; by what a request takes where they lack cores."""
    for operation, times in _ON_POSTGRES.items():
        sqlite = found(findings.postgres, LANE.name, operation, postgres.CONNECTIONS)
        one = found(findings.postgres, postgres.ONE.name, operation, postgres.CONNECTIONS)
        two = found(findings.postgres, postgres.TWO.name, operation, 2 * postgres.CONNECTIONS)
        what = f"{operation}, PostgreSQL"
        yield Bar(what, times, _ratio(one, sqlite), "× the CPU on SQLite", at_least=False)
        unit, seen = "× what one can do, by CPU", None
        if one and two:
            seen = 2 * one.cost / two.cost
        if findings.machine.cores >= _CORES_FOR_TWO:
            unit, seen = "× the rate of one", two.rate / one.rate if one and two else None
        yield Bar(f"{what}, 2 instances", _TWO_INSTANCES, seen, unit)


def _sizes(findings: Findings) -> Iterator[Bar]:
    for operation in _SIZED:
        rows = sorted(
            (here for here in findings.sizes if here.operation == operation), key=lambda here: here.sessions
        )
        if len(rows) < 2:
            yield Bar(f"{operation} in the largest store", _FLAT, None, "× the smallest", at_least=False)
            continue
        unit = f"× the CPU at {rows[0].sessions:,}"
        what = f"{operation} at {rows[-1].sessions:,} sessions"
        yield Bar(what, _FLAT, rows[-1].cost / rows[0].cost, unit, at_least=False)


def _workers(findings: Findings) -> Iterator[Bar]:
    """By rates, which say something on a quiet machine only, where one worker has more to do than it can."""
    connections = WORKERS_ASKED_BY[-1]
    for operation, asked in (("introspect", 0.8), ("credentials", 1.0), ("refresh", 1.0)):
        one = found(findings.workers, LANE.name, operation, connections) if findings.is_quiet else None
        two = found(findings.workers, TWO_WORKERS.name, operation, connections)
        seen = two.rate / one.rate if one and two else None
        unit = "× the rate of one"
        if operation == "introspect":
            unit = "× what two cores have room for"
            seen = two.rate / room_for_two(findings, one) if one and two else None
        yield Bar(f"{operation}, 2 workers, {connections} connections", asked, seen, unit)


def _idle(findings: Findings) -> Bar:
    idle = findings.idle
    seen = idle.resident_mib if idle else None
    return Bar("10,000 idle connections, one process", _IDLE_MIB, seen, "MiB", at_least=False)


def _crowded(findings: Findings) -> Iterator[Bar]:
    for here in findings.crowded:
        what = f"introspect, beside callers who pipeline: {here.callers}"
        yield Bar(what, _CROWDED_TIMES, here.ratio, "× the latency without them", at_least=False)


def room_for_two(findings: Findings, one: Measured) -> float:
    """Requests a second that two cores could do at what one worker and the driver spend on each."""
    driver = median(one.driver_microseconds)
    if findings.machine.cores > 2:
        return min(2e6 / one.cost, 1e6 / driver)
    # The driver has no core of its own.
    return 2e6 / (one.cost + driver)


def _ratio(theirs: Measured | None, ours: Measured | None) -> float | None:
    return theirs.cost / ours.cost if theirs and ours else None
