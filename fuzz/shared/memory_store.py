"""The reference store with the extras of a server's store: summaries, and sessions past their grace."""

from collections.abc import Sequence

from ostiary_core import SPECIFICATION, Instant, MemoryStore, Policy, Session, Table
from ostiary_core.model.instant import SECOND_MS
from ostiary_net.observability.summaries import (
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


class ServerMemoryStore(MemoryStore):
    """A store of a server, in memory."""

    def __init__(self, policy: Policy = SPECIFICATION) -> None:
        super().__init__(policy)
        self._summaries: dict[SummaryKey, Tally] = {}
        self._refusals: dict[str, list[Refusal]] = {}
        self._milestones: dict[Milestone, Instant] = {}
        self._counted = 0
        self._leases: dict[str, tuple[str, float]] = {}

    def check_ready(self) -> None:
        """Do nothing: the store is always ready."""

    def present(self, now: Instant) -> Instant:
        return now

    def take_lease(self, name: str, holder: str, seconds: float, now: Instant) -> bool:
        held_by, until = self._leases.get(name, (holder, 0.0))
        if held_by != holder and now < until:
            return False
        self._leases[name] = holder, now + seconds * SECOND_MS
        return True

    def sessions_past_grace(self, now: Instant, grace_seconds: int, limit: int) -> list[str]:
        due = [
            (session.rotated_at, session.session_id)
            for session in self.records(Table.SESSION)
            if isinstance(session, Session)
            and session.salt is not None
            and session.rotated_at is not None
            and session.rotated_at < now - grace_seconds * SECOND_MS
        ]
        return [session_id for _, session_id in sorted(due)[:limit]]

    def count_entries(self, now: Instant, limit: int) -> int:
        entries = [entry for entry in self.audit() if entry.number > self._counted][:limit]
        if entries:
            add_to(self._summaries, tally_entries(entries))
            self._counted = entries[-1].number
        return len(entries)

    def add_tallies(self, tallies: Tallies, refusals: Sequence[Refusal], now: Instant) -> None:
        add_to(self._summaries, tallies)
        for refusal in refusals:
            known = {*self._refusals.get(refusal.client_id, ()), refusal}
            latest = sorted(known, key=lambda each: each.at, reverse=True)[:REFUSALS_KEPT]
            self._refusals[refusal.client_id] = latest

    def summaries(self, start: Instant, end: Instant, *, of_clients: bool) -> dict[SummaryKey, Tally]:
        found = {
            key: tally
            for key, tally in self._summaries.items()
            if start <= key.hour < end and (key.client_id != ALL_CLIENTS) == of_clients
        }
        return merge_hours(found) if of_clients else found

    def last_refusals(self, client_id: str) -> list[Refusal]:
        return list(self._refusals.get(client_id, ()))

    def forget_summaries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        before = now - older_than_seconds * SECOND_MS
        due = sorted((key for key in self._summaries if key.hour < before), key=lambda key: key.hour)[:limit]
        for key in due:
            del self._summaries[key]
        gone = len(due)
        for client_id, refusals in self._refusals.items():
            kept = [each for each in refusals if each.at >= before]
            gone += len(refusals) - len(kept)
            self._refusals[client_id] = kept
        return gone

    def record_milestone(self, milestone: Milestone, now: Instant) -> None:
        self._milestones[milestone] = now

    def state(self) -> StoreState:
        return StoreState(0, 0, dict(self._milestones), max(0, self._entries_kept - self._counted))


def merge_hours(tallies: Tallies) -> dict[SummaryKey, Tally]:
    """Merge the tallies of all hours, each under its first hour."""
    firsts: dict[SummaryKey, SummaryKey] = {}
    for key in sorted(tallies):
        firsts.setdefault(key._replace(hour=Instant(0)), key)
    found: dict[SummaryKey, Tally] = {}
    for key, tally in tallies.items():
        add_to(found, {firsts[key._replace(hour=Instant(0))]: tally})
    return found
