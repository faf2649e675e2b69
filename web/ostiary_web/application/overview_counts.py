"""Compute an overview: a span of hours or days, the summaries of each, and the findings to act on."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import SessionKind
from ostiary_net.observability.summaries import HOUR_MS, RETRY_SECONDS, Metric, StoreState, Tally, hour_of
from ostiary_net.turns.ports import ReadingStore
from ostiary_web.http.context import RequestContext
from ostiary_web.server.findings import Finding

_MOST_HOURS: Final = 48
TRAIL_METRICS: Final = frozenset(Metric) - {Metric.REFUSED, Metric.RUNNING}
"""Metrics that need the permission to read the audit trail."""
LATE_SECONDS: Final = RETRY_SECONDS[-2]
"""Delay in seconds after which a safe retry nearly came too late."""

NONE: Final = Tally(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span of time in periods: hours, or days in some zone."""

    starts: tuple[Instant, ...]
    """Begin of each period; they follow one another."""
    end: Instant
    is_hourly: bool

    @classmethod
    def between(cls, start: Instant, end: Instant, zone: ZoneInfo) -> "Span":
        """Return the hours that cover these instants, or the days if the hours are too many."""
        if end - start <= _MOST_HOURS * HOUR_MS:
            first = hour_of(start)
            hours = tuple(Instant(at) for at in range(first, max(end, first + 1), HOUR_MS))
            return cls(starts=hours, end=Instant(hours[-1] + HOUR_MS), is_hourly=True)
        day = datetime.fromtimestamp(start / SECOND_MS, UTC).astimezone(zone).date()
        starts = [_midnight(day, zone)]
        while starts[-1] < end:
            day += timedelta(days=1)
            starts.append(_midnight(day, zone))
        return cls(starts=tuple(starts[:-1]), end=starts[-1], is_hourly=False)

    def ends(self) -> Iterable[tuple[Instant, Instant]]:
        """Return begin and end of each period."""
        return zip(self.starts, (*self.starts[1:], self.end), strict=True)

    def before(self) -> "Span":
        """Return the span of the same length that ends where this one starts."""
        start = self.starts[0]
        return Span(starts=(Instant(start - (self.end - start)),), end=start, is_hourly=self.is_hourly)

    def place(self, at: Instant) -> int:
        """Return the index of the period in which an instant of the span lies."""
        return bisect_right(self.starts, at) - 1


def _midnight(day: date, zone: ZoneInfo) -> Instant:
    return Instant(round(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * SECOND_MS)


class Counts:
    """Tallies by metric and detail."""

    __slots__ = ("_tallies",)

    def __init__(self) -> None:
        self._tallies: dict[tuple[Metric, str], Tally] = {}

    def add(self, what: Metric, detail: str, tally: Tally) -> None:
        """Add a tally; of samples of active sessions keep the largest."""
        before = self._tallies.get((what, detail), NONE)
        self._tallies[what, detail] = max(before, tally) if what is Metric.RUNNING else before + tally

    def add_all(self, others: "Counts") -> None:
        """Add all tallies of others."""
        for (what, detail), tally in others._tallies.items():
            self.add(what, detail, tally)

    def total(self, what: Metric) -> Tally:
        """Return the tally of a metric over all details."""
        total = NONE
        for (counted, _), tally in self._tallies.items():
            total = total + tally if counted is what else total
        return total

    def by_detail(self, what: Metric) -> dict[str, int]:
        """Return the counts of a metric by detail, largest first."""
        found = {
            detail: tally.number for (counted, detail), tally in self._tallies.items() if counted is what
        }
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    def late_retries(self) -> int:
        """Return how many safe retries came near the end of the grace."""
        return self.by_detail(Metric.RETRIED).get(str(RETRY_SECONDS[-1]), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Counts of a span, and the state of the store."""

    span: Span
    periods: tuple[Counts, ...]
    """Counts of each period of the span."""
    totals: Counts
    clients: Mapping[str, Counts]
    """Refusals and safe retries of each client over the span."""
    running: Mapping[SessionKind, int]
    """Active sessions now."""
    state: StoreState
    now: Instant


def list_visible_metrics(context: RequestContext) -> tuple[frozenset[Metric], tuple[SessionKind, ...]]:
    """Return the metrics and kinds of sessions that the caller may see."""
    reads_trail = Permission.AUDIT_READ.value in context.account.permissions
    counted = frozenset(Metric) if reads_trail else frozenset(Metric) - TRAIL_METRICS
    kinds = tuple(SessionKind) if context.is_super_administrator else _OF_USERS
    return counted, kinds


_OF_USERS: Final = tuple(kind for kind in SessionKind if kind is not SessionKind.CLIENT_CREDENTIALS)


def make_overview_query(
    span: Span, counted: Collection[Metric], kinds: Collection[SessionKind]
) -> Callable[[ReadingStore, Instant], Overview]:
    """Return the query of a span's overview, as far as the caller may see it."""

    def read(store: ReadingStore, now: Instant) -> Overview:
        periods, totals = tuple(Counts() for _ in span.starts), Counts()
        clients: dict[str, Counts] = {}
        start = span.starts[0]
        for key, tally in store.summaries(start, span.end, of_clients=False).items():
            if key.what in counted and (key.what is not Metric.RUNNING or key.detail in kinds):
                periods[span.place(key.hour)].add(key.what, key.detail, tally)
        for counts in periods:
            totals.add_all(counts)
        for key, tally in store.summaries(start, span.end, of_clients=True).items():
            if key.what in counted:
                clients.setdefault(key.client_id, Counts()).add(key.what, key.detail, tally)
        running = {kind: number for kind, number in store.count_running(now).items() if kind in kinds}
        if start <= now < span.end:
            for kind, number in running.items():
                periods[span.place(now)].add(Metric.RUNNING, kind, Tally(number))
        return Overview(
            span=span,
            periods=periods,
            totals=totals,
            clients=clients,
            running=running,
            state=store.state(),
            now=now,
        )

    return read


def make_totals_query(span: Span, counted: Collection[Metric]) -> Callable[[ReadingStore, Instant], Counts]:
    """Return the query of a span's totals, as far as the caller may see them."""

    def read(store: ReadingStore, now: Instant) -> Counts:
        totals = Counts()
        for key, tally in store.summaries(span.starts[0], span.end, of_clients=False).items():
            if key.what in counted:
                totals.add(key.what, key.detail, tally)
        return totals

    return read


async def findings_for(context: RequestContext) -> list[Finding]:
    """Return the findings that the caller may see."""
    sees_clients = Permission.CLIENT_LIST.value in context.account.permissions
    if not sees_clients and not context.is_super_administrator:
        return []
    found = await context.services.self_check.findings()
    # Findings about the server name paths, addresses and settings, which no monitor permission covers.
    return [
        each
        for each in found
        if (sees_clients if each.about.startswith("client ") else context.is_super_administrator)
    ]
