"""Warnings of the overview that were acknowledged within the last days, as the audit trail has them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import DAY_SECONDS, Instant, later
from ostiary_core.storage.listing import AUDIT, Listing, ListingStore, TimeRange

ACKNOWLEDGED_DAYS: Final = 7
"""Days for which an acknowledged warning is folded away."""

_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Who acknowledged a warning last, and when."""

    name: str | None
    at: Instant


def list_acknowledgements(store: ListingStore, now: Instant) -> Mapping[str, Acknowledgement]:
    """Return the last acknowledgement of each warning, by the warning's identifier."""
    recent = TimeRange(field="at", start=Instant(later(now, -ACKNOWLEDGED_DAYS * DAY_SECONDS) + 1))
    kind = {"kind": FactKind.WARNING_ACKNOWLEDGED.value}
    listing = Listing(resource=AUDIT, filters=kind, ranges=(recent,), page_size=_MOST)
    found: dict[str, Acknowledgement] = {}
    for entry in store.items_after(listing, None, now):
        for change in entry.changes:
            found.setdefault(str(change.after), Acknowledgement(entry.actor_name, entry.at))
    return found
