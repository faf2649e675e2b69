"""Stores whose lists, histories or retention are wrong on purpose, each in one way, for the kit to find."""

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from ostiary_core import Expirable, ExpiredBatch, Instant, MemoryStore
from ostiary_core.model.audit import AuditEntry
from ostiary_core.storage.listing import (
    GRANTS,
    USES,
    GrantedAccess,
    Listing,
    Match,
    Page,
    TimeRange,
    contained_text,
)
from ostiary_core.storage.session_history import EndingQuery, SessionHistory

T = TypeVar("T")


class Misread(MemoryStore):
    """Answers another listing than the one that it was asked for."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        """Make of a listing what this store takes it for."""
        raise NotImplementedError

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        return super().page(self.misread(listing), now)

    def items_after(self, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
        return super().items_after(self.misread(listing), last, now)


class NoFilters(Misread):
    """Filters are ignored, except that grants are those of one user."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        return replace(listing, filters=_of_one_user(listing))


def _of_one_user(listing: Listing[T]) -> dict[str, str | bool | tuple[str, ...]]:
    of_one = listing.resource is GRANTS
    return {name: value for name, value in listing.filters.items() if of_one and name == "user_id"}


class OneFilter(Misread):
    """Of several filters the first alone counts."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        return replace(listing, filters=dict(list(listing.filters.items())[:1]))


class OneValue(Misread):
    """Of several values that a filter allows the first alone is found."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        filters = {
            name: value[0] if isinstance(value, tuple) else value for name, value in listing.filters.items()
        }
        return replace(listing, filters=filters)


class NoRanges(Misread):
    """Ranges are ignored."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        return replace(listing, ranges=())


class RangesWithoutEnd(Misread):
    """The end of a range is not part of it: `<` for `<=`."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        return replace(listing, ranges=tuple(map(_without_end, listing.ranges)))


def _without_end(bounds: TimeRange) -> TimeRange:
    return bounds if bounds.end is None else replace(bounds, end=Instant(bounds.end - 1))


class NoSearch(Misread):
    """What is searched for is ignored."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        return replace(listing, search=None)


class OneFieldSearched(Misread):
    """A search looks into the first of its fields alone."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        if listing.search is None:
            return listing
        filters = {**listing.filters, listing.resource.searched[0]: listing.search}
        return replace(listing, search=None, filters=filters)


class NoSort(Misread):
    """Everything comes in the resource's own order."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        return replace(listing, sort=())


class OneSort(Misread):
    """Of several fields to sort by the first alone counts."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        return replace(listing, sort=listing.sort[:1])


class Upwards(Misread):
    """Nothing is sorted downwards."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        return replace(listing, sort=tuple(replace(sort, descending=False) for sort in listing.order))


class NoPageSize(Misread):
    """Pages are of twenty items, whatever was asked for."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        return replace(listing, page_size=20)


class WrongTotal(MemoryStore):
    """The total is of everything, whatever was filtered."""

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        everything = replace(listing, filters=_of_one_user(listing), ranges=(), search=None)
        return Page(super().page(listing, now).items, super().page(everything, now).total)


class CaseCounts(MemoryStore):
    """Letters are compared with their case where a part of a text is looked for."""

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
    """Letters of every alphabet are compared without their case: `ILIKE`."""

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


class EqualsWithoutCase(Misread):
    """What is to be equal is compared without the case of letters."""

    def misread(self, listing: Listing[T]) -> Listing[T]:
        filters = {
            name: value.lower()
            if isinstance(value, str) and listing.resource.filters[name] is Match.EQUALS
            else value
            for name, value in listing.filters.items()
        }
        return replace(listing, filters=filters)


class LastAgain(MemoryStore):
    """A list goes on with the item that it left off at: `>=` for `>`."""

    def items_after(self, listing: Listing[T], last: T | None, now: Instant) -> tuple[T, ...]:
        items = super().items_after(listing, last, now)
        return items if last is None or not items else (last, *items)[: listing.page_size]


class ConsentsAlone(MemoryStore):
    """Of what a user lets clients do, a running session that nobody was asked about is left out."""

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        if listing.resource is not GRANTS:
            return super().page(listing, now)
        every = super().page(replace(listing, page=1, page_size=1_000), now).items
        kept = [item for item in every if not isinstance(item, GrantedAccess) or item.scopes]
        return Page(tuple(kept[listing.offset : listing.offset + listing.page_size]), len(kept))


class EndedSessionsOnline(MemoryStore):
    """A session is running until its maximum, whatever ended it."""

    def page(self, listing: Listing[T], now: Instant) -> Page[T]:
        return super().page(listing, Instant(now - 60 * 60 * 1000))


class LatestEnding(MemoryStore):
    """What ended a session is the latest ending of its user, client or consent."""

    def _ending(self, sought: EndingQuery) -> AuditEntry | None:
        return super()._ending(replace(sought, newer=0))


class AnybodysEnding(MemoryStore):
    """What ended a session is somebody's ending, whosever it was."""

    def _ending(self, sought: EndingQuery) -> AuditEntry | None:
        return super()._ending(replace(sought, user_id=None, client_id=None))


class NoEnding(MemoryStore):
    """A session that was ended from above was ended by nothing."""

    def _ending(self, sought: EndingQuery) -> AuditEntry | None:
        return None


class LastEntryMissing(MemoryStore):
    """The last thing that happened to a session is not part of its history."""

    def session_history(self, session_id: str) -> SessionHistory | None:
        history = super().session_history(session_id)
        return history if history is None else replace(history, entries=history.entries[:-1])


class LastKeptUse(MemoryStore):
    """A client was last used when the last entry about it was kept, whatever its time is."""

    def last_used(self, client_ids: Collection[str]) -> dict[str, Instant]:
        return {
            entry.client_id: entry.at
            for entry in self._audit
            if entry.kind in USES and entry.client_id is not None and entry.client_id in client_ids
        }


class NothingExpires(MemoryStore):
    """Ended sessions are never found again."""

    def find_expired(self, kind: Expirable, after: bytes, now: Instant, limit: int) -> ExpiredBatch:
        return (
            ExpiredBatch(())
            if kind is Expirable.ENDED_SESSIONS
            else super().find_expired(kind, after, now, limit)
        )


class YoungForgotten(MemoryStore):
    """Entries are erased whatever their age."""

    def forget_entries(self, now: Instant, older_than_seconds: int, limit: int) -> int:
        return super().forget_entries(now, 0, limit)


LIST_FAULTS: dict[type[MemoryStore], str] = {
    NoFilters: "filtered by",
    OneFilter: "filtered by",
    OneValue: "filtered by",
    NoRanges: "within a range of",
    RangesWithoutEnd: "within a range of",
    NoSearch: "searched in",
    OneFieldSearched: "searched in",
    NoSort: "sorted by",
    OneSort: "sorted by",
    Upwards: "sorted by",
    NoPageSize: "holds other items",
    WrongTotal: "are counted",
    CaseCounts: "filtered by",
    AnyAlphabetsCase: "searched",
    EqualsWithoutCase: "filtered by",
    LastAgain: "come after",
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
