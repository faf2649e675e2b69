"""Stores whose lists, histories or retention are wrong on purpose, each in one way, for the kit to find."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, TypeVar

from ostiary_core import Expirable, ExpiredBatch, Instant, MemoryStore
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.records import Session, SessionKind, Table
from ostiary_core.storage.listing import (
    GRANTS,
    USES,
    FilterValue,
    GrantedAccess,
    Listing,
    Match,
    Page,
    TimeRange,
    contained_text,
)
from ostiary_core.storage.session_history import EndingQuery, SessionHistory

T = TypeVar("T")


def _of_one_user(listing: Listing[T]) -> dict[str, FilterValue]:
    of_one = listing.resource is GRANTS
    return {name: value for name, value in listing.filters.items() if of_one and name == "user_id"}


def _first_values(listing: Listing[T]) -> dict[str, FilterValue]:
    found = listing.filters.items()
    return {name: value[0] if isinstance(value, tuple) else value for name, value in found}


def _without_case(listing: Listing[T]) -> dict[str, FilterValue]:
    equal = {name for name, match in listing.resource.filters.items() if match is Match.EQUALS}
    return {
        name: value.lower() if isinstance(value, str) and name in equal else value
        for name, value in listing.filters.items()
    }


def _in_first_field(listing: Listing[T]) -> Listing[T]:
    if listing.search is None:
        return listing
    filters = {**listing.filters, listing.resource.searched[0]: listing.search}
    return replace(listing, search=None, filters=filters)


def _without_end(bounds: TimeRange) -> TimeRange:
    return bounds if bounds.end is None else replace(bounds, end=Instant(bounds.end - 1))


Misreading = Callable[[Listing[Any]], Listing[Any]]
MISREADINGS: dict[str, tuple[str, Misreading]] = {
    "NoFilters": ("filtered by", lambda asked: replace(asked, filters=_of_one_user(asked))),
    "OneFilter": ("filtered by", lambda asked: replace(asked, filters=dict([*asked.filters.items()][:1]))),
    "OneValue": ("filtered by", lambda asked: replace(asked, filters=_first_values(asked))),
    "EqualsWithoutCase": ("filtered by", lambda asked: replace(asked, filters=_without_case(asked))),
    "NoRanges": ("within a range of", lambda asked: replace(asked, ranges=())),
    # `<` for `<=`
    "RangesWithoutEnd": (
        "within a range of",
        lambda asked: replace(asked, ranges=tuple(map(_without_end, asked.ranges))),
    ),
    "NoSearch": ("searched in", lambda asked: replace(asked, search=None)),
    "OneFieldSearched": ("searched in", _in_first_field),
    "NoSort": ("sorted by", lambda asked: replace(asked, sort=())),
    "OneSort": ("sorted by", lambda asked: replace(asked, sort=asked.sort[:1])),
    "Upwards": (
        "sorted by",
        lambda asked: replace(asked, sort=tuple(replace(sort, descending=False) for sort in asked.order)),
    ),
    "NoPageSize": ("holds other items", lambda asked: replace(asked, page_size=20)),
}
"""Each misreading of a listing by its name, with words that the kit must say of it."""


def _misreading(name: str, misread: Misreading) -> type[MemoryStore]:
    """Make a store that answers another listing than the one that it was asked for."""

    class Misread(MemoryStore):
        def page(self, listing: Listing[T], now: Instant) -> Page[T]:
            return super().page(misread(listing), now)

        def items_after(self, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
            return super().items_after(misread(listing), last, now)

    Misread.__name__ = name
    return Misread


class WrongTotal(MemoryStore):
    """Counts all items as the total, also of a filtered list."""

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        everything = replace(listing, filters=_of_one_user(listing), ranges=(), search=None)
        return Page(super().page(listing, now).items, super().page(everything, now).total)


class CaseCounts(MemoryStore):
    """Compares letters with their case when it looks for a part of a text."""

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        found = super().page(listing, now)
        parts = [
            (name, value)
            for name, value in listing.filters.items()
            if listing.resource.filters[name] is Match.CONTAINS and name != "phone"
        ]
        kept = [item for item in found.items if all(str(part) in getattr(item, name) for name, part in parts)]
        return Page(tuple(kept), found.total)


class AnyAlphabetsCase(MemoryStore):
    """Compares letters of every alphabet without their case: `ILIKE`."""

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        if listing.search is None:
            return super().page(listing, now)
        everything = super().page(replace(listing, search=None, page=1, page_size=1_000), now).items
        searched, asked = listing.resource.searched, listing.search
        kept = [
            item
            for item in everything
            if any(
                contained_text(name, asked).casefold() in (getattr(item, name) or "").casefold()
                for name in searched
            )
        ]
        return Page(tuple(kept[listing.offset : listing.offset + listing.page_size]), len(kept))


class LastAgain(MemoryStore):
    """Begins each part of a list with the last item of the part before: `>=` for `>`."""

    def items_after(self, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
        items = super().items_after(listing, last, now)
        return items if last is None or not items else (last, *items)[: listing.page_size]


class CountsWhatEnded(MemoryStore):
    """Counts sessions by their kind, whether they run or have ended."""

    def count_running(self, now: Instant) -> dict[SessionKind, int]:
        kinds = [session.kind for session in self.records(Table.SESSION) if isinstance(session, Session)]
        return {kind: kinds.count(kind) for kind in SessionKind}


class ConsentsAlone(MemoryStore):
    """Leaves out grants without a consent: running sessions whose scopes were approved beforehand."""

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        if listing.resource is not GRANTS:
            return super().page(listing, now)
        every = super().page(replace(listing, page=1, page_size=1_000), now).items
        kept = [item for item in every if not isinstance(item, GrantedAccess) or item.scopes]
        return Page(tuple(kept[listing.offset : listing.offset + listing.page_size]), len(kept))


class EndedSessionsOnline(MemoryStore):
    """Shows who was online an hour ago, so that sessions which have ended since are listed."""

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        return super().page(listing, Instant(now - 60 * 60 * 1000))


class LatestEnding(MemoryStore):
    """Names the latest ending of its user, client or consent as the end of a session."""

    def _ending(self, sought: EndingQuery) -> AuditEntry | None:
        return super()._ending(replace(sought, newer=0))


class AnybodysEnding(MemoryStore):
    """Names an ending of any user or client as the end of a session."""

    def _ending(self, sought: EndingQuery) -> AuditEntry | None:
        return super()._ending(replace(sought, user_id=None, client_id=None))


class NoEnding(MemoryStore):
    """Finds no ending of a session that ended with its user, client or consent."""

    def _ending(self, sought: EndingQuery) -> AuditEntry | None:
        return None


class LastEntryMissing(MemoryStore):
    """Leaves the last entry out of a session's history."""

    def session_history(self, session_id: str) -> SessionHistory | None:
        history = super().session_history(session_id)
        return history if history is None else replace(history, entries=history.entries[:-1])


class LastKeptUse(MemoryStore):
    """Takes the entry that was kept last as a client's last use, whatever its time is."""

    def last_used(self, client_ids: Collection[str]) -> dict[str, Instant]:
        return {
            entry.client_id: entry.at
            for entry in self._audit
            if entry.kind in USES and entry.client_id is not None and entry.client_id in client_ids
        }


class NothingExpires(MemoryStore):
    """Never finds the ended sessions that have expired."""

    def find_expired(self, kind: Expirable, after: bytes, now: Instant, limit: int) -> ExpiredBatch:
        if kind is Expirable.ENDED_SESSIONS:
            return ExpiredBatch(())
        return super().find_expired(kind, after, now, limit)


class YoungForgotten(MemoryStore):
    """Erases entries of any age."""

    def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        return super().forget_entries(now, 0, limit)


LIST_FAULTS: dict[type[MemoryStore], str] = {
    **{_misreading(name, misread): words for name, (words, misread) in MISREADINGS.items()},
    WrongTotal: "are counted",
    CaseCounts: "filtered by",
    AnyAlphabetsCase: "searched",
    LastAgain: "come after",
    CountsWhatEnded: "other numbers of sessions are running",
    ConsentsAlone: "more or fewer grants are counted than there are",
    EndedSessionsOnline: "online",
    LatestEnding: "what ended a session",
    AnybodysEnding: "what ended a session",
    NoEnding: "what ended a session",
    LastEntryMissing: "history of a session",
    LastKeptUse: "last used",
    NothingExpires: "have expired and are not found",
    YoungForgotten: "old entries",
}
"""Each fault with words that the kit must say of it."""
