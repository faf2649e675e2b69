"""Summaries: what happened, counted by hour, so that an overview never reads the audit trail.

Each entry of the trail is counted once, some time after it was kept, by `tally_entries`. Refusals are not in
the trail; the runtime that answers them counts them (`count_refusal`).
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.fact import CLIENT_ENDINGS, CONSENT_ENDINGS, USER_ENDINGS, FactKind
from ostiary_core.model.identifiers import BUILT_IN_CLIENTS
from ostiary_core.model.instant import MINUTE_MS, SECOND_MS, Instant
from ostiary_core.model.records import SessionKind
from ostiary_core.model.unknown_word import UnknownWord
from ostiary_core.model.why import Why

HOUR_MS: Final = 60 * MINUTE_MS

RETRY_SECONDS: Final = (1, 5, 10, 20, 30)
"""Upper bounds of the delay by which safe retries are counted; a later one counts with the last."""

REFUSALS_KEPT: Final = 20
"""Number of the last refusals of a client that are kept."""

ALL_CLIENTS: Final = ""
"""Client identifier of the sum over all clients, and of what has no client."""


class Metric(StrEnum):
    """Metrics of a summary, and what `detail` holds for each."""

    STARTED = "started"
    """Sessions that started, by `SessionKind`; a sign-in is one of them."""
    SIGN_IN_FAILED = "sign-in-failed"
    REFRESHED = "refreshed"
    RETRIED = "retried"
    """Safe retries, by upper bound of their delay (`RETRY_SECONDS`); also for each client."""
    ENDED = "ended"
    """Sessions that ended alone, by `Why`; those that reach their maximum leave no entry."""
    ENDED_TOGETHER = "ended-together"
    """Endings of all sessions of a user, client or consent, by `FactKind`."""
    REFUSED = "refused"
    """Refused requests, by `Why`; also for each client."""
    RUNNING = "running"
    """Running sessions in the hour's sample, by `SessionKind`."""


class SummaryKey(NamedTuple):
    """The key of one summary."""

    client_id: str
    hour: Instant
    """Start of the hour."""
    what: Metric
    detail: str = ""


class Tally(NamedTuple):
    """A number of happenings; for safe retries also the sum and the maximum of their delays."""

    number: int
    total_ms: int = 0
    most_ms: int = 0

    def __add__(self, other: "Tally") -> "Tally":  # type: ignore[override]  # of numbers, not a longer tuple
        return Tally(
            self.number + other.number, self.total_ms + other.total_ms, max(self.most_ms, other.most_ms)
        )


Tallies = Mapping[SummaryKey, Tally]


class Refusal(NamedTuple):
    """A refused request of a client; the log has it under its trace id."""

    client_id: str
    at: Instant
    trace_id: str
    operation: str
    why: Why | UnknownWord


class Milestone(StrEnum):
    """Deeds of which a store records the last time."""

    SWEPT = "swept"
    BACKED_UP = "backed-up"


class StoreState(NamedTuple):
    """The state of a store, for an administrator."""

    schema: int
    """Version of its schema."""
    known_schema: int
    """Version that this release knows; smaller if a newer release shares the store."""
    milestones: Mapping[Milestone, Instant]
    """Last time of each; without those that never were."""
    uncounted: int
    """Approximate number of entries that no summary counts yet."""


class SummaryStore(Protocol):
    """The port of a store that keeps summaries. An embedder's store may do without."""

    def count_entries(self, now: Instant, limit: int) -> int:
        """Count up to `limit` entries that are not counted yet; return how many.

        The summaries and the place up to which the trail is counted are kept together, so that each entry
        counts once, also if two processes count.
        """
        ...

    def add_tallies(self, tallies: Tallies, refusals: Sequence[Refusal], now: Instant) -> None:
        """Add to the summaries, and keep the last `REFUSALS_KEPT` refusals of each client."""
        ...

    def summaries(self, start: Instant, end: Instant, *, of_clients: bool) -> dict[SummaryKey, Tally]:
        """Return the summaries of hours that begin in `start` <= hour < `end`: of all clients for each hour.

        With `of_clients`, of each client in all of these hours together, under the first that has any.
        """
        ...

    def last_refusals(self, client_id: str) -> list[Refusal]:
        """Return the last refusals of a client, the latest first."""
        ...

    def forget_summaries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        """Erase up to `limit` summaries and refusals that are older; return how many were erased."""
        ...

    def record_milestone(self, milestone: Milestone, now: Instant) -> None:
        """Record that something was done now."""
        ...

    def state(self) -> StoreState:
        """Return the state of the store."""
        ...


def hour_of(at: Instant) -> Instant:
    """Return the start of the hour of an instant.

    >>> hour_of(Instant(2 * HOUR_MS + 5))
    7200000
    """
    return Instant(at - at % HOUR_MS)


def tally_entries(entries: Iterable[AuditEntry]) -> dict[SummaryKey, Tally]:
    """Return what entries of the audit trail add to the summaries."""
    found: dict[SummaryKey, Tally] = {}
    for entry in entries:
        counted = _classify(entry)
        if counted is not None:
            what, detail, tally = counted
            client_id = entry.client_id if what is Metric.RETRIED else None
            _add(found, entry.at, what, detail, client_id, tally)
    return found


def count_refusal(found: dict[SummaryKey, Tally], at: Instant, why: Why, client_id: str | None) -> None:
    """Add one refusal to tallies, also to those of its client if that is known."""
    _add(found, at, Metric.REFUSED, why.value, client_id, Tally(1))


def add_to(found: dict[SummaryKey, Tally], more: Tallies) -> None:
    """Add tallies to others."""
    for key, tally in more.items():
        before = found.get(key)
        found[key] = tally if before is None else before + tally


def _add(
    found: dict[SummaryKey, Tally],
    at: Instant,
    what: Metric,
    detail: str,
    client_id: str | None,
    tally: Tally,
) -> None:
    hour = hour_of(at)
    for one in (ALL_CLIENTS, client_id) if client_id else (ALL_CLIENTS,):
        add_to(found, {SummaryKey(one, hour, what, detail): tally})


def _classify(entry: AuditEntry) -> tuple[Metric, str, Tally] | None:
    """Return the metric, detail and tally of an entry; None if no summary counts it."""
    match entry.kind:
        case FactKind.SESSION_STARTED:
            return Metric.STARTED, _kind_of(entry).value, Tally(1)
        case FactKind.SIGN_IN_FAILED:
            return Metric.SIGN_IN_FAILED, "", Tally(1)
        case FactKind.PAIR_ROTATED:
            return Metric.REFRESHED, "", Tally(1)
        case FactKind.PAIR_REPEATED:
            late_ms = 0 if entry.earlier_at is None else max(0, entry.at - entry.earlier_at)
            most = next((each for each in RETRY_SECONDS if late_ms <= each * SECOND_MS), RETRY_SECONDS[-1])
            return Metric.RETRIED, str(most), Tally(1, late_ms, late_ms)
        case FactKind.SESSION_ENDED:
            return Metric.ENDED, "" if entry.why is None else entry.why.value, Tally(1)
        case kind if kind in (*USER_ENDINGS, *CLIENT_ENDINGS, *CONSENT_ENDINGS):
            return Metric.ENDED_TOGETHER, kind.value, Tally(1)
        case _:
            return None


def _kind_of(entry: AuditEntry) -> SessionKind:
    """Return the kind of the session that an entry says started."""
    if entry.client_id in BUILT_IN_CLIENTS:
        return SessionKind.LOGIN
    return SessionKind.CLIENT_CREDENTIALS if entry.user_id is None else SessionKind.AUTHORIZATION_CODE
