"""List a user's own sign-ins, the refused ones too."""

from collections.abc import Iterable, Iterator
from typing import Final

from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import CONSOLE_CLIENT
from ostiary_core.model.instant import Instant, later
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.storage.listing import AUDIT, Listing, ListingStore
from ostiary_web.http.context import RequestContext

MOST_SIGN_INS: Final = 50
"""Most sign-ins shown of a user, the newest."""


async def list_sign_ins(context: RequestContext, most: int = MOST_SIGN_INS) -> list[AuditEntry]:
    """Return the caller's newest sign-ins and failed ones, as far as the trail is kept."""
    own = {"user_id": context.user.user_id}

    def question(store: ListingStore, now: Instant) -> list[AuditEntry]:
        kinds = (
            {"kind": FactKind.SESSION_STARTED.value, "client_id": CONSOLE_CLIENT},
            {"kind": FactKind.SIGN_IN_FAILED.value},
            {"kind": FactKind.SECOND_FACTOR_ASKED.value},
        )
        listings = (Listing(resource=AUDIT, filters={**own, **kind}, page_size=most) for kind in kinds)
        found = [entry for listing in listings for entry in store.items_after(listing, None, now)]
        found.sort(key=lambda entry: (entry.at, entry.number), reverse=True)
        return list(_without_finished(found))[:most]

    return await context.query(question)


def _without_finished(newest_first: Iterable[AuditEntry]) -> Iterator[AuditEntry]:
    """Leave out right passwords that a code followed, so that those which stopped at the code are told.

    A sign-in takes away the last one before it, of the same address and program, in the time for a code.
    """
    waiting: dict[tuple[str | None, str | None], list[Instant]] = {}
    for entry in newest_first:
        same = waiting.setdefault((entry.source, entry.user_agent), [])
        if entry.kind is FactKind.SESSION_STARTED:
            same.append(entry.at)
        is_asked = entry.kind is FactKind.SECOND_FACTOR_ASKED
        if not (is_asked and same and same.pop() < later(entry.at, SPECIFICATION.ticket_seconds)):
            yield entry
