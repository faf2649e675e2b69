"""Serve `/api/auth/sign-ins` and `/api/auth/logout-elsewhere`: for a user who fears for the account."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Final

from msgspec import Meta

from ostiary_core.events import OtherSessionsEnded
from ostiary_core.model.audit import AuditEntry
from ostiary_core.model.fact import FactKind
from ostiary_core.model.identifiers import CONSOLE_CLIENT
from ostiary_core.model.instant import Instant, iso_time, later
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.storage.listing import AUDIT, Listing, ListingStore
from ostiary_web.api.answer_data import AnswerData, Time
from ostiary_web.api.event_routes import add_event_route
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import SIGNED_IN, GatedRoutes

sign_ins = GatedRoutes("sign_ins", __name__)

MOST_SIGN_INS: Final = 50
"""Most sign-ins shown of a user, the newest."""


# --- what the pages do too


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


# --- the interface


class SignIn(AnswerData):
    """A sign-in of the user, or an attempt that failed."""

    at: Time
    succeeded: Annotated[
        bool,
        Meta(description="False for a wrong password or code, no code, or a disabled account."),
    ]
    ip: str | None
    user_agent: str | None


@sign_ins.get("/api/auth/sign-ins", gate=SIGNED_IN)
async def get_sign_ins(context: RequestContext) -> list[SignIn]:
    """List the caller's newest sign-ins and failed ones, at most 50, as far as the audit trail is kept."""
    return [
        SignIn(
            at=iso_time(entry.at),
            succeeded=entry.kind is FactKind.SESSION_STARTED,
            ip=entry.source,
            user_agent=entry.user_agent,
        )
        for entry in await list_sign_ins(context)
    ]


add_event_route(sign_ins, "POST", "/api/auth/logout-elsewhere", OtherSessionsEnded, SIGNED_IN)
