"""Counts what a process does, and writes the counts in Prometheus' format.

One thread, the event loop's, counts in plain dicts: no lock is needed. Labels are names of events, facts,
reasons and operations, all enumerated in the core, and never what a client sent
(docs/decisions/0016-metrics.md).
"""

import os
import re
import resource
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from ostiary_core.events import Event
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.reply import BatchRefused, Refused
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import LIMITS, Operation
from ostiary_net.observability.log import LINES, REFUSAL_LIMIT

RUNNING_VERSION: Final = version("ostiary")
"""Release of this process; what is installed may be replaced while it runs."""
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_TURN_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_TURN_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_RETRY_SECONDS: Final = (0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 20, 25, 30)

_OK: Final = "ok"
_FAILED: Final = "failed"
_BATCH_REFUSED: Final = "batch_refused"

Labels = Mapping[str, str]
Sample = tuple[Labels, float]


def describe_outcome(decision: Decision) -> Why | str:
    """Return the outcome of a decision in one word: `ok`, or the reason."""
    reply = decision.reply
    if isinstance(reply, Refused):
        return reply.why
    return _BATCH_REFUSED if isinstance(reply, BatchRefused) else _OK


def name_operation(event: type[Event]) -> str:
    """Return an event's name as a label.

    >>> from ostiary_core.events import RefreshRequested
    >>> name_operation(RefreshRequested)
    'refresh_requested'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event.__name__).lower()


class Histogram:
    """Counts values by upper bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Metrics:
    """Holds the counters of one process."""

    def __init__(self) -> None:
        self._requests: dict[tuple[type[Event], Why | str], int] = {}
        self._facts: dict[tuple[FactKind, Why | None], int] = {}
        self._failed_queries = 0
        self._limited: dict[Operation, int] = dict.fromkeys(LIMITS, 0)
        self._swept: dict[str, int] = {}
        self._retries = Histogram(_RETRY_SECONDS)
        self._turn_sizes = {name: Histogram(_TURN_SIZES) for name in ("write", "read")}
        self._turn_seconds = {name: Histogram(_TURN_SECONDS) for name in ("write", "read")}
        self._read: dict[str, tuple[str, str, Callable[[], Iterable[Sample]]]] = {}
        """Metrics of other owners: kind, help text and reader of each."""
        self._started_at = time.time()

    # --- what is counted

    def count_decision(self, event: Event, decision: Decision, now: Callable[[], Instant]) -> None:
        """Count a decision and its facts."""
        self._add(event, describe_outcome(decision))
        for fact in decision.facts:
            self._count_fact(fact, now)

    def count_failure(self, event: Event) -> None:
        """Count an event whose turn could not be taken."""
        self._add(event, _FAILED)

    def count_failed_list(self) -> None:
        """Count a list or summary that the store could not read."""
        self._failed_queries += 1

    def count_rate_limited(self, operation: Operation) -> None:
        """Count a request that is over the limit of its source."""
        self._limited[operation] += 1

    def count_turn(self, queue: str, events: int, seconds: float) -> None:
        """Count a turn of the writing or the reading queue, with its time until the commit."""
        self._turn_sizes[queue].observe(events)
        self._turn_seconds[queue].observe(seconds)

    def count_swept(self, what: str, number: int) -> None:
        """Count records that the sweeper deleted."""
        self._swept[what] = self._swept.get(what, 0) + number

    def add_gauge(self, name: str, help_text: str, samples: Callable[[], Iterable[Sample]]) -> None:
        """Add a value that each scrape reads anew."""
        self._read[name] = ("gauge", help_text, samples)

    def add_counter(self, name: str, help_text: str, samples: Callable[[], Iterable[Sample]]) -> None:
        """Add a count with another owner, which each scrape reads anew."""
        self._read[name] = ("counter", help_text, samples)

    def _add(self, event: Event, outcome: Why | str) -> None:
        key = (type(event), outcome)
        self._requests[key] = self._requests.get(key, 0) + 1

    def _count_fact(self, fact: Fact, now: Callable[[], Instant]) -> None:
        key = (fact.kind, fact.why)
        self._facts[key] = self._facts.get(key, 0) + 1
        if fact.kind is FactKind.PAIR_REPEATED and fact.earlier_at is not None:
            # A database's clock may be a little ahead of this machine's.
            self._retries.observe(max(0, now() - fact.earlier_at) / SECOND_MS)

    # --- how it is read

    def write_exposition(self) -> str:
        """Write all metrics in Prometheus' text format 0.0.4."""
        return "".join(f"{line}\n" for line in self._write_lines())

    def _write_lines(self) -> Iterator[str]:
        requests = [
            ({"operation": name_operation(kind), "outcome": str(outcome)}, number)
            for (kind, outcome), number in self._requests.items()
        ]
        yield from _write_counter(
            "ostiary_requests_total", "Requests decided, by operation and outcome.", requests
        )
        looks: list[Sample] = [({}, self._failed_queries)]
        yield from _write_counter("ostiary_failed_looks_total", "Lists that the store could not give.", looks)
        facts = [
            ({"fact": kind.value, "why": "" if why is None else why.value}, number)
            for (kind, why), number in self._facts.items()
        ]
        yield from _write_counter(
            "ostiary_facts_total", "What happened: endings and replays by reason.", facts
        )
        limited = [({"operation": operation.name.lower()}, n) for operation, n in self._limited.items()]
        yield from _write_counter("ostiary_rate_limited_total", "Requests over a rate limit.", limited)
        swept = [({"what": what}, number) for what, number in self._swept.items()]
        yield from _write_counter("ostiary_swept_total", "Records purged by the sweeper.", swept)
        yield from _write_histogram(
            "ostiary_retry_delay_seconds",
            "How long after its first use a spent token came again in time.",
            {"": self._retries},
        )
        yield from _write_histogram("ostiary_turn_events", "Events a turn.", self._turn_sizes)
        yield from _write_histogram("ostiary_turn_seconds", "How long a turn took.", self._turn_seconds)
        for name, (kind, help_text, samples) in self._read.items():
            yield from _write_family(name, help_text, kind, samples())
        not_logged: list[Sample] = [({}, REFUSAL_LIMIT.not_logged)]
        yield from _write_counter(
            "ostiary_refusals_not_logged_total",
            "Refusals beyond the lines that the log has for them.",
            not_logged,
        )
        memory, descriptors, most = _read_usage()
        yield from _write_family("process_resident_memory_bytes", "Memory of the process.", "gauge", memory)
        yield from _write_family(
            "process_open_fds", "Files and connections that are open.", "gauge", descriptors
        )
        yield from _write_family("process_max_fds", "As many may be open.", "gauge", most)
        dropped: list[Sample] = [({}, LINES.dropped)]
        yield from _write_counter(
            "ostiary_log_lines_dropped_total", "Log lines that nobody took in time.", dropped
        )
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu_seconds = used.ru_utime + used.ru_stime
        yield from _write_counter("process_cpu_seconds_total", "Time on the processor.", [({}, cpu_seconds)])
        started: list[Sample] = [({}, self._started_at)]
        yield from _write_family("process_start_time_seconds", "When the process began.", "gauge", started)
        built: list[Sample] = [({"version": RUNNING_VERSION}, 1)]
        yield from _write_family("ostiary_build_info", "The release that runs.", "gauge", built)


def _read_usage() -> tuple[list[Sample], list[Sample], list[Sample]]:
    """Return memory, open files and their limit; empty lists without /proc."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[1])
        files = len(os.listdir("/proc/self/fd"))
    except (OSError, IndexError, ValueError):
        return [], [], []
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return [({}, pages * resource.getpagesize())], [({}, files)], [({}, most)]


def _write_counter(name: str, help_text: str, samples: Iterable[Sample]) -> Iterator[str]:
    return _write_family(name, help_text, "counter", samples)


def _write_family(name: str, help_text: str, kind: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield f"{name}{_format_labels(labels)} {value:.17g}"


def _write_histogram(name: str, help_text: str, histograms: Mapping[str, Histogram]) -> Iterator[str]:
    """Write one histogram for each queue; an unnamed queue has no label."""
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} histogram"
    for queue, histogram in histograms.items():
        labels = {"queue": queue} if queue else {}
        so_far = 0
        for bound, count in zip((*histogram.bounds, None), histogram.counts, strict=True):
            so_far += count
            least = "+Inf" if bound is None else f"{bound:g}"
            yield f"{name}_bucket{_format_labels({**labels, 'le': least})} {so_far}"
        yield f"{name}_sum{_format_labels(labels)} {histogram.total:.17g}"
        yield f"{name}_count{_format_labels(labels)} {so_far}"


def _format_labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
