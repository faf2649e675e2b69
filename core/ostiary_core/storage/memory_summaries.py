"""Keep summaries in memory for the reference store, by the rules of `summaries`."""

from collections.abc import Sequence

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_core.storage.summaries import (
    ALL_CLIENTS,
    REFUSALS_KEPT,
    Milestone,
    Refusal,
    StoreState,
    SummaryKey,
    Tallies,
    Tally,
    add_to,
    tally_entries,
)


class MemorySummaries:
    """The summaries of one store in memory, with its last refusals and milestones."""

    def __init__(self) -> None:
        self._kept: dict[SummaryKey, Tally] = {}
        self._refusals: dict[str, list[Refusal]] = {}
        self._milestones: dict[Milestone, Instant] = {}
        self._counted = 0

    def count(self, trail: Sequence[AuditEntry], limit: int) -> int:
        """Count up to `limit` entries of the trail after those counted already."""
        entries = [entry for entry in trail if entry.number > self._counted][:limit]
        if entries:
            add_to(self._kept, tally_entries(entries))
            self._counted = entries[-1].number
        return len(entries)

    def add(self, tallies: Tallies, refusals: Sequence[Refusal]) -> None:
        """Add to the summaries, and keep the last refusals."""
        add_to(self._kept, tallies)
        for refusal in refusals:
            known = {*self._refusals.get(refusal.client_id, ()), refusal}
            latest = sorted(known, key=_at, reverse=True)[:REFUSALS_KEPT]
            self._refusals[refusal.client_id] = latest

    def between(self, start: Instant, end: Instant, *, of_clients: bool) -> dict[SummaryKey, Tally]:
        """Return these hours' summaries: of all clients by hour, or of each client for all of them."""
        found = {
            key: tally
            for key, tally in self._kept.items()
            if start <= key.hour < end and (key.client_id != ALL_CLIENTS) == of_clients
        }
        return merge_hours(found) if of_clients else found

    def last_refusals(self, client_id: str) -> list[Refusal]:
        """Return the last refusals of a client, the latest first."""
        return list(self._refusals.get(client_id, ()))

    def forget(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        """Erase up to `limit` of the summaries and refusals that are older; return how many."""
        before = now - older_than_seconds * SECOND_MS
        due = sorted((key for key in self._kept if key.hour < before), key=lambda key: key.hour)[:limit]
        for key in due:
            del self._kept[key]
        gone = len(due)
        for client_id, refusals in self._refusals.items():
            kept = [each for each in refusals if each.at >= before]
            gone += len(refusals) - len(kept)
            self._refusals[client_id] = kept
        return gone

    def record_milestone(self, milestone: Milestone, now: Instant) -> None:
        """Record when something was last done."""
        self._milestones[milestone] = now

    def state(self, last_number: int) -> StoreState:
        """Return the state of the store; in memory there is no schema."""
        return StoreState(0, 0, dict(self._milestones), max(0, last_number - self._counted))


def merge_hours(tallies: Tallies) -> dict[SummaryKey, Tally]:
    """Merge the tallies of all hours, each under its first hour."""
    firsts: dict[SummaryKey, SummaryKey] = {}
    for key in sorted(tallies):
        firsts.setdefault(key._replace(hour=Instant(0)), key)
    found: dict[SummaryKey, Tally] = {}
    for key, tally in tallies.items():
        add_to(found, {firsts[key._replace(hour=Instant(0))]: tally})
    return found


def _at(refusal: Refusal) -> Instant:
    return refusal.at
