"""List what a user lets other systems do: consents and active sessions by client (READINGS 26)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.records import SessionKind
from ostiary_core.storage.listing import (
    GRANTS,
    ONLINE_USERS,
    GrantedAccess,
    Listing,
    ListingStore,
    OnlineSession,
)
from ostiary_web.application.answer_data import AnswerData, Time, time_or_none
from ostiary_web.http.context import RequestContext

_CLIENTS_AT_A_TIME: Final = 200
MOST_SESSIONS: Final = 200
"""Most sessions shown of a client, the newest; all are counted, and a withdrawal ends all."""


class GrantSession(AnswerData):
    """An active session of a client for the user."""

    id: str
    scope: str
    signed_in_at: Time
    last_seen_at: Time
    expires_at: Time
    ip: str
    user_agent: str | None


class Grant(AnswerData):
    """What the user lets a client do; `grantedAt` is null without a remembered consent.

    `sessions` are the newest 200; `sessionCount` counts all.
    """

    client_id: str
    name: str
    scopes: list[str]
    granted_at: Time | None
    session_count: int
    sessions: list[GrantSession]


async def list_grants_of_user(
    context: RequestContext, user_id: str, client_id: str | None = None
) -> list[Grant]:
    """Return what a user lets other systems do: one entry a client, in the order of their identifiers.

    A client may have sessions and no remembered consent, if nobody needed to be asked.
    """

    def question(store: ListingStore, now: Instant) -> list[Grant]:
        filters = {"user_id": user_id} if client_id is None else {"user_id": user_id, "client_id": client_id}
        listing = Listing(resource=GRANTS, filters=filters, page_size=_CLIENTS_AT_A_TIME)
        sessions = Listing(resource=ONLINE_USERS, page_size=MOST_SESSIONS)
        found: list[Grant] = []
        last: GrantedAccess | None = None
        while granted := store.items_after(listing, last, now):
            for access in granted:
                own = {
                    "user_id": user_id,
                    "client_id": access.client_id,
                    "kind": SessionKind.AUTHORIZATION_CODE.value,
                }
                found.append(_grant(access, store.items_after(replace(sessions, filters=own), None, now)))
            last = granted[-1]
        return found

    return await context.query(question)


def _grant(access: GrantedAccess, newest: Sequence[OnlineSession]) -> Grant:
    return Grant(
        client_id=access.client_id,
        name=access.client_name,
        scopes=list(access.scopes),
        granted_at=time_or_none(access.granted_at),
        session_count=access.session_count,
        sessions=[_session(session) for session in newest],
    )


def _session(session: OnlineSession) -> GrantSession:
    return GrantSession(
        id=session.session_id,
        scope=" ".join(session.scopes),
        signed_in_at=iso_time(session.signed_in_at),
        last_seen_at=iso_time(session.last_seen_at),
        expires_at=iso_time(session.expires_at),
        ip=session.source,
        user_agent=session.user_agent,
    )
