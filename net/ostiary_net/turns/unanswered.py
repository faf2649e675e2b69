"""Remembers refreshes that may be kept and that nobody was answered (READINGS 46).

A database that is away for longer than the grace keeps a commit that was under way, and every retry inside
the grace is answered 500. The first retry that can be answered would come too late, and end an honest
session. So its grace is counted from when the server could first answer: until then, and for as long as a
grace lasts, a retry counts as having arrived with the refresh that it repeats.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from ostiary_core.events import Event
from ostiary_core.model.decision import Decision
from ostiary_core.model.instant import Arrival
from ostiary_core.model.reply import LoginIssued, TokensIssued
from ostiary_core.oauth.session import RefreshEvent

_MOST_REMEMBERED: Final = 10_000
"""Most tokens remembered, about 3 MB; the longest known is forgotten first."""


@dataclass(slots=True)
class _Unanswered:
    """A refresh that nobody was answered."""

    arrival: Arrival
    retries_until: float = math.inf
    """Time, by Trio's clock, until which a retry counts as having arrived then."""


class UnansweredRefreshes:
    """The refreshes that one process decided and could not answer, by the digest of the token."""

    def __init__(self, grace_seconds: int) -> None:
        self._grace_seconds = grace_seconds
        self._by_digest: OrderedDict[bytes, _Unanswered] = OrderedDict()
        self.is_waiting = False
        """Whether the server could not answer since one was recorded."""

    def __bool__(self) -> bool:
        return bool(self._by_digest)

    def record(self, event: Event, decision: Decision) -> None:
        """Record a refresh that was decided, is perhaps kept, and is not answered."""
        if not isinstance(event, RefreshEvent) or event.refresh_token is None or event.arrival is None:
            return
        # A stranger's, or another client's, is refused before anything else, and takes no room here.
        if not decision.changes and not isinstance(decision.reply, TokensIssued | LoginIssued):
            return
        # A retry that is not answered either leaves the first arrival as it is.
        known = self._by_digest.setdefault(event.refresh_token.digest, _Unanswered(event.arrival))
        known.retries_until = math.inf
        self.is_waiting = True
        if len(self._by_digest) > _MOST_REMEMBERED:
            self._by_digest.popitem(last=False)

    def begin_grace(self, now: float) -> None:
        """Begin the grace of those that waited: the store keeps changes again."""
        for unanswered in self._by_digest.values():
            unanswered.retries_until = min(unanswered.retries_until, now + self._grace_seconds)
        self.is_waiting = False

    def restore_arrival(self, event: Event, asked_at: float) -> Event:
        """Return `event`; a retry of a refresh recorded here as one that arrived with that refresh."""
        if not isinstance(event, RefreshEvent) or event.refresh_token is None:
            return event
        digest = event.refresh_token.digest
        unanswered = self._by_digest.get(digest)
        if unanswered is None:
            return event
        if asked_at > unanswered.retries_until:
            del self._by_digest[digest]
            return event
        return replace(event, arrival=unanswered.arrival)
