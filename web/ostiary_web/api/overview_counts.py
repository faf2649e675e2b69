"""What an overview is made of: a stretch of time in hours or days, and what the summaries say of each."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import SessionKind
from ostiary_core.storage.summaries import (
    HOUR_MS,
    RETRY_SECONDS,
    Metric,
    StoreState,
    Tally,
    hour_of,
)
from ostiary_net.turns.ports import ListStore
from ostiary_net.upkeep.summarising import count_running
from ostiary_web.http.context import RequestContext

_MOST_HOURS: Final = 48
OF_THE_TRAIL: Final = frozenset(Metric) - {Metric.REFUSED, Metric.RUNNING}
"""What takes the permission to read the audit trail."""
LATE_SECONDS: Final = RETRY_SECONDS[-2]
"""A safe retry that comes later than this was nearly one that comes too late."""

NONE: Final = Tally(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time and the periods that it is cut into: hours, or days in somebody's zone."""

    starts: tuple[Instant, ...]
    """When each period begins; they follow one another."""
    end: Instant
    is_hourly: bool

    @classmethod
    def between(cls, start: Instant, end: Instant, zone: ZoneInfo) -> "Span":
        """The hours that hold all between these instants; the days, where those were too many."""
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
        """When each period begins and ends."""
        return zip(self.starts, (*self.starts[1:], self.end), strict=True)

    def place(self, hour: Instant) -> int:
        """The period of an hour: that in which it begins, also where a zone is half an hour off."""
        return max(0, bisect_right(self.starts, hour) - 1)


def _midnight(day: date, zone: ZoneInfo) -> Instant:
    return Instant(round(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * SECOND_MS)


class Counts:
    """Tallies by what was counted, and its detail."""

    __slots__ = ("_tallies",)

    def __init__(self) -> None:
        self._tallies: dict[tuple[Metric, str], Tally] = {}

    def add(self, what: Metric, detail: str, tally: Tally) -> None:
        """Add a tally to what is there; of samples of what runs the largest is kept."""
        before = self._tallies.get((what, detail), NONE)
        self._tallies[what, detail] = max(before, tally) if what is Metric.RUNNING else before + tally

    def add_all(self, others: "Counts") -> None:
        """Add all that others have."""
        for (what, detail), tally in others._tallies.items():
            self.add(what, detail, tally)

    def of(self, what: Metric) -> Tally:
        """All of one thing together."""
        total = NONE
        for (counted, _), tally in self._tallies.items():
            total = total + tally if counted is what else total
        return total

    def by_detail(self, what: Metric) -> dict[str, int]:
        """How many of one thing, by its detail, the most first."""
        found = {
            detail: tally.number for (counted, detail), tally in self._tallies.items() if counted is what
        }
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    def late_retries(self) -> int:
        """How many safe retries came near the end of the grace."""
        return self.by_detail(Metric.RETRIED).get(str(RETRY_SECONDS[-1]), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What was counted in a span, and how the store is now."""

    span: Span
    periods: tuple[Counts, ...]
    """As many as the span has."""
    totals: Counts
    clients: Mapping[str, Counts]
    """Refusals and safe retries of each client in all of the span."""
    running: Mapping[SessionKind, int]
    """How many sessions run now."""
    state: StoreState
    now: Instant


def visible_to(context: RequestContext) -> tuple[frozenset[Metric], tuple[SessionKind, ...]]:
    """What of it a caller may see: of the trail with its permission, and sessions of no user as a super
    administrator ("Session (grant)")."""
    reads_trail = Permission.AUDIT_READ.value in context.account.permissions
    counted = frozenset(Metric) if reads_trail else frozenset(Metric) - OF_THE_TRAIL
    kinds = tuple(SessionKind) if context.is_super_administrator else _OF_USERS
    return counted, kinds


_OF_USERS: Final = (SessionKind.LOGIN, SessionKind.AUTHORIZATION_CODE)


def overview_of(
    span: Span, counted: Collection[Metric], kinds: Collection[SessionKind]
) -> Callable[[ListStore, Instant], Overview]:
    """The question for the overview of a span, as far as somebody may see it."""

    def read(store: ListStore, now: Instant) -> Overview:
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
        running = {kind: count_running(store, kind, now) for kind in kinds}
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
